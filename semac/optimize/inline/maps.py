"""Look-ups in maps: `m.d.get(key)`, where the key is surely one that maps store as it is.

A map gives its dict away when a large one is changed, so the dict is read and used at once, in one operation. A dict
whose entries are still to come is of a class that adds them first, whatever is asked of it.
"""

from __future__ import annotations

from semac.anf.nodes import CallBuiltin, CallRuntime, Lit, Op, Python
from semac.ir.intrinsics import KEYWORD_GET
from semac.optimize.inline.table import INLINE_RUNTIME, Place, guarded, inlines, may_be, python
from semac.optimize.keys import is_stored_as_is
from semac.types.lattice import DICT, HASHMAP, KEYWORD, MAP, STR, has_field

IS_MAP = ("Map", (0,))


@inlines("get", "hash-ref", "hashmap/get")
def get(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) not in (2, 3) or not is_stored_as_is(op.args[1].type):
        return None
    type_ = op.args[0].type
    if type_.only(DICT):
        key = op.args[1]
        if type_.only(MAP) and type(key) is Lit and key.type.only(KEYWORD) and has_field(type_, key.value):
            return python("map_item", *op.args[:2]) if type(op.args[-1]) is Lit else None
        return Python("map_get", op.args)
    return guarded(op, "map_get", IS_MAP) if place.guards and may_be(type_, MAP) else None


def keyword_get(op: CallRuntime, place: Place) -> Op | None:
    """`(:key map)`."""
    subject, key = op.args
    type_ = subject.type
    if type_.only(DICT):
        is_there = type_.only(MAP) and type(key) is Lit and has_field(type_, key.value)
        return Python("map_item" if is_there else "map_get", op.args)
    return guarded(op, "map_get", IS_MAP) if place.guards and may_be(type_, MAP) else None


INLINE_RUNTIME[KEYWORD_GET] = keyword_get


@inlines("contains?", "hashmap/contains?")
def contains(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2:
        return None
    subject, key = op.args
    if op.name == "contains?" and subject.type.only(STR) and key.type.only(STR):
        return python("in", key, subject)
    if not is_stored_as_is(key.type):
        return None
    if subject.type.only(DICT if op.name == "contains?" else HASHMAP):
        return python("map_has", subject, key)
    if op.name != "contains?":
        return None
    return guarded(op, "map_has", IS_MAP) if place.guards and may_be(subject.type, MAP) else None
