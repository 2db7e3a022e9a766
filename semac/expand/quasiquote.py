"""Quasiquote templates → forms that build the data when they run.

The result uses heads that a program can't shadow:

    (quote x)        x itself
    (%list a b ...)  a list of the values
    (%append a b)    one list of the elements of lists and vectors; anything else is a type error
    (%vector xs)     a vector of the elements of the list xs

Vectors without splices and maps become vector and map forms, which evaluate to vectors and maps. Unquoted forms stand
in the result as they were written, so their places in the source are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sema_runtime.values.atoms import Symbol, symbol
from sema_runtime.values.errors import ArityError, SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.syntax.spans import relocated

QUOTE, QUASIQUOTE, UNQUOTE, SPLICE = map(symbol, ("quote", "quasiquote", "unquote", "unquote-splicing"))
LIST, APPEND, VECTOR = map(symbol, ("%list", "%append", "%vector"))


def expand_quasiquote(template: Any, gensym: Callable[[str], Symbol]) -> Any:
    """The form that builds what the template describes.

    gensym: makes the symbol for a `name#`; all occurrences of one name in the template share it.
    Raises ArityError for a misused unquote, SemaError for a splice inside a map.
    """
    template = _renamed(template, gensym, {}, 1)
    return _build(template, 1)


def _head(form: Any) -> Any:
    """The head symbol of a list form, else None."""
    if type(form) is List and form.items and type(form.items[0]) is Symbol:
        return form.items[0]
    return None


def _renamed(form: Any, gensym: Callable[[str], Symbol], names: dict[Symbol, Symbol], depth: int) -> Any:
    """The template with each `name#` that is not in unquoted code replaced; unchanged parts stay the same objects."""
    kind = type(form)
    if kind is Symbol:
        if not form.name.endswith("#") or len(form.name) < 2:
            return form
        if form not in names:
            names[form] = gensym(form.name[:-1])
        return names[form]
    if kind is tuple:
        parts = tuple(_renamed(part, gensym, names, depth) for part in form)
        return parts if any(new is not old for new, old in zip(parts, form, strict=True)) else form
    if kind is Map:
        return Map.of(
            (_renamed(key, gensym, names, depth), _renamed(value, gensym, names, depth)) for key, value in form.pairs()
        )
    if kind is not List:
        return form
    depth += _step(form)
    if depth == 0 or (depth == 1 and _head(form) is SPLICE):
        return form
    items = [_renamed(part, gensym, names, depth) for part in form.items]
    if all(new is old for new, old in zip(items, form.items, strict=True)):
        return form
    return relocated(items, form.span)


def _step(form: List) -> int:
    """How a list changes the level: a nested quasiquote adds one, an unquote takes one away."""
    head = _head(form)
    return 1 if head is QUASIQUOTE else -1 if head is UNQUOTE else 0


def _build(form: Any, depth: int) -> Any:
    kind = type(form)
    if kind is List:
        if depth == 1 and _head(form) is UNQUOTE:
            return _only_argument(form)
        if depth == 1 and _head(form) is SPLICE:
            _only_argument(form)  # a splice that stands in no list stays as it is written
            return List([QUOTE, form])
        if _head(form) is UNQUOTE and len(form.items) == 2:
            return _list_or_quote([List([QUOTE, UNQUOTE]), _build(form.items[1], depth - 1)], form.span)
        return _build_items(form.items, depth + _step(form), form)
    if kind is tuple:
        if any(_is_splice(part, depth) for part in form):
            return List([VECTOR, _build_items(form, depth, None)])
        parts = tuple(_build(part, depth) for part in form)
        return List([QUOTE, tuple(map(_constant, parts))]) if all(map(_is_constant, parts)) else parts
    if kind is Map:
        return _build_map(form, depth)
    return List([QUOTE, form]) if kind is Symbol else form


def _build_map(form: Map, depth: int) -> Any:
    pairs = []
    for key, value in form.pairs():
        if _is_splice(key, depth) or _is_splice(value, depth):
            hint = "splicing only makes sense inside a list or vector"
            raise SemaError("unquote-splicing is not allowed in a quasiquoted map key or value", hint)
        pairs.append((_build(key, depth), _build(value, depth)))
    return Map.of(pairs)


def _build_items(items: Sequence[Any], depth: int, form: List | None) -> Any:
    """The form that makes a list of the items; form: the list they come from, for its place."""
    span = form.span if form is not None else None
    parts: list[Any] = []  # the arguments of an append
    run: list[Any] = []  # those of the %list under way
    start = 0  # where that began
    for index, item in enumerate(items):
        if _is_splice(item, depth):
            if run:
                parts.append(_list_of(run, span, start))
                run = []
            parts.append(_only_argument(item))
            start = index + 1
        else:
            run.append(_build(item, depth))
    if not parts:
        return _list_or_quote(run, span)
    if run:
        parts.append(_list_of(run, span, start))
    return parts[0] if len(parts) == 1 else relocated([APPEND, *parts], span, ())


def _list_or_quote(values: list[Any], span: Any) -> List:
    if all(map(_is_constant, values)):
        return relocated([QUOTE, relocated([*map(_constant, values)], span)], span, ())
    return _list_of(values, span, 0)


def _list_of(values: list[Any], span: Any, start: int) -> List:
    """(%list values...), where values[0] stood at position start of the template."""
    places = getattr(span, "children", ()) or ()
    return relocated([LIST, *values], span, (None, *places[start : start + len(values)]))


def _is_splice(form: Any, depth: int) -> bool:
    return depth == 1 and _head(form) is SPLICE


def _is_constant(form: Any) -> bool:
    """Whether a built form is known to make the same value every time: an atom or (quote x)."""
    if type(form) is List:
        return _head(form) is QUOTE and len(form.items) == 2
    return type(form) not in (Symbol, tuple, Map)


def _constant(form: Any) -> Any:
    """The value of a constant form."""
    return form.items[1] if type(form) is List else form


def _only_argument(form: List) -> Any:
    if len(form.items) != 2:
        raise ArityError(form.items[0].name, "1", len(form.items) - 1)
    return form.items[1]
