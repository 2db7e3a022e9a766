"""Compiled modules that run with the places of their sources: the same code as the import hook makes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from paths import ROOT

from sema_runtime import source_maps
from semac.packaging.modules import Settings, compiled_module
from semac.pipeline import compile_source

PROGRAMS = sorted([*(ROOT / "examples").glob("*.sema"), *(ROOT / "scripts" / "speed").glob("*/program.sema")])[::9]
SOURCE = """\
;; Orders.
(define limit -1)
(define (pick xs n)
  (let ((at (+ n 10)))
    (nth xs at)))
(define (total xs) (let loop ((n 0) (xs xs)) (if (null? xs) n (loop (+ n (car xs)) (cdr xs)))))
(define (safe xs) (try (pick xs 1) (catch e (:line (first (:stack-trace e))))))
(define (shout name) f"«${name}»\\n")
"""


def code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)


def facts(code: CodeType) -> list[tuple[Any, ...]]:
    """What tracebacks, debuggers and coverage see of code."""
    notes = [[text for text in each.co_consts if str(text).startswith("sema ")] for each in code_objects(code)]
    each = code_objects(code)
    return [
        (one.co_filename, one.co_qualname, one.co_name, one.co_firstlineno, [p[:3] for p in one.co_positions()], note)
        for one, note in zip(each, notes, strict=True)
    ]


@pytest.fixture
def mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes the module for a source; the code that it runs."""
    monkeypatch.setenv("SEMA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    def run(source: Path) -> CodeType | None:
        module = source.with_suffix(".py")
        module.write_text(compiled_module(str(source), Settings()).text, "utf-8")
        text = module.read_text("utf-8")
        return source_maps.mapped(text, str(source), source_maps.digest_in(text))

    return run


def test_the_code_has_the_places_of_the_source(tmp_path: Path, mapped: Any) -> None:
    for number, program in enumerate(PROGRAMS):
        source = tmp_path / f"m{number}.sema"
        source.write_text(program.read_text("utf-8"), "utf-8")
        unit = compile_source(source.read_text("utf-8"), str(source), "module", lists_globals=True)
        unit.packs = False  # the code of a module that is written as Python lies open
        code = mapped(source)
        assert code is not None, program
        for own, hooked in zip(facts(code), facts(unit.code), strict=True):
            assert own[:4] == hooked[:4]
            assert own[5] == hooked[5]
            if len(own[4]) == len(hooked[4]):
                different = [pair for pair in zip(own[4], hooked[4], strict=True) if pair[0] != pair[1]]
                assert all(new[:2] == old[:2] for new, old in different)  # `n = n + 1` is written as `n += 1`
            else:  # an f-string that Python 3.11 can't read is written as a call of `format`
                assert {line for line, *_ in own[4]} == {line for line, *_ in hooked[4]}


def python(folder: Path, code: str, **environment: str) -> str:
    """What a process prints that finds the runtime, the folder and the standard library."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'runtime'}{os.pathsep}{folder}", "HOME": str(folder)}
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, cwd=folder, env={**env, **environment}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


PROBE = (
    "import orders, traceback\n"
    "try:\n    orders.pick([1], 2)\nexcept Exception as error:\n"
    "    frame = traceback.extract_tb(error.__traceback__)[1]\n"
    "    print((frame.filename.rpartition('/')[2], frame.lineno, frame.line))\n"
    "print(orders.total([1, 2]), orders.safe([]), orders.shout('a'), orders.limit)"
)
SHOWN = "('orders.sema', 5, '(nth xs at)))')\n3 5 «a»\n -1\n"


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    source = tmp_path / "orders.sema"
    source.write_text(SOURCE, "utf-8")
    (tmp_path / "orders.py").write_text(compiled_module(str(source), Settings()).text, "utf-8")
    return tmp_path


def test_an_error_names_the_line_of_the_source_without_hook_and_compiler(orders: Path) -> None:
    assert python(orders, PROBE) == SHOWN
    kept = list((orders / "__pycache__").glob("orders.sema-*.pyc"))
    assert len(kept) == 1
    assert python(orders, PROBE) == SHOWN
    kept[0].write_bytes(kept[0].read_bytes()[:-9] + b"corrupted")
    assert python(orders, PROBE) == SHOWN


def test_code_is_kept_in_the_users_folder_where_the_package_cannot_be_written(orders: Path) -> None:
    (orders / "__pycache__").write_text("a file, so that no folder can be made of it")
    assert python(orders, PROBE) == SHOWN
    assert len(list((orders / ".sema" / "cache" / "modules").glob("orders-*.pyc"))) == 1
    assert python(orders, PROBE) == SHOWN


def test_a_module_whose_text_was_changed_runs_as_it_is_written(orders: Path) -> None:
    module = orders / "orders.py"
    module.write_text(module.read_text("utf-8").replace("limit = -1", "limit = -2"), "utf-8")
    assert (
        python(orders, "import orders; print(orders.limit, orders.total.__code__.co_filename[-9:])") == "-2 orders.py\n"
    )


def test_a_package_in_an_archive_shows_its_lines(orders: Path) -> None:
    import zipfile

    with zipfile.ZipFile(orders / "lib.zip", "w") as archive:
        for name in ("orders.py", "orders.sema"):
            archive.write(orders / name, name)
            (orders / name).unlink()
    path = f"{ROOT / 'runtime'}{os.pathsep}{orders / 'lib.zip'}"
    assert python(orders, PROBE, PYTHONPATH=path) == SHOWN
