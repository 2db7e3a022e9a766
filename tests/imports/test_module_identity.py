"""One module for a file, however it is reached: `import`, `(import ...)`; pickled, reloaded, beside .py files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CORE = "(define-record-type point (make-point x) point? (x point-x))\n(define (f) 1)\n(define runs (py/list))\n"
HOOK = "import semac.importer; semac.importer.install()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "pk"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("from pk.core import f\nvalue = f() + 1\n")
    (package / "core.sema").write_text(CORE)
    (package / "two.sema").write_text('(import "./core.sema")\n(py/from "pk.helper" value)\n(define g f)\n')
    return tmp_path


def python(folder: Path, text: str, *options: str) -> str:
    (folder / "script.py").write_text(HOOK + text)
    command = [sys.executable, *options, "script.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_ways_give_one_module(folder: Path) -> None:
    text = """
import pk.two, pk.core, pickle, importlib, sys
assert pk.two.g is pk.core.f and pk.core.__name__ == pk.core.f.__module__ == "pk.core" and pk.two.value == 2
assert pickle.loads(pickle.dumps(pk.core.f)) is pk.core.f
point = pk.core.make_point(1)
assert pickle.loads(pickle.dumps(point)).x == 1
assert importlib.reload(pk.core) is pk.core and pk.core.__file__.endswith("core.sema")
assert not [name for name in sys.modules if "@" in name]
"""
    python(folder, text)


def test_a_program_imports_a_package_by_its_path(folder: Path) -> None:
    (folder / "main.sema").write_text('(import "pk/core.sema")\n(println (.-__module__ f))')
    done = subprocess.run(
        [Path(sys.executable).with_name("sema"), "main.sema"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("pk.core\n", "")


def test_a_name_that_means_something_else_is_not_taken(folder: Path) -> None:
    (folder / "json.sema").write_text("(define mine 1)")
    (folder / "main.sema").write_text(
        '(import "json.sema")\n(define (f) 1)\n(println mine (.loads (py/module "json") "[1]"))'
    )
    done = subprocess.run(
        [Path(sys.executable).with_name("sema"), "main.sema"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "1 (1)\n"


def test_spawned_processes_find_the_functions(folder: Path) -> None:
    (folder / "pk" / "work.sema").write_text("(define (double x) (* 2 x))")
    text = """
import multiprocessing, pk.work
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(pk.work.double, [1, 2]))
"""
    assert python(folder, text) == "[2, 4]\n"
