"""Python's own pdb on Sema programs: breakpoints in tasks and in macros' expansions, errors after the fact."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SEMA = str(Path(sys.executable).with_name("sema"))
MACROS = """(defmacro stop (x)
  `(let ((y ,x))
     (breakpoint)
     y))
(defmacro twice (x)
  (if (number? x)
    (car x)
    `(list ,x ,x)))
"""
FAILING = """(define (g a)
  (let ((inner (* a 5)))
    (car inner)))
(define (h x)
  (println "h")
  (apply g (list (+ x 1))))
(h 3)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "macros.sema").write_text(MACROS)
    (tmp_path / "failing.sema").write_text(FAILING)
    return tmp_path


def session(folder: Path, commands: str, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, input=commands, capture_output=True, text=True, timeout=60)
    return done.stdout


def test_post_mortem_stands_in_the_function_that_failed(folder: Path) -> None:
    (folder / "host.py").write_text(
        "import semac.importer, pdb\nsemac.importer.install()\n"
        "try:\n    import failing\nexcept Exception:\n    pdb.post_mortem()\n"
    )
    said = session(folder, "p inner\nll\nu\np x\nw\nq\n", sys.executable, "host.py")
    assert "failing.sema(3)g()" in said and "(Pdb) 20" in said and "3  ->\t    (car inner)))" in said
    assert "failing.sema(6)h()" in said and "(Pdb) 3" in said
    assert "sema_runtime" not in said and "semac" not in said.replace("semac.importer", "")


def test_a_breakpoint_in_a_task(folder: Path) -> None:
    (folder / "task.sema").write_text(
        "(define (g a)\n  (let ((inner 5))\n    (breakpoint)\n    (+ a inner)))\n(println (await (async (g 3))))"
    )
    said = session(folder, "p inner, a\nll\nw\nc\n", SEMA, "task.sema")
    assert "(5, 3)" in said and "(let ((inner 5))" in said and said.endswith("8\n") and "scheduler.py" not in said


def test_a_breakpoint_in_a_macros_expansion(folder: Path) -> None:
    (folder / "main.sema").write_text(
        '(import "macros.sema")\n(define (f a)\n  (let ((twice-a (* a 2)))\n    (stop twice-a)))\n(println (f 21))'
    )
    said = session(folder, "p y\nll\nc\n", SEMA, "main.sema")
    assert "main.sema(4)f()" in said and "(Pdb) 42" in said and "(stop twice-a)))" in said and said.endswith("42\n")


def test_an_error_inside_of_a_macro_names_its_file(folder: Path) -> None:
    (folder / "main.sema").write_text('(import "macros.sema")\n(define (f a)\n  (twice 5))\n')
    done = subprocess.run([SEMA, "main.sema"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert "--> main.sema:3:3" in done.stderr and "at car (macros.sema:7:5)" in done.stderr
    assert "while expanding the macro 'twice'" in done.stderr


def test_pdb_of_python_is_as_before(folder: Path) -> None:
    (folder / "plain.py").write_text(
        "import semac.importer, pdb\nsemac.importer.install()\n"
        "def f(x):\n    return 1 / x\ntry:\n    f(0)\nexcept Exception:\n    pdb.post_mortem()\n"
    )
    assert "plain.py(4)f()" in session(folder, "w\nq\n", sys.executable, "plain.py")
