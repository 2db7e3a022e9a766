"""What runs used and how long they took, with the runs inside: `list`, `show`, `diff` and the index agree."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import workflow_journals as journals
from terminal_support import environment

from sema_runtime.workflow.read import index
from sema_runtime.workflow.read.recorded_run import open_run

MODEL = """
(llm/define-provider :echo {:default-model "e" :complete (fn (request)
  {:content (:content (first (:messages request))) :usage {:prompt-tokens 10 :completion-tokens 5}})})
(llm/set-pricing "e" 1.0 1.0)
"""
NESTED = (
    MODEL
    + """
(define (innermost n) (defworkflow innermost "" {} (step (str "deep" n))))
(define (inner n) (defworkflow inner "" {} (step (str "in" n)) (innermost n)))
(defworkflow outer "" {} (phase "A") (step "own") (map inner (range 2)) (workflow/step "in a step" (fn () (inner 2))))
"""
)
WAITING = (
    MODEL
    + """
(defworkflow w "" {} (phase "A") (step "one") (step "two") (phase "B")
  (workflow/step "slow" (fn () (file/write "waits" "") (if (file/exists? "go") 1 (begin (sleep 60000) 1))))
  (step "end"))
"""
)


def sema(folder: Path, *args: str) -> Any:
    """What a command of `sema workflow` wrote to stdout; JSON as its value."""
    command = [sys.executable, "-m", "semac.cli.entry", "workflow", *args]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1, 3), done.stderr
    return json.loads(done.stdout) if "--json" in args else done.stdout


def rows_of(folder: Path) -> dict[str, Any]:
    return {row["run_id"]: row for row in sema(folder, "list", "--json")}


def agree(folder: Path, run_id: str) -> dict[str, Any]:
    """The row of a run in the list, which says the same as `show`, as text too."""
    row = rows_of(folder)[run_id]
    shown = sema(folder, "show", run_id, "--json")
    assert row["agents"] == shown["agents"] == sum(len(phase["agents"]) for phase in shown["phases"])
    assert (row["status"], row["duration_ms"]) == (shown["status"], shown["duration_ms"])
    used = shown["usage"]
    assert row["tokens"] == used["input_tokens"] + used["output_tokens"]
    assert (row["cost_usd"], row["unpriced"]) == (pytest.approx(used["cost_usd"]), used["unpriced"])
    (line,) = (one.split() for one in sema(folder, "list").splitlines() if one.startswith(f"{run_id} "))
    text = sema(folder, "show", run_id).splitlines()
    assert text[1].split()[2] == line[-4]  # the time
    (total,) = (one for one in text if one.startswith("total: "))
    assert total.startswith(f"total: {line[-3]} agent")
    assert f" {line[-2]} tokens" in total or f" {line[-2]} of " in total
    assert line[-1].rstrip("+") in total
    return row  # type: ignore[no-any-return]


def ids(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in (folder / ".sema/runs").glob("*/events.jsonl"))


def test_what_runs_inside_used_is_used_by_the_outer_one_once(tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_text(NESTED)
    sema(tmp_path, "run", "w.sema", "-q")
    rows = rows_of(tmp_path)
    assert sorted((row["workflow"], row["tokens"]) for row in rows.values()) == [
        *[("inner", 30)] * 3,
        *[("innermost", 15)] * 3,
        ("outer", 105),
    ]
    outer = next(run_id for run_id, row in rows.items() if row["workflow"] == "outer")
    for run_id in rows:
        agree(tmp_path, run_id)
    assert rows[outer]["cost_usd"] == pytest.approx(105e-6)
    shown = sema(tmp_path, "show", outer, "--json")
    assert (shown["usage"]["calls"], shown["own_usage"]["calls"]) == (7, 1)
    assert [one["usage"]["calls"] for one in shown["nested"]] == [2, 2, 2]
    text = sema(tmp_path, "show", outer)
    assert "15 tokens, $0.000015 of its own, 90 tokens, $0.000090 in 6 runs inside" in text
    assert {row["run_id"]: row["tokens"] for row in index.rows(str(tmp_path / ".sema/runs"))}[outer] == 105
    sema(tmp_path, "run", "w.sema", "-q", "--resume", outer)
    assert agree(tmp_path, outer)["tokens"] == 105
    assert "difference: +0 tokens, +$0.0000" in sema(tmp_path, "diff", outer, outer)


def test_a_fork_counts_what_it_used_itself(tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_text(NESTED)
    sema(tmp_path, "run", "w.sema", "-q")
    (outer,) = (row["run_id"] for row in rows_of(tmp_path).values() if row["workflow"] == "outer")
    sema(tmp_path, "run", "w.sema", "-q", "--fork", outer)
    (fork,) = (
        row["run_id"] for row in rows_of(tmp_path).values() if row["workflow"] == "outer" and row["run_id"] != outer
    )
    assert agree(tmp_path, fork)["tokens"] == 0
    assert agree(tmp_path, outer)["tokens"] == 105


def test_circles_and_runs_that_are_gone(tmp_path: Path) -> None:
    root = tmp_path / ".sema/runs"
    for name, inside in (("a", ["b", "gone", "../a", "b"]), ("b", ["a", "c"]), ("c", ["c"])):
        folder = journals.written(root, name, journals.review())
        (folder / "nested.jsonl").write_text(
            "".join(
                json.dumps({"key": str(n), "segment": 0, "run_id": one, "workflow": "w"}) + "\n"
                for n, one in enumerate(inside)
            )
        )
    assert [agree(tmp_path, name)["tokens"] for name in "abc"] == [30_495, 30_495, 10_165]
    assert "  w  gone  (gone)" in sema(tmp_path, "show", "a").replace("   ", "  ")


def test_killed_under_way_resumed(tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_text(WAITING)
    command = [sys.executable, "-m", "semac.cli.entry", "workflow", "run", "w.sema", "-q"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment())
    while not (tmp_path / "waits").exists():
        assert process.poll() is None
        time.sleep(0.01)
    (run_id,) = ids(tmp_path)
    row = agree(tmp_path, run_id)
    assert (row["status"], row["agents"], row["duration_ms"]) == ("running", 3, None)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert agree(tmp_path, run_id)["agents"] == 3
    if Path("/proc/locks").exists():
        assert f"note: no process writes {run_id}; to go on: sema workflow run FILE --resume" in sema(tmp_path, "list")
    (tmp_path / "go").touch()
    sema(tmp_path, "run", "w.sema", "-q", "--resume", run_id)
    row = agree(tmp_path, run_id)
    assert (row["status"], row["agents"], row["tokens"]) == ("success", 5, 45)
    assert open_run(tmp_path / ".sema/runs", run_id).totals.duration_ms == row["duration_ms"]


def test_a_pause_takes_no_time(tmp_path: Path) -> None:
    """A run that waited a day for an approval, was stopped, and resumed."""
    first, second, third = journals.Segment(), journals.Segment(at=86_400), journals.Segment(at=99_999)
    for part, status in ((first, "needs-approval"), (second, None), (third, "success")):
        part.open_phase("A")
        agent = part.start("reader")
        part.at += 5
        if status:
            part.finish(agent, 5000)
            part.end(status)
        else:
            part.start("reader")  # its event says that 5 s have passed
    journals.written(tmp_path / ".sema/runs", "a", first, second, third)
    row = agree(tmp_path, "a")
    assert (row["agents"], row["duration_ms"]) == (4, 14_000)


def test_an_index_of_an_earlier_version_is_completed(tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    root = tmp_path / ".sema/runs"
    journals.written(root, "a", journals.review())
    before = index.rows(str(root))
    with closing(sqlite3.connect(root / "index.db")) as db:
        db.executescript("DROP TABLE totals; DROP TABLE nested")
    assert index.rows(str(root)) == before
