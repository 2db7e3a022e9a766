"""How operations use the values of a representation: they read, change or show them, or hand them on.

READ leaves the value where it is. LEND puts the general form around it for a builtin that only reads it. CHANGE is an
operation whose result takes the value over. MOVE gives it to another variable. ESCAPE lets anybody see it from now on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from semac.anf import nodes as anf
from semac.anf.nodes import Op, Ref
from semac.anf.walk import operands
from semac.ir.nodes import Function, Var
from semac.types.lattice import FN, Type

TESTS = frozenset(("not", "is_none"))  # operations of Python that ask nothing but whether a value is nil or false
READ, LEND, CHANGE, MOVE, ESCAPE = "read", "lend", "change", "move", "escape"


class Use(NamedTuple):
    """A variable as an operand. target: who gets its value, of a move; a parameter's variable of a call."""

    var: Var
    how: str
    target: Any = None


def known_callee(op: anf.Call) -> Function | None:
    """The one function of the unit that a call reaches, which nobody else calls."""
    head = op.head.type
    if not head.only(FN) or head.fns is None or len(head.fns) != 1:
        return None
    (function,) = head.fns
    if type(function) is not Function or function.is_open or function.rest is not None:
        return None
    return function if len(function.params) == len(op.args) else None


class Representation:
    """A form in which values of a type are held where nobody else sees them.

    tags: of the type. needed: the kinds of changes (`gain`) without which the form isn't worth while. copies: whether
    the general form is a copy, which costs as much as the value is large; then a value that others get to see must not
    be used afterwards, so that all copies cost no more than what made the values.
    """

    tags = 0
    needed = 1
    copies = False

    def __init__(self) -> None:
        self.kept: dict[Op, list[Use]] = {}
        self.carried: Any = None  # what functions return in vectors (`own/carried.py`)

    def holds(self, type_: Type) -> bool:
        """Whether values of a type surely can have the form."""
        return type_.only(self.tags)

    def is_held(self, value: Any) -> bool:
        return type(value) is Ref and self.holds(value.type)

    def fresh(self, op: Op) -> str:
        """The kind of an operation that makes a value nobody else has; "" for others."""
        raise NotImplementedError

    def gain(self, op: Op) -> int:
        """The kind of change that an operation makes."""
        return 1

    def builtin_uses(self, op: anf.CallBuiltin, var: Var | None) -> list[Use]:
        """How a call of a builtin uses its operands. var: what its value is bound to."""
        raise NotImplementedError

    def runtime_uses(self, op: anf.CallRuntime) -> list[Use]:
        """The same of a function of the runtime."""
        return self.each(op, {})

    def uses(self, op: Op, var: Var | None) -> list[Use]:
        """As `uses_of`, asked once of each operation: for code that doesn't change meanwhile."""
        uses = self.kept.get(op)
        if uses is None:
            uses = self.kept[op] = self.uses_of(op, var)
        return uses

    def uses_of(self, op: Op, var: Var | None) -> list[Use]:
        """How an operation uses those of its operands that are held. var: what its value is bound to."""
        if type(op) is anf.Read:
            return [Use(op.var, MOVE, var)] if self.holds(op.var.type) else []
        others = ~self.tags
        for value in operands(op):
            if type(value) is Ref and value.type.tags and not value.type.tags & others:
                break  # it is held
        else:
            return []
        kind = type(op)
        if kind is anf.Assign:
            return [self.handed_to(op.var, op.value)]  # type: ignore[attr-defined]
        if kind is anf.CallBuiltin:
            return self.builtin_uses(op, var)  # type: ignore[arg-type]
        if kind is anf.CallRuntime:
            return self.runtime_uses(op)  # type: ignore[arg-type]
        if kind is anf.MakeVector:
            parts = self.carried.parts(op) if self.carried is not None else []
            if not parts:
                return self.each(op, {})
            return [Use(value.var, MOVE, part) for part, value in parts if self.is_held(value)]
        if kind is anf.Move:
            return [Use(value.var, MOVE, var) for value in operands(op) if self.is_held(value)]  # type: ignore[union-attr]
        if kind is anf.Call:
            return self.call_uses(op)  # type: ignore[arg-type]
        if kind is anf.Loop or kind is anf.For:
            return self.loop_uses(op)
        if kind is anf.Comprehension:
            return self.each(op, dict.fromkeys(range(len(op.sources)), self.lent))  # type: ignore[attr-defined]
        if kind is anf.If or (kind is anf.Python and op.kind in TESTS):  # type: ignore[attr-defined]
            return self.each(op, {0: READ})
        if kind is anf.Logic:
            if var is None:
                return self.each(op, {0: READ})
            return [Use(op.first.var, MOVE, var)] if self.holds(op.type) else self.each(op, {})  # type: ignore[attr-defined]
        if kind is anf.Match or kind is anf.Destructure:
            return self.each(op, {0: self.lent})
        return self.each(op, {})

    @property
    def lent(self) -> str:
        """How a value is used by what only reads its general form."""
        return ESCAPE if self.copies else LEND

    def each(self, op: Op, how: dict[int, str]) -> list[Use]:
        """The uses of all operands that are held; those whose position isn't given escape."""
        return [
            Use(value.var, how.get(index, ESCAPE))  # type: ignore[union-attr]
            for index, value in enumerate(operands(op))
            if self.is_held(value)
        ]

    def loop_uses(self, op: Any) -> list[Use]:
        pairs = zip(op.params, op.inits, strict=False)
        given = [self.handed_to(param, init) for param, init in pairs if self.is_held(init)]
        sources = operands(op)[len(op.inits) :]
        return [*given, *(Use(source.var, self.lent) for source in sources if self.is_held(source))]  # type: ignore[union-attr]

    def handed_to(self, param: Var, value: Any) -> Use:
        """The use of a value that a parameter gets: one that may hold anything else shows it to whatever takes that."""
        return Use(value.var, MOVE, param) if self.holds(param.type) else Use(value.var, ESCAPE)

    def call_uses(self, op: anf.Call) -> list[Use]:
        function = known_callee(op)
        if function is None:
            return self.each(op, {})
        pairs = zip(function.params, op.args, strict=True)
        return [self.handed_to(param, arg) for param, arg in pairs if self.is_held(arg)]
