"""Runs read from their directories: whole, running, damaged, of newer versions, long; the JSON Schema of events."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import workflow_journals as journals
from jsonschema import Draft202012Validator
from workflow_schema import SCHEMA

from sema_runtime.workflow.journal import events, segments
from sema_runtime.workflow.read.recorded_run import Run, RunNotFound, open_run, run_ids

pytestmark = pytest.mark.journals_by_hand

VALIDATOR = Draft202012Validator(SCHEMA)


def run_of(root: Path, *parts: Any, **files: Any) -> Run:
    journals.written(root, "wf_1", *parts, **files)
    return open_run(str(root), "wf_1")


# What is read


def test_the_golden_run(tmp_path: Path) -> None:
    run = run_of(tmp_path, journals.GOLDEN)
    assert (run.id, run.embedded_id, run.workflow, run.args_json) == (
        "wf_1",
        "wf_test_0001",
        "hello-wf",
        '{"name":"x"}',
    )
    assert (run.status, run.reason, run.duration_ms, run.events_read, run.problems()) == ("success", "", 0, 8, [])
    assert [(phase.name, phase.seq, phase.status, phase.checkpoints) for phase in run.phases] == [
        ("Inventory", 1, "success", 1),
        ("Audit", 4, "success", 1),
    ]
    first, second = run.checkpoints
    assert (first.key, first.value, first.phase) == ("files", '("a.php" "b.php" "c.php")', run.phases[0])
    assert (second.content_key, second.value_digest) == ("02319dc4c60be26d_0", "eccbc87e4b5ce2fe28308fd9f2a7baf3")
    assert (run.usage.calls, run.usage.cost_usd, run.metadata, run.result) == (0, None, None, None)


def test_agents_with_what_they_asked_got_and_used(tmp_path: Path) -> None:
    run = run_of(tmp_path, journals.review(), meta={"workflow": "review"}, result={"status": "success"})
    assert [agent.id for agent in run.agents] == [*(f"reader_{n}" for n in range(1, 7)), "writer_1"]
    second = run.agents[1]
    assert (second.name, second.phase, second.status, second.duration_ms) == ("reader", run.phases[1], "ok", 2500)
    assert (second.model, second.input_tokens, second.output_tokens, second.cost_usd) == (
        journals.MODELS[1],
        980,
        129,
        None,
    )
    assert second.prompt.startswith("Review src/part1.py.\n")
    assert second.result == '{:ok #t :why "Small, named, tested."}'
    assert [(call.name, call.args_json) for call in second.calls()] == [
        ("file/read", '{:path "src/part1.py"}'),
        ("grep", '{:path "src/part1.py"}'),
    ]
    assert run.agents[-1].tool_calls == 0
    assert run.agents[-1].calls() == []
    judge = run.phases[1]
    assert (judge.agents, judge.finished, judge.failed, judge.usage.calls, judge.usage.unpriced) == (6, 6, 0, 6, 1)
    assert judge.usage.cost_usd == pytest.approx(0.0015 * 5 + (0 + 2 + 3 + 4 + 5) / 5000)
    assert run.declared_phases == ["Read", "Judge", "Report"]
    assert (run.metadata, run.result) == ({"workflow": "review"}, {"status": "success"})
    assert run.agent("reader_3") == run.agents[2]
    assert run.agent("nobody_1") is None
    assert [agent.id for agent in run.agents[:2]] == ["reader_1", "reader_2"]


def test_where_results_stand(tmp_path: Path) -> None:
    run = run_of(tmp_path, journals.review(until="running"), journals.review())
    placed = [(agent.segment, agent.result_seq) for agent in run.agents] + [(c.segment, c.seq) for c in run.checkpoints]
    told = [(event.segment, event.seq) for event in run.events() if event.name in ("agent.result", "checkpoint")]
    assert sorted(place for place in placed if place[1] is not None) == sorted(told)
    assert placed.count((0, None)) == 4
    first, second = run.tool_calls[:2]
    assert (first.agent.id, first.name, second.agent.id) == ("reader_1", "file/read", "reader_2")


def test_a_run_that_goes_on_is_read_as_it_grows(tmp_path: Path) -> None:
    lines = journals.review().lines
    folder = journals.written(tmp_path, "wf_1", lines[:3])
    run = open_run(str(tmp_path), "wf_1")
    assert (run.status, run.events_read) == ("running", 3)
    seen = 3
    with (folder / "events.jsonl").open("a") as file:
        for line in lines[3:]:
            half = len(line) // 2
            file.write(line[:half])
            file.flush()
            assert run.refresh() == 0
            assert run.segments[0].unfinished == half
            file.write(line[half:] + "\n")
            file.flush()
            assert run.refresh() == 1
            seen += 1
    whole = open_run(str(tmp_path), "wf_1")
    assert (run.status, run.events_read, seen) == ("success", len(lines), len(lines))
    assert [agent.id for agent in run.agents] == [agent.id for agent in whole.agents]
    assert run.usage.cost_usd == whole.usage.cost_usd


def test_agents_of_a_run_that_was_cut_off_and_resumed(tmp_path: Path) -> None:
    second = journals.Segment("review", "wf_1", at=60)
    second.open_phase("Judge")
    again = second.start("reader", "Review the rest")
    second.finish(again, 10, tokens=(1, 2), cost=None)
    running = run_of(tmp_path, journals.review(until="running"))
    assert [agent.status for agent in running.agents] == ["ok", "ok", "running", "running", "running", "running"]
    assert running.agents[2].result is None
    journals.written(tmp_path, "wf_1", journals.review(until="running"), second)
    running.refresh()
    assert [agent.status for agent in running.agents] == ["ok", "ok", *["unfinished"] * 4, "ok"]
    assert [(agent.id, agent.segment) for agent in running.agents][-1] == ("reader_1", 1)
    assert running.agent("reader_1") == running.agents[-1]
    assert running.agents[-1].phase is running.phases[-1]
    assert running.phases[-1].segment == 1
    assert (running.status, running.started) == ("running", journals.stamp(0))
    second.end()
    journals.written(tmp_path, "wf_1", journals.review(until="running"), second)
    running.refresh()
    assert running.status == "success"


def test_a_journal_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    run = run_of(tmp_path, journals.review())
    journals.written(tmp_path, "wf_1", journals.GOLDEN)
    run.refresh()
    assert (run.workflow, run.events_read, len(run.agents)) == ("hello-wf", 8, 0)


def test_all_events_as_they_are(tmp_path: Path) -> None:
    run = run_of(tmp_path, journals.GOLDEN, journals.review())
    found = [(event.segment, json.dumps(event.data, separators=(",", ":"))) for event in run.events()]
    assert found[:8] == [(0, line) for line in journals.GOLDEN.splitlines()]
    assert [line for segment, line in found if segment == 1] == journals.review().lines
    assert [run.segments[event.segment].at(event.offset).data for event in run.events()] == [
        event.data for event in run.events()
    ]


# Damage, and versions to come


def test_damaged_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    lines = journals.GOLDEN.splitlines()
    bad = [
        "",
        "{",
        "[1]",
        '"text"',
        '{"seq":1}',
        '{"event":7}',
        "\x00\x00",
        lines[1][:30],
        lines[1] + "x",
        "[" * 100_000,
    ]
    folder = journals.written(tmp_path, "wf_1", "\n".join([*bad, lines[0], *bad, *lines[1:], *bad]) + "\n{half")
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b'\n{"event":"checkpoint","seq":8,"ts":"0","key":"\xff\xfe",\r"value_digest":""}\r\n{"event":')
    run = open_run(str(tmp_path), "wf_1")
    assert (run.events_read, run.status, len(run.phases)) == (9, "success", 2)
    assert run.damaged == 3 * (len(bad) - 1) + 1  # an empty line is no damage
    assert run.checkpoints[2].key == "\ufffd\ufffd"
    assert run.checkpoints[1].value == "3"
    assert run.problems() == [
        f"events.jsonl: {run.damaged} damaged lines, skipped",
        "events.jsonl: the last line is cut off",
    ]


def test_texts_that_are_not_ascii_are_found_again(tmp_path: Path) -> None:
    part = journals.Segment()
    for prompt in ("größer", "x" * 70_000, "日本語\u2028 \x85 🎉" * 9000, "end"):
        part.finish(part.start("a", prompt), 1, prompt)
    run = run_of(tmp_path, part)
    assert [agent.prompt for agent in run.agents] == [agent.result for agent in run.agents]
    assert [len(agent.prompt) for agent in run.agents] == [6, 70_000, 72_000, 3]


def test_lines_longer_than_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "PIECE", 64)
    monkeypatch.setattr(segments, "LONGEST", 1000)
    part = journals.Segment()
    for size in (50, 500, 5000, 900, 3):
        part.finish(part.start("a", "p" * size), 1, "done")
    run = run_of(tmp_path, part)
    assert [len(agent.prompt) for agent in run.agents] == [50, 500, 900, 3]
    assert run.damaged == 1
    assert run.agents[-1].id == "a_5"


def test_a_long_line_that_is_still_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "PIECE", 64)
    monkeypatch.setattr(segments, "LONGEST", 1000)
    folder = journals.written(tmp_path, "wf_1", journals.GOLDEN + "x" * 5000)
    run = open_run(str(tmp_path), "wf_1")
    assert (run.segments[0].unfinished, run.damaged, run.refresh()) == (5000, 0, 0)
    with (folder / "events.jsonl").open("a") as file:
        file.write("y\n" + journals.GOLDEN)
    assert (run.refresh(), run.damaged, run.segments[0].unfinished) == (8, 1, 0)


def test_unknown_events_and_fields_are_kept(tmp_path: Path) -> None:
    part = journals.Segment(future={"a": [1]})
    part.add("agent.dreamed", agent_id="a_1", about="sheep")
    part.add("policy.checked", policy="p", boundary="tool", subject="s", rule="r", source="request")
    part.add("budget", input_tokens=10, output_tokens=5, currency="EUR")
    part.lines.append('{"event":"journal.overflow","reason":"queue-full","dropped":3}')
    run = run_of(tmp_path, part)
    assert run.others.counts() == {"agent.dreamed": 1, "policy.checked": 1, "journal.overflow": 1}
    assert next(run.others.named("agent.dreamed")).data["about"] == "sheep"
    assert [event.seq for event in run.others] == [1, 2, None]
    assert next(run.events()).data["future"] == {"a": [1]}
    assert run.usage.tokens == 15
    assert run.problems() == ["3 events were not written"]


@pytest.mark.parametrize(
    "line",
    [
        '{"event":"agent.started"}',
        '{"event":"agent.started","seq":1,"ts":"0","agent_id":7,"agent_name":"a"}',
        '{"event":"agent.result","seq":1,"ts":"0","agent_id":"never_1","status":"ok","output":"","dur_ms":1}',
        '{"event":"agent.result","agent_id":["x"],"status":"ok"}',
        '{"event":"budget","agent_id":{},"input_tokens":"many","output_tokens":-1,"cost_usd":"x"}',
        '{"event":"checkpoint"}',
        '{"event":"phase.ended"}',
        '{"event":"phase.started","seq":1e99}',
        '{"event":"agent.tool_call","agent_id":"a_1"}',
        '{"event":"run.started","phases":{},"workflow":null}',
        '{"event":"run.ended","dur_ms":99999999999999999999999999,"status":[]}',
    ],
)
def test_events_with_wrong_fields_break_nothing(line: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, [journals.Segment().lines[0], line])
    assert run.events_read == 2
    assert len(run.agents) == 0
    assert run.problems() == []


def test_odd_agent_ids(tmp_path: Path) -> None:
    ids = ["a_1", "a", "a_01", "b_1", "a_", "_", "a_" + "9" * 30, "a_٣", "a_2"]
    part = journals.Segment()
    for id_ in ids:
        part.add("agent.started", agent_id=id_, agent_name="a")
    run = run_of(tmp_path, part)
    assert [agent.id for agent in run.agents] == ids
    assert all(run.agent(id_) == run.agents[row] for row, id_ in enumerate(ids))


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    folder = journals.written(tmp_path, "wf_1", journals.GOLDEN)
    (folder / "metadata.json").write_text("{")
    (folder / "result.json").write_bytes(b"\xff")
    run = open_run(str(tmp_path), "wf_1")
    assert (run.metadata, run.result) == (None, None)
    assert run.problems() == ["metadata.json: no JSON", "result.json: no JSON"]
    (folder / "metadata.json").write_text("[]")
    assert run.metadata is None


@pytest.mark.parametrize(
    ("run_id", "why"),
    [
        ("", "must not be empty"),
        ("a/b", "must not contain a path separator"),
        ("a\\b", "must not contain a path separator"),
        ("..", "must not contain '..'"),
        (".", "must not be only '.' characters"),
        ("a\0", "must not contain NUL or control characters"),
    ],
)
def test_unsafe_ids(run_id: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a safe directory name: ") as raised:
        open_run(str(tmp_path), run_id)
    assert str(raised.value).endswith(why)


def test_runs_that_are_not_there(tmp_path: Path) -> None:
    assert run_ids(str(tmp_path / "nothing")) == []
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for run_id in ("nobody", "empty", "file"):
        with pytest.raises(RunNotFound, match=f"no run '{run_id}' in "):
            open_run(str(tmp_path), run_id)
    assert run_ids(str(tmp_path)) == []


def test_the_run_that_was_written_to_last_comes_first(tmp_path: Path) -> None:
    for number, name in enumerate(("b", "c", "a")):
        folder = journals.written(tmp_path, name, journals.GOLDEN)
        os.utime(folder / "events.jsonl", (number, number))
    assert run_ids(str(tmp_path)) == ["a", "c", "b"]
    journals.written(tmp_path, "b", journals.GOLDEN, journals.GOLDEN)  # a resume
    assert run_ids(str(tmp_path)) == ["b", "a", "c"]


def test_what_is_no_file_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / "folder" / "events.jsonl").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "events.jsonl")
    folder = journals.written(tmp_path, "run", journals.GOLDEN)
    os.mkfifo(folder / "events.resume-1.jsonl")
    assert run_ids(str(tmp_path)) == ["run"]
    assert len(open_run(str(tmp_path), "run").segments) == 1
    for run_id in ("folder", "pipe"):
        with pytest.raises(RunNotFound):
            open_run(str(tmp_path), run_id)


# Size


def test_a_long_journal_takes_little_memory(tmp_path: Path) -> None:
    import tracemalloc

    journals.written(tmp_path, "wf_1", journals.wide(5000, tools=1))
    tracemalloc.start()
    run = open_run(str(tmp_path), "wf_1")
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert run.events_read == 4 * 5000 + 10
    assert size / run.events_read < 100  # bytes: a million events in less than 100 MB


# The schema


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("text", [journals.GOLDEN, "\n".join(journals.review(until="failed").lines)])
def test_journals_fit_the_schema(text: str) -> None:
    for line in text.splitlines():
        VALIDATOR.validate(json.loads(line))


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        '{"event":"run.started"}',
        '{"event":"other","seq":1,"ts":"0"}',
        '{"event":"phase.started","seq":1,"ts":"0","phase":1}',
        '{"event":"phase.started","seq":-1,"ts":"0","phase":"A"}',
        '{"event":"phase.started","seq":1,"ts":"0","phase":"A","more":1}',
        '{"event":"agent.started","seq":1,"ts":"0","agent_id":"a_1","agent_name":"a","prompt":""}',
        '{"event":"budget","seq":1,"ts":"0","input_tokens":1,"output_tokens":1,"cost_usd":null}',
        '{"event":"journal.overflow","reason":"queue-full","dropped":0}',
        '{"event":"journal.overflow","seq":1,"ts":"0","reason":"queue-full","dropped":1}',
    ],
)
def test_what_does_not_fit_the_schema(line: str) -> None:
    assert not VALIDATOR.is_valid(json.loads(line))


def test_the_schema_knows_the_events_that_we_write_and_their_order() -> None:
    kinds = {name: kind for name, kind in SCHEMA["$defs"].items() if name not in ("seq", "ts", "journal.overflow")}
    written = {name: kind for name, kind in events.EVENTS.items() if name != "journal.overflow"}
    assert list(kinds) == list(written)
    for name, kind in written.items():
        assert list(kinds[name]["properties"]) == ["event", *(field.name for field in fields(kind))], name


@pytest.mark.parametrize("kind", [*events.EVENTS.values()])
def test_events_as_we_write_them_fit_the_schema(kind: Any) -> None:
    values: dict[str, Any] = {
        "seq": 1, "dur_ms": 5, "input_tokens": 1, "output_tokens": 2, "phase_seq": 3, "count": 1, "expires_at": 9,
        "cost_usd": 0.25, "budget_limit": 10, "dropped": 1, "status": "success",
        "content_key": "0123456789abcdef_0",
        "value_digest": "0" * 32, "op": "recall", "persist": "run", "source": "request", "boundary": "tool",
        "segment": 0, "phases": ("A",), "scopes": ("s",), "tools": ("t",), "result": "gated",
        "approval_id": "apr_" + "0" * 24, "decision_id": "dec_" + "f" * 24,
    }  # fmt: skip
    special: dict[str, dict[str, Any]] = {
        "agent.result": {"status": "ok"},
        "auth.granted": {"source": "cached"},
        "journal.overflow": {"reason": "queue-full", "bytes": None},
    }
    given = {field.name: values.get(field.name, "x") for field in fields(kind)}
    event = kind(**{**given, **special.get(kind.name, {})})
    VALIDATOR.validate(json.loads(events.line(event)))
    least = {
        name: None if events.optional(field) else value
        for name, value, field in zip(given, given.values(), fields(kind), strict=True)
    }
    if kind is not events.JournalOverflow:
        VALIDATOR.validate(json.loads(events.line(kind(**{**least, **special.get(kind.name, {})}))))
