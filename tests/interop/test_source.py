"""The source of Sema functions and classes in Python's tools: inspect, pdb, IPython."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from semac import importer

SOURCE = """(define greeting "hi")
(define counter (let ((n 0)) (lambda () (set! n (+ n 1)) n)))
(define (greet name)
  "Greets."
  (string-append greeting " " name))
(define-record-type point (make-point x y) point? (x point-x))
(py/class Shape
  "A shape."
  (py/def (area self)
    1))
"""
GREET = """(define (greet name)
  "Greets."
  (string-append greeting " " name))
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "with_source.sema").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    importer.install()
    yield importlib.import_module("with_source")
    sys.modules.pop("with_source")


def test_functions_and_classes(module: Any) -> None:
    assert inspect.getsource(module.greet) == GREET
    assert inspect.getsource(module.counter) == SOURCE.split("\n")[1] + "\n"
    assert inspect.getsource(module.Point) == SOURCE.split("\n")[5] + "\n"
    assert inspect.getsource(module.Shape).startswith("(py/class Shape") and "1))" in inspect.getsource(module.Shape)
    assert inspect.getsource(module.Shape.area) == "  (py/def (area self)\n    1))\n"
    assert inspect.getsource(module) == SOURCE and inspect.getdoc(module.Point) is not None


def test_python_is_as_before() -> None:
    assert inspect.getsource(test_python_is_as_before).startswith("def test_python_is_as_before")


def test_longlist_of_pdb(tmp_path: Path, module: Any) -> None:
    (tmp_path / "debugged.py").write_text(
        "import semac.importer, pdb\nsemac.importer.install()\n"
        "from with_source import greet\npdb.runcall(greet, 'you')\n"
    )
    done = subprocess.run(
        [sys.executable, tmp_path / "debugged.py"], input="ll\nc\n", capture_output=True, text=True, timeout=60
    )
    assert "Greets." in done.stdout and "define-record-type" not in done.stdout and done.returncode == 0, done.stderr


def test_question_marks_of_ipython(module: Any) -> None:
    oinspect = pytest.importorskip("IPython.core.oinspect", reason="pip install 'semac[dev-interop]'")
    assert oinspect.getsource(module.greet) == GREET
