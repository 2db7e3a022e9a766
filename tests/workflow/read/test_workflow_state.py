"""The state of a run: lines that are read together give what each gives alone, whatever they hold and however they
come."""

from __future__ import annotations

import json
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import workflow_journals as journals
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sema_runtime.workflow.journal import events, segments
from sema_runtime.workflow.journal.parser import events_of
from sema_runtime.workflow.read import index
from sema_runtime.workflow.read.follower import Reader
from sema_runtime.workflow.read.indexer import Indexer
from sema_runtime.workflow.read.reducer import Phase, RunState

pytestmark = pytest.mark.journals_by_hand

COLUMNS = (
    "kind", "owner", "checkpoint_event", "checkpoint_key", "checkpoint_phase", "segments", "begun", "latest", "started",
    "status", "reason", "ended", "duration_ms", "running", "finished", "failed", "most_parallel", "token_limit",
    "overflow", "damaged",
)  # fmt: skip


def told(state: RunState) -> dict[str, Any]:
    """Everything that a state holds, as values that can be compared."""
    agents = {name: list(column) for name, column in vars(state.agents).items() if not name.startswith("_")}
    phases = [
        {name: getattr(phase, name) for name in (*Phase.__slots__, "agents", "finished", "failed", "checkpoints")}
        | {"state": None, "loose": None, "usage": used(phase.usage), "items": phase.items()}
        for phase in state.phases
    ]
    found = {name: getattr(state, name) for name in COLUMNS}
    found |= {"agents": agents, "phases": phases, "usage": used(state.usage), "counts": state.counts()}
    return found | {"words": state.words.texts, "kinds": state.kinds.texts, "now": state.clock.now}


def used(usage: Any) -> list[Any]:
    return [getattr(usage, name) for name in sorted(usage.__slots__)]


def reduced(pieces: list[bytes]) -> RunState:
    """The state after these lines."""
    state = RunState()
    state.begin_segment()
    for piece in pieces:
        state.apply(events_of(piece))
    return state


# Journals of all sorts

words = st.sampled_from(
    ["a", "b", "a_1", "a_2", "b_1", "größer", "a\\b", 'a"b', "a\tb", "", "\ud800", "x" * 300, "\x7f"]
)
ids = st.sampled_from(["a_1", "a_2", "b_1", "c", "", "ä_1", 'q"_1', "a\nb", "\udc80"])
stamps = st.sampled_from(["0", *(journals.stamp(n) for n in (0, 1, 5, 3)), "2026-01-01T00:00:61Z", "", "x\\y", "é"])
texts = st.one_of(words, st.text(max_size=20), st.just('{"a":[1,{"b":"\\n"}]}'))
counts = st.sampled_from([0, 1, 7, 2100, 10**11, 10**12, 10**13, 10**18, 10**40, -1])
costs = st.sampled_from([0.0, 0.0015, 1e-7, 1, 2.5e30, 1e300, -0.5, 10**30, float("inf"), float("nan")])
odd = st.one_of(st.none(), st.booleans(), st.just([1]), st.just({}), st.just("x"), st.just(1.5), counts)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "agent_id": ids, "agent_name": words, "model": words, "status": st.sampled_from(["ok", "failed", "success", "?"]),
    "phase": words, "phases": st.lists(words, max_size=3), "cost_usd": costs, "key": words,
}  # fmt: skip
KINDS = [*events.FIELDS, "agent.dreamed", "memory", "damaged", "x" * 40]


@st.composite
def an_event(draw: st.DrawFn) -> bytes:
    """An event of the format: mostly as it says, now and then with something else for a field, or another order."""
    name = draw(st.sampled_from(KINDS))
    made: dict[str, Any] = {"event": name, "seq": draw(st.integers(0, 99)), "ts": draw(stamps)}
    for field, _, optional in events.FIELDS.get(name, events.FIELDS["budget"]):
        if field in made or (optional and draw(st.booleans())):
            continue
        counted = field.endswith(("_ms", "_tokens", "_seq", "_limit")) or field in ("dropped", "bytes", "count")
        made[field] = draw(VALUES.get(field, counts if counted else texts))
        if draw(st.integers(0, 19)) == 0:
            made[field] = draw(odd)
    if draw(st.integers(0, 14)) == 0:
        fields = draw(st.permutations(list(made.items())))
        made = dict(fields[: draw(st.integers(0, len(fields)))])
    if draw(st.integers(0, 14)) == 0:
        made[draw(st.sampled_from(["more", "agent_id", "tool_name", "key", "status"]))] = draw(st.one_of(texts, odd))
    loose = draw(st.integers(0, 9)) == 0
    text = json.dumps(made, ensure_ascii=draw(st.booleans()), separators=None if loose else (",", ":"))
    return text.encode("utf-8", "surrogatepass")


@st.composite
def a_line(draw: st.DrawFn) -> bytes:
    """A line of a journal, perhaps a damaged one."""
    line = draw(an_event())
    damage = draw(st.integers(0, 15))
    at = draw(st.integers(0, len(line)))
    if damage == 0:
        return line[:at]
    if damage == 1:
        return (
            line[:at]
            + draw(st.sampled_from([b"\x00", b'"', b"\\", b"\xff", b"0", b",", b"}", b" ", b"\t"]))
            + line[at:]
        )
    if damage == 2:
        return line[:at] + draw(an_event())
    if damage == 3:
        return line[:at] + line[at + 1 :]
    if damage == 4:
        return line.replace(b":", b":0", 3) if at % 2 else b'{"seq":1,' + line[1:]
    return b"" if damage == 5 else line + b"\r" if damage == 6 else line


@st.composite
def a_result_and_more(draw: st.DrawFn) -> list[bytes]:
    """A result and its budget, or something else that follows; as another line of that kind, or damaged, now and
    then."""
    who, stamp = draw(ids.filter(bool)), draw(stamps)
    kind = draw(st.sampled_from(["agent.result"] * 9 + ["budget", "agent.started"]))
    result = {"event": kind, "seq": 3, "ts": stamp, "agent_id": who, "status": "ok", "output": draw(texts), "dur_ms": 7}
    again = {"event": "budget", "seq": 4, "ts": stamp, "agent_id": who, "input_tokens": 5, "output_tokens": 6}
    change = draw(st.integers(0, 9))
    if change == 0:
        again |= {"ts": draw(stamps)}
    elif change == 1:
        again |= {"agent_id": draw(ids)}
    elif change == 2:
        again["event"] = "agent.result"
    elif change == 3:
        result |= again if draw(st.booleans()) else {"input_tokens": 8, "output_tokens": 9}
    elif change == 4:
        again["output_tokens"] = draw(odd)
    if draw(st.booleans()):
        again |= {"cost_usd": draw(costs), "budget_limit": draw(counts)}
    lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in (result, again)]
    if draw(st.booleans()):
        lines.insert(0, json.dumps({"event": "agent.started", "seq": 2, "ts": stamp, "agent_id": who}))
    found = [line.encode("utf-8", "surrogatepass") for line in lines]
    if draw(st.integers(0, 5)) == 0:
        at = draw(st.integers(0, len(found) - 1))
        cut = draw(st.integers(0, len(found[at])))
        found[at] = found[at][:cut] + found[at][cut + 1 :]
    return found


some_lines = st.lists(st.one_of(a_line().map(lambda line: [line]), a_result_and_more()), max_size=30).map(
    lambda found: [line for lines in found for line in lines]
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(some_lines, st.integers(1, 8))
@example([b'{"event":"agent.started","seq":0,"ts":"0","agent_id":"a","agent_name":"a"}'] * 2, 1)
@example([b'{"event":"agent.tool_call","seq":0,"ts":"0","agent_id":"a","tool_name":"t","agent_id":"b"}'], 1)
@example([b'{"event":"budget","seq":0,"ts":"0","input_tokens":007,"output_tokens":1}'], 1)
@example([b'{"event":"agent.started","seq":0,"ts":"\\x","agent_id":"a","agent_name":"a"}'], 1)
@example([b'{"event":"agent.started","seq":0,"ts":"0","agent_id":"a","agent_name":"a","prompt":"\\u12"}'], 1)
@example([b'{"event":"budget","seq":0,"ts":"0","input_tokens":1,"output_tokens":1,"cost_usd":2.5e+30}'], 1)
@example([b'{"event":"damaged","seq":0,"ts":"0"}', b"{}", b"", b"1,2", b'{"event":"a"},{"event":"b"}'], 2)
def test_lines_together_give_what_each_gives_alone(found: list[bytes], many: int) -> None:
    journal = [line.replace(b"\n", b" ") + b"\n" for line in found]
    alone = told(reduced(journal))
    assert told(reduced([b"".join(journal)])) == alone
    assert told(reduced([b"".join(journal[at : at + many]) for at in range(0, len(journal), many)])) == alone


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(some_lines)
@example([b'{"event":"agent.started","seq":0,"ts":"0","agent_id":"a_1","agent_name":"a","model":"m"}'] * 2)
@example([b'{"event":"budget","seq":0,"ts":"0","input_tokens":1,"output_tokens":1,"cost_usd":2.5e+30}'])
def test_the_index_has_the_same_rows_however_lines_come(found: list[bytes]) -> None:
    journal = [line.replace(b"\n", b" ") + b"\n" for line in found]
    rows = []
    for pieces in ([b"".join(journal)], journal):
        with closing(index.open_index(":memory:")) as db:
            indexer = Indexer(db, "r", 0)
            for piece in pieces:
                indexer.add(events_of(piece))
            rows.append([sorted(db.execute(f"SELECT * FROM {table}").fetchall(), key=repr) for table in index.TABLES])
    assert rows[0] == rows[1]


def test_an_agent_that_is_done_is_still_known() -> None:
    """Its result and its budget are there: what comes later for its id is its own, until another takes the id."""
    run = journals.Segment()
    run.open_phase("A")
    for _ in range(2):
        run.add("agent.started", agent_id="a_1", agent_name="a")
        run.finish("a_1", 10, tokens=(1, 2), cost=None)
        run.open_phase("B")
        run.tool("a_1", "grep")
        run.add("budget", agent_id="a_1", input_tokens=10, output_tokens=20, cost_usd=0.5)
        run.add("policy.checked", agent_id="a_1", policy="p")
        run.finish("a_1", 99, ok=False, tokens=None)
    run.tool("b_1", "grep")
    made = reduced(["".join(f"{line}\n" for line in run.lines).encode()])
    columns = {name: column for name, column in vars(made.agents).items() if not name.startswith("_")}
    agents = [{name: column[row] for name, column in columns.items()} for row in (0, 1)]
    used = {"input": 11, "output": 22, "cost": 0.5, "tools": 1, "priced": 1, "unpriced": 1, "duration": 10}
    assert all(agent | used == agent for agent in agents)
    assert (len(made.agents), made.finished, made.failed) == (2, 2, 0)
    assert [len(made.events_of(row)) for row in (0, 1)] == [7, 7]
    assert [(phase.name, phase.agents, phase.usage.calls) for phase in made.phases] == [
        ("A", 1, 2), ("B", 1, 2), ("B", 0, 0),
    ]  # fmt: skip
    assert made.owner[-1] == -1


# Reading files


def read(reader: Reader) -> dict[str, Any]:
    reader.refresh()
    return told(reader.state)


def test_a_journal_that_grows_by_any_number_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "PIECE", 200)
    chance = random.Random(7)
    parts = [journals.review(until="running").lines, journals.review(until="failed").lines]
    parts[1].insert(5, "{damaged")
    parts[1].insert(9, "")
    whole = Reader(str(journals.written(tmp_path, "whole", *parts)))
    wanted = read(whole)
    growing = Reader(str(tmp_path / "grows"))
    (tmp_path / "grows").mkdir()
    for number, part in enumerate(parts):
        data = "".join(f"{line}\n" for line in part).encode()
        while data:
            size = chance.choice((1, 30, 100, 1000))
            with (tmp_path / "grows" / segments.segment_name(number)).open("ab") as file:
                file.write(data[:size])
            data = data[size:]
            read(growing)
    assert told(growing.state) == wanted
    assert growing.generation == 1
    for event in range(len(whole.state.kind)):
        assert growing.place(event) == whole.place(event)
    assert whole.line(len(parts[0]) + 5) == b"{damaged"
    assert json.loads(whole.line(len(whole.state.kind) - 1))["event"] == "run.ended"


def test_events_are_found_again_beside_a_line_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "PIECE", 64)
    monkeypatch.setattr(segments, "LONGEST", 1000)
    run = journals.review().lines
    reader = Reader(str(journals.written(tmp_path, "a", [*run[:7], "x" * 5000, *run[7:]])))
    reader.refresh()
    assert reader.state.damaged == 1
    assert [reader.line(event).decode() for event in range(len(run) + 1)] == [*run[:7], "", *run[7:]]


def test_events_that_are_gone(tmp_path: Path) -> None:
    folder = journals.written(tmp_path, "a", journals.review())
    reader = Reader(str(folder))
    reader.refresh()
    (folder / "events.jsonl").write_text(journals.GOLDEN)
    with pytest.raises(ValueError, match="no event at 0"):
        reader.event(20)
    assert reader.line(20) == b""
    assert read(reader)["latest"]["workflow"] == "hello-wf"
    assert reader.generation == 2
    (folder / "events.jsonl").unlink()
    assert reader.line(1) == b""
    assert read(reader)["latest"] == {}


def test_a_file_that_was_put_in_its_place_is_another_journal(tmp_path: Path) -> None:
    folder = journals.written(tmp_path, "a", journals.GOLDEN)
    reader = Reader(str(folder))
    reader.refresh()
    new = tmp_path / "new"
    new.write_text("".join(f"{line}\n" for line in journals.review().lines))
    new.replace(folder / "events.jsonl")
    assert read(reader)["latest"]["workflow"] == "review"
