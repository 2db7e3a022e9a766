"""Kinds that `Fits` asks for: exact types of Python, by name, and record types of the unit."""

from __future__ import annotations

from typing import Any

from semac.anf.records import RecordType
from semac.types.lattice import ARRAY, FLOAT, INT, LIST, NEVER, REAL, RECORD, STR, Type, make, restrict

Kind = Any  # a name, or a record type; "" asks nothing

TAGS = {"number": REAL, "int": INT, "float": FLOAT, "str": STR, "List": LIST, "MutableArray": ARRAY}


def fitted(type_: Type, kind: Kind) -> Type:
    """What is left of a type where a value is of a kind."""
    if not kind:
        return type_
    if type(kind) is RecordType:
        is_possible = type_.tags & RECORD and (type_.records is None or kind in type_.records)
        return make(RECORD, records=frozenset((kind,))) if is_possible else NEVER
    return restrict(type_, TAGS[kind])


def fits(type_: Type, kind: Kind) -> bool:
    """Whether every value of a type is of a kind."""
    if not kind:
        return True
    if type(kind) is RecordType:
        return type_.only(RECORD) and type_.records == frozenset((kind,))
    return type_.only(TAGS[kind])


def left_by(kind: Kind) -> int:
    """The tags that a value can have which isn't of a kind."""
    return ~TAGS[kind] if kind in ("number", "int", "float") else -1
