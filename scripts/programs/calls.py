"""Calls of a module's functions from Python, with arguments of the kinds they expect and of all others.

Two configurations must give the same results and errors, print the same and leave the arguments in the same state.
"""

from __future__ import annotations

import enum
import random
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import CodeType, FunctionType
from typing import Any

from programs.configurations import Configuration
from programs.files import FILE
from programs.kinds import NARROWER, Kind
from programs.outcome import (
    COMPILING,
    PATIENCE,
    SECONDS,
    Difference,
    Outcome,
    different,
    observed,
    shallow,
    types_of,
)
from sema_runtime.values.atoms import char, keyword, symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.mutable import MutableArray, MutableCell
from sema_runtime.values.naming import PRIVATE
from semac.process import deepen

CALLS = 4  # of each function
WORD = re.compile(r"[^\s()\[\]{}'\"`,;]+")
DEFINITION = re.compile(r"\(define-record-type(?:[^()]|\([^()]*\))*|\(def[^\s()]*\s+\(*[^\s()]+")
PYTHON_NAME = re.compile(r"[\w.<>]+(?=\(\))")  # of a function, in the errors of Python
KEYS = ("k", "j", "n", "name", "value")


class Number(enum.IntEnum):
    """An int that isn't of type int."""

    THREE = 3


class Text(str):
    """A str that isn't of type str."""


class Arguments:
    """Makes arguments; equal seeds make equal ones. functions: of the module, by name, to be passed as arguments."""

    def __init__(self, seed: int, functions: dict[str, Any]) -> None:
        self.random = random.Random(seed)
        self.functions = functions

    def of(self, kind: Kind, depth: int = 2) -> Any:
        """A value of a kind, or now and then of another."""
        if self.random.random() < 0.1:
            return self.any(depth)
        if kind in NARROWER and kind != "int":
            kind = self.random.choice(NARROWER[kind])
        head = kind if type(kind) is str else kind[0]
        inner = lambda part: self.of(part, depth - 1)  # noqa: E731
        count = range(self.random.choice((0, 1, 2, 3, 3)))
        if head == "list":
            made: list[Any] = [inner(kind[1]) for _ in count]
            return made if self.random.random() < 0.3 else List(made)
        if head == "vec":
            return tuple(inner(kind[1]) for _ in count)
        if head == "tup":
            return tuple(map(inner, kind[1:]))
        if head == "map":
            pairs = [(inner(kind[1]), inner(kind[2])) for _ in count]
            return self.mapping(pairs)
        if head == "arr":
            return MutableArray([inner(kind[1]) for _ in count])
        if head == "cell":
            return MutableCell(inner(kind[1]))
        if head == "opt":
            return None if self.random.random() < 0.4 else inner(kind[1])
        if head == "fn":
            return self.function(kind)
        if head in ("shape", "rec", "promise", "param"):
            return self.any(depth)
        return self.atom(str(head))

    def mapping(self, pairs: list[tuple[Any, Any]]) -> Any:
        chance = self.random.random()
        if chance < 0.1 and all(type(key) in (int, str, bool) for key, _ in pairs):
            return dict(pairs)
        try:
            return (HashMap if chance < 0.3 else Map).of(pairs)
        except Exception:  # a key that is none
            return Map()

    def function(self, kind: Kind) -> Any:
        names = sorted(self.functions)
        if names and self.random.random() < 0.4:
            return self.functions[self.random.choice(names)]
        result = self.of(kind[-1], 1)
        return self.random.choice((lambda *args: result, lambda *args: args[0] if args else result))

    def atom(self, name: str) -> Any:
        choice = self.random.choice
        makers: dict[str, Callable[[], Any]] = {
            "nat": lambda: choice((0, 1, 2, 3, 4)),
            "int": lambda: choice((0, 1, 2, 3, -1, 7, 10, True, 10**20, 3.0)),
            "big": lambda: choice((10**20, -(2**63), 2**64)),
            "float": lambda: choice((0.0, -0.0, 1.5, 2.0, -3.25, float("inf"), float("nan"), 1e300, 2)),
            "ratio": lambda: choice((Fraction(1, 2), Fraction(-7, 3))),
            "bool": lambda: choice((True, False)),
            "str": lambda: choice(("", "a", "abc", "k=1", "été", "x y z")),
            "char": lambda: char(choice("ab 0z")),
            "kw": lambda: keyword(choice(KEYS)),
            "sym": lambda: symbol(choice("ab")),
        }
        return makers.get(name, lambda: None)() if name != "any" else self.any(1)

    def any(self, depth: int) -> Any:
        """A value of whatever kind."""
        if depth <= 0 or self.random.random() < 0.5:
            if self.random.random() < 0.08:
                return self.random.choice((Number.THREE, Text("abc"), b"abc", complex(1, 2), object))
            return self.atom(
                self.random.choice(("int", "float", "str", "kw", "nil", "bool", "char", "sym", "ratio", "big"))
            )
        parts = [self.any(depth - 1) for _ in range(self.random.choice((0, 1, 2, 3)))]
        return self.random.choice((List, tuple, list, MutableArray, self.shape))(parts)

    def shape(self, parts: list[Any]) -> Any:
        pairs = list(zip(KEYS, parts, strict=False))
        if self.random.random() < 0.3:
            return dict(pairs)
        return self.mapping([(keyword(key), value) for key, value in pairs])


def difference(
    source: str,
    seed: int,
    option: Configuration,
    measure: Configuration,
    ignored: frozenset[str] = frozenset(),
    kinds: Mapping[str, Kind] | None = None,
) -> Difference | None:
    """The first call that differs between two configurations; None where the module itself doesn't load."""
    expected, found = (loaded(source, configuration) for configuration in (measure, option))
    if expected is None or found is None:
        return None
    names = [name for name in expected if name in found]
    missing = sorted(set(expected) - set(found))
    if missing:
        return Difference("call", "names", str(missing), "")
    found = {name: found[name] for name in names}  # without copies: arguments are drawn among them
    loads = (expected, measure, SECONDS), (found, option, PATIENCE * SECONDS)
    for name in names:
        for number in range(CALLS):
            its = seed * 1000 + number
            kind = (kinds or {}).get(name)
            outcomes: list[Outcome] = []
            for functions, configuration, seconds in loads:  # on one line: errors keep the places of callers
                outcomes.append(called(functions, name, its, kind, configuration, seconds))
                if not outcomes[-1].countable:
                    break
            mine, theirs = outcomes[0], outcomes[-1]
            if not mine.countable or (not theirs.countable and theirs.ending != "endless"):
                return None
            how = different("call", mine, theirs, ignored)
            if how is not None:
                with shallow():
                    if called(expected, name, its, kind, measure, SECONDS) != mine:
                        return None  # the depth of the stack has decided it
                texts = ", ".join(map(repr, arguments(expected, name, its, kind)))
                return how._replace(found=f"{how.found}\n  of ({name} {texts})"[:2000])
    return None


def loaded(source: str, configuration: Configuration) -> dict[str, Any] | None:
    """The functions of a module by their names in Sema, in their order; None when it ends with an error."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    code: list[CodeType] = []

    def compiling() -> None:
        deepen()
        code.append(configuration.code(source, FILE, "module"))

    def run() -> None:
        deepen()
        exec(code[0], scope)

    with configuration.active():
        for step, seconds in ((compiling, COMPILING), (run, SECONDS)):
            if observed(step, seconds, traces=False).ending != "value":
                return None
    names = scope.get("__sema_names__", {})
    words = {word for definition in DEFINITION.findall(source) for word in WORD.findall(definition)}
    own = {name: value for name, value in scope.items() if not name.startswith(PRIVATE)}
    found = {names.get(name, name.replace("_", "-")): value for name, value in own.items()}
    return {
        name: value
        for name, value in found.items()
        if type(value) is FunctionType and value.__module__ == "__main__" and name in words
    }


def arguments(functions: dict[str, Any], name: str, seed: int, kind: Kind | None) -> list[Any]:
    makes = Arguments(seed, functions)
    code = functions[name].__code__
    if kind is not None and makes.random.random() < 0.8:
        return [makes.of(part) for part in kind[1:-1]]
    count = max(0, code.co_argcount + makes.random.choice((0, 0, 0, 0, 0, 0, 0, 1, -1)))
    if code.co_flags & 4:
        count += makes.random.choice((0, 1, 2))
    return [makes.any(2) for _ in range(count)]


def called(
    functions: dict[str, Any], name: str, seed: int, kind: Kind | None, configuration: Configuration, seconds: float
) -> Outcome:
    args = arguments(functions, name, seed, kind)

    def run() -> Any:
        return functions[name](*args)

    with configuration.active():
        found = observed(run, seconds, traces=False)  # traces go on through the callers in Python
    return found._replace(error=PYTHON_NAME.sub("", found.error), output=(*found.output, *map(types_of, args)))
