"""Ways to compile a program, by name, for comparing them.

optimized                  all passes
plain                      SEMA_OPT=0
asserted                   all passes, units verified after each, types asserted at run time
without:PASS,PASS          all passes but some (infer, own, ...: SEMA_SKIP)
env:NAME=VALUE             all passes, with a variable of the environment set while programs are compiled and run
native                     all passes, and functions as machine code
text                       the Python that `sema compile` writes; it knows no places: --ignore trace,frames,hint
call:PACKAGE.MODULE:NAME   what that function makes of (source, filename, mode): a CompiledUnit
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import CodeType
from typing import NamedTuple

from programs.files import FILE
from semac import pipeline
from semac.optimize.passes import PASSES
from semac.pipeline import CompiledUnit

KEPT = 8
recent: dict[tuple[str, str, str], CodeType] = {}

Compile = Callable[[str, str, str], CompiledUnit]


class Configuration(NamedTuple):
    """name: as it was asked for. variables: of the environment. compile: in place of the pipeline.

    is_verified: whether units are verified after each pass.
    """

    name: str
    variables: dict[str, str]
    compile: Compile | None = None
    is_verified: bool = False

    @contextmanager
    def active(self) -> Iterator[None]:
        """While it is entered, everything is compiled in this way, also what `eval` and sessions compile."""
        before = {name: os.environ.get(name) for name in self.variables}
        os.environ.update(self.variables)
        verified, pipeline.VERIFY = pipeline.VERIFY, pipeline.VERIFY or self.is_verified
        try:
            yield
        finally:
            pipeline.VERIFY = verified
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    def compiled(self, source: str, filename: str, mode: str) -> CompiledUnit:
        """A program (mode "program") or module (mode "module") whose last value goes to the global RESULT."""
        if self.compile is not None:
            return self.compile(source, filename, mode)
        return pipeline.compile_source(source, filename, mode, result=True)

    def code(self, source: str, filename: str, mode: str) -> CodeType:
        """The code of a program; that of the last few is kept, as they run in several ways."""
        if filename != FILE:  # what it is depends on other files
            return self.compiled(source, filename, mode).code
        key = self.name, source, mode
        found = recent.pop(key, None) or self.compiled(source, filename, mode).code
        recent[key] = found
        if len(recent) > KEPT:
            del recent[next(iter(recent))]
        return found


def as_text(source: str, filename: str, mode: str) -> CompiledUnit:
    """A module whose code is made from its text."""
    unit = pipeline.compile_source(source, filename, "module", result=True, is_text=True)
    unit.tree = ast.parse(unit.python_text())
    return unit


def configuration(name: str) -> Configuration:
    """The configuration of a name. Raises ValueError for one that is none."""
    kind, _, rest = name.partition(":")
    if name == "optimized":
        return Configuration(name, {"SEMA_OPT": "1"})
    if name == "plain":
        return Configuration(name, {"SEMA_OPT": "0"})
    if name == "native":
        from programs.natively import natively

        return Configuration(name, {"SEMA_OPT": "1"}, compile=natively)
    if name == "text":
        return Configuration(name, {"SEMA_OPT": "1"}, compile=as_text)
    if name == "asserted":
        return Configuration(name, {"SEMA_OPT": "1", "SEMA_ASSERT_TYPES": "1"}, is_verified=True)
    if kind == "env" and "=" in rest:
        variable, _, value = rest.partition("=")
        return Configuration(name, {"SEMA_OPT": "1", variable: value})
    if kind == "without" and rest:
        known = {its.name for its in PASSES}
        known |= {"signs", "filled", "importing", "extended", "apart", "foreign", "once", "cut", "kinds"}
        known |= {"copies", "held"}
        left_out = frozenset(rest.split(","))
        if not left_out <= known:
            raise ValueError(f"no such pass: {' '.join(sorted(left_out - known))}; there are {' '.join(sorted(known))}")
        return Configuration(name, {"SEMA_OPT": "1", "SEMA_SKIP": rest})
    if kind == "call" and ":" in rest:
        module, _, function = rest.partition(":")
        return Configuration(name, {}, compile=getattr(import_module(module), function))
    raise ValueError(f"no configuration: {name}")
