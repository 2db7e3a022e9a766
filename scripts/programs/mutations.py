"""Mutations of programs that people wrote: the corpus, examples and benchmarks.

A mutation replaces, wraps, swaps, outlines or inlines expressions, or calls functions once more with other arguments;
what it makes mostly still runs. Programs that read files, wait or use the network are left out.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from programs.shrink import written
from programs.slots import DEFINERS, Slot, head_of, names_in, replaced, slots
from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.atoms import Char, Keyword, Symbol, symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.analyze.forms import SPECIAL_FORMS
from semac.syntax.reader import read_one, read_program

ROOT = Path(__file__).parents[2]
# Beside the repository, or further up where it is a work tree of another one.
SHARED = next((path for up in ROOT.parents if (path := up / "shared" / "conformance").is_dir()), ROOT).parent
CORPUS = Path(os.environ.get("SEMA_CORPUS") or SHARED / "conformance")
FOLDERS = (ROOT / "tests" / "golden", ROOT / "scripts" / "speed", SHARED / "bench", ROOT / "examples")
MORE = os.environ.get("SEMA_PROGRAMS", "")  # folders of other programs, with `:` between them
NAMES = ROOT / "tests" / "data" / "reference_names.txt"
KNOWN = frozenset(NAMES.read_text("utf-8").split()) & INDEX.keys()  # builtins of ours that the reference has, too
LEFT_OUT = re.compile(
    r"file/|http|sys/|time|sleep|async|await|channel|random|uuid|shell|llm|workflow|agent|import|\(load|env\b|py/|otel|"
    r"gc/|gensym|read-line|read-stdin|exit|sandbox|module|stream/|context/|prompt|conversation|kv/|db/|retry|spy|eval|"
    r"raise|pio/|pipeline|guard|list/shuffle|list/pick|hashmap|hash-map|deftool|path/|mcp|ws/|serve|term/|pii|secret|with-|doc\b|check-string"
)
FILES_LEFT_OUT = ("core-reference-bugs", "core-reader", "core-modules", "std-arity", "diagnostics", "std-files")
LARGE = 150  # a number in a benchmark that makes it run long
LONGEST = 4000  # characters of a program
BUDGET = (1, 1, 2, 2, 3, 4, 6)  # mutations of one program
ODD = (
    "nil", "0", "-1", '""', "'()", "[]", "{}", "#t", "2.5", "1/2", ":k", "'s", "10000000000000000000000", "(list 1 2)",
    "nan", "#\\a", '"abc"', "{:a 1 :b 2}", "[1 2]", "(fn (x) x)", "-0.0", "inf",
)  # fmt: skip
INTS = ("0", "1", "2", "3", "-1", "7", "10", "100", "-5", "1000000007")
FLOATS = ("0.0", "1.5", "-2.5", "1e10", "0.1", "-0.0", "100.0")
_LINES = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
WRAPPERS = [line.removeprefix("wrap ") for line in _LINES if line.startswith("wrap ")]
RELATED: dict[str, list[str]] = {}
for _line in _LINES:
    if _line.startswith("related "):
        for _name in _line.split()[1:]:
            RELATED.setdefault(_name, []).extend(other for other in _line.split()[1:] if other != _name)
SHOWN = "(println (try E (catch err (list :err (:type err) (:message err)))))"
FRESH = ("v", "w", "x1", "tmp", "acc", "i", "item", "list", "f", "n")


class Seed(NamedTuple):
    """A program to mutate."""

    name: str
    forms: List


@cache
def seeds(is_corpus: bool = True) -> tuple[list[Seed], list[Any]]:
    """The programs, and expressions in them that name nothing but builtins.

    is_corpus: whether the corpus is among them, whose programs are short.
    """
    found: list[Seed] = []
    for name, text in texts(is_corpus):
        if len(text) > LONGEST or LEFT_OUT.search(text):
            continue
        try:
            forms = read_program(text)
        except (SemaError, RecursionError):
            continue
        if len(forms):
            found.append(Seed(name, forms if "/" in name and not name.endswith(".sema") else scaled(forms)))
    closed = [
        slot.form for seed in found for slot in slots(seed.forms) if type(slot.form) is List and is_closed(slot.form)
    ]
    return found, closed


def texts(is_corpus: bool = True) -> list[tuple[str, str]]:
    """(name, text) of all programs that there are."""
    found = []
    for path in sorted(CORPUS.glob("*.jsonl")) if is_corpus else []:
        if not path.stem.startswith(FILES_LEFT_OUT):
            cases = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
            found += [(case["id"], case["src"]) for case in cases]
    for folder in (*FOLDERS, *map(Path, filter(None, MORE.split(":")))):
        found += [(str(path.relative_to(folder)), path.read_text("utf-8")) for path in sorted(folder.rglob("*.sema"))]
    return found


def scaled(form: Any) -> Any:
    """A benchmark with small numbers in place of large ones: it does the same fewer times."""
    if type(form) is int and form > LARGE:
        return form % 7 + 3
    if type(form) in (List, tuple):
        items = [scaled(part) for part in form]
        return List(items) if type(form) is List else tuple(items)
    return form


def is_closed(form: Any) -> bool:
    """Whether a form names nothing but builtins, and is none that defines something."""
    names = names_in(form)
    if names & (DEFINERS | {"set!", "throw", "defmacro", "define-syntax"}):
        return False
    return all(name in KNOWN or name in SPECIAL_FORMS for name in names) and len(written(form)) < 120


def mutated(seed: int) -> str:
    """The mutated program of a seed."""
    return Mutation(random.Random(seed)).program()


def mutated_idioms(seed: int) -> str:
    """A mutated program of some length, which keeps values that it has had on its way and shows them at its end."""
    return Mutation(random.Random(seed), is_corpus=False).program()


class Mutation:
    """Mutates one program."""

    def __init__(self, source: random.Random, is_corpus: bool = True) -> None:
        self.random = source
        self.keeps = not is_corpus
        found, self.closed = seeds(is_corpus)
        self.seed = source.choice(found)
        is_short = is_corpus and len(self.seed.forms) < 3  # as most programs of the corpus are
        if is_short and source.random() < 0.6:
            self.seed = max((source.choice(found) for _ in range(4)), key=lambda seed: len(seed.forms))
        self.forms: Any = self.seed.forms
        self.count = 0

    def program(self) -> str:
        if not self.keeps and len(self.forms) < 3 and self.random.random() < 0.5:  # what two programs define
            other = self.random.choice(seeds()[0])
            self.forms = List([*other.forms, *self.forms])
        makers: list[Callable[[], None]] = [
            *[self.wrap] * 5, *[self.literal] * 4, *[self.replace] * 3, *[self.sibling] * 2, *[self.call_again] * 2,
            self.swap, self.drop, self.variable, self.outline, self.inline, self.insert, self.assign,
            *[self.keep] * 8 * self.keeps,
        ]  # fmt: skip
        for _ in range(self.random.choice(BUDGET)):
            self.random.choice(makers)()
        forms = self.shown()
        if self.keeps:
            forms = [read_one("(define kept '())"), *forms, read_one("(println kept)")]
        if self.random.random() < 0.15:
            forms = self.in_function(forms)
        return "\n".join(map(written, forms))

    # What to change

    def slots(self) -> list[Slot]:
        return list(slots(self.forms))

    def slot(self, accepts: Callable[[Slot], bool] = lambda _: True) -> Slot | None:
        found = [slot for slot in self.slots() if accepts(slot)]
        return self.random.choice(found) if found else None

    def put(self, slot: Slot, new: Any) -> None:
        self.forms = replaced(self.forms, slot.path, new)

    def fresh(self) -> str:
        self.count += 1
        return self.random.choice(FRESH) + (str(self.count) if self.random.random() < 0.8 else "")

    def wrap(self) -> None:
        slot = self.slot()
        if slot is None or head_of(slot.form) in ("define", "catch", "else"):
            return
        template = self.random.choice(WRAPPERS)
        names = {"V": symbol(self.fresh()), "W": symbol(self.fresh()), "L": symbol(self.fresh()), "E": slot.form}
        self.put(slot, filled(read_one(template), names))

    def literal(self) -> None:
        slot = self.slot(lambda slot: type(slot.form) in (int, float, str, bool, Keyword, Char))
        if slot is None:
            return
        choices = {
            int: INTS,
            float: FLOATS,
            str: ('""', '"a"', '"Hello World"', '"été"', '"1,2,3"'),
            bool: ("#t", "#f"),
        }
        texts = choices.get(type(slot.form), ODD) if self.random.random() < 0.8 else ODD
        self.put(slot, read_one(self.random.choice(texts)))

    def replace(self) -> None:
        """An expression by another of the program, or of any program."""
        slot = self.slot(lambda slot: len(slot.path) > 1)
        if slot is None:
            return
        if self.random.random() < 0.4 and self.closed:
            self.put(slot, self.random.choice(self.closed))
            return
        kind = kind_of(slot.form)
        others = [other for other in self.slots() if kind_of(other.form) == kind and set(slot.scope) >= names_of(other)]
        if others:
            self.put(slot, self.random.choice(others).form)

    def sibling(self) -> None:
        """Another function in place of one: `-` for `+`."""
        slot = self.slot(lambda slot: head_of(slot.form) in RELATED)
        if slot is not None:
            other = self.random.choice(RELATED[head_of(slot.form)])
            self.put(slot, List([symbol(other), *list(slot.form)[1:]]))

    def swap(self) -> None:
        slot = self.slot(lambda slot: type(slot.form) is List and len(slot.form) > 2 and head_of(slot.form) in INDEX)
        if slot is not None:
            items = list(slot.form)
            first, second = self.random.sample(range(1, len(items)), 2)
            items[first], items[second] = items[second], items[first]
            self.put(slot, List(items))

    def drop(self) -> None:
        slot = self.slot(lambda slot: type(slot.form) is List and len(slot.form) > 2)
        if slot is not None:
            items = list(slot.form)
            index = self.random.randrange(1, len(items))
            self.put(slot, List([*items[:index], *([items[index]] * self.random.choice((0, 2))), *items[index + 1 :]]))

    def variable(self) -> None:
        """A local variable in place of an expression."""
        slot = self.slot(lambda slot: bool(slot.scope))
        if slot is not None:
            self.put(slot, symbol(self.random.choice(slot.scope)))

    def insert(self) -> None:
        """An expression of any program, evaluated before another."""
        slot = self.slot(lambda slot: len(slot.path) > 1)
        if slot is not None and self.closed:
            self.put(slot, List([symbol("begin"), self.random.choice(self.closed), slot.form]))

    def keep(self) -> None:
        """The value of an expression is kept, so that who changes it later is found out."""
        slot = self.slot(lambda slot: type(slot.form) is List and len(slot.path) > 1)
        if slot is not None and is_expression(slot.form) and head_of(slot.form) not in ("catch", "else", "recur"):
            name = symbol(self.fresh())
            self.put(slot, filled(read_one("(let ((V E)) (set! kept (cons V kept)) V)"), {"V": name, "E": slot.form}))

    def assign(self) -> None:
        slot = self.slot(lambda slot: bool(slot.scope) and len(slot.path) > 1)
        if slot is not None:
            name = symbol(self.random.choice(slot.scope))
            value = self.random.choice([slot.form, name, read_one(self.random.choice(ODD))])
            self.put(slot, List([symbol("begin"), List([symbol("set!"), name, value]), slot.form]))

    def outline(self) -> None:
        """An expression becomes a function of the local variables in it."""
        slot = self.slot(lambda slot: type(slot.form) is List and len(slot.path) > 1)
        if slot is None or names_in(slot.form) & {"set!", "define", "unquote", "recur"}:
            return
        name = symbol(f"{self.fresh()}-of")
        names = [symbol(used) for used in dict.fromkeys(slot.scope) if used in names_in(slot.form)]
        self.put(slot, List([name, *names]))
        function = List([symbol("define"), List([name, *names]), slot.form])
        position = self.random.choice((0, slot.path[0], slot.path[0]))
        self.forms = List([*list(self.forms)[:position], function, *list(self.forms)[position:]])

    def inline(self) -> None:
        """A call of a function becomes a call of a lambda that does what the function does."""
        known = dict(functions(self.forms))
        slot = self.slot(lambda slot: head_of(slot.form) in known)
        if slot is not None:
            lambda_ = List([symbol("fn"), *known[head_of(slot.form)]])
            self.put(slot, List([lambda_, *list(slot.form)[1:]]))

    def call_again(self) -> None:
        """A function is called with arguments of other calls, or with odd ones."""
        known = functions(self.forms)
        if not known:
            return
        name, (params, *_) = self.random.choice(known)
        calls = [
            slot.form for slot in self.slots() if head_of(slot.form) == name and is_closed(List(list(slot.form)[1:]))
        ]
        if calls and self.random.random() < 0.7:
            args = list(self.random.choice(calls))[1:]
        else:
            args = [self.argument() for _ in params if _ is not symbol(".")]
        if args and self.random.random() < 0.5:
            args[self.random.randrange(len(args))] = self.argument()
        self.forms = List([*self.forms, List([symbol(name), *args])])

    def argument(self) -> Any:
        if self.random.random() < 0.5 and self.closed:
            return self.random.choice(self.closed)
        return read_one(self.random.choice((*INTS, *ODD)))

    # The whole program

    def shown(self) -> list[Any]:
        """The forms, with the values and errors of those that define nothing printed."""
        show = read_one(SHOWN)
        forms = list(self.forms)
        return [
            filled(show, {"E": form}) if is_expression(form) and self.random.random() < 0.8 else form for form in forms
        ]

    def in_function(self, forms: list[Any]) -> list[Any]:
        """The program as the body of a function, where macros and records permit it."""
        heads = {head_of(form) for form in forms}
        if heads & {
            "defmacro",
            "define-syntax",
            "define-record-type",
            "defmulti",
            "defmethod",
            "begin",
            "define-values",
        }:
            return forms
        main = symbol("main-" + self.fresh())
        return [List([symbol("define"), List([main]), *forms]), List([main])]


def is_expression(form: Any) -> bool:
    head = head_of(form)
    return type(form) is List and not head.startswith(("def", "import", "module", "set!", "begin"))


def filled(template: Any, names: dict[str, Any]) -> Any:
    """A form with symbols replaced."""
    if isinstance(template, Symbol):
        return names.get(template.name, template)
    if type(template) in (List, tuple):
        items = [filled(part, names) for part in template]
        return List(items) if type(template) is List else tuple(items)
    if type(template) is Map:
        return Map.of([(key, filled(value, names)) for key, value in template.pairs()])
    return template


def functions(forms: Any) -> list[tuple[str, list[Any]]]:
    """(name, [parameters, body ...]) of the functions that a program defines at its top."""
    found = []
    for form in forms:
        items = list(form) if type(form) is List else []
        if len(items) > 2 and head_of(form) == "define" and type(items[1]) is List and head_of(items[1]):
            found.append((items[1].items[0].name, [List(list(items[1])[1:]), *items[2:]]))
    return found


def names_of(slot: Slot) -> set[str]:
    """The local names that an expression needs."""
    return set(slot.scope) & names_in(slot.form)


def kind_of(form: Any) -> str:
    """What an expression is, roughly: forms of one kind may replace each other."""
    head = head_of(form)
    if head in INDEX:
        return INDEX[head][4]
    return type(form).__name__ if type(form) is not List else "form"
