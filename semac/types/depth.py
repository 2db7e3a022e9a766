"""Types of a bounded depth, so that they can't grow for ever."""

from __future__ import annotations

from collections.abc import Callable

from semac.types.lattice import ANY, MAX_DEPTH, Type, atom, lose, make


def limited(type_: Type, depth: int = MAX_DEPTH) -> Type:
    """The type with nothing known below a depth, so that types can't grow for ever."""
    if type_.depth <= depth:
        return type_
    new = _limited(type_, depth)
    if type_.refs:
        lose(type_.refs - new.refs)
    return new


def _limited(type_: Type, depth: int) -> Type:
    if type_.depth <= depth or type_ is ANY:
        return type_
    if depth == 0:
        return atom(type_.tags)
    return with_parts(type_, lambda part: _limited(part, depth - 1))


def with_parts(type_: Type, inner: Callable[[Type], Type]) -> Type:
    """The type with other types of what is inside of its lists, vectors and maps."""
    has_shape = type_.shape is not None
    return make(
        type_.tags,
        inner(type_.item) if type_.row is None else None,  # else it follows from the row, as below
        None if type_.vec is None else tuple(map(inner, type_.vec)),
        inner(type_.vitem) if type_.vec is None else None,
        type_.arrays,
        None if has_shape else inner(type_.key),
        None if has_shape else inner(type_.value),
        None if type_.shape is None else tuple((key, inner(part)) for key, part in type_.shape),
        type_.records,
        type_.fns,
        type_.form,
        None if type_.row is None else tuple(map(inner, type_.row)),
        type_.optional,
        frozenset(inner(node) if type(node) is Type else node for node in type_.nodes),
    )
