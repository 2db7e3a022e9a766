"""Copies of functions: with variables, inner functions and loops of their own."""

from __future__ import annotations

from collections.abc import Callable
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


class Makers(dict[type, Callable[["Copier", Any], Any]]):
    """By class of nodes, a function that copies one: each is written out when it is first asked for."""

    def __missing__(self, kind: Any) -> Callable[[Copier, Any], Any]:
        lines = [
            "def make(copier, part):",
            "    made = new(kind)",
            "    copier.made[id(part)] = made",
            "    copier.originals.append(part)",
            "    copy = copier.copy",
        ]
        for field in (*kind.fields, *kind.options):
            if field == "span":
                lines.append("    made.span = part.span")
            else:
                lines.append(f"    value = part.{field}")
                lines.append(f"    made.{field} = value if shared(type(value)) else copy(value)")
        if issubclass(kind, CallBuiltin):
            lines.append("    made.site = None")
        scope: dict[str, Any] = {"new": object.__new__, "kind": kind, "shared": SHARED.get}
        exec("\n".join([*lines, "    return made"]), scope)
        self[kind] = scope["make"]
        return self[kind]


MAKERS = Makers()


def keeper(slots: tuple[str, ...]) -> Callable[[Any, Any], None]:
    """A function that gives an object some attributes of another one, written out as there are many such objects."""
    scope: dict[str, Any] = {}
    exec("def keep(before, after):\n" + "\n".join(f"    after.{slot} = before.{slot}" for slot in slots), scope)
    keep: Callable[[Any, Any], None] = scope["keep"]
    return keep


keep_var, keep_function = keeper(KEPT_OF_VAR), keeper(KEPT_OF_FUNCTION)


class Copier:
    """Copies what belongs to one function of the top level; globals, types and record types are shared.

    inside: the functions that are copied, and no others; None: all that the copied code has.
    """

    def __init__(self, inside: set[Function] | None = None) -> None:
        self.inside = inside
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
        kind = type(part)
        if kind is not Var and kind is not Function and kind is not NamedLet:
            return MAKERS[kind](self, part)
        if kind is Function and self.inside is not None and part not in self.inside:
            return part
        made: Any = object.__new__(kind)
        self.made[id(part)] = made
        self.originals.append(part)
        if kind is Var:
            self.fill_var(part, made)
        elif kind is Function:
            self.fill_function(part, made)
        else:
            made.__init__(self.copy(part.var), self.copy(part.function), part.inits, part.is_loop, part.in_tail,
                          self.made.get(id(part.enclosing), part.enclosing), span=part.span)  # fmt: skip
        return made

    def fill_var(self, before: Var, after: Var) -> None:
        Var.__init__(after, before.name, None)
        keep_var(before, after)
        after.type = NEVER
        if before.owner is not None:
            after.owner = self.copy(before.owner)
        if before.function is not None:
            after.function = self.copy(before.function)
        if before.loop is not None:
            after.loop = self.copy(before.loop)
        self.vars.append((before, after))

    def fill_function(self, before: Function, after: Function) -> None:
        Function.__init__(after, before.name, None)
        keep_function(before, after)
        self.functions.append(after)
        after.parent = self.made.get(id(before.parent), before.parent)
        after.params = self.copy(before.params)
        after.rest = self.copy(before.rest)
        after.locals = self.copy(before.locals)
        after.var = None if before.var is None else self.copy(before.var)
        after.code = self.copy(before.code)
