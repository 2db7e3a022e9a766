"""Journals of workflow runs as their format says, written without the runtime: for tests of what reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

EPOCH = 1_767_225_600  # 2026-01-01T00:00:00Z
MODELS = ("claude-haiku-4-5", "gpt-5.4-mini", "gemini-3-flash")

GOLDEN = (
    '{"event":"run.started","seq":0,"ts":"0","workflow":"hello-wf","run_id":"wf_test_0001","args_json":"{\\"name\\":\\"x\\"}"}\n'
    '{"event":"phase.started","seq":1,"ts":"0","phase":"Inventory"}\n'
    '{"event":"checkpoint","seq":2,"ts":"0","phase_seq":1,"key":"files","content_key":"fe89971d7f8c7aa1_0",'
    '"value_digest":"dc071858552dae9a60200b0a36a13dd3","value":"(\\"a.php\\" \\"b.php\\" \\"c.php\\")"}\n'
    '{"event":"phase.ended","seq":3,"ts":"0","phase":"Inventory","status":"success","dur_ms":0}\n'
    '{"event":"phase.started","seq":4,"ts":"0","phase":"Audit"}\n'
    '{"event":"checkpoint","seq":5,"ts":"0","phase_seq":4,"key":"findings","content_key":"02319dc4c60be26d_0",'
    '"value_digest":"eccbc87e4b5ce2fe28308fd9f2a7baf3","value":"3"}\n'
    '{"event":"phase.ended","seq":6,"ts":"0","phase":"Audit","status":"success","dur_ms":0}\n'
    '{"event":"run.ended","seq":7,"ts":"0","status":"success","dur_ms":0}\n'
)


def stamp(seconds: float) -> str:
    """A moment in whole seconds, as events have it."""
    return datetime.fromtimestamp(EPOCH + int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Segment:
    """The lines of one file of a journal. Times in seconds since EPOCH."""

    def __init__(self, workflow: str = "review", run_id: str = "wf_1", at: float = 0.0, **fields: Any) -> None:
        self.began = self.at = at
        self.lines: list[str] = []
        self.phase: tuple[str, int] | None = None
        self.names: dict[str, int] = {}
        self.add("run.started", workflow=workflow, run_id=run_id, **fields)

    def add(self, event: str, **fields: Any) -> int:
        """Adds an event; its seq."""
        seq = len(self.lines)
        whole = {"event": event, "seq": seq, "ts": stamp(self.at), **fields}
        self.lines.append(json.dumps(whole, ensure_ascii=False, separators=(",", ":")))
        return seq

    def passed(self) -> int:
        """Milliseconds since the run started."""
        return round((self.at - self.began) * 1000)

    def open_phase(self, name: str) -> None:
        self.close_phase("success")
        self.phase = (name, self.add("phase.started", phase=name))

    def close_phase(self, status: str) -> None:
        if self.phase is not None:
            self.add("phase.ended", phase=self.phase[0], status=status, dur_ms=self.passed())
            self.phase = None

    def start(self, name: str, prompt: str = "") -> str:
        """Starts an agent; its id."""
        self.names[name] = self.names.get(name, 0) + 1
        agent = f"{name}_{self.names[name]}"
        self.add("agent.started", agent_id=agent, agent_name=name, **({"prompt": prompt} if prompt else {}))
        return agent

    def tool(self, agent: str, name: str, args: str = "gated") -> None:
        self.add("agent.tool_call", agent_id=agent, tool_name=name, args_json=args)

    def finish(
        self, agent: str, ms: int, output: str = "done", *, ok: bool = True, model: str = MODELS[0],
        tokens: tuple[int, int] | None = (900, 120), cost: float | None = 0.0015,
    ) -> None:  # fmt: skip
        """The result of an agent and what it used."""
        self.add("agent.result", agent_id=agent, status="ok" if ok else "failed", output=output, dur_ms=ms, model=model)
        if tokens is not None:
            place = {"phase_seq": self.phase[1]} if self.phase else {}
            price = {} if cost is None else {"cost_usd": cost}
            self.add("budget", agent_id=agent, **place, input_tokens=tokens[0], output_tokens=tokens[1], **price)

    def checkpoint(self, key: str, value: str) -> None:
        place = {"phase_seq": self.phase[1]} if self.phase else {}
        self.add(
            "checkpoint", **place, key=key, content_key=f"{len(self.lines):016x}_0", value_digest="0" * 32, value=value
        )

    def end(self, status: str = "success", reason: str | None = None) -> None:
        self.close_phase(status)
        self.add("run.ended", status=status, **({"reason": reason} if reason else {}), dur_ms=self.passed())


def written(
    root: Path, run: str, *segments: Segment | str | Iterable[str], meta: Any = None, result: Any = None
) -> Path:
    """Writes a run: its segments in order, its metadata and result; its directory."""
    folder = root / run
    folder.mkdir(parents=True, exist_ok=True)
    for number, segment in enumerate(segments):
        name = f"events.resume-{number}.jsonl" if number else "events.jsonl"
        with (folder / name).open("w", encoding="utf-8") as file:
            if isinstance(segment, str):
                file.write(segment)
            else:
                lines = segment.lines if isinstance(segment, Segment) else segment
                file.writelines(f"{line}\n" for line in lines)
    if meta is not None:
        (folder / "metadata.json").write_text(json.dumps(meta, indent=2, sort_keys=True) + "\n")
    if result is not None:
        (folder / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    return folder


# Whole runs


def review(run_id: str = "wf_review", *, until: str = "end", files: int = 6) -> Segment:
    """A review of files in three phases. until: "end", "running" (in the second phase), "failed"."""
    run = Segment("review", run_id, args_json='{"folder":"src"}', phases=["Read", "Judge", "Report"])
    run.open_phase("Read")
    run.at += 0.4
    run.checkpoint("files", "(" + " ".join(f'"src/part{n}.py"' for n in range(files)) + ")")
    run.open_phase("Judge")
    agents = [
        run.start("reader", f"Review src/part{n}.py.\n\nSay what is wrong with it, and why, in two sentences.")
        for n in range(files)
    ]
    for n, agent in enumerate(agents):
        run.at += 0.3
        for tool in ("file/read", "grep")[: 1 + n % 2]:
            run.tool(agent, tool, f'{{:path "src/part{n}.py"}}')
    if until == "running":
        run.at += 1.1
        run.finish(agents[0], 2100, '{:ok #t :why "Small, named, tested."}')
        run.finish(agents[1], 1800, '{:ok #f :why "Swallows errors."}', model=MODELS[1], cost=None)
        return run
    for n, agent in enumerate(agents):
        run.at += 0.7
        failed = until == "failed" and n == files - 1
        run.finish(
            agent, 2100 + 400 * n, "error: llm: 529 overloaded" if failed else '{:ok #t :why "Small, named, tested."}',
            ok=not failed, model=MODELS[n % 3], tokens=(900 + 80 * n, 120 + 9 * n),
            cost=None if n == 1 else 0.0015 + n / 5000,
        )  # fmt: skip
    if until == "failed":
        run.end("failed", "workflow body returned an error")
        return run
    run.open_phase("Report")
    writer = run.start("writer", "Sum up the six verdicts for somebody who has one minute.")
    run.at += 2.2
    run.finish(
        writer,
        2200,
        "Five of six files are fine. src/part3.py swallows errors: see line 41.",
        tokens=(2400, 310),
        cost=0.0089,
    )
    run.checkpoint("report", '"Five of six files are fine."')
    run.end()
    return run


def wide(agents: int, cap: int = 50, *, tools: int = 0) -> Iterator[str]:
    """A run of many agents, `cap` at a time, each with some tool calls: about 4 + tools events an agent."""
    phases = ("Draft", "Review", "Revise", "Publish")
    run = Segment("wide", "wf_wide", phases=list(phases))
    done = 0

    def flushed() -> Iterator[str]:
        """What was added since; seq goes on."""
        nonlocal done
        yield from run.lines[done:]
        for at in range(done, len(run.lines)):
            run.lines[at] = ""
        done = len(run.lines)

    for number, phase in enumerate(phases):
        run.open_phase(phase)
        mine = agents // len(phases) + (number < agents % len(phases))
        for first in range(0, mine, cap):
            group = [run.start("worker", f"Part {first + n} of {phase}") for n in range(min(cap, mine - first))]
            for n, agent in enumerate(group):
                for one in range(tools):
                    run.tool(agent, "lookup", f"{{:row {one}}}")
                run.finish(agent, 400 + 20 * n, "fine", ok=(first + n) % 97 != 13, model=MODELS[n % 3])
            run.at += 0.5 + 0.02 * cap
            yield from flushed()
    run.end()
    yield from flushed()
