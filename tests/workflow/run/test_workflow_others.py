"""Runs that other programs want, or several processes at once."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from workflow_trouble import ENV, FLOW, PROVIDER, SEMA, calls, events, flow, only_run, readable, resumed, said, sema
from workflow_trouble import finished as finished
from workflow_trouble import run as run

from sema_runtime.workflow.read.recorded_run import open_run
from semac.cli.workflow import diff as workflow_diff
from semac.cli.workflow import export as workflow_export
from semac.cli.workflow import show as workflow_show
from semac.cli.workflow.run import main as run_main

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


def test_a_program_with_several_workflows(tmp_path: Path) -> None:
    """The one whose run is resumed goes on; the others, and the same once more, are new runs."""
    text = (
        PROVIDER
        + """
        (define (two n) (defworkflow two "" {} (step (str "two " n)) (if (env "FAIL") (error "no") 1)))
        (list (defworkflow one "" {} (step "one")) (two 1) (two 2))"""
    )
    assert flow(tmp_path, text, "-q", FAIL="1").status == 0
    runs = sorted((tmp_path / "runs").iterdir(), key=lambda run: int(run.name.rpartition("_")[2]))  # as they began
    assert calls(tmp_path) == ["one", "two 1", "two 2"]
    done = sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "runs", "-q", "--resume", runs[1].name)
    assert done.status == 0, done.err
    assert calls(tmp_path)[3:] == ["one", "two 2"]
    assert [len([*run.glob("events*")]) for run in runs] == [1, 2, 1]
    assert json.loads((runs[1] / "result.json").read_text())["status"] == "success"
    assert len([*(tmp_path / "runs").iterdir()]) == 5


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
