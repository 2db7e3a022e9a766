"""Where expressions stand in a program: the places that a mutation may change, with the local names that they see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sema_runtime.values.atoms import Symbol, symbol
from sema_runtime.values.lists import List

Path = tuple[int, ...]
Names = tuple[str, ...]

QUOTED = frozenset(("quote", "quasiquote", "define-syntax", "defmacro", "define-record-type", "import", "module"))
FUNCTIONS = frozenset(("fn", "lambda"))
DEFINERS = frozenset(("define", "defn", "defun", "def"))
LETS = frozenset(("let", "let*", "letrec"))
COUNTED = frozenset(("dotimes", "for-range"))
BOUND = frozenset(("if-let", "when-let"))


class Slot(NamedTuple):
    """An expression: its path from the list of forms, itself, and the local names in scope."""

    path: Path
    form: Any
    scope: Names


def slots(forms: Any) -> Iterator[Slot]:
    """All expressions of a program, outer ones first."""
    for index, form in enumerate(forms):
        yield from _slots(form, (index,), ())


def _slots(form: Any, path: Path, scope: Names) -> Iterator[Slot]:
    head = head_of(form)
    if len(path) > 1 or head not in DEFINERS | QUOTED | {"defmethod", "defmulti"}:
        yield Slot(path, form, scope)
    if type(form) is tuple:
        for index, item in enumerate(form):
            yield from _slots(item, (*path, index), scope)
    if type(form) is not List or head in QUOTED or not len(form):
        return
    for where, part, names in parts(head, list(form)):
        yield from _slots(part, (*path, *where), (*scope, *names))


def parts(head: str, items: list[Any]) -> Iterator[tuple[Path, Any, Names]]:
    """The expressions directly in a form, with the names that the form binds for them."""
    if head in FUNCTIONS and len(items) > 2:
        yield from body(items, 2, bound(items[1]))
    elif head in DEFINERS and len(items) > 2:
        names = bound(items[1])[1:] if type(items[1]) is List else ()
        start = 2
        if head in ("defn", "defun"):
            names, start = bound(items[2]), 3
        yield from body(items, start, names)
    elif head in LETS and len(items) > 2:
        yield from let_parts(head, items)
    elif head == "do" and len(items) > 2 and type(items[1]) is List and type(items[2]) is List:
        names = tuple(name for binding in items[1] for name in bound(binding)[:1])
        for index, binding in enumerate(items[1]):
            for at, part in enumerate(binding if type(binding) is List else ()):
                if at:
                    yield (1, index, at), part, names if at == 2 else ()
        for index, part in enumerate(items[2]):
            yield (2, index), part, names
        yield from body(items, 3, names)
    elif head == "cond":
        for index, clause in enumerate(items[1:], 1):
            for at, part in enumerate(clause if type(clause) is List else ()):
                if at or part is not symbol("else"):
                    yield (index, at), part, ()
    elif head == "case" and len(items) > 1:
        yield (1,), items[1], ()
        yield from clauses(items, 1, bind=False)
    elif head in ("match", "match*") and len(items) > 1:
        yield (1,), items[1], ()
        yield from clauses(items, 1, bind=True)
    elif head == "try":
        for index, part in enumerate(items[1:], 1):
            if head_of(part) == "catch":
                for at, inner in enumerate(part):
                    if at > 1:
                        yield (index, at), inner, bound(part.items[1])
            else:
                yield (index,), part, ()
    elif (head in COUNTED or head in BOUND) and len(items) > 2 and type(items[1]) is List and len(items[1]) > 1:
        for at, part in enumerate(items[1]):
            if at:
                yield (1, at), part, ()
        yield from body(items, 2, bound(items[1].items[0]))
    elif head == "set!":
        yield from body(items, 2, ())
    else:
        yield from body(items, 0 if type(items[0]) is List else 1, ())


def let_parts(head: str, items: list[Any]) -> Iterator[tuple[Path, Any, Names]]:
    named = isinstance(items[1], Symbol)
    at = 2 if named else 1
    if type(items[at]) is not List:
        return
    names: Names = (items[1].name,) if named else ()
    for index, binding in enumerate(items[at]):
        if type(binding) is List and len(binding) > 1:
            yield (at, index, 1), binding.items[1], names if head != "let" else ()
            names = (*names, *bound(binding.items[0]))
    yield from body(items, at + 1, names)


def body(items: list[Any], start: int, names: Names) -> Iterator[tuple[Path, Any, Names]]:
    for index in range(start, len(items)):
        yield (index,), items[index], names


def clauses(items: list[Any], before: int, bind: bool) -> Iterator[tuple[Path, Any, Names]]:
    """The bodies of clauses. bind: whether they begin with patterns."""
    for index, clause in enumerate(items):
        if index > before and type(clause) is List and len(clause) > 1:
            names = bound(clause.items[0]) if bind else ()
            for at, part in enumerate(clause):
                if at and part is not symbol("when"):
                    yield (index, at), part, names


def bound(pattern: Any) -> Names:
    """The names in a parameter list or pattern, more or less."""
    if isinstance(pattern, Symbol):
        return () if pattern.name in (".", "&", "_") else (pattern.name,)
    if type(pattern) in (List, tuple):
        return tuple(name for part in pattern for name in bound(part))
    return ()


def head_of(form: Any) -> str:
    if type(form) is List and len(form) and isinstance(form.items[0], Symbol):
        return form.items[0].name
    return ""


def replaced(forms: Any, path: Path, new: Any) -> Any:
    """Forms with another one at a path."""
    if not path:
        return new
    items = list(forms)
    items[path[0]] = replaced(items[path[0]], path[1:], new)
    return tuple(items) if type(forms) is tuple else List(items)


def names_in(form: Any) -> set[str]:
    """All symbols of a form."""
    if isinstance(form, Symbol):
        return {form.name}
    if type(form) in (List, tuple):
        return {name for part in form for name in names_in(part)}
    return set()
