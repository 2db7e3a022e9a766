"""Records of agents that write programs: written, replayed without a model, compared, compiled."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from otel_support import Sink
from otel_support import otel as otel
from otel_support import sink as sink
from python_llm_support import playing, used

from sema_runtime.ai import sync
from sema_runtime.box import Pool
from sema_runtime.box.agent.recording import chrome, differences, read, recordings
from sema_runtime.box.agent.shapes import misfits, shape
from sema_runtime.box.agent.trace import Trace
from sema_runtime.box.toolbox import ToolGrant
from sema_runtime.values.errors import SemaError

pytestmark = pytest.mark.usefixtures("llm")
ROWS = [{"region": "north", "amount": 40}, {"region": "south", "amount": 2}]
CALLS: list[str] = []


def fetch(region: str) -> dict[str, Any]:
    """Fetches the numbers of a region."""
    CALLS.append(region)
    if region == "west":
        raise ValueError("no such region")
    return {"region": region, "numbers": [1, 2.5]}


def agent(pool: Pool, **options: Any) -> sync.ProgramAgent:
    return sync.ProgramAgent(pool=pool, name="analyst", tools=[fetch], data={"rows": ROWS}, **options)


PROGRAMS = (
    '(define got (tool/fetch {:region "north"})) (println (:numbers got))',
    '(try (tool/fetch {:region "west"}) (catch e (println (:message e))))',
    "(car 5)",
    "(return {:sum (list/sum (:numbers got)) :rows (count data/rows)})",
)


def recorded(pool: Pool, path: Path) -> Any:
    CALLS.clear()
    playing(*(used(program) for program in PROGRAMS))
    return agent(pool).run("How much?", trace=path)


def test_what_is_recorded(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run = recorded(pool, path)
    events = [json.loads(line) for line in path.read_text().splitlines()]
    names = [event["event"] for event in events]
    turn = ["model.answered", "program.started", "program.ended"]
    called = ["model.answered", "program.started", "tool.called", "program.ended"]
    assert names == ["run.started", *called, *called, *turn, *turn, "run.ended"]
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert events[0]["question"] == "How much?" and events[0]["tools"] == {"fetch": "tool/fetch(region string) -> map"}
    assert events[3]["tool"] == "fetch" and events[3]["dur_ms"] >= 0
    assert events[-1]["status"] == "return" and events[-1]["input_tokens"] == 12 and events[-1]["text"] == run.text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def seen(run: Any) -> list[Any]:
    outcomes = [(turn.program, turn.outcome) for turn in run.turns]
    return [(program, came.status, came.text, came.reason, came.prints) for program, came in outcomes]


def test_replay_calls_nobody(pool: Pool, tmp_path: Path) -> None:
    run = recorded(pool, tmp_path / "run.jsonl")
    asked = playing("(fail 1)")
    CALLS.clear()
    again = agent(pool, system="Other words.").replay(tmp_path / "run.jsonl")
    assert again.value == run.value and seen(again) == seen(run)
    assert asked == [] and CALLS == []
    assert again.messages[0]["content"].startswith("Other words.")


def test_a_replay_that_differs_says_so(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(pool, path)
    text = path.read_text().replace('{:region \\"north\\"}', '{:region \\"east\\"}')
    path.write_text(text)
    with pytest.raises(SemaError, match="no call of tool/fetch"):
        agent(pool).replay(path)


def test_differences(pool: Pool, tmp_path: Path) -> None:
    recorded(pool, tmp_path / "one.jsonl")
    playing("(return 1)")
    agent(pool).run("How much?", trace=tmp_path / "two.jsonl")
    one, two = (recordings(read(tmp_path / name))[0] for name in ("one.jsonl", "two.jsonl"))
    assert differences(one, one) == []
    found = differences(one, two)
    assert "program 1: another source" in found and "programs: 4 / 1" in found


@pytest.mark.parametrize("text", ["", "nonsense\n{}\n", '{"event": "x"}\n\n', '{"event": "a", "run": "1", "seq": 0}\n'])
def test_what_is_no_trace_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(SemaError):
        recordings(read(tmp_path / "t"))


def test_a_broken_last_line_is_left_out(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(pool, path)
    path.write_text(path.read_text()[:-20])
    assert recordings(read(path))[0].ended is None


def test_runs_inside_runs(pool: Pool) -> None:
    from sema_runtime import ai

    def answer(request: dict[str, Any]) -> str:
        return '(return "Ada")' if "names" in str(request["messages"][0]["content"])[:20] else (
            '(return (tool/clerk {:question "name?"}))'
        )  # fmt: skip

    ai.configure("player", complete=answer, default_model="m")
    clerk = sync.ProgramAgent(pool=pool, name="clerk", system="Knows names.")
    trace = Trace()
    host = sync.ProgramAgent(pool=pool, agents=[clerk])
    assert host.run("?", trace=trace).value == "Ada"
    assert [recording.started["run"] for recording in recordings(trace.events)] == ["1", "1.1"]
    bars = chrome(trace.events)["traceEvents"]
    assert {bar["tid"] for bar in bars} == {1, 2} and all(bar["dur"] >= 0 for bar in bars)


def test_spans(pool: Pool, sink: Sink) -> None:
    playing("(car 5)", '(return (:region (tool/fetch {:region "north"})))')
    assert agent(pool).run("?").value == "north"
    names = [span.name for span in sink.spans()]
    assert names == [
        *("chat m", "execute_tool run_program", "chat m"),
        *("execute_tool fetch", "execute_tool run_program", "invoke_agent analyst"),
    ]
    failed, fetched, program, run = (sink.spans()[index] for index in (1, 3, 4, 5))
    assert failed["status"].startswith("error: ") and program["status"] == "unset"
    assert fetched.below(program) and program.below(run) and run.is_root


# Compiled programs


def test_a_compiled_program_calls_its_tools(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "sum.sema"
    CALLS.clear()
    playing("(println (first data/rows))", *PROGRAMS)
    assert agent(pool).compile("How much?", path).value == {"sum": 3.5, "rows": 2}
    assert CALLS == ["north", "west"]  # compiling looks for the shortest program with recorded results
    text = path.read_text()
    assert "(first data/rows)" not in text and "(car 5)" not in text
    assert agent(pool).run_compiled(path, {"rows": [ROWS[0]]}).value == {"sum": 3.5, "rows": 1}
    assert CALLS[2:] == ["north", "west"]


def test_what_a_compiled_program_needs_is_checked(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "sum.sema"
    playing('(return (list/sum (:numbers (tool/fetch {:region "north"}))))')
    agent(pool).compile("?", path)

    def other(region: str, year: int) -> dict[str, Any]:
        """Another one."""
        return {}

    with pytest.raises(SemaError, match="there is no tool/fetch"):
        sync.ProgramAgent(pool=pool).run_compiled(path)
    with pytest.raises(SemaError, match="tool/fetch has changed"):
        sync.ProgramAgent(pool=pool, tools={"fetch": other}).run_compiled(path)
    path.write_text(path.read_text().replace("(list/sum", "(str"))
    outcome = agent(pool).run_compiled(path)
    assert (outcome.status, outcome.reason) == ("error", "return_validation_failed")
    path.write_text("(+ 1 2)\n")
    with pytest.raises(SemaError, match="not a program of agent/compile"):
        agent(pool).run_compiled(path)


def test_no_answer_is_not_compiled(pool: Pool, tmp_path: Path) -> None:
    playing("(fail :no)")
    with pytest.raises(SemaError, match="no answer"):
        agent(pool).compile("?", tmp_path / "x.sema")
    assert not (tmp_path / "x.sema").exists()


@pytest.mark.parametrize(
    ("first", "other", "problems"),
    [
        ([{"a": 1}], [{"a": 2, "b": 3}], []),
        ([{"a": 1}, {"a": 2.5}], [{"a": 1}], []),
        ([{"a": 1}, {"a": None}], [{"a": None}], []),
        ([{"a": None}, {"a": 1}], [{"a": "x"}], ["d.0.a: expected integer, got string"]),
        ([{"a": 1}, {}], [{}], []),
        ([{"a": 1}], [{}], ["d.0.a: missing"]),
        ([], ["anything"], []),
        ([1, "x"], [None], []),
        ([[1], []], [["x"]], ["d.0.0: expected integer, got string"]),
        ({"a": {"b": True}}, {"a": {"b": 1}}, ["d.a.b: expected boolean, got integer"]),
        (1, 1.5, ["d: expected integer, got number"]),
    ],
)  # fmt: skip
def test_shapes(first: Any, other: Any, problems: list[str]) -> None:
    assert misfits(other, shape(first), "d") == problems
    assert misfits(first, shape(first), "d") == []


def test_a_replay_with_less_than_was_recorded(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    playing("(+ 1 1)", "(return 2)")
    agent(pool).run("?", trace=path)
    lines = path.read_text().splitlines(keepends=True)
    kept = [line for line in lines if '"turn": 2' not in line]
    path.write_text("".join(kept))
    with pytest.raises(SemaError, match="no further answer"):
        agent(pool).replay(path)


def test_read_tools_are_asked_once_and_replayed_so(pool: Pool, tmp_path: Path) -> None:
    """A result that the session kept is recorded once; programs that only looked at such results are left out."""
    reading = sync.ProgramAgent(pool=pool, tools={"fetch": ToolGrant(fetch, "read")})
    programs = ('(println (tool/fetch {:region "north"}))', '(return (:region (tool/fetch {:region "north"})))')
    playing(*programs)
    CALLS.clear()
    assert reading.run("?", trace=tmp_path / "run.jsonl").value == "north"
    assert CALLS == ["north"]
    assert reading.replay(tmp_path / "run.jsonl").value == "north"
    playing(*programs)
    reading.compile("?", tmp_path / "p.sema")
    assert "println" not in (tmp_path / "p.sema").read_text()
    assert reading.run_compiled(tmp_path / "p.sema").value == "north"
