"""What finds a mutant: each judge is run in a process that has imported the mutated module, until one objects."""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from mutants.mutants import Mutant

SECONDS = 150  # of CPU time for all judges of a mutant
CHANGED: list[int] = []  # how many programs became other Python, for a mutant that no judge objects to


class Expected(NamedTuple):
    """A program, the mode in which it is compiled, what it gives, and a digest of the Python that it becomes."""

    text: str
    mode: str
    outcome: tuple[Any, ...]
    code: str


class Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the source of a mutant in place of a module."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = ".".join(mutant.path.with_suffix("").parts).removesuffix(".__init__")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(self.mutant.path))

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.source, f"<mutant of {self.name}>", "exec"), module.__dict__)


def judged(mutant: Mutant | None, judges: Sequence[tuple[str, Callable[[], str | None]]]) -> tuple[str, str]:
    """(judge, objection) for a mutant, or for the compiler as it is; ("", "") where none objects."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read)
        verdict = ("", "")
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
            resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30))
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            if mutant is not None:
                sys.meta_path.insert(0, Importer(mutant))
            for name, judge in judges:
                try:
                    objection = judge()
                except BaseException:  # also of the compiler
                    objection = traceback.format_exc(limit=-2)[-400:]
                if objection is not None:
                    verdict = (name, objection)
                    break
        finally:
            if verdict == ("", "") and CHANGED:
                verdict = ("", f"{CHANGED[-1]} programs become other Python" if CHANGED[-1] else "")
            os.write(write, json.dumps(verdict).encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answers:
        data = answers.read()
    _, status = os.waitpid(process, 0)
    if not data:
        return "crash", f"signal {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else str(status)
    name, objection = json.loads(data)
    return name, objection


def goldens(folder: Path) -> Callable[[], str | None]:
    """Whether golden programs become the Python that is written down."""

    def judge() -> str | None:
        from semac.pipeline import compile_source

        for path in sorted(folder.glob("*.txt")):
            source, _, python = path.read_text("utf-8").partition("\n----\n")
            if python and compile_source(source, "golden.sema", is_text=True).python_text().strip() not in python:
                return path.name
        return None

    return judge


def programs(expected: list[Expected]) -> Callable[[], str | None]:
    """Whether programs that become other Python than before give what plain code gave before the change.

    They run with units verified and types asserted. Where no program becomes other Python the mutant isn't reached, or
    does the same.
    """

    def judge() -> str | None:
        from programs.configurations import configuration
        from programs.outcome import Outcome, different, outcome

        from mutants.answers import IGNORED, code_of

        option = configuration("asserted")
        changed = 0
        for text, mode, values, code in expected:
            if code_of(text, mode) == code:
                continue
            changed += 1
            known = Outcome(*values[:-1], tuple(values[-1]))
            found = outcome(text, mode, option, 4.0)
            if found.ending != "endless" and not found.countable:
                continue
            how = different(mode, known, found, IGNORED)
            if how is not None:
                return f"{how}\n{text}"[:600]
        CHANGED.append(changed)
        return None

    return judge


def tests(paths: Sequence[str]) -> Callable[[], str | None]:
    """Whether tests pass."""

    def judge() -> str | None:
        import pytest

        class Failures:
            first = ""

            def pytest_runtest_logreport(self, report: Any) -> None:
                if report.failed and not self.first:
                    self.first = report.nodeid

        failures = Failures()
        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *paths], plugins=[failures])
        return None if status == 0 else f"{failures.first or status}"

    return judge
