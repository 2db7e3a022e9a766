"""What the tests of faults share: programs that count their calls, run by the command in a process of its own, and a
look at what is left, which every command must be able to read whatever happened."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import urlopen

import pytest

from sema_runtime.workflow.read.recorded_run import open_run, run_ids
from semac.cli.workflow import export as workflow_export
from semac.cli.workflow import show as workflow_show
from semac.cli.workflow.list import index_main, list_main

SEMA = [sys.executable, "-m", "semac.cli.entry"]
ENV = {name: value for name, value in os.environ.items() if not name.startswith("SEMA_WORKFLOW_")} | {"CI": "1"}
PYTHON_NOISE = ("Traceback (most recent call last)", "Exception ignored", "was never awaited", "Exception in ")
PROVIDER = """
(llm/define-provider :counting
  {:default-model "counting"
   :complete (fn (req)
               (let ((prompt (:content (last (:messages req)))))
                 (file/append "calls.txt" (str prompt "\\n"))
                 {:content (str "<" prompt ">") :usage {:prompt-tokens 3 :completion-tokens 2}}))})
"""
"""Notes every call in calls.txt."""


class Ended:
    """How a command ended. status: negative when a signal ended it."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err
        for noise in PYTHON_NOISE:
            assert noise not in err, err


def sema(folder: Path, *args: str, before: list[str] | None = None, **more: Any) -> Ended:
    """Runs `sema ARGS` in a folder. before: a command that runs it. more: variables of the environment."""
    command = [*(before or []), *SEMA, *args]
    done = subprocess.run(
        command, cwd=folder, env=ENV | more, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    return Ended(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def flow(folder: Path, text: str, *args: str, **more: Any) -> Ended:
    """Writes a program to w.sema and runs its workflow; the runs are in `runs`."""
    (folder / "w.sema").write_text(text)
    return sema(folder, "workflow", "run", "w.sema", "--run-dir", "runs", *args, **more)


def calls(folder: Path) -> list[str]:
    """What the provider was asked so far."""
    file = folder / "calls.txt"
    return file.read_text().splitlines() if file.exists() else []


def only_run(root: Path) -> Path:
    (name,) = run_ids(str(root))
    return root / name


def events(run: Path, name: str = "events.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / name).read_text().splitlines()]


def said(main: Callable[[list[str]], int], *args: str) -> tuple[int, str]:
    """(status, what was printed) of a command that looks at runs, run in this process."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        status = main([*args])
    return status, printed.getvalue()


def readable(root: Path, out: Path) -> None:
    """Asserts that the commands that look at runs can read all of them. out: a folder for what they write."""
    names = run_ids(str(root))
    begun = {name for name in names if open_run(str(root), name).workflow}
    status, listed = said(list_main, "--run-dir", str(root), "--json")
    assert status == 0
    assert begun <= {row["run_id"] for row in json.loads(listed)} <= {*run_ids(str(root))}
    status, printed = said(index_main, "--run-dir", str(root))
    assert status == 0, printed
    for name in names:
        status, printed = said(workflow_show.main, name, "--run-dir", str(root))
        assert status == 0, printed
        status, printed = said(workflow_show.main, name, "--run-dir", str(root), "--json")
        assert json.loads(printed)["run_id"] == name
        status, printed = said(workflow_export.main, name, "--run-dir", str(root), "--out-dir", str(out / name))
        assert status == 0, printed
    shutil.rmtree(out, ignore_errors=True)
    viewed(root, names)


def viewed(root: Path, names: list[str]) -> None:
    """Asserts that the viewer serves these runs."""
    from sema_runtime.workflow.viewer.server import Viewer

    viewer = Viewer(root, port=0)
    viewer.start()
    try:

        def asked(path: str) -> Any:
            with urlopen(f"{viewer.url}/api/{path}", timeout=20) as answer:
                return json.loads(answer.read())

        assert {row["run"] for row in asked("list")["runs"]} >= {*names}
        for name in names:
            before = open_run(str(root), name)
            assert asked(f"run/{name}/summary")["status"]
            assert asked(f"run/{name}/events")["total"] >= before.events_read
    finally:
        Thread(target=viewer.stop).start()  # which takes a moment that nobody has to wait for


@cache
def unshared() -> bool:
    """Whether this machine lets a test have mounts of its own."""
    try:
        tried = subprocess.run(
            ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
        )
    except FileNotFoundError:
        return False
    return tried.returncode == 0


needs_mounts = pytest.mark.skipif(
    "not __import__('workflow_trouble').unshared()", reason="no mounts of our own: unshare -rm"
)


IN_SHELL = {"SEMA": "|".join(SEMA)}  # our folder's name may have spaces
SPLIT = "IFS='|'\n"  # what a script begins with in which `$SEMA` is the command


def inside(script: str, folder: Path, **more: Any) -> Ended:
    """Runs a shell script in a folder, as root of a namespace with mounts of its own; `$SEMA` is the command."""
    environment = ENV | more | IN_SHELL
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-e", "-c", SPLIT + script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def shell(folder: Path, script: str) -> Ended:
    """A shell script in which `$SEMA` is the command."""
    done = subprocess.run(
        ["bash", "-c", SPLIT + script], cwd=folder, env=ENV | IN_SHELL, capture_output=True, text=True, timeout=60
    )
    return Ended(done.returncode, done.stdout, done.stderr)


# A run that has ended

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
