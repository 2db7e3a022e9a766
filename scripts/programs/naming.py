"""The variables that an expression can use."""

from __future__ import annotations

from typing import NamedTuple

from programs.kinds import Kind

SPECIAL_NAMES = (
    "list", "count", "first", "str", "last", "f", "map", "x", "acc", "lambda*", "is-ok?", "set-it!", "a->b", "class",
    "None",
    "self", "range", "print", "it", "-x", "e", "rest", "key", "i", "type", "int", "else-branch", "loop", "x_y", "x-y",
)  # fmt: skip


class Name(NamedTuple):
    """A variable in scope. work: the estimated steps of a call of it."""

    name: str
    kind: Kind
    assigned: bool = False
    work: int = 20


Scope = tuple[Name, ...]


def visible(scope: Scope) -> list[Name]:
    """The variables of a scope without those that a closer one hides."""
    found: dict[str, Name] = {}
    for name in scope:
        found.pop(name.name, None)
        found[name.name] = name
    return list(found.values())
