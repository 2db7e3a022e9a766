"""Kinds that `Fits` asks for: exact types of Python, by name, and record types of the unit."""

from __future__ import annotations

from typing import Any

from semac.anf.records import RecordType, is_of_type, of_type
from semac.types.lattice import ARRAY, FLOAT, INT, LIST, NEVER, REAL, RECORD, STR, Type, make, restrict

Kind = Any  # a name, or a record type; "" asks nothing

TAGS = {"number": REAL, "int": INT, "float": FLOAT, "str": STR, "List": LIST, "MutableArray": ARRAY}


def fitted(type_: Type, kind: Kind) -> Type:
    """What is left of a type where a value is of a kind."""
    if not kind:
        return type_
    if type(kind) is RecordType:
        known = of_type(type_.records, kind)
        return make(RECORD, records=known) if type_.tags & RECORD and known else NEVER
    return restrict(type_, TAGS[kind])


def fits(type_: Type, kind: Kind) -> bool:
    """Whether every value of a type is of a kind."""
    if not kind:
        return True
    if type(kind) is RecordType:
        return is_of_type(type_, kind)
    return type_.only(TAGS[kind])


def left_by(kind: Kind) -> int:
    """The tags that a value can have which isn't of a kind."""
    return ~TAGS[kind] if kind in ("number", "int", "float") else -1
