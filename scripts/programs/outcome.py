"""What running a program gives, in one process and within a time limit."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from types import CodeType
from typing import Any, NamedTuple

from programs.configurations import Configuration
from programs.files import FILE, on_disk
from sema_runtime.conditions.describe import condition_map, describe
from sema_runtime.lib.language import output
from sema_runtime.values.atoms import keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.mutable import MutableArray, MutableCell
from sema_runtime.values.printer import to_text
from sema_runtime.values.records import Record
from semac import process
from semac.generate.module import RESULT
from semac.session import Session

MODES = ("program", "module", "session")
PARTS = ("ending", "value", "types", "error", "output", "hint", "trace", "frames")
SECONDS = 0.15  # of CPU time, without compiling, for the measure; a program that takes longer is taken for endless
PATIENCE = 20  # times as long for the others
COMPILING = 20.0  # seconds of CPU time
SHALLOW = 9000  # Python frames, where usually there are process.DEPTH
DEEP, MANY = 8, 40  # how far values are looked into
TRACE = keyword("stack-trace")


class TimeUp(BaseException):
    """Raised in a program that runs too long; programs can't catch it."""


class Outcome(NamedTuple):
    """ending: "value", "error" or "endless". types: the Python types in the value. trace: the `:stack-trace` that
    programs see; frames: the places that a message shows."""

    ending: str
    value: str = ""
    types: str = ""
    error: str = ""
    hint: str = ""
    trace: str = ""
    frames: str = ""
    output: tuple[str, ...] = ()

    @property
    def countable(self) -> bool:
        """Whether its parts mean something: not where a time limit or the depth of the stack has decided them."""
        shown = (self.value, self.error, *self.output)
        return self.ending != "endless" and not any("stack overflow" in text for text in shown)


def stop(*_: object) -> None:
    raise TimeUp


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises TimeUp after some seconds of CPU time, again and again: one in a callback of the collector is lost."""
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.2)
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        sys.unraisablehook = hook


def observed(run: Callable[[], Any], seconds: float, traces: bool = True) -> Outcome:
    """What a function gives, prints and raises."""
    lines: list[str] = []
    output.sink = lines
    try:
        with limited(seconds):
            value = run()
            return Outcome("value", to_text(value), types_of(value), output=tuple(lines))
    except TimeUp:
        return Outcome("endless")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a deadlock and an exit are outcomes, too
        try:
            with limited(seconds):
                return failure(error, tuple(lines), traces)
        except TimeUp:
            return Outcome("endless")
    finally:
        output.sink = None


def failure(error: BaseException, lines: tuple[str, ...], traces: bool) -> Outcome:
    shown = describe(error)
    if not traces:
        return Outcome("error", error=shown.message, hint=shown.hint or "", output=lines)
    places = [f"{frame.name} {frame.line}:{frame.col}" for frame in shown.frames]
    frames = " < ".join(place for place, _ in groupby(places))  # a top-level form may be a function of its own
    trace = to_text(condition_map(error).lookup(TRACE))
    return Outcome("error", error=shown.message, hint=shown.hint or "", trace=trace, frames=frames, output=lines)


def outcome(source: str, mode: str, configuration: Configuration, seconds: float = PATIENCE * SECONDS) -> Outcome:
    """What a program gives that is compiled in one way."""
    with on_disk(source) as (text, path), configuration.active():
        if mode == "session":
            return observed(lambda: Session(path).run(text, drain=False), seconds)
        code: list[CodeType] = []

        def compiling() -> None:
            process.deepen()
            code.append(configuration.code(text, path, mode))

        def run() -> Any:
            process.deepen()
            scope: dict[str, Any] = {"__name__": "__main__"}
            if path != FILE:
                scope["__file__"] = path
            exec(code[0], scope)
            return scope.get(RESULT)

        refusal = observed(compiling, COMPILING)
        return observed(run, seconds) if code else refusal


def types_of(value: Any, depth: int = DEEP) -> str:
    """The Python types in a value and its atoms, inside of mutable things, too: what other code meets.

    A plain dict, say, must not be among them.
    """
    kind = type(value)
    name = "Record" if isinstance(value, Record) else kind.__name__
    parts: list[Any] = []
    if kind in (List, tuple, list, MutableArray):
        parts = list(value)[:MANY]
    elif isinstance(value, Map):
        parts = [part for pair in value.pairs()[:MANY] for part in pair]
    elif isinstance(value, dict):
        parts = [part for pair in list(value.items())[:MANY] for part in pair]
    elif isinstance(value, Record):
        parts = list(value.sema_members())
    elif kind is MutableCell:
        parts = [value.value]
    elif callable(value):
        return "function"
    else:
        return f"{name} {to_text(value)}"
    if depth == 0:
        return f"{name}(...)"
    return f"{name}({', '.join(types_of(part, depth - 1) for part in parts)})"


class Difference(NamedTuple):
    """mode: in which mode two configurations differ. part: in which part of the outcome first."""

    mode: str
    part: str
    expected: str
    found: str

    @property
    def kind(self) -> tuple[str, str]:
        return self.mode, self.part

    def __str__(self) -> str:
        return f"{self.mode}, {self.part}\n  expected {self.expected}\n  found    {self.found}"


def different(mode: str, expected: Outcome, found: Outcome, ignored: frozenset[str] = frozenset()) -> Difference | None:
    for part in PARTS:
        mine, theirs = getattr(expected, part), getattr(found, part)
        if part == "frames" and has_all(theirs, mine):  # a call that is none in tail position has a frame more
            continue
        if mine != theirs and part not in ignored:
            if part == "ending":
                mine, theirs = (f"{its.ending} {its.value}{its.error}" for its in (expected, found))
            return Difference(mode, part, str(mine), str(theirs))
    return None


def has_all(frames: str, wanted: str) -> bool:
    """Whether frames have all wanted ones, in order."""
    left = iter(frames.split(" < "))
    return all(frame in left for frame in wanted.split(" < "))


def difference(
    source: str,
    option: Configuration,
    measure: Configuration,
    modes: Sequence[str] = MODES,
    ignored: frozenset[str] = frozenset(),
) -> Difference | None:
    """The first difference of a program between two configurations. In each mode, `measure` says what is right."""
    expected = None
    for mode in modes:
        if expected is None or mode == "session":  # a program and a module mean the same
            expected = outcome(source, "module" if mode == "program" else mode, measure, SECONDS)
        if not expected.countable:
            return None
        found = outcome(source, mode, option)
        if not found.countable and found.ending != "endless":
            return None
        its = different(mode, expected, found, ignored)
        if its is not None:
            return None if shows_depth(source, "module" if mode == "program" else mode, measure, expected) else its
    return None


def shows_depth(source: str, mode: str, configuration: Configuration, expected: Outcome) -> bool:
    """Whether the depth of the stack has decided an outcome: it is another one with a smaller stack."""
    with shallow():
        return outcome(source, mode, configuration) != expected


@contextmanager
def shallow() -> Iterator[None]:
    """While it is entered, programs run on a smaller stack."""
    depth, limit = process.DEPTH, sys.getrecursionlimit()
    process.DEPTH = SHALLOW
    sys.setrecursionlimit(SHALLOW)
    try:
        yield
    finally:
        process.DEPTH = depth
        sys.setrecursionlimit(limit)
