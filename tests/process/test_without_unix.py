"""Programs where os, signal and select lack what Windows lacks: they work, or say what the system has not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from paths import TESTS

WITHOUT_UNIX = str(TESTS / "support" / "without_unix.py")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, WITHOUT_UNIX, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    done = run(tmp_path, "--import")
    assert (done.returncode, done.stderr) == (0, "")


PROGRAMS = {
    '(file/write "a.txt" "one\\n") (file/append "a.txt" "two\\n") (println (file/read-lines "a.txt"))': '("one" "two")',
    '(file/write "a" "x") (file/copy "a" "b") (file/rename "b" "c") (println (file/read "c"))': "x",
    '(kv/open "s" "s") (println (try (kv/set "s" "a" 1) (catch e (string/contains? (:message e) "no file locks"))))': (
        "#t"
    ),
    "(println (await (async (+ 1 2))))": "3",
    "(println (string? (sys/arch)) (string? (sys/hostname)) (nil? (sys/tty)))": "#t #t #t",
    '(println (try (pty/spawn (list "true")) (catch e (:message e))))': "pty/spawn: this system has no Unix terminals",
    '(py/import "json") (println (json.dumps {:a 1}))': '{"a": 1}',
    '(println (eval (read "(+ 1 2)")))': "3",
}


def test_programs(tmp_path: Path) -> None:
    """All in one process: it takes seconds to import what others import."""
    (tmp_path / "main.sema").write_text("\n".join(PROGRAMS))
    done = run(tmp_path, "main.sema")
    assert (done.stdout.splitlines(), done.stderr) == (list(PROGRAMS.values()), "")


def test_errors_are_shown(tmp_path: Path) -> None:
    (tmp_path / "main.sema").write_text("(define (f x) (car x))\n(f 5)")
    done = run(tmp_path, "main.sema")
    assert done.returncode == 1 and "expected list or vector, got int" in done.stderr


def test_compiling_and_checking(tmp_path: Path) -> None:
    (tmp_path / "main.sema").write_text("(println 5)")
    assert run(tmp_path, "compile", "main.sema").returncode == 0 and (tmp_path / "main.py").exists()
    assert run(tmp_path, "check", "main.sema").returncode == 0


def test_workflows_say_that_they_need_locks(tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_text(
        '(defworkflow w "a workflow" {:phases ["a"]} (phase "a") (checkpoint :x 1) {:status :success :result 3})'
    )
    done = run(tmp_path, "workflow", "run", "w.sema", "--run-dir", "runs")
    assert done.returncode == 1 and "this system has no file locks" in done.stderr


def test_eval_says_what_it_needs(tmp_path: Path) -> None:
    done = run(tmp_path, "eval", "--expr", "1")
    assert done.returncode == 1 and "sema eval needs processes of its own (fork)" in done.stderr
