"""Literals and their types."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import CACHED, List
from sema_runtime.values.maps import Map
from semac.anf.nodes import Lit
from semac.types.depth import limited
from semac.types.lattice import (
    BYTES,
    CHAR,
    FALSE,
    FLAT,
    FLOAT,
    FN,
    HASHMAP,
    HUGE,
    KEYWORD,
    LIST,
    MAP,
    NEGATIVE,
    NIL,
    OTHER,
    POSITIVE,
    RATIO,
    STR,
    SYMBOL,
    TRUE,
    ZERO,
    Type,
    atom,
    dict_of,
    join_all,
    make,
    row_of,
    shape_of,
    vector_of,
)  # fmt: skip

ATOM_TYPES: dict[type, Type] = {
    float: atom(FLOAT), str: atom(STR), type(None): atom(NIL), Keyword: atom(KEYWORD),
    Symbol: atom(SYMBOL), Char: atom(CHAR),
}  # fmt: skip
WORD = 64  # bits of a literal, or a length, that isn't huge
MANY = 40  # items of quoted data beyond which they aren't told apart


def tags_of_int(value: int, most: int = WORD) -> int:
    """The tags of an int, which is huge if it has more bits."""
    sign = POSITIVE if value > 0 else NEGATIVE if value else ZERO
    return sign | HUGE if value.bit_length() > most else sign


def tags_of_list(value: List) -> int:
    """Whether a list of quoted data surely has its items at hand where the program runs: a macro may have consed it."""
    return FLAT if value.flat is not None and getattr(value, "note", None) is not CACHED else LIST


def literal(value: Any) -> Lit:
    return Lit(value, type_of_value(value))


def type_of_value(value: Any) -> Type:
    """The type of a constant."""
    kind = type(value)
    if kind is int:
        return atom(tags_of_int(value))
    known = ATOM_TYPES.get(kind)
    if known is not None:
        return known
    if kind is bool:
        return atom(TRUE if value else FALSE)
    if kind is List:
        if 0 < len(value) <= MANY:
            return limited(row_of(*map(type_of_value, value), tags=tags_of_list(value)))
        return limited(make(tags_of_list(value), join_all(map(type_of_value, value))))
    if kind is tuple:
        if len(value) <= MANY:
            return limited(vector_of(*map(type_of_value, value)))
        return limited(vector_type(join_all(map(type_of_value, value))))
    if kind is Map:
        entries = value.pairs()
        if len(entries) <= MANY and all(type(key) is Keyword for key, _ in entries):
            return limited(shape_of({key: type_of_value(item) for key, item in entries}))
        keys = join_all(type_of_value(key) for key, _ in entries)
        return limited(dict_of(MAP, keys, join_all(type_of_value(item) for _, item in entries)))
    return atom(OTHER | RATIO | BYTES | HASHMAP | FN)


def vector_type(item: Type) -> Type:
    from semac.types.lattice import VECTOR, make

    return make(VECTOR, vitem=item)
