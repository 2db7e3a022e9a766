"""What the values of one program look like: its records and maps with fixed keys, and which kinds it uses often."""

from __future__ import annotations

import random
from typing import NamedTuple

from programs.kinds import KEYS, SORTS, Kind

FIELD_NAMES = ("k", "j", "n", "name", "id", "left", "right", "next", "value", "x", "y")
ODD_KEYS = ('"s"', "1", "'sym", "#t", "nil", "2.5", "[1 2]", "#\\a")
RECORD_NAMES = ("point", "node", "item", "pair-of", "entry")
COMMON: tuple[Kind, ...] = ("int", "int", "str", "float")
RARE: tuple[Kind, ...] = (
    "kw", "bool", "num", "char", "sym", "any", "nil", "ratio", "big", "bytes", "farr", "iarr",
)  # fmt: skip
PLAIN = 0.6  # of the programs
PLAIN_RARE: tuple[Kind, ...] = ("kw", "bool", "num", "char", "sym", "ratio", "big", "any")
PLAIN_COMPOSED = ("list", "list", "list int", "vec", "tup", "map", "map kw", "arr", "opt")
COMPOSED = (
    "list", "list", "list", "list int", "vec", "tup", "map", "map", "map kw", "map any", "arr", "opt", "fn 1",
    "fn 2", "fn 0", "cell",
    "promise",
)  # fmt: skip


class Shape(NamedTuple):
    """A map with fixed keys: the text of each key, and the kind of its value."""

    fields: list[tuple[str, Kind]]


class Record(NamedTuple):
    name: str
    maker: str
    test: str
    fields: list[tuple[str, Kind, str]]  # name, kind, accessor

    def definition(self) -> str:
        names = " ".join(name for name, _, _ in self.fields)
        readers = " ".join(f"({name} {reader})" for name, _, reader in self.fields)
        return f"(define-record-type {self.name} ({self.maker} {names}) {self.test} {readers})"


class World:
    """Shapes and records of a program, and random kinds over them."""

    def __init__(self, source: random.Random) -> None:
        self.random = source
        if source.random() < PLAIN:  # what people write: few kinds, and functions only where they are called
            self.simple: tuple[Kind, ...] = (*COMMON, *source.sample(PLAIN_RARE, source.choice((0, 1, 2))))
            self.composed = source.sample(PLAIN_COMPOSED, source.choice((2, 3, 5)))
        else:
            self.simple = (*COMMON, *source.sample(RARE, source.choice((0, 1, 2, 2, 9))))
            self.composed = source.sample(COMPOSED, source.choice((3, 5, 5, len(COMPOSED))))
        self.shapes: dict[Kind, Shape] = {}
        self.records: dict[Kind, Record] = {}
        for index in range(source.choice((0, 1, 1, 2))):
            self.shapes["shape", f"s{index}"] = self.shape(("shape", f"s{index}"))
        for index in range(source.choice((0, 0, 1, 1, 2))):
            self.records["rec", f"r{index}"] = self.record(("rec", f"r{index}"), index)
        self.favourites = [self.kind(2) for _ in range(3)]

    def shape(self, itself: Kind) -> Shape:
        names = self.random.sample(FIELD_NAMES, self.random.choice((1, 2, 2, 3, 4)))
        fields = [(f":{name}", self.field(itself)) for name in names]
        if self.random.random() < 0.15:
            fields.append((self.random.choice(ODD_KEYS), self.field(itself)))
        return Shape(fields)

    def record(self, itself: Kind, index: int) -> Record:
        name = self.random.choice(RECORD_NAMES) + str(index)
        names = self.random.sample(FIELD_NAMES, self.random.choice((1, 2, 2, 3)))
        fields = [(field, self.field(itself), f"{name}-{field}") for field in names]
        return Record(name, self.random.choice(("make-{}", "{}", "{}-of")).format(name) + "!", f"{name}?", fields)

    def field(self, itself: Kind) -> Kind:
        """The kind of a field. A value has an end: a field of its own kind may be nil, or a list."""
        chance = self.random.random()
        if chance < 0.2:
            return self.random.choice([("opt", itself), ("opt", itself), ("list", itself)])
        return self.kind(1)

    def kind(self, depth: int) -> Kind:
        """A random kind."""
        known = [*self.shapes, *self.records]
        chance = self.random.random()
        if hasattr(self, "favourites") and chance < 0.3:
            return self.random.choice(self.favourites)
        if known and chance < 0.5:
            return self.random.choice(known)
        if depth <= 0 or chance < 0.72:
            return self.random.choice(self.simple)
        return self.composite(self.random.choice(self.composed), depth - 1)

    def composite(self, how: str, depth: int) -> Kind:
        """A kind with parts. how: one of COMPOSED."""
        inner = lambda: self.kind(depth)  # noqa: E731
        if how == "map":
            return "map", self.random.choice(KEYS), inner()
        if how == "tup":
            return "tup", inner(), inner()
        if how.startswith("fn"):
            return "fn", *(inner() for _ in range(int(how[-1]))), inner()
        if how == "map any":
            return "map", self.random.choice(KEYS), "any"
        head, _, part = how.partition(" ")
        if head == "map":
            return "map", part, inner()
        return head, part or inner()

    def kind_for(self, variable: str) -> Kind | None:
        """A kind that a variable of a template may stand for; None when the program has none."""
        if variable == "S":
            return self.random.choice([*self.shapes]) if self.shapes else None
        if variable == "P":
            return self.random.choice([*self.records]) if self.records else None
        if variable in SORTS:
            return self.random.choice(SORTS[variable])
        return self.kind(2)
