"""Workflows in surroundings that lack something: pipes that nobody reads, closed streams, no HOME, no directory, names
that are no text."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from workflow_trouble import ENV, PROVIDER, SEMA, calls, events, only_run, readable, said, sema, shell

from semac.cli.workflow import show as workflow_show
from semac.cli.workflow.list import list_main

# Streams


CHATTY = (
    PROVIDER
    + """(defworkflow w "" {} (step "one")
  (map (fn (n) (workflow/step "say" (fn () (println (string/repeat "line " 50)) n))) (range 100)) 1)"""
)


def test_nobody_reads_the_output(tmp_path: Path) -> None:
    """`| head -1`: the step that prints fails, and with it the run; it can be resumed where somebody reads."""
    (tmp_path / "w.sema").write_text(CHATTY)
    ended = shell(tmp_path, "set -o pipefail; $SEMA workflow run w.sema --run-dir runs -q | head -1 > first.txt")
    assert ended.status == 1
    assert (tmp_path / "first.txt").read_text().startswith("line line")
    run = only_run(tmp_path / "runs")
    assert events(run)[-1]["status"] == "failed"
    readable(tmp_path / "runs", tmp_path / "out")
    assert sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "runs", "--resume", run.name).status == 0
    assert calls(tmp_path) == ["one"]


def test_nobody_reads_the_progress_and_closed_streams(tmp_path: Path) -> None:
    """The run goes on without."""
    (tmp_path / "w.sema").write_text(CHATTY)
    for redirected in ("2>&1 >/dev/null | head -1", ">&-", "2>&- >/dev/null", "<&- >&- 2>&-"):
        ended = shell(tmp_path, f"set -o pipefail; $SEMA workflow run w.sema --run-dir runs {redirected}")
        assert ended.status == 0, (redirected, ended.err)
    assert calls(tmp_path) == ["one"] * 4
    runs = list((tmp_path / "runs").iterdir())
    assert all(events(run)[-1]["status"] == "success" for run in runs)
    for command in ("list", f"show {runs[0].name} --all"):
        ended = shell(tmp_path, f"$SEMA workflow {command} --run-dir runs | head -c1 > /dev/null")
        assert (ended.status, ended.err) == (0, "")
        assert shell(tmp_path, f"$SEMA workflow {command} --run-dir runs >&-").status == 0
    readable(tmp_path / "runs", tmp_path / "out")


# Surroundings


def test_no_home(tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_text('(defworkflow w "" {} (workflow/step "a" (fn () 1)))')
    command = [*SEMA, "workflow", "run", "w.sema", "--run-dir", "runs"]
    path = {name: value for name, value in ENV.items() if name == "PYTHONPATH"}
    for home in ({}, {"HOME": ""}, {"HOME": "/no/such/folder"}, {"HOME": "/dev/null"}):
        environment = home | path
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("success")) == (0, 1), done.stderr
    readable(tmp_path / "runs", tmp_path / "out")


def test_a_current_directory_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_text('(defworkflow w "" {} (println "body"))')
    script = f"""mkdir gone; cd gone; rmdir ../gone
        $SEMA workflow run ../w.sema; echo $?
        $SEMA workflow run {tmp_path}/w.sema; echo $?
        $SEMA workflow list; echo $?
        $SEMA workflow show; echo $?
        $SEMA workflow run {tmp_path}/w.sema --run-dir {tmp_path}/runs -q; echo $?"""
    ended = shell(tmp_path, script)
    assert ended.out.split() == ["1", "1", "No", "runs", "in", ".sema/runs.", "0", "2", "body", "0"]
    assert "Error: the current directory doesn't exist any more" in ended.err
    assert "Error: workflow/run: .sema: No such file or directory" in ended.err
    readable(tmp_path / "runs", tmp_path / "out")


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """Of the program, of the folder of runs, in the arguments, as an id of a run."""
    folder = os.fsencode(tmp_path)
    with open(os.path.join(folder, b"pro\xff.sema"), "w") as file:
        file.write('(defworkflow w "" {} (workflow/step "a" (fn () *workflow-args*)))')
    command = [os.fsencode(one) for one in SEMA] + [b"workflow", b"run", b"pro\xff.sema", b"--run-dir", b"runs\xff"]
    environment = ENV | {"SEMA_WORKFLOW_RUN_ID": os.fsdecode(b"id\xff")}
    done = subprocess.run(
        [*command, b"--args", b'{"a":"\xff"}'], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    root = tmp_path / os.fsdecode(b"runs\xff")
    assert os.listdir(os.fsencode(root)) == [b"id\xff"]
    for journal in root.glob("*/events.jsonl"):
        for line in journal.read_text(encoding="utf-8").splitlines():  # whatever came in, what is written is UTF-8
            json.loads(line)
    assert said(list_main, "--run-dir", str(root))[0] == 0
    assert said(workflow_show.main, "--run-dir", str(root))[0] == 0
    again = subprocess.run([*command, b"--resume", b"id\xff"], cwd=tmp_path, env=ENV, capture_output=True, check=False)
    assert again.returncode == 0, again.stderr
    assert b"Traceback" not in done.stderr + again.stderr


def test_a_program_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_bytes(b'(defworkflow w "" {} "\xff")')
    ended = sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "runs")
    assert (ended.status, "w.sema is not UTF-8 text" in ended.err) == (1, True)
    assert not (tmp_path / "runs").exists()
