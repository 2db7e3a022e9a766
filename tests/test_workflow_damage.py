"""Runs whose files are damaged, of other versions, of other programs; runs that several processes want at once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import workflow_journals as journals
from workflow_trouble import ENV, PROVIDER, SEMA, Ended, calls, events, flow, only_run, readable, said, sema

from sema_runtime.workflow.reading import open_run
from semac import workflow_diff, workflow_export, workflow_show
from semac.workflow_commands import list_main
from semac.workflow_run import main as run_main

FLOW = PROVIDER + '(defworkflow w "" {} (phase "A") (list (step "one") (step "two") (checkpoint :k 5)))'


def resumed(folder: Path, run: Path, *args: str) -> Ended:
    return sema(folder, "workflow", "run", "w.sema", "--run-dir", "runs", "-q", "--resume", run.name, *args)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that has ended."""
    folder = tmp_path_factory.mktemp("finished")
    assert flow(folder, FLOW, "-q").status == 0
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """The directory of a run that has ended, in a folder of the test's own."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return only_run(tmp_path / "runs")


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


def test_damaged_memos_are_read_from_their_log(tmp_path: Path, run: Path) -> None:
    results = (run / "result.json").read_text()
    for memo, damage in zip((run / "memo").iterdir(), (b"", b'"<on', b"\0" * 4096), strict=True):
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


def test_a_memo_of_another_value_is_taken_as_it_is(tmp_path: Path, run: Path) -> None:
    """A memo says what its leaf gave; who edits it edits the run."""
    (memo,) = (one for one in (run / "memo").iterdir() if "<one>" in one.read_text())
    memo.write_text('{"edited": [1]}\n')
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


# Other programs, other places


def test_other_arguments_and_an_edited_program_find_nothing(tmp_path: Path, run: Path) -> None:
    assert resumed(tmp_path, run, "--args", '{"a": 1}').status == 0
    assert len(calls(tmp_path)) == 4
    assert resumed(tmp_path, run, "--args", '{ "a" :1 }').status == 0  # the same, written in another way
    assert len(calls(tmp_path)) == 4
    (tmp_path / "w.sema").write_text(FLOW + "; a remark")
    assert resumed(tmp_path, run).status == 0
    assert len(calls(tmp_path)) == 6
    (tmp_path / "w.sema").write_text(FLOW)
    assert resumed(tmp_path, run).status == 0  # what the first program has finished is still there
    assert len(calls(tmp_path)) == 6
    readable(tmp_path / "runs", tmp_path / "out")


def test_the_run_of_another_program(tmp_path: Path, run: Path) -> None:
    """Resumed by a program that isn't its own: that one runs from its beginning, in the same directory."""
    (tmp_path / "other.sema").write_text('(defworkflow other "" {} (workflow/step "x" (fn () 7)))')
    done = sema(tmp_path, "workflow", "run", "other.sema", "--run-dir", "runs", "--resume", run.name)
    assert done.status == 0
    assert "x_1" in done.err
    assert json.loads((run / "result.json").read_text())["value"] == 7
    readable(tmp_path / "runs", tmp_path / "out")


def test_another_folder_of_runs(tmp_path: Path, run: Path) -> None:
    done = sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "elsewhere", "--resume", run.name)
    assert done.status == 1
    assert done.err == f"error: no prior run to resume at elsewhere/{run.name}/events.jsonl\n"
    assert not (tmp_path / "elsewhere").exists()
    shutil.move(run.parent, tmp_path / "moved")
    done = sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "moved", "--resume", run.name)
    assert (done.status, calls(tmp_path)) == (0, ["one", "two"])


@pytest.mark.parametrize("option", ["--resume", "--fork"])
def test_ids_that_are_no_names(option: str, tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bad = f"error: {option} run-id must be a bare directory name (no path separators)\n"
    missing = "error: no prior run to {} at runs/{}/events.jsonl\n"
    for run_id, message in [
        ("", bad), ("a/b", bad), ("a\\b", bad), ("..", bad), ("a..b", bad), ("/etc", bad), (f"../runs/{run.name}", bad),
        ("nobody", missing.format(option[2:], "nobody")), ("x" * 300, missing.format(option[2:], "x" * 300)),
    ]:  # fmt: skip
        status, printed = said(run_main, "w.sema", "--run-dir", "runs", option, run_id)
        assert (status, printed) == (1, message), run_id
    assert len(list(run.parent.iterdir())) == 1


@pytest.mark.parametrize(
    ("run_id", "why"),
    [
        ("a/b", "must not contain a path separator"),
        ("a\\b", "must not contain a path separator"),
        ("a..b", "must not contain '..'"),
        ("..", "must not contain '..'"),
        (".", "must not be only '.' characters"),
        ("a\nb", "must not contain NUL or control characters"),
        ("a\x85b", "must not contain NUL or control characters"),
    ],
)
def test_ids_of_the_environment_that_are_no_names(run_id: str, why: str, tmp_path: Path) -> None:
    done = flow(tmp_path, '(defworkflow w "" {} (println "body"))', SEMA_WORKFLOW_RUN_ID=run_id)
    assert (done.status, done.out) == (1, "")
    assert f" is not a safe directory name: {why}" in done.err
    assert not (tmp_path / "runs").exists()


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
        assert done.err.startswith(f"replay of {name}")
    assert calls(tmp_path) == ["one", "two"]
    assert {file: file.read_bytes() for file in root.rglob("*") if file.is_file()} == before


# Several processes


class Waiting:
    """A run that waits in its second step until the file `go` is there."""

    TEXT = (
        PROVIDER
        + """(define (wait) (if (or (env "GO") (file/exists? "go")) "went" (begin (async/sleep 5) (wait))))
             (defworkflow w "" {} (phase "A") (step "one") (workflow/step "slow" wait) (step "two") 3)"""
    )

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "w.sema").write_text(self.TEXT)
        command = [*SEMA, "workflow", "run", "w.sema", "--run-dir", "runs"]
        self.process = subprocess.Popen(command, cwd=folder, env=ENV, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        while "step_1" not in self.process.stderr.readline():  # the first step is finished
            pass

    def __enter__(self) -> Waiting:
        return self

    def go(self) -> None:
        (self.folder / "go").touch()
        assert self.process.wait(60) == 0

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def test_a_run_that_goes_on(tmp_path: Path) -> None:
    """It can be looked at and forked, not resumed; none of that disturbs it."""
    with Waiting(tmp_path) as waiting:
        root = tmp_path / "runs"
        run = only_run(root)
        readable(root, tmp_path / "out")
        status, shown = said(workflow_show.main, run.name, "--run-dir", str(root))
        assert (status, "… running" in shown, "no process" in shown) == (0, True, False)
        refused = resumed(tmp_path, run)
        assert refused.status == 1
        assert f'workflow run "{run.name}" is still running; resume it when it has ended' in refused.err
        forked = sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "runs", "-q", "--fork", run.name, GO="1")
        assert forked.status == 0, forked.err
        status, told = said(workflow_diff.main, run.name, "latest", "--run-dir", str(root))
        assert (status, "changed  agent slow_1" in told) == (1, True)
        waiting.go()
    assert sorted(calls(tmp_path)) == ["one", "two", "two"]
    assert [event["event"] for event in events(run)][-1] == "run.ended"
    assert not (run / "events.resume-1.jsonl").exists()
    readable(root, tmp_path / "out")


def test_many_resumptions_at_once(tmp_path: Path) -> None:
    """One of them goes on, the others say so; nothing is done twice."""
    with Waiting(tmp_path) as waiting:
        run = only_run(tmp_path / "runs")
        waiting.process.send_signal(signal.SIGKILL)
        waiting.process.wait()
    command = [*SEMA, "workflow", "run", "w.sema", "--run-dir", "runs", "-q", "--resume", run.name]
    several = [subprocess.Popen(command, cwd=tmp_path, env=ENV, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    losers = []
    while len(losers) < len(several) - 1:  # all but one end while that one waits
        for one in several:
            if one.poll() is not None and one not in losers:
                losers.append(one)
    for one in losers:
        _, told = one.communicate()
        assert one.returncode == 1
        assert "is still running; resume it when it has ended" in told
        assert "Traceback" not in told
    (tmp_path / "go").touch()
    (winner,) = (one for one in several if one not in losers)
    _, told = winner.communicate(timeout=60)
    assert (winner.returncode, told) == (0, "")
    assert calls(tmp_path) == ["one", "two"]
    assert [one.name for one in run.glob("events.resume-*")] == ["events.resume-1.jsonl"]
    readable(tmp_path / "runs", tmp_path / "out")


def test_many_new_runs_of_one_id(tmp_path: Path) -> None:
    """One of them has the id; the others leave its run alone."""
    (tmp_path / "w.sema").write_text(FLOW)
    command = [*SEMA, "workflow", "run", "w.sema", "--run-dir", "runs", "-q"]
    environment = ENV | {"SEMA_WORKFLOW_RUN_ID": "mine"}
    several = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    told = [one.communicate(timeout=60)[1] for one in several]
    assert sorted(one.returncode for one in several) == [0, 1, 1, 1]
    assert sum('a workflow run journal for "mine" already exists' in text for text in told) == 3
    assert calls(tmp_path) == ["one", "two"]
    readable(tmp_path / "runs", tmp_path / "out")


def test_looking_on_while_a_run_is_written(tmp_path: Path) -> None:
    """All the time some command reads the run; none of them fails, and the run is as it would be alone."""
    (tmp_path / "w.sema").write_text(
        PROVIDER + '(defworkflow w "" {} (parallel (map (fn (n) (fn () (step (str "item " n)))) (range 150)) 10))'
    )
    command = [*SEMA, "workflow", "run", "w.sema", "--run-dir", "runs", "-q"]
    with subprocess.Popen(command, cwd=tmp_path, env=ENV, stderr=subprocess.PIPE, text=True) as process:
        looks = 0
        while process.poll() is None:
            if (tmp_path / "runs").exists():
                readable(tmp_path / "runs", tmp_path / "out")
                looks += 1
        assert process.stderr is not None
        assert (process.returncode, process.stderr.read()) == (0, "")
    assert looks
    run = only_run(tmp_path / "runs")
    assert len(open_run(str(run.parent), run.name).agents) == 150
    status, _ = said(workflow_export.main, run.name, "--run-dir", str(run.parent))
    assert status == 0
