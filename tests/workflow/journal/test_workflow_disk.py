"""Runs and the disk: one that fills up and gets room again, and folders that can't be written or read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from workflow_trouble import (
    PROVIDER,
    calls,
    events,
    flow,
    inside,
    needs_mounts,
    only_run,
    readable,
    said,
    sema,
    shell,
)

from semac.cli.workflow import show as workflow_show
from semac.cli.workflow.list import index_main, list_main

SMALL = "mount -t tmpfs -o size=64k none runs\n"
FILL = '(shell "sh" "-c" "cat /dev/zero > runs/filler 2>&-; true")'
"""Takes what is left on the disk."""
STEPS = '(defworkflow w "" {} (phase "A") (step "one") BETWEEN (step "two") (checkpoint :k 5) AFTER (step "three") 3)'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path


def program(folder: Path, between: str = "nil", after: str = "nil") -> None:
    text = PROVIDER + STEPS.replace("BETWEEN", between).replace("AFTER", after)
    (folder / "w.sema").write_text(text)


# A full disk


@needs_mounts
def test_a_disk_that_gets_room_again_loses_nothing(folder: Path) -> None:
    program(folder, FILL, '(shell "rm" "runs/filler")')
    done = inside(SMALL + "$SEMA workflow run w.sema --run-dir runs -q\ncp -r runs kept", folder)
    assert (done.status, done.err) == (0, "")
    run = only_run(folder / "kept")
    found = events(run)
    assert [event["seq"] for event in found] == list(range(len(found)))
    assert [event["prompt"] for event in found if event["event"] == "agent.started"] == ["one", "two", "three"]
    assert json.loads((run / "result.json").read_text())["value"] == 3
    readable(folder / "kept", folder / "out")


@needs_mounts
def test_a_disk_that_stays_full(folder: Path) -> None:
    """The journal is whole as far as it goes, and what was finished before is not done again."""
    program(folder, f'(if (file/exists? "again") nil {FILL})')
    done = inside(
        SMALL
        + """$SEMA workflow run w.sema --run-dir runs -q
             cp -r runs kept
             rm runs/filler; touch again
             $SEMA workflow run w.sema --run-dir runs -q --resume $(ls runs)
             cp -r runs later""",
        folder,
    )
    assert done.status == 0, done.err
    assert calls(folder).count("one") == 1
    readable(folder / "kept", folder / "out")
    run = only_run(folder / "later")
    assert json.loads((run / "result.json").read_text())["value"] == 3
    assert events(run, "events.resume-1.jsonl")[-1]["event"] == "run.ended"
    readable(folder / "later", folder / "out")


@needs_mounts
def test_a_disk_that_is_full_at_the_start(folder: Path) -> None:
    """Nothing is asked for that couldn't be kept, and nothing is left behind; the same when a run is resumed."""
    program(folder)
    done = inside(
        SMALL
        + """cat /dev/zero > runs/filler 2>/dev/null || true
             $SEMA workflow run w.sema --run-dir runs && exit 9
             ls -A runs > left.txt
             test ! -e calls.txt
             rm runs/filler
             $SEMA workflow run w.sema --run-dir runs -q
             ID=$(ls runs); mv calls.txt first.txt
             cat /dev/zero > runs/filler 2>/dev/null || true
             $SEMA workflow run w.sema --run-dir runs -q --resume $ID && exit 9
             rm runs/filler
             $SEMA workflow run w.sema --run-dir runs -q --resume $ID
             test ! -e calls.txt
             cp -r runs kept""",
        folder,
    )
    assert done.status == 0, done.err
    assert (folder / "left.txt").read_text() == "filler\n"
    assert done.err.count("Error: workflow/run: runs/") == 2
    assert done.err.count(": No space left on device\n") == 2
    readable(folder / "kept", folder / "out")
    assert (only_run(folder / "kept") / "events.resume-1.jsonl").exists()
    assert not (only_run(folder / "kept") / "events.resume-2.jsonl").exists()


@needs_mounts
def test_what_could_not_be_written_is_told(folder: Path) -> None:
    program(folder, FILL)
    done = inside(SMALL + "$SEMA workflow run w.sema --run-dir runs -q\ncp -r runs kept", folder)
    assert done.status == 0
    lines = done.err.splitlines()
    assert lines
    assert all(line.startswith("warning: runs/wf_") for line in lines)
    assert "No space left on device" in done.err
    assert "could not be" in done.err
    readable(folder / "kept", folder / "out")


@needs_mounts
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may have a file system grow")
def test_only_memos_find_no_room(folder: Path) -> None:
    """A value that is larger than what is left; the journal, which is small, still goes on."""
    program(folder, '(workflow/step "large" (fn () (string/repeat "x" 100000)))')
    done = inside(
        SMALL
        + """$SEMA workflow run w.sema --run-dir runs -q
             cp -r runs kept
             mount -o remount,size=1m runs
             $SEMA workflow run w.sema --run-dir runs -q --resume $(ls runs)
             cp -r runs later""",
        folder,
    )
    assert done.status == 0, done.err
    assert "warning: runs/wf_" in done.err
    run = only_run(folder / "kept")
    assert events(run)[-1]["status"] == "success"
    assert json.loads((run / "result.json").read_text())["value"] == 3
    again = [
        one["agent_name"] for one in events(only_run(folder / "later"), "events.resume-1.jsonl") if "agent_name" in one
    ]
    assert again[0] == "large"
    assert calls(folder)[:3] == ["one", "two", "three"]
    readable(folder / "later", folder / "out")


@needs_mounts
def test_commands_on_a_full_disk(folder: Path) -> None:
    """What only reads works; what writes says that it can't, and leaves nothing half written."""
    program(folder)
    done = inside(
        SMALL
        + """$SEMA workflow run w.sema --run-dir runs -q
             ID=$(ls runs)
             cat /dev/zero > runs/filler 2>/dev/null || true
             $SEMA workflow show --run-dir runs > show.txt
             $SEMA workflow list --run-dir runs > list.txt
             $SEMA workflow diff $ID $ID --run-dir runs > diff.txt
             $SEMA workflow index --run-dir runs && exit 9
             $SEMA workflow export $ID --run-dir runs && exit 9
             ls -A runs/$ID/evidence > left.txt""",
        folder,
    )
    assert done.status == 0, done.err
    assert "3/3 agents" in (folder / "show.txt").read_text()
    assert "15" in (folder / "list.txt").read_text()
    assert "4 same" in (folder / "diff.txt").read_text()
    assert (folder / "left.txt").read_text() == ""
    first, second = done.err.splitlines()
    assert first.startswith("error: cannot open index db: runs/index.db: ")
    assert "full" in first
    assert "evidence" in second
    assert "No space left on device" in second


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_what_a_program_prints_finds_no_room(folder: Path) -> None:
    """The step that prints fails, and the run with it; what was finished before is kept."""
    text = PROVIDER + '(defworkflow w "" {} (step "one") (workflow/step "loud" (fn () (println "x") (io/flush) 1)))'
    (folder / "w.sema").write_text(text)
    done = shell(folder, "$SEMA workflow run w.sema --run-dir runs -q > /dev/full")
    assert done.status == 1
    assert "No space left on device" in done.err
    run = only_run(folder / "runs")
    assert events(run)[-1]["status"] == "failed"
    readable(folder / "runs", folder / "out")
    again = sema(folder, "workflow", "run", "w.sema", "--run-dir", "runs", "--resume", run.name)
    assert (again.status, calls(folder)) == (0, ["one"])


# Folders of runs that can't be used


def refused(folder: Path, run_dir: str, reason: str, **more: object) -> None:
    """A run there is refused before its body, with the path and the reason."""
    (folder / "w.sema").write_text('(defworkflow w "" {} (println "the body"))')
    done = sema(folder, "workflow", "run", "w.sema", "--run-dir", run_dir, "-q", **more)
    assert (done.status, done.out) == (1, "")
    message = done.err.splitlines()[1]
    assert message.startswith(f"Error: workflow/run: {run_dir[:200]}")
    assert message.endswith(f": {reason}")
    assert "hint: runs are written to --run-dir (SEMA_WORKFLOW_RUN_DIR), .sema/runs without it" in done.err


@pytest.mark.journals_by_hand
def test_a_folder_of_runs_that_is_none(folder: Path) -> None:
    (folder / "file").write_text("mine")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    refused(folder, "file", "Not a directory")
    refused(folder, "dangling", "No such file or directory")
    refused(folder, "loop", "Too many levels of symbolic links")
    refused(folder, "x" * 300, "File name too long")
    refused(folder, "yyyyyyyyy/" * 450, "File name too long")
    assert (folder / "file").read_text() == "mine"
    assert not (folder / "nowhere").exists()


def test_looking_at_runs_in_what_is_no_folder(folder: Path) -> None:
    """Nothing is made, and no command fails in another way than by saying so."""
    (folder / "file").write_text("mine")
    (folder / "loop").symlink_to("loop")
    for name in ("file", "loop", "missing", "x" * 300):
        for main, args in ((list_main, []), (index_main, []), (workflow_show.main, []), (workflow_show.main, ["a"])):
            status, printed = said(main, *args, "--run-dir", str(folder / name))
            assert (status in (0, 1, 2), printed.count("\n")) == (True, 1)
            if name in ("file", "loop") and main is list_main:
                reason = {"file": "Not a directory", "loop": "Too many levels of symbolic links"}[name]
                assert (status, printed) == (1, f"error: cannot list {folder / name}: {reason}\n")
    assert sorted(os.listdir(folder)) == ["file", "loop", "runs"]
    assert (folder / "file").read_text() == "mine"


@needs_mounts
def test_a_disk_that_is_only_read(folder: Path) -> None:
    """For root too: a mount that can't be written. Nothing starts there; runs that are there can be read and forked."""
    program(folder)
    done = inside(
        """$SEMA workflow run w.sema --run-dir runs -q
           ID=$(ls runs); mv calls.txt first.txt
           mount --bind runs runs; mount -o remount,ro,bind runs
           $SEMA workflow run w.sema --run-dir runs -q && exit 9
           $SEMA workflow run w.sema --run-dir runs/deeper -q && exit 9
           $SEMA workflow run w.sema --run-dir runs -q --resume $ID && exit 9
           test ! -e calls.txt
           echo --- >&2
           $SEMA workflow list --run-dir runs | grep success
           $SEMA workflow show --run-dir runs | grep "3/3 agents"
           $SEMA workflow index --run-dir runs && exit 9
           $SEMA workflow export $ID --run-dir runs && exit 9
           $SEMA workflow export $ID --run-dir runs --out-dir evidence
           test -e evidence/manifest.json""",
        folder,
    )
    assert done.status == 0, done.err
    refusals, told = done.err.split("---\n")
    assert refusals.count("Error: workflow/run: runs/") == 3
    assert refusals.count(": Read-only file system\n") == 3
    first, second = told.splitlines()
    assert first.startswith("error: cannot open index db: runs/index.db: ")
    assert second.endswith("Read-only file system")


def without_power(*command: str) -> list[str]:
    """A command for which permissions hold, also when root starts it."""
    if os.geteuid() != 0:
        return [*command]
    if shutil.which("setpriv") is None:
        pytest.skip("permissions don't hold root back, and there is no setpriv")
    less = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={less}", f"--inh-caps={less}", *command]


def test_folders_and_files_without_permission(folder: Path) -> None:
    """What can't be read is said; what can't be read of the memos runs again, which is told."""
    before = without_power()
    program(folder)
    runs = folder / "runs"
    assert sema(folder, "workflow", "run", "w.sema", "--run-dir", "runs", "-q").status == 0
    run = only_run(runs)

    def told(*args: str) -> tuple[int, str]:
        ended = sema(folder, "workflow", *args, "--run-dir", "runs", before=before)
        return ended.status, ended.out + ended.err

    runs.chmod(0o500)
    try:
        status, text = told("run", "w.sema", "-q")
        assert (status, text.count("Permission denied")) == (1, 1)
    finally:
        runs.chmod(0o700)
    (run / "events.jsonl").chmod(0)
    try:
        for args in (("show", run.name), ("export", run.name), ("run", "w.sema", "--resume", run.name)):
            status, text = told(*args)
            assert status in (1, 2)
            assert "Permission denied" in text
        assert told("list")[0] == 0
    finally:
        (run / "events.jsonl").chmod(0o600)
    assert calls(folder) == ["one", "two", "three"]
    for name in ("memo", "memo.jsonl", "metadata.json", "result.json"):
        if (run / name).exists():
            (run / name).chmod(0)
    assert told("show", run.name)[0] == 0
    status, text = told("run", "w.sema", "-q", "--resume", run.name)
    assert (status, len(calls(folder))) == (0, 6)
    assert f"warning: runs/{run.name}: Permission denied: " in text


def test_a_file_where_a_folder_should_be(folder: Path) -> None:
    """In the place of the memos, of the log of memos, of the results: the run goes on, and can be read."""
    program(folder)
    for name in ("memo", "memo.jsonl", "metadata.json", "result.json"):
        run = folder / "runs" / f"in-the-way-{name}"
        run.mkdir()
        (run / name).mkdir() if "." in name else (run / name).write_text("in the way")
        done = sema(folder, "workflow", "run", "w.sema", "--run-dir", "runs", "-q", SEMA_WORKFLOW_RUN_ID=run.name)
        assert done.status == 0, done.err
        again = sema(folder, "workflow", "run", "w.sema", "--run-dir", "runs", "-q", "--resume", run.name)
        assert again.status == 0, again.err
        assert not [one for one in os.listdir(run) if one.endswith(".tmp")]
    readable(folder / "runs", folder / "out")
    assert len(calls(folder)) == 4 * 3  # whichever of both is in the way, the other keeps the results


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_no_file_in_the_place_of_a_journal(make: Callable[[Path], None], folder: Path) -> None:
    (folder / "runs" / "a").mkdir()
    make(folder / "runs" / "a" / "events.jsonl")
    done = flow(folder, '(defworkflow w "" {} 1)', SEMA_WORKFLOW_RUN_ID="a")
    assert (done.status, 'a workflow run journal for "a" already exists' in done.err) == (1, True)
    for option in ("--resume", "--fork"):
        done = flow(folder, '(defworkflow w "" {} 1)', option, "a")
        assert (done.status, done.err) == (1, f"error: no prior run to {option[2:]} at runs/a/events.jsonl\n")
    assert said(workflow_show.main, "a", "--run-dir", str(folder / "runs"))[0] == 2
