"""In a sandbox there is no way to Python: every form and builtin is denied, before it has any effect."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from outcomes import outcome
from paths import ROOT

from sema_runtime import capabilities
from sema_runtime.catalogue_index import INDEX

FORMS = {
    '(py/import "os")': "py/import",
    '(py/import "os" :as files)': "py/import",
    '(py/from "os" system)': "py/from",
    "(py/call car '(1))": "py/call",
    "(py/get '(1) 0)": "py/get",
    "(py/get '(1) 0 nil)": "py/get",
    "(map py/get '((1)) '(0))": "py/get",
    '(py/with (f (error "not reached")) f)': "py/with",
    '(.upper "a")': ".upper",
    '(.upper (error "not reached"))': ".upper",
    "(map .upper '())": ".upper",
    "(.-__class__ car)": ".-__class__",
    "(.-__globals__ (fn () 1))": ".-__globals__",
    "(set! (.-__code__ car) 1)": ".-__code__",
    '(py/import "os") (os.system "true")': "py/import",
    '(py/getattr car "__globals__")': "py/getattr",
    '((fn (f) (f "os")) py/module)': "py/module",
    '(apply py/module \'("os"))': "py/module",
    '(eval \'(.upper "a"))': ".upper",
    '(eval (list (string->symbol ".upper") "a"))': ".upper",
    '(eval (read "(py/import \\"os\\")"))': "py/import",
    '(defmacro m () \'(.upper "a")) (m)': ".upper",
    "(breakpoint)": "breakpoint",
}


@pytest.fixture
def sandbox() -> Iterator[None]:
    before = set(capabilities.denied)
    capabilities.restrict(["shell"])  # whatever is denied, Python is too
    yield
    capabilities.denied.clear()
    capabilities.denied.update(before)


@pytest.mark.parametrize("source", FORMS)
@pytest.mark.usefixtures("sandbox")
def test_forms_are_denied(source: str) -> None:
    assert outcome(source) == f"! Permission denied: {FORMS[source]} requires 'python' capability"


@pytest.mark.parametrize("use", ['(os.system "true")', "os.environ", '(system "true")'])
@pytest.mark.usefixtures("sandbox")
def test_names_stay_unbound_when_the_denial_is_caught(use: str) -> None:
    name = use.strip("()").split()[0]
    source = f'(try (py/import "os") (catch e nil)) (try (py/from "os" system) (catch e nil)) {use}'
    assert outcome(source) == f"! Unbound variable: {name}"


@pytest.mark.usefixtures("sandbox")
def test_the_denial_can_be_caught_and_nothing_else_is_lost() -> None:
    denied = '(try (py/import "os") (catch e (list (:type e) (:function e) (:capability e))))'
    assert outcome(denied) == '(:permission-denied "py/import" "python")'
    assert outcome("(define (f) (.upper 1)) (list 1 (quote .upper))") == "(1 .upper)"
    assert outcome("math") == "! Unbound variable: math"  # nor do modules of the compiled code show


def test_every_builtin_of_the_family_is_guarded() -> None:
    family = {name: entry for name, entry in INDEX.items() if name.startswith("py/")}
    assert family and all(entry[5] == "python" for entry in family.values())


def sema(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
    command = [sys.executable, "-m", "semac.cli.entry", *args]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("options", [["--sandbox", "strict"], ["--sandbox", "no-network"], ["--allowed-paths", "."]])
def test_code_compiled_outside_does_not_run_inside(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "lib.sema").write_text('(py/import "os")\n(define here (os.getcwd))\n')
    (tmp_path / "prog.sema").write_text('(import "lib.sema")\n(println (string? here))\n')
    free = sema(tmp_path, "prog.sema")
    assert (free.returncode, free.stdout) == (0, "#t\n")
    stored = {path: path.read_bytes() for path in (tmp_path / "__pycache__").iterdir()}
    assert len(stored) == 2
    bound = sema(tmp_path, *options, "prog.sema")
    assert bound.returncode == 1 and bound.stdout == ""
    assert "Permission denied: py/import requires 'python' capability" in bound.stderr
    assert {path: path.read_bytes() for path in (tmp_path / "__pycache__").iterdir()} == stored
    assert sema(tmp_path, "prog.sema").stdout == "#t\n"


def test_a_program_can_not_plant_a_module(tmp_path: Path) -> None:
    """The runtime loads parts of the standard library late: never from where a sandboxed program may write."""
    (tmp_path / "fractions.py").write_text("print('planted')\nclass Fraction: pass\n")
    (tmp_path / "prog.sema").write_text("(println (/ 1 3))\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runtime")])}
    command = [sys.executable, "-c", "from semac.cli.entry import main; main()", "--sandbox", "no-shell", "prog.sema"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "planted" not in done.stdout
