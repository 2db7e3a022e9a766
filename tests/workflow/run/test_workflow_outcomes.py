"""How a run has ended is the same word wherever it is told: that of the envelope, where the body has returned one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import workflow_journals as journals
from terminal_support import environment
from viewer_support import viewer as viewer

from sema_runtime.workflow.evidence import collected
from sema_runtime.workflow.read import index
from sema_runtime.workflow.read.recorded_run import open_run
from sema_runtime.workflow.viewer.server import Viewer

FLOW = """
(define (inner) (defworkflow inner "" {} {:status :failed :why "none"}))
(defworkflow outer "" {} (phase "A") (checkpoint :inner (:status (inner))) ENVELOPE)
"""
ENDS = [  # envelope, word, exit status
    ('{:status :failed :error "two of three"}', "failed", 1),
    ("{:status :partial}", "partial", 0),
    ('{:status "half done"}', "half done", 0),
    ("{:status :success}", "success", 0),
    ("{:status :running}", "success", 0),  # it has ended
    ("{:status 5}", "success", 0),
    ("7", "success", 0),
    ('(error "broken")', "failed", 1),
]


def sema(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "semac.cli.entry", "workflow", *args]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=60)


def ask(viewer: Viewer, path: str) -> Any:
    with urlopen(f"{viewer.url}/api/{path}", timeout=30) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize(("envelope", "word", "status"), ENDS)
def test_one_word_everywhere(envelope: str, word: str, status: int, tmp_path: Path, viewer: Viewer) -> None:
    (tmp_path / "w.sema").write_text(FLOW.replace("ENVELOPE", envelope))
    ran = sema(tmp_path, "run", "w.sema", "--run-dir", "runs")
    assert ran.returncode == status
    assert f"outer: {word} " in ran.stderr and "inner: failed in" in ran.stderr
    rows = {row["workflow"]: row for row in json.loads(sema(tmp_path, "list", "--run-dir", "runs", "--json").stdout)}
    outer = rows["outer"]["run_id"]
    assert {name: row["status"] for name, row in rows.items()} == {"outer": word, "inner": "failed"}
    assert f" {word} " in sema(tmp_path, "list", "--run-dir", "runs").stdout
    text = sema(tmp_path, "show", outer, "--run-dir", "runs").stdout.splitlines()
    assert text[0].endswith(word) or f" {word}: " in text[0]
    assert "✗ failed" in text[next(at for at, line in enumerate(text) if line == "runs inside:") + 1]
    shown = json.loads(sema(tmp_path, "show", outer, "--run-dir", "runs", "--json").stdout)
    assert (shown["status"], [one["status"] for one in shown["nested"]]) == (word, ["failed"])
    run = open_run(tmp_path / "runs", outer)
    assert run.status == run.totals.status == collected(run)["status"] == word
    assert {row["run"]: row["status"] for row in ask(viewer, "list")["runs"]}[outer] == word
    assert ask(viewer, f"run/{outer}/summary")["status"] == word
    assert {row["run_id"]: row["status"] for row in ask(viewer, "index/runs")}[outer] == word
    compared = json.loads(sema(tmp_path, "diff", outer, outer, "--run-dir", "runs", "--json").stdout)
    assert f'"status": "{word}"' in json.dumps(compared)


def test_an_envelope_that_comes_later_counts(tmp_path: Path, viewer: Viewer) -> None:
    """As other implementations write it, behind the end of the journal, when somebody has looked already."""
    run = journals.Segment("w", "a")
    run.end("success")
    folder = journals.written(viewer.root, "a", run)

    def told() -> set[str]:
        (row,), (listed,) = index.rows(str(viewer.root)), ask(viewer, "list")["runs"]
        return {row["status"], listed["status"], ask(viewer, "run/a/summary")["status"]}

    (folder / "result.json").unlink(missing_ok=True)
    assert told() == {"success"}
    (folder / "result.json").write_text('{"status": "failed"}')
    assert told() == {"failed"}
    (folder / "result.json").write_text('{"status": ')
    assert told() == {"success"}


def test_view_begins_with_the_run_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_text(FLOW.replace("ENVELOPE", "1"))
    sema(tmp_path, "run", "w.sema")
    ids = {row["workflow"]: row["run_id"] for row in json.loads(sema(tmp_path, "list", "--json").stdout)}
    for asked, begun in (("latest", ids["outer"]), (ids["inner"], ids["inner"])):
        command = [sys.executable, "-m", "semac.cli.entry", "workflow", "view", asked, "-p", "0"]
        with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().rstrip().endswith(f"/?run={begun}")
            process.kill()
    refused = sema(tmp_path, "view", "nowhere", "-p", "0")
    assert (refused.returncode, refused.stderr) == (2, "error: no run 'nowhere' in .sema/runs\n")
