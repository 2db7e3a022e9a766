"""Random values for scripts/check_signatures.py: of a type of the signature language, of a letter of
call_arguments.txt, of a kind of signature_objects.txt, or of any type. Containers and functions are new ones each
time."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import call_arguments

from sema_runtime.lib.collections.records import record_constructor
from sema_runtime.lib.files import streams
from sema_runtime.lib.text import diff
from sema_runtime.values.atoms import symbol
from sema_runtime.values.errors import ReaderError
from sema_runtime.values.lists import List, cons
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.mutable import MutableArray, MutableCell
from sema_runtime.values.parameters import Parameter
from sema_runtime.values.records import Values as MultipleValues
from sema_runtime.values.records import make_record_type
from sema_runtime.values.typed_arrays import FloatArray, IntArray
from semac.session import Session
from semac.types.signatures import ANY, Function, Name, Signature, TypeExpr, Union, Variable, parse

LONG = 45  # elements of a large container: above `maps.SMALL`
POINT = record_constructor(make_record_type("point", ("x", "y")), "point", ("x", "y"))
PATCH = ("a\nb\nc\n", "a\nx\nc\n")
BYTES = [b"", b"\x01\x02\x03", b"hi", b"\xff\xfe", b"\xc3\xa9", b"12", b"\0"]
CONCRETE = [Name(name) for name in ("int", "int", "float", "number", "str", "str", "keyword", "char", "bool", "nil")]
SOURCES = {
    "text": call_arguments.TEXTS, "char": call_arguments.CHARS, "int": call_arguments.INTS, "far": call_arguments.FAR,
    "float": ["0.0", *call_arguments.FLOATS], "exact": call_arguments.EXACT,
    "complex": call_arguments.COMPLEX, "key": call_arguments.KEYS, "pattern": call_arguments.PATTERNS,
    "stamp": call_arguments.STAMPS, "date": call_arguments.DATES, "one": call_arguments.ONES,
    "two": call_arguments.TWOS, "test": call_arguments.TESTS,
}  # fmt: skip


@cache
def pool(name: str) -> list[Any]:
    """The atoms and functions that the texts of call_arguments.py denote; some of the texts are malformed."""
    session, values = Session(), []
    for text in SOURCES[name]:
        with suppress(ReaderError):
            values.append(session.run(text.replace("ZERO", "-0.0")))
    return values


class Values:
    """A source of random values. letters: the types that the variables of one signature stand for."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.letters: dict[str, TypeExpr] = {}

    # Arguments of a call

    def typed(self, signature: Signature) -> list[Any]:
        """Arguments of the types that a signature declares."""
        self.letters = {letter: self.concrete(2) for letter in "abcde"}
        arguments: list[Any] = []
        for param in signature.params:
            if param.repeated:
                arguments += [self.of(param.type) for _ in range(self.random.choice((0, 0, 1, 1, 2, 3)))]
            elif not param.optional or self.random.random() < 0.5:
                arguments.append(self.of(param.type))
            else:
                break
        return arguments

    def lettered(self, wanted: str) -> list[Any]:
        """Arguments by the letters of call_arguments.txt; now and then one is missing."""
        arguments: list[Any] = []
        letters = wanted.replace("?", "").replace("*", "")
        optional = wanted.index("?") if "?" in wanted else len(wanted)
        for index, letter in enumerate(letters):
            if index >= optional and self.random.random() < 0.4:
                break
            arguments.append(self.letter(letter))
        if wanted.endswith("*"):
            arguments += [self.letter(letters[-1]) for _ in range(self.random.randrange(4))]
        return arguments

    def concrete(self, depth: int) -> TypeExpr:
        """A type without variables."""
        chance = self.random.random()
        if chance < 0.15:
            return ANY
        if chance < 0.75 or depth == 0:
            return self.random.choice(CONCRETE)
        name = self.random.choice(("list", "list", "vector", "map", "hashmap", "array"))
        return Name(name, tuple(self.concrete(depth - 1) for _ in range(2 if name.endswith("map") else 1)))

    # Values of a type

    def of(self, expr: TypeExpr, depth: int = 2) -> Any:
        """A value of a type."""
        if isinstance(expr, Variable):
            return self.of(self.letters.get(expr.letter, ANY), depth)
        if isinstance(expr, Union):
            return self.of(self.random.choice(expr.parts), depth)
        if isinstance(expr, Function):
            return self.function(expr)
        maker = getattr(self, f"_{expr.name}", None)
        return maker(expr, depth) if maker is not None else self.atom(expr.name)

    def atom(self, name: str) -> Any:
        choose = self.random.choice
        if name == "int":
            return choose(pool("far" if self.random.random() < 0.03 else "int"))
        if name == "number":
            return choose(pool(choose(("int", "int", "int", "float", "float", "exact", "complex"))))
        if name == "bool":
            return choose((True, False))
        if name in ("float", "char"):
            return choose(pool(name))
        if name == "rational":
            return choose(pool("exact"))
        if name == "str":
            return choose(pool("text"))
        if name == "keyword":
            return choose([key for key in pool("key") if type(key).__name__ == "Keyword"])
        return symbol(choose("stuvw")) if name == "symbol" else None

    def items(self, expr: TypeExpr, depth: int) -> list[Any]:
        """Elements of a container: few, often none."""
        count = self.random.choice((0, 1, 2, 2, 3, 4))
        if depth < 0:
            return []
        if self.random.random() < 0.02:
            count = LONG
        items = [self.of(expr, depth - 1) for _ in range(count)]
        return items + items[:1] if self.random.random() < 0.2 else items

    def _any(self, _: Name, depth: int) -> Any:
        chance = self.random.random()
        if chance < 0.4 or depth <= 0:
            return self.atom(self.random.choice(("int", "number", "bool", "char", "str", "keyword", "symbol", "nil")))
        if chance < 0.45:
            return self._fn(ANY, depth)
        if chance < 0.5:
            return self._other(ANY, depth)
        if chance < 0.55:
            return self._bytevector(ANY, depth)
        return self.of(self.concrete(depth - 1), depth - 1)

    def _list(self, expr: Name, depth: int) -> Any:
        items = self.items(expr.args[0], depth)
        chance = self.random.random()
        if chance < 0.3:
            made = List(())
            for item in reversed(items):
                made = cons(item, made)
            return made
        made = List(tuple(items) if chance < 0.4 else items)
        if chance < 0.5:
            _ = made.cdr  # as after a walk
        return made

    def _vector(self, expr: Name, depth: int) -> Any:
        return tuple(self.items(expr.args[0], depth))

    def _seq(self, expr: Name, depth: int) -> Any:
        return self._list(expr, depth) if self.random.random() < 0.6 else self._vector(expr, depth)

    def _array(self, expr: Name, depth: int) -> Any:
        return MutableArray(self.items(expr.args[0], depth))

    def _map(self, expr: Name, depth: int) -> Any:
        return Map.of(self.pairs(expr, depth))

    def _hashmap(self, expr: Name, depth: int) -> Any:
        return HashMap.of(self.pairs(expr, depth))

    def _dict(self, expr: Name, depth: int) -> Any:
        return (Map if self.random.random() < 0.6 else HashMap).of(self.pairs(expr, depth))

    def pairs(self, expr: Name, depth: int) -> list[tuple[Any, Any]]:
        if expr.args[0] == ANY and self.random.random() < 0.8:
            count = self.random.choice((0, 1, 2, 2, 3))
            return [(key, self.of(expr.args[1], depth - 1)) for key in self.random.sample(pool("key"), count)]
        keys = self.items(expr.args[0], min(depth, 1))
        if self.random.random() < 0.1 and self.resolved(expr.args[0]) in (ANY, Name("int"), Name("number")):
            keys += range(LONG)
        return [(key, self.of(expr.args[1], depth - 1)) for key in keys]

    def resolved(self, expr: TypeExpr) -> TypeExpr:
        return self.letters.get(expr.letter, ANY) if isinstance(expr, Variable) else expr

    def _bytevector(self, _: Name, depth: int) -> Any:
        made = self.random.choice(BYTES)
        return bytearray(made) if self.random.random() < 0.3 else made

    def _never(self, _: Name, depth: int) -> Any:
        return None

    def _other(self, _: Name, depth: int) -> Any:
        inner = self.of(ANY, min(depth, 1) - 1)
        return self.random.choice(
            [
                lambda: MutableCell(inner), lambda: POINT(inner, 1), lambda: FloatArray([1.0, 2.5]),
                lambda: IntArray([1, 2]), lambda: MultipleValues((inner, 2)), lambda: Parameter(inner, None),
            ]
        )()  # fmt: skip

    # Functions

    def _fn(self, _: Name, depth: int) -> Any:
        return self.random.choice(pool(self.random.choice(("one", "two", "test"))))

    def function(self, expr: Function) -> Any:
        """A function of the declared number of parameters."""
        count = len(expr.params)
        if count in (1, 2) and self.random.random() < 0.4:
            return self.random.choice(pool("two" if count == 2 else self.random.choice(("one", "test"))))
        same = [index for index, param in enumerate(expr.params) if param == expr.result]
        if same and self.random.random() < 0.5:
            chosen = self.random.choice(same)
            return lambda *arguments: arguments[chosen]
        result, letters, source = expr.result, self.letters, Values(str(self.random.random()))
        source.letters = letters
        return lambda *arguments: source.of(result, 1)

    # By the letters of call_arguments.txt

    def letter(self, letter: str) -> Any:
        """A value of a kind that call_arguments.txt explains."""
        simple = SIMPLE.get(letter)
        if simple is not None:
            return self.of(simple)
        if letter in POOLS:
            return self.random.choice(pool(POOLS[letter]))
        maker = LETTERS.get(letter)
        return maker(self) if maker is not None else self.of(ANY)

    def wrong(self) -> Any:
        """A value of a type that is probably not the one wanted."""
        return None if self.random.random() < 0.1 else self.of(ANY)

    def foreign(self, value: Any) -> Any:
        """The list or dict of Python for a list or map; other values as they are."""
        if type(value) is List:
            return list(value)
        return {key: value.lookup(key) for key in value if type(key) is str} if type(value) is Map else value


def _seq_of(inner: TypeExpr) -> Name:
    return Name("seq", (inner,))


SIMPLE: dict[str, TypeExpr] = {
    "s": Name("str"), "c": Name("char"), "i": Name("int"), "n": Name("number"), "a": ANY, "m": Name("dict", (ANY, ANY)),
    "h": Name("hashmap", (ANY, ANY)), "l": _seq_of(ANY), "S": _seq_of(Name("str")), "I": _seq_of(Name("int")),
    "N": _seq_of(Name("number")), "C": _seq_of(Name("char")), "M": _seq_of(Name("dict", (ANY, ANY))),
    "L": _seq_of(_seq_of(ANY)), "b": Name("bytevector"), "v": Name("array", (ANY,)),
}  # fmt: skip
POOLS = {"k": "key", "x": "pattern", "t": "stamp", "e": "date", "f": "one", "g": "two", "p": "test"}
LETTERS: dict[str, Callable[[Values], Any]] = {
    "j": lambda v: v.random.choice(call_arguments.JSON),
    "y": lambda v: v.random.choice(call_arguments.CSV),
    "o": lambda v: v.random.choice(call_arguments.TOML),
    "u": lambda v: v.random.choice([diff.diff_unified(*PATCH), "not a patch", ""]),
    "r": lambda v: v.random.choice([2, 8, 10, 16]),
    "w": lambda v: MutableCell(v.of(ANY, 1)),
    "d": lambda v: FloatArray([float(v.random.randrange(9)) for _ in range(v.random.randrange(4))]),
    "z": lambda v: IntArray([v.random.randrange(9) for _ in range(v.random.randrange(4))]),
    "q": lambda v: streams.stream_from_string(v.random.choice(pool("text"))),
    "K": lambda v: List([v.random.choice(pool("key")) for _ in range(v.random.randrange(4))]),
    "A": lambda v: List([List([v.random.choice(pool("key")), v.of(ANY, 1)]) for _ in range(v.random.randrange(4))]),
}


# By signature_objects.txt

_OBJECTS = (Path(__file__).parent / "signature_objects.txt").read_text(encoding="utf-8").splitlines()
KINDS: dict[str, list[str]] = {}  # texts of programs whose values are of a kind
OBJECTS: dict[str, list[list[str]]] = {}  # for a builtin, the kinds or types of its arguments; one of several
for _line in _OBJECTS:
    _kind, _, _text = _line.partition(" := ")
    _names, _, _calls = _line.rpartition(" => ")
    if _line.startswith(";"):
        continue
    if _text:
        KINDS.setdefault(_kind, []).append(_text)
    for _name in _names.split():
        OBJECTS[_name] = [[kind.strip() for kind in call.split(",")] for call in _calls.split(";")]


def objects_for(name: str, values: Values) -> list[Any]:
    """Arguments of a builtin in OBJECTS."""
    chosen = values.random.choice(OBJECTS[name])
    return [
        values.random.choice(makers(kind))() if kind in KINDS else values.of(parse(f"{kind} -> nil").params[0].type)
        for kind in chosen
    ]


@cache
def makers(kind: str) -> list[Callable[[], Any]]:
    """The functions that make a new value of a kind."""
    session = Session()
    return [session.run(f"(fn () {text})") for text in KINDS[kind]]
