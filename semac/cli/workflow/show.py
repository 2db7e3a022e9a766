"""`sema workflow show RUN`: the phases of a run with their agents and checkpoints, its sums and its result."""

from __future__ import annotations

import os
from json import dumps
from typing import Any

import click

from sema_runtime.workflow.journal.segments import about
from sema_runtime.workflow.read.columns import FAILED
from sema_runtime.workflow.read.recorded_run import is_held
from sema_runtime.workflow.read.tables import Agent
from semac.cli.common import SETTINGS, standalone
from semac.cli.tables import aligned, cut, one_line
from semac.cli.workflow import uncertain
from semac.cli.workflow.list import (
    LATEST,
    UNKNOWN,
    Problem,
    as_json,
    cost,
    duration,
    moment,
    opened,
    root_of,
    run_dir,
    show_json,
    to_resume,
    width,
)

SHOWN = 40  # agents and checkpoints of a phase that are shown without --all, besides those that failed
MARKS = {"ok": "✓", "success": "✓", "failed": "✗", "running": "…", "unfinished": "-", "interrupted": "-"}
NO_PHASE = "(before the first phase)"


def main(args: list[str]) -> int:
    """`sema workflow show ARGS`."""
    return standalone(show_command, args)


@click.command("sema workflow show", context_settings=SETTINGS)
@click.argument("run_id", metavar="[RUN]", default=LATEST)
@run_dir
@as_json
@click.option("--agent", "agent_id", metavar="ID", help="One agent: its prompt, its tool calls, its result.")
@click.option("--events", is_flag=True, help="Its journal, an event a line: number, time, name, what it is about.")
@click.option("--all", "everything", is_flag=True, help=f"All agents of a phase, not the first {SHOWN} only.")
def show_command(
    run_id: str, run_dir: str | None, as_json: bool, agent_id: str | None, events: bool, everything: bool
) -> int:
    """Show a run: phases, agents, checkpoints, tokens, cost, result. Without RUN: the latest.

    \b
    Examples:
      sema workflow show
      sema workflow show wf_1767225600_0_812_0 --agent reader_3
      sema workflow show latest --json
      sema workflow show latest --events | grep reader_3
    """
    run = opened(root_of(run_dir), run_id, read=not events)
    if events:
        _show_events(run, as_json)
        return 0
    try:
        shown: Any
        if agent_id is not None:
            agent = run.agent(agent_id)
            if agent is None:
                raise Problem(f"run '{run.id}' has no agent '{agent_id}'")
            shown = agent_as_json(agent, texts=True) if as_json else "\n".join(_agent_lines(agent))
        else:
            shown = run_as_json(run) if as_json else "\n".join(_run_lines(run, everything))
    except (OSError, ValueError) as error:
        raise Problem(f"run '{run.id}': {error}") from None
    show_json(shown) if as_json else print(shown)
    return 0


# Events


def _show_events(run: Any, as_json: bool) -> None:
    """The journal as it is in the files, with the numbers that `--fork --at` and `--replay` have. Events of
    resumptions have that of their file before their own."""
    room, events = width(), run.events()
    while True:
        try:
            event = next(events, None)
        except OSError as error:
            raise Problem(f"run '{run.id}': {error}") from None
        if event is None:
            return
        if as_json:
            print(dumps(event.data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode())
            continue
        seq = UNKNOWN if event.seq is None else str(event.seq)
        place = f"{event.segment}:{seq}" if event.segment else seq
        line = f"{place:>6}  {moment(event.ts)}  {one_line(event.name):<15}  {_flowing(about(event.data))}"
        print(line if room is None else cut(line, room))


# JSON


def run_as_json(run: Any) -> dict[str, Any]:
    """A run without the texts of its agents."""
    return {
        "run_id": run.id,
        "workflow": run.workflow,
        "status": run.status,
        "reason": run.reason or None,
        "started_ts": run.started,
        "ended_ts": run.ended or None,
        "duration_ms": run.totals.duration_ms,
        "segments": len(run.segments),
        "args_json": run.args_json or None,
        "declared_phases": run.declared_phases,
        "agents": len(run.agents),
        "usage": _usage(run.usage_with_inside),
        "own_usage": _usage(run.usage),
        "phases": [
            {
                "phase": None if phase is None else phase.name,
                "segment": None if phase is None else phase.segment,
                "status": None if phase is None else phase.status,
                "usage": None if phase is None else _usage(phase.usage),
                "checkpoints": [_checkpoint(part(run, item)) for item in items if item < 0],
                "agents": [agent_as_json(part(run, item)) for item in items if item >= 0],
            }
            for phase, items in grouped(run)
        ],
        "other_events": run.others.counts(),
        "origin": run.origin and {"run_id": run.origin.run_id, "at": run.origin.at},
        "nested": [_nested_as_json(run, nested) for nested in run.nested],
        "presumed": uncertain.as_json(run),
        "problems": run.problems(),
        "metadata": run.metadata,
        "result": run.result,
    }


def agent_as_json(agent: Any, texts: bool = False) -> dict[str, Any]:
    """An agent. texts: with its prompt, result and tool calls, which are read from the journal."""
    fields = {
        "agent_id": agent.id,
        "agent_name": agent.name,
        "segment": agent.segment,
        "phase": agent.phase.name if agent.phase else None,
        "status": agent.status,
        "duration_ms": agent.duration_ms,
        "model": agent.model or None,
        "input_tokens": agent.input_tokens,
        "output_tokens": agent.output_tokens,
        "cost_usd": agent.cost_usd,
        "tool_calls": agent.tool_calls,
    }
    if texts:
        calls = [{"tool_name": call.name, "args_json": call.args_json} for call in agent.calls()]
        fields |= {"tool_calls": calls, "prompt": agent.prompt, "result": agent.result}
    return fields


def _checkpoint(checkpoint: Any) -> dict[str, Any]:
    return {"key": checkpoint.key, "value": checkpoint.value}


def _nested_as_json(run: Any, note: Any) -> dict[str, Any]:
    """A run directly inside; with null where it is gone."""
    recorded = nested_run(run, note)
    return {
        "run_id": note.run_id,
        "workflow": note.workflow,
        "status": recorded and recorded.status,
        "duration_ms": recorded and recorded.totals.duration_ms,
        "usage": recorded and _usage(recorded.usage_with_inside),
    }


def nested_run(run: Any, note: Any) -> Any:
    """A run directly inside of a run; None when it is gone."""
    from sema_runtime.workflow.read.recorded_run import RunNotFound, open_run

    try:
        return open_run(os.path.dirname(os.path.normpath(run.folder)), note.run_id)
    except (RunNotFound, ValueError, OSError):
        return None


def _usage(usage: Any) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in ("calls", "input_tokens", "output_tokens", "cost_usd", "unpriced")}


def grouped(run: Any) -> list[tuple[Any, list[int]]]:
    """(phase, its checkpoints and agents in the order of the journal, as `part` takes them); first, with None, what
    stands in no phase."""
    outside: list[int] = []
    groups: list[tuple[Any, list[int]]] = []
    for phase in run.state.phases:
        if phase.name is None:
            outside += phase.items()
        else:
            groups.append((phase, phase.items()))
    return [(None, outside), *groups] if outside else groups


def part(run: Any, item: int) -> Any:
    """An agent or a checkpoint."""
    return run.agents[item] if item >= 0 else run.checkpoints[-1 - item]


# Text


def _run_lines(run: Any, everything: bool) -> list[str]:
    said = [f"{one_line(run.workflow)}  {run.id}  {status(run.status)}{_because(run.reason)}"]
    facts = [moment(run.started), duration(run.totals.elapsed_ms)]
    if len(run.segments) > 1:
        facts.append(f"resumed {len(run.segments) - 1}x")
    if run.args_json not in ("", "{}"):
        facts.append(f"args {one_line(run.args_json)}")
    said.append("  ".join(facts))
    if run.origin is not None:
        said.append(_origin(run.origin))
    room = width()
    began: dict[int, int] = {}  # milliseconds at which the phase began, by segment
    for phase, items in grouped(run):
        said.append("")
        if phase is None:
            said.append(NO_PHASE)
        else:
            said.append(_phase_line(phase, began.get(phase.segment, 0)))
            began[phase.segment] = phase.ended_ms or 0
        said += _part_lines(run, items, everything)
    opened = {phase.name for phase in run.phases}
    waiting = [name for name in run.declared_phases if name not in opened]
    if waiting:
        said += ["", f"{'not started' if run.status == 'running' else 'skipped'}: {one_line(', '.join(waiting))}"]
    said += _nested(run, everything)
    said += ["", _sums(run), *uncertain.notes(run)]
    result = _result(run)
    said += [f"result: {result}"] if result else []
    said += [f"note: {one_line(problem)}" for problem in run.problems()]
    if run.status == "running" and is_held(run.folder) is False:
        said.append(f"note: no process writes this journal; {to_resume(run.id)}")
    return [line if room is None else cut(line, room) for line in said]


def _nested(run: Any, everything: bool) -> list[str]:
    runs = run.nested
    shown = runs if everything else runs[:SHOWN]
    rows = [_nested_cells(note, nested_run(run, note)) for note in shown]
    said = [f"  {line}" for line in aligned(rows, right=(3, 4, 5, 6))]
    if len(shown) < len(runs):
        said.append(f"  ... {len(runs) - len(shown):,} more (--all)")
    return ["", "runs inside:", *said] if runs else []


def _nested_cells(note: Any, run: Any) -> tuple[str, ...]:
    """A line of a run inside; without a run, the one that is gone."""
    names = one_line(note.workflow), one_line(note.run_id)
    if run is None:
        return (*names, "(gone)", "", "", "", "")
    agents, used = len(run.agents), run.usage_with_inside
    return (
        *names,
        status(run.status),
        duration(run.totals.elapsed_ms),
        f"{agents:,} agent{'' if agents == 1 else 's'}",
        f"{used.tokens:,} tokens",
        cost(used.cost_usd, used.unpriced),
    )


def _origin(origin: Any) -> str:
    at = f" at {one_line(origin.at)}" if origin.at is not None else ""
    kept = f", {len(origin.kept):,} of its results kept" if origin.kept is not None else ""
    return f"fork of {one_line(origin.run_id)}{at}{kept}"


def status(word: str) -> str:
    return f"{MARKS[word]} {word}" if word in MARKS else one_line(word)


def _because(reason: str) -> str:
    return f": {one_line(reason)}" if reason else ""


def _phase_line(phase: Any, began: int) -> str:
    parts = [f"{one_line(phase.name)}  {status(phase.status)}"]
    if phase.ended_ms is not None:
        parts.append(duration(max(0, phase.ended_ms - began)))
    if phase.agents:
        failed = f", {phase.failed} failed" if phase.failed else ""
        parts.append(f"{phase.finished:,}/{phase.agents:,} agents{failed}")
        parts.append(f"{phase.usage.tokens:,} tokens")
        parts.append(cost(phase.usage.cost_usd, phase.usage.unpriced))
    if phase.segment:
        parts.append(f"(resume {phase.segment})")
    return "  ".join(parts)


def _part_lines(run: Any, items: list[int], everything: bool) -> list[str]:
    """The agents and checkpoints of a phase: the first ones, and all that failed."""
    status = run.state.agents.status
    failed = () if everything else (item for item in items[SHOWN:] if item >= 0 and status[item] == FAILED)
    shown = [part(run, item) for item in (items if everything else [*items[:SHOWN], *failed])]
    agents = aligned([_agent_cells(row) for row in shown if type(row) is Agent] or [()], right=(2, 4, 5))
    lines = [f"  {next(agents) if type(row) is Agent else _checkpoint_line(row)}" for row in shown]
    hidden = len(items) - len(shown)
    return [*lines, f"  {hidden:,} more (--all shows them)"] if hidden else lines


def _agent_cells(agent: Any) -> tuple[str, ...]:
    tools = f"{agent.tool_calls} tool call{'s' if agent.tool_calls > 1 else ''}" if agent.tool_calls else ""
    said = _flowing(agent.result or "") if agent.status == "failed" else tools
    tokens = agent.input_tokens + agent.output_tokens
    return (
        MARKS.get(agent.status, "?"),
        one_line(agent.id),
        duration(agent.duration_ms),
        one_line(agent.model),
        f"{tokens:,}" if tokens else "",
        cost(agent.cost_usd),
        said,
    )


def _checkpoint_line(checkpoint: Any) -> str:
    return f"◇  {one_line(checkpoint.key)}  {_flowing(checkpoint.value)}"


def _flowing(text: str) -> str:
    """A text of several lines in one, without the spaces at their beginnings."""
    return one_line(" ".join(line.lstrip() for line in text.split("\n")) if "\n" in text else text)


def _sums(run: Any) -> str:
    own, inside = run.usage, run.inside
    limit = f" of {run.token_limit:,}" if run.token_limit is not None else ""
    agents = f"total: {len(run.agents):,} agent{'' if len(run.agents) == 1 else 's'}"
    if not inside.runs:
        return f"{agents}, {own.tokens:,}{limit} tokens, {_spent(own)}"
    used, whole = inside.usage, run.usage_with_inside
    runs = f"{inside.runs:,} run{'' if inside.runs == 1 else 's'} inside"
    return (
        f"{agents}, {whole.tokens:,} tokens, {_spent(whole)}: "
        f"{own.tokens:,}{limit} tokens, {cost(own.cost_usd, own.unpriced)} of its own, "
        f"{used.tokens:,} tokens, {cost(used.cost_usd, used.unpriced)} in {runs}"
    )


def _spent(usage: Any) -> str:
    return cost(usage.cost_usd) + (f" (the price of {usage.unpriced:,} is unknown)" if usage.unpriced else "")


def _result(run: Any) -> str:
    result = run.result
    return "" if result is None else one_line(dumps(result, ensure_ascii=False))


def _agent_lines(agent: Any) -> list[str]:
    usage = f"{agent.input_tokens:,} tokens sent, {agent.output_tokens:,} received, {cost(agent.cost_usd)}"
    place = f"phase {one_line(agent.phase.name)}" if agent.phase else "no phase"
    facts = [status(agent.status), place, duration(agent.duration_ms), one_line(agent.model), usage]
    said = [f"{one_line(agent.id)}  {'  '.join(fact for fact in facts if fact)}", "", "prompt:", *_block(agent.prompt)]
    calls = [f"  {one_line(call.name)}  {one_line(call.args_json)}" for call in agent.calls()]
    said += ["", "tool calls:", *calls] if calls else []
    result = agent.result
    return [*said, "", "result:", *_block(result)] if result is not None else said


def _block(text: str) -> list[str]:
    return [f"  {one_line(line)}" for line in text.split("\n")] if text else ["  (empty)"]
