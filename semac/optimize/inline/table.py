"""The table of builtins that are inlined, and what an entry of it knows of the call.

An entry takes the call and its place and gives the operation that takes its place, or None. The operation has the
call's operands, which are evaluated once and in order; where it can't do what the builtin does, it calls the builtin.
So it raises what the builtin raises, at the same moment and position.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semac.anf.nodes import CallBuiltin, CallRuntime, Expr, Guarded, Let, Lit, Op, Python, Ref
from semac.ir.nodes import Function, Var
from semac.types.lattice import ANY, NIL, OTHER, Type

Inliner = Callable[["Any", "Place"], "Op | None"]
INLINE: dict[str, Inliner] = {}
INLINE_RUNTIME: dict[str, Inliner] = {}  # by the path of a `CallRuntime`


class Place:
    """Where a call stands. guards: whether it runs often enough to ask for types; ends: whether an error ends the call
    of the function around it; wanted: whether anybody reads the value; is_text: whether the Python is for people;
    is_module: whether it is a module's, which is given values of Python;
    before: instructions to put in front of it."""

    __slots__ = ("before", "ends", "guards", "is_module", "is_text", "owner", "span", "wanted")

    def __init__(
        self,
        owner: Function | None,
        guards: bool,
        ends: bool,
        wanted: bool,
        span: Any,
        is_text: bool,
        is_module: bool = False,
    ) -> None:
        self.is_text = is_text
        self.is_module = is_module
        self.owner = owner
        self.guards = guards
        self.ends = ends
        self.wanted = wanted
        self.span = span
        self.before: list[Let] = []

    def bind(self, op: Op, hint: str, type_: Type = ANY) -> Ref:
        """A variable for the value of an operation in front of the call."""
        var = Var("", self.owner)
        var.hint, var.defined, var.op, var.type = hint, 1, op, type_
        op.type, op.span = type_, self.span
        self.before.append(Let(var, op))
        return Ref(var, type_)

    def do(self, op: Op) -> None:
        """An operation in front of the call, for its effect."""
        op.span = self.span
        self.before.append(Let(None, op))

    def nested(self) -> Place:
        """The place of a block in the operation that takes the call's place."""
        return Place(self.owner, self.guards, self.ends, self.wanted, self.span, self.is_text, self.is_module)


def inlines(*names: str) -> Callable[[Inliner], Inliner]:
    """Enters a function for calls of builtins."""

    def register(function: Inliner) -> Inliner:
        INLINE.update(dict.fromkeys(names, function))
        return function

    return register


def guarded(op: CallBuiltin | CallRuntime, fast: str, *tests: tuple[str, tuple[int, ...]]) -> Guarded:
    """The fast operation where the tests hold, else the call as it is."""
    slow = f"builtin:{op.name}" if type(op) is CallBuiltin else op.path  # type: ignore[union-attr]
    return Guarded(list(tests), op.args, fast, slow)


def of_foreign(op: Guarded, kind: str, place: Place) -> Guarded:
    """The same, which in a module asks for a list or dict of Python, too (`generate/guards.py`)."""
    if place.is_module and op.args[0].type.tags & OTHER:
        op.foreign = kind
    return op


def is_kind(type_: Type, tags: int, exact: str) -> tuple[str, tuple[int, ...]]:
    """The test that operand 0, of a type, is of the tags: that it isn't nil where it can be nothing else."""
    return ("not_nil", (0,)) if type_.only(tags | NIL) else (exact, (0,))


def python(kind: str, *args: Expr) -> Python:
    return Python(kind, list(args))


def known_index(index: Expr) -> int | None:
    """The index that a literal is; None for anything else."""
    return index.value if type(index) is Lit and type(index.value) is int and index.value >= 0 else None


def may_be(type_: Type, tags: int) -> bool:
    """Whether a value of a type is likely enough of one of the tags to ask for it."""
    return type_ is ANY or bool(type_.tags & tags)
