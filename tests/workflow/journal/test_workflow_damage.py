"""Runs whose files are damaged, or were written by a version to come."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import workflow_journals as journals
from workflow_trouble import calls, events, readable, resumed, said, sema
from workflow_trouble import finished as finished
from workflow_trouble import run as run

from sema_runtime.workflow.read.recorded_run import open_run
from semac.cli.workflow import export as workflow_export
from semac.cli.workflow import show as workflow_show
from semac.cli.workflow.list import index_main, list_main
from semac.cli.workflow.run import main as run_main

pytestmark = pytest.mark.journals_by_hand


# Memos


def overwritten(data: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(data)


def replaced_by_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def replaced_by_a_loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": overwritten(b""),
    "cut": overwritten(b'"<on'),
    "without its end": overwritten(b'"<one>"'),
    "no JSON": overwritten(b"{one}\n"),
    "two values": overwritten(b'"a" "b"\n'),
    "binary": overwritten(bytes(range(256))),
    "zeros": overwritten(b"\0" * 4096),
    "no UTF-8": overwritten(b'"\xff\xfe"\n'),
    "nested deeply": overwritten(b"[" * 100_000 + b"]" * 100_000 + b"\n"),
    "many digits": overwritten(b"9" * 100_000 + b"x\n"),
    "a folder": replaced_by_a_folder,
    "a loop of links": replaced_by_a_loop,
}


def test_memos_that_a_power_failure_left_empty_are_read_from_their_log(tmp_path: Path, run: Path) -> None:
    results = (run / "result.json").read_text()
    for memo, damage in zip((run / "memo").iterdir(), (b"", b"\0", b"\0" * 4096), strict=True):
        memo.write_bytes(damage)
    assert resumed(tmp_path, run).status == 0
    assert calls(tmp_path) == ["one", "two"]
    assert (run / "result.json").read_text() == results
    readable(tmp_path / "runs", tmp_path / "out")


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_memo_that_is_nowhere_else(name: str, tmp_path: Path) -> None:
    from workflow_support import COUNTING
    from workflow_support import run as ran

    text = COUNTING + '(defworkflow w "" {} (list (step "one") (step "two")))'
    first = ran(tmp_path, text, run_id="r")
    shutil.rmtree(tmp_path / "r" / "memo.jsonl", ignore_errors=True)
    (tmp_path / "r" / "memo.jsonl").unlink(missing_ok=True)
    (memo,) = (one for one in (tmp_path / "r" / "memo").iterdir() if "one" in one.read_text())
    DAMAGE[name](memo)
    again = ran(tmp_path, text, run_id="r", resume=True)
    assert list(again.value.pairs()) == list(first.value.pairs())
    assert again.prompts() == ["one"]
    third = ran(tmp_path, text, run_id="r", resume=True)
    assert third.prompts() == []  # what was damaged was written anew


def test_a_memo_of_another_value_is_damaged(tmp_path: Path, run: Path) -> None:
    """One bit is enough, also where it is still JSON; the log has the value that the leaf gave."""
    (memo,) = (one for one in (run / "memo").iterdir() if "<one>" in one.read_text())
    memo.write_text('"<onf>"\n')
    assert resumed(tmp_path, run).status == 0
    assert json.loads((run / "result.json").read_text())["value"] == ["<one>", "<two>", 5]
    assert calls(tmp_path) == ["one", "two"]


def test_a_damaged_log_beside_a_good_file(tmp_path: Path, run: Path) -> None:
    log = run / "memo.jsonl"
    log.write_bytes(log.read_bytes().replace(b"<one>", b"<onf>"))
    assert resumed(tmp_path, run).status == 0
    assert json.loads((run / "result.json").read_text())["value"] == ["<one>", "<two>", 5]


@pytest.mark.parametrize("other", ["<onf>", "<ong>"])
def test_when_both_are_damaged_the_step_is_asked_again_and_it_is_told(other: str, tmp_path: Path, run: Path) -> None:
    (memo,) = (one for one in (run / "memo").iterdir() if "<one>" in one.read_text())
    memo.write_text('"<onf>"\n')
    log = run / "memo.jsonl"
    log.write_bytes(log.read_bytes().replace(b"<one>", other.encode()))
    done = resumed(tmp_path, run)
    if other == "<onf>":  # both have it: the checksum was damaged
        assert (done.err, calls(tmp_path)) == ("", ["one", "two"])
        return
    assert json.loads((run / "result.json").read_text())["value"] == ["<one>", "<two>", 5]
    assert calls(tmp_path) == ["one", "two", "one"]
    assert done.err == (
        f"warning: runs/{run.name}: damaged: 1 kept result could not be read; what they were kept for ran again\n"
    )


def test_without_a_log_a_memo_counts_as_it_is(tmp_path: Path, run: Path) -> None:
    """As other implementations write them."""
    (memo,) = (one for one in (run / "memo").iterdir() if "<one>" in one.read_text())
    memo.write_text('{"edited": [1]}\n')
    (run / "memo.jsonl").unlink()
    assert resumed(tmp_path, run).status == 0
    assert json.loads((run / "result.json").read_text())["value"] == [{"edited": [1]}, "<two>", 5]


def test_a_damaged_log_of_memos(tmp_path: Path, run: Path) -> None:
    (run / "memo.jsonl").write_bytes(
        b'\xef\xbb\xbf{"key":5}\n\0\0\0\n[]\n{"key":"x","value":}\n{"key":"' + b"x" * 9_000_000
    )
    again = resumed(tmp_path, run)
    assert (again.status, again.err) == (0, "")
    assert calls(tmp_path) == ["one", "two"]  # the files of the memos are whole
    for memo in (run / "memo").iterdir():
        memo.write_bytes(b"xx")
    again = resumed(tmp_path, run)
    assert (again.status, calls(tmp_path)) == (0, ["one", "two", "one", "two"])
    assert again.err.startswith(f"warning: runs/{run.name}: damaged: 3 kept results could not be read")
    assert resumed(tmp_path, run).status == 0
    assert len(calls(tmp_path)) == 4
    readable(tmp_path / "runs", tmp_path / "out")


def test_what_a_process_that_died_left_is_in_nobodys_way(tmp_path: Path, run: Path) -> None:
    (run / "memo" / ".0123456789abcdef_0.json.1.tmp").write_text('"half')
    (run / "memo" / "notes.txt").write_text("mine")
    (run / ".result.json.1.tmp").write_text("{")
    (run / "result.json").unlink()
    assert resumed(tmp_path, run).status == 0
    assert calls(tmp_path) == ["one", "two"]
    assert (run / "memo" / "notes.txt").read_text() == "mine"
    readable(tmp_path / "runs", tmp_path / "out")


# Journals


BAD_LINES = [
    b"\xef\xbb\xbf" + b'{"event":"phase.started","seq":1,"ts":"0","phase":"behind a byte order mark"}',
    b"\0" * 5000,
    b'{"event":"phase.started","seq":1,"ts":"0","phase":"\xff\xfe"}',
    b"{cut",
    b'"text"',
    b"[1,2]",
    b"{}",
    b"[" * 50_000,
    b'{"event":"agent.started","seq":"many","ts":5,"agent_id":7,"agent_name":[]}',
    b'{"event":"agent.result","seq":-1,"agent_id":"nobody_1","status":{},"output":7,"dur_ms":-5}',
    b'{"event":"agent.dreamed","seq":1,"ts":"0","about":{"sheep":[1,2]}}',
    b'{"event":"budget","seq":1,"input_tokens":1e400,"output_tokens":"x","cost_usd":"free"}',
    b'{"event":"run.started","seq":0,"ts":[],"workflow":{},"run_id":5,"phases":"A"}',
    b'{"event":"run.ended","seq":1,"ts":"0","status":5,"dur_ms":"long"}',
    b'{"event":"phase.started","seq":99999999999999999999,"ts":"9999-99-99T99:99:99Z","phase":"late","mood":"new"}',
    b'{"event":"journal.overflow","reason":"solar-flare"}',
]


def test_damaged_journals_are_read_and_resumed(tmp_path: Path, run: Path) -> None:
    """Damage before, between and behind the events, and events of versions to come."""
    journal = run / "events.jsonl"
    lines = journal.read_bytes().splitlines()
    mixed = [*BAD_LINES, lines[0], *BAD_LINES, *lines[1:], *BAD_LINES]
    journal.write_bytes(b"\n".join(mixed) + b'\n{"event":"run.ended","seq":9')
    readable(tmp_path / "runs", tmp_path / "out")
    status, shown = said(workflow_show.main, run.name, "--run-dir", str(run.parent))
    assert status == 0
    assert "✓  step_1" in shown
    assert "damaged lines, skipped" in shown
    assert resumed(tmp_path, run).status == 0
    assert calls(tmp_path) == ["one", "two"]
    assert events(run, "events.resume-1.jsonl")[0]["event"] == "run.started"
    readable(tmp_path / "runs", tmp_path / "out")


def test_a_journal_that_begins_with_a_byte_order_mark(tmp_path: Path, run: Path) -> None:
    """Its first line counts as damaged, the others are read."""
    journal = run / "events.jsonl"
    whole = len(events(run))
    journal.write_bytes(b"\xef\xbb\xbf" + journal.read_bytes())
    found = open_run(str(run.parent), run.name)
    assert (found.events_read, found.damaged, len(found.agents)) == (whole - 1, 1, 2)
    readable(tmp_path / "runs", tmp_path / "out")


def test_a_line_of_fifty_megabytes(tmp_path: Path, run: Path) -> None:
    journal = run / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    long = json.dumps({"event": "phase.started", "seq": 1, "ts": "0", "phase": "x" * 50_000_000}).encode() + b"\n"
    torn = b"y" * 70_000_000 + b"\n"
    journal.write_bytes(b"".join([lines[0], long, torn, *lines[1:]]))
    found = open_run(str(run.parent), run.name)
    assert (found.status, len(found.agents), found.damaged) == ("success", 2, 1)
    status, printed = said(list_main, "--run-dir", str(run.parent))
    assert (status, "success" in printed) == (0, True)
    assert resumed(tmp_path, run).status == 0
    assert calls(tmp_path) == ["one", "two"]


def test_an_empty_journal(tmp_path: Path, run: Path) -> None:
    """A process that died right after its claim: there is nothing to see, and the run can be resumed."""
    (run / "events.jsonl").write_bytes(b"")
    readable(tmp_path / "runs", tmp_path / "out")
    assert resumed(tmp_path, run).status == 0
    assert calls(tmp_path) == ["one", "two"]
    readable(tmp_path / "runs", tmp_path / "out")


def test_odd_files_in_the_folder_of_runs(tmp_path: Path, run: Path) -> None:
    root = run.parent
    (root / "file").write_text("no run")
    (root / "empty").mkdir()
    (root / "link").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    os.mkdir(os.path.join(os.fsencode(root), b"bytes\xff"))
    (root / os.fsdecode(b"bytes\xff") / "events.jsonl").write_text(journals.GOLDEN)
    (root / "new\nline").mkdir()
    (root / "new\nline" / "events.jsonl").write_text(journals.GOLDEN)
    status, printed = said(list_main, "--run-dir", str(root))
    assert (status, len(printed.splitlines())) == (0, 4)
    assert resumed(tmp_path, run).status == 0


def test_an_index_that_is_none(tmp_path: Path, run: Path) -> None:
    """It is made of the journals: `list` does without, `index` says so, and nothing else needs it."""
    root = str(run.parent)
    index = run.parent / "index.db"

    def link() -> None:
        index.symlink_to("nowhere/x")

    for make in (index.mkdir, lambda: index.write_bytes(bytes(range(256)) * 20), link):
        make()
        status, printed = said(list_main, "--run-dir", root)
        assert (status, "success" in printed) == (0, True)
        status, printed = said(index_main, "--run-dir", root)
        assert (status, printed.split(": ")[:3]) == (1, ["error", "cannot open index db", str(index)])
        assert said(workflow_show.main, "--run-dir", root)[0] == 0
        index.rmdir() if index.is_dir() else index.unlink()
    assert said(index_main, "--run-dir", root)[0] == 0


def test_exports_that_cannot_be_written(tmp_path: Path, run: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "out" / "evidence.json").mkdir(parents=True)
    for name in ("file", "out"):
        where = str(tmp_path / name)
        status, printed = said(workflow_export.main, run.name, "--run-dir", str(run.parent), "--out-dir", where)
        assert (status, printed.count("\n"), where in printed) == (1, 1, True)
    assert (tmp_path / "file").read_text() == "mine"
    assert os.listdir(tmp_path / "out") == ["evidence.json"]


def test_resumptions_with_a_gap(tmp_path: Path, run: Path) -> None:
    """Somebody has deleted the journal of the first of two resumptions: its number is taken again."""
    assert resumed(tmp_path, run).status == 0
    assert resumed(tmp_path, run).status == 0
    (run / "events.resume-1.jsonl").unlink()
    readable(tmp_path / "runs", tmp_path / "out")
    assert resumed(tmp_path, run).status == 0
    assert sorted(one.name for one in run.glob("events.*")) == [
        "events.jsonl", "events.resume-1.jsonl", "events.resume-2.jsonl",
    ]  # fmt: skip
    readable(tmp_path / "runs", tmp_path / "out")


# Replays, forks


def test_replays_and_forks_of_damaged_runs(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They say what is missing, ask nothing that they needn't, and leave the run as it is."""
    monkeypatch.chdir(tmp_path)
    root = run.parent
    for name, part, data in (
        ("empty", "events.jsonl", b""),
        ("metadata", "metadata.json", bytes(range(256))),
        ("event", "events.jsonl", b"{broken\n" + (run / "events.jsonl").read_bytes()),
    ):
        shutil.copytree(run, root / name)
        (root / name / part).write_bytes(data)
    shutil.copytree(run, root / "memos")
    shutil.rmtree(root / "memos" / "memo")
    (root / "memos" / "memo.jsonl").unlink()
    before = {file: file.read_bytes() for file in root.rglob("*") if file.is_file()}
    for name, option, more, message in [
        ("metadata", "--replay", [], "error: cannot replay: the metadata.json of metadata can't be read"),
        ("metadata", "--fork", [], "error: cannot fork: the metadata.json of metadata can't be read"),
        ("memos", "--fork", ["--at", "3"], "error: --at can't tell which results of memos came first"),
        ("empty", "--fork", ["--at", "0"], "error: --at 0: the journal of empty ends at"),
        (run.name, "--fork", ["--at", "999"], f"error: --at 999: the journal of {run.name} ends at"),
        (run.name, "--fork", ["--at", "-1"], "error: --at takes the seq of an event"),
        (run.name, "--fork", ["--at", "nan"], "error: --at takes the seq of an event"),
        (run.name, "--resume", ["--at", "1"], "error: --at says where to --fork a run"),
        (run.name, "--resume", ["--fork", run.name], "error: --"),
        (run.name, "--replay", ["--fork", run.name], "error: --"),
    ]:
        status, printed = said(run_main, "w.sema", "--run-dir", "runs", "-q", option, name, *more)
        assert (status, printed[: len(message)], printed.count("\n")) == (1, message, 1)
    for name, status in (("empty", 1), ("event", 0), ("memos", 0)):
        done = sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "runs", "-q", "--replay", name)
        assert done.status == status, done.err
        warned = "warning: runs/event: events.jsonl: 1 damaged line, skipped\n" if name == "event" else ""
        assert done.err.startswith(f"{warned}replay of {name}")
    assert calls(tmp_path) == ["one", "two"]
    assert {file: file.read_bytes() for file in root.rglob("*") if file.is_file()} == before
