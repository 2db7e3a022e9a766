"""Forms that have no place of their own in the traces of the reference: macro calls, `let` and its kin, and what stands
around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

BINDING = frozenset(("do", "let", "let*", "let-values", "let*-values", "letrec"))
COMPOUND = frozenset((List, tuple, Map))


def unplace(form: Any, is_macro_name: Callable[[str], bool]) -> None:
    """Takes their own place from the list forms that are a macro call or bind variables, or have such a form inside."""
    todo: list[tuple[Any, tuple[Any, ...]]] = [(form, ())]
    while todo:
        part, around = todo.pop()
        if type(part) is List and part.items:
            head = part.items[0]
            name = head.name if type(head) is Symbol else ""
            if name == "quote":
                continue
            around = (*around, part) if part.span is not None else around
            if name in BINDING or (name and is_macro_name(name)):
                for outer in around:
                    outer.span.has_place = False
                around = ()
            todo += [(item, around) for item in part.items if type(item) in COMPOUND]
        elif type(part) is tuple:
            todo += [(item, around) for item in part if type(item) in COMPOUND]
        elif type(part) is Map:
            todo += [(item, around) for pair in part.pairs() for item in pair if type(item) in COMPOUND]
