"""Copies of functions: with variables, inner functions and loops of their own."""

from __future__ import annotations

from typing import Any

from semac.anf.nodes import CallBuiltin
from semac.ir.node import Node
from semac.ir.nodes import Function, NamedLet, Var
from semac.types.lattice import NEVER

KEPT_OF_VAR = ("name", "is_global", "late", "early", "hint", "assigned", "defined", "captured", "escapes",
               "inner_define", "span")  # fmt: skip
KEPT_OF_FUNCTION = (
    "anonymous",
    "body",
    "doc",
    "has_closures",
    "is_callback",
    "is_generator",
    "is_thunk",
    "place",
    "self_tail",
    "span",
)


SHARED: dict[type, bool] = {}  # whether values of a class are the same in all copies


class Copier:
    """Copies what belongs to one function of the top level; globals, types and record types are shared."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        self.originals: list[Any] = []  # so that no id is used twice
        self.vars: list[tuple[Var, Var]] = []
        self.functions: list[Function] = []

    def function(self, original: Function, var: Var) -> Function:
        """The copy of a function that is the value of another global."""
        copied: Function = self.copy(original)
        copied.var = var
        copied.doc = None
        for before, after in self.vars:
            after.op = self.made.get(id(before.op))
        return copied

    def copy(self, part: Any) -> Any:
        kind = type(part)
        if kind is list:
            return [self.copy(item) for item in part]
        if kind is tuple:
            return tuple(self.copy(item) for item in part)
        is_shared = SHARED.get(kind)
        if is_shared is None:
            is_shared = SHARED[kind] = not issubclass(kind, Var | Function | Node)
        if is_shared or (kind is Var and part.is_global):
            return part
        known = self.made.get(id(part))
        return self.new(part) if known is None else known

    def new(self, part: Any) -> Any:
        made: Any = object.__new__(type(part))
        self.made[id(part)] = made
        self.originals.append(part)
        if isinstance(part, Var):
            self.fill_var(part, made)
        elif isinstance(part, Function):
            self.fill_function(part, made)
        elif isinstance(part, NamedLet):
            made.__init__(self.copy(part.var), self.copy(part.function), part.inits, part.is_loop, part.in_tail,
                          self.made.get(id(part.enclosing), part.enclosing), span=part.span)  # fmt: skip
        else:
            kind = type(part)
            for field in (*kind.fields, *kind.options):
                value = getattr(part, field)
                if field != "span" and not SHARED.get(type(value)):
                    value = self.copy(value)
                setattr(made, field, value)
            if isinstance(part, CallBuiltin):
                made.site = None
        return made

    def fill_var(self, before: Var, after: Var) -> None:
        Var.__init__(after, before.name, None)
        for slot in KEPT_OF_VAR:
            setattr(after, slot, getattr(before, slot))
        after.type = NEVER
        after.owner = self.copy(before.owner)
        after.function = self.copy(before.function)
        after.loop = self.copy(before.loop)
        self.vars.append((before, after))

    def fill_function(self, before: Function, after: Function) -> None:
        Function.__init__(after, before.name, None)
        for slot in KEPT_OF_FUNCTION:
            setattr(after, slot, getattr(before, slot))
        self.functions.append(after)
        after.parent = self.made.get(id(before.parent), before.parent)
        after.params = self.copy(before.params)
        after.rest = self.copy(before.rest)
        after.locals = self.copy(before.locals)
        after.var = None if before.var is None else self.copy(before.var)
        after.code = self.copy(before.code)
