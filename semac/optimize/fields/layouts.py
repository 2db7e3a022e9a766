"""The tuples that functions return in place of maps: what is where, and how a caller makes the whole value again."""

from __future__ import annotations

from typing import Any

from semac.anf.literals import literal
from semac.anf.nodes import (
    Block,
    CallBuiltin,
    Destructure,
    Expr,
    If,
    Let,
    Lit,
    MakeMap,
    MakeVector,
    Ref,
    Result,
    SequencePattern,
    VarPattern,
)
from semac.ir.nodes import Function, Var
from semac.optimize.fields.known import PLAIN, truth
from semac.optimize.fields.split import again
from semac.optimize.loops.functions import temporary

MOST_SHAPES = 3
MOST_FIELDS = 8

Shape = tuple[str, tuple[Any, ...]]  # "map", "list" or "vector", and the keys


class Group:
    """Functions that return the same tuples. made: what each shape is made of, at each place that makes it. has_nil:
    whether some of them return nil, too."""

    def __init__(self) -> None:
        self.made: dict[Shape, list[dict[Any, Expr]]] = {}
        self.has_nil = False

    def add(self, other: Group) -> None:
        self.has_nil = self.has_nil or other.has_nil
        for shape, made in other.made.items():
            self.made.setdefault(shape, []).extend(made)

    def is_small(self) -> bool:
        return 0 < len(self.made) <= MOST_SHAPES and all(len(keys) <= MOST_FIELDS for _, keys in self.made)


class Layout:
    """What is where in the tuples of a group. slots: the key of each item, (shape, key) for what one shape has."""

    hint = "parts"

    def __init__(self, group: Group) -> None:
        self.shapes = sorted(group.made, key=str)
        self.constants = {
            (shape, key): same for shape in self.shapes for key in shape[1] if (same := constant_of(group, shape, key))
        }
        self.true = {
            (shape, key)
            for shape in self.shapes
            for key in shape[1]
            if all(truth(parts[key]) for parts in group.made[shape])
        }
        self.has_nil = group.has_nil
        self.tag = self.find_tag()
        self.keys = list(
            dict.fromkeys(key for shape in self.shapes for key in shape[1] if (shape, key) not in self.constants)
        )

    def find_tag(self) -> list[Lit]:
        """The constants that tell the shapes apart, one for each."""
        if len(self.shapes) == 1:
            return []
        for key in self.shapes[0][1]:
            tags = [self.constants.get((shape, key)) for shape in self.shapes]
            values = {(type(tag.value), tag.value) for tag in tags if tag is not None}
            if None not in tags and len(values) == len(tags):
                return [tag for tag in tags if tag is not None]
        if len(self.shapes) == 2:
            return [literal(True), literal(False)]
        return [literal(index) for index in range(len(self.shapes))]

    def items(self, shape: Shape, parts: dict[Any, Expr]) -> list[Expr]:
        """The tuple of a value of some shape."""
        tag: list[Expr] = [again(self.tag[self.shapes.index(shape)])] if self.tag else []
        return tag + [again(parts[key]) if key in parts else literal(None) for key in self.keys]


class Whole:
    """Makes the map, list or vector of a tuple again. out: gets the instructions; true: the variables that surely
    count as true."""

    def __init__(self, layout: Layout, owner: Function | None, span: Any, true: set[Var]) -> None:
        self.layout = layout
        self.owner = owner
        self.span = span
        self.true = true
        self.tag = temporary("status", owner)
        self.items = {key: temporary(hint_of(key), owner) for key in layout.keys}

    def make(self, var: Var, raw: Var, out: list[Let]) -> None:
        """Gives a variable the whole value."""
        if not self.layout.has_nil:
            self.take_apart(var, raw, out)
            return
        test, here = temporary("is_nil", self.owner), temporary(self.layout.hint, self.owner)
        test.op = CallBuiltin("nil?", [Ref(raw)], fixed=True, span=self.span)
        otherwise = Block([], Result(Ref(here), self.span))
        self.take_apart(here, raw, otherwise.instrs)
        var.op = If(Ref(test), Block([], Result(literal(None), self.span)), otherwise, span=self.span)
        out += [Let(test, test.op), Let(var, var.op)]

    def take_apart(self, var: Var, raw: Var, out: list[Let]) -> None:
        items = [self.tag, *self.items.values()] if self.layout.tag else list(self.items.values())
        pattern = SequencePattern([VarPattern(item) for item in items], None)
        out.append(Let(None, Destructure(pattern, Ref(raw), span=self.span)))
        self.choose(0, var, out)

    def choose(self, index: int, var: Var, out: list[Let]) -> None:
        """The value is of the shape with an index, or of a later one."""
        layout, span = self.layout, self.span
        if index == len(layout.shapes) - 1:
            self.made(index, var, out)
            return
        test = self.tag
        if layout.tag[index].value is not True or len(layout.shapes) > 2:
            test = temporary("is_such", self.owner)
            test.op = CallBuiltin("=", [again(layout.tag[index]), Ref(self.tag)], fixed=True, span=span)
            out.append(Let(test, test.op))
        here, later = temporary(layout.hint, self.owner), temporary(layout.hint, self.owner)
        then, otherwise = Block([], Result(Ref(here), span)), Block([], Result(Ref(later), span))
        self.made(index, here, then.instrs)
        self.choose(index + 1, later, otherwise.instrs)
        var.op = If(Ref(test), then, otherwise, span=span)
        out.append(Let(var, var.op))

    def made(self, index: int, var: Var, out: list[Let]) -> None:
        """The value is of one shape."""
        layout, shape = self.layout, self.layout.shapes[index]
        kind, keys = shape
        values: dict[Any, Expr] = {}
        for key in keys:
            constant_ = layout.constants.get((shape, key))
            values[key] = Ref(self.items[key]) if constant_ is None else again(constant_)
            if constant_ is None and (shape, key) in layout.true:
                self.true.add(self.items[key])
        if kind == "map":
            var.op = MakeMap([part for key in keys for part in (literal(key), values[key])], span=self.span)
        elif kind == "vector":
            var.op = MakeVector(list(values.values()), span=self.span)
        else:
            var.op = CallBuiltin("list", list(values.values()), fixed=True, span=self.span)
        out.append(Let(var, var.op))


def hint_of(key: Any) -> str:
    return key if type(key) is str else f"part_{key}" if type(key) is int else key.name


def constant_of(group: Group, shape: Shape, key: Any) -> Lit | None:
    """The constant that a field is wherever a shape is made."""
    values = [parts[key] for parts in group.made[shape]]
    first = values[0]
    if type(first) is not Lit or type(first.value) not in PLAIN:
        return None
    same = all(
        type(value) is Lit and type(value.value) is type(first.value) and value.value == first.value for value in values
    )
    return first if same else None
