"""Look-ups in maps: `m.d.get(key)`, where the key is surely one that maps store as it is.

A map gives its dict away when a large one is changed, so the dict is read and used at once, in one operation. A dict
whose entries are still to come is of a class that adds them first, whatever is asked of it.
"""

from __future__ import annotations

from sema_runtime.values.maps import PLAIN, Map
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Expr, If, Lit, MakeMap, Move, Op, Python, Ref, Result
from semac.ir.intrinsics import (
    EXTENDED,
    FIELD,
    FIELD_LEVEL,
    FIELD_LOOK,
    KEYWORD_GET,
    LEVEL,
    LOOK,
    NEW_KEY,
    STORED,
    WITH_ENTRIES,
    WITH_ENTRY,
)
from semac.optimize.inline.table import INLINE_RUNTIME, Place, guarded, inlines, is_kind, may_be, of_foreign, python
from semac.optimize.keys import STORED_AS_THEY_ARE, is_stored_as_is, is_stored_key
from semac.types.lattice import DICT, HASHMAP, INT, KEYWORD, MAP, NIL, STR, VECTOR, Type, has_field, shape_of

NOTHING = Map({})


def looked_up(op: CallBuiltin | CallRuntime, place: Place, fast: str, foreign: str = "") -> Op | None:
    """A look-up behind tests that its operand is a map, and the key one that maps store as it is. foreign: what
    a dict of Python is asked."""
    type_, key = op.args[0].type, op.args[1]
    if not place.guards or not may_be(type_, MAP) or not (is_stored_key(key) or may_be(key.type, STORED_AS_THEY_ARE)):
        return None
    is_map = [] if type_.only(DICT) else [is_kind(type_, DICT, "Map")]
    tests = [*is_map, *([] if is_stored_key(key) else [("atomic", (1,))])]
    if not tests:
        return Python(fast, op.args)
    return of_foreign(guarded(op, fast, *tests), foreign, place) if foreign else guarded(op, fast, *tests)


def is_item(type_: Type, key: Expr) -> bool:
    """Whether a map, where it is one, surely has a key."""
    return type_.only(MAP | NIL) and type(key) is Lit and key.type.only(KEYWORD) and has_field(type_, key.value)


@inlines("get", "hash-ref", "hashmap/get")
def get(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) not in (2, 3):
        return None
    share_default(op, place.is_text)
    type_ = op.args[0].type
    if not is_stored_as_is(op.args[1].type):
        return looked_up(op, place, "map_get", "text_entry" if type(op.args[1]) is Ref else "")
    if type_.only(DICT):
        key = op.args[1]
        if type_.only(MAP) and type(key) is Lit and key.type.only(KEYWORD) and has_field(type_, key.value):
            return python("map_item", *op.args[:2]) if type(op.args[-1]) is Lit else None
        return Python("map_get", op.args)
    fast = "map_item" if len(op.args) == 2 and is_item(type_, op.args[1]) else "map_get"
    is_plain = type(op.args[1]) is Lit and op.args[1].type.only(STR | INT)
    return looked_up(op, place, fast, "entry" if is_plain else "")


def share_default(op: CallBuiltin | CallRuntime | Python, is_text: bool = False) -> None:
    """Has a look-up share the map that it gives where there is nothing, if that is a literal: maps don't change, and
    what a look-up gives isn't known to be new."""
    value = op.args[2] if len(op.args) == 3 and not is_text else None
    made = value.var.op if type(value) is Ref and not value.var.name else None
    if type(made) is not MakeMap or made.is_raw or not all(type(item) is Lit for item in made.items):
        return
    items = [item.value for item in made.items]  # type: ignore[union-attr]
    if all(type(key) in PLAIN for key in items[::2]):
        op.args[2] = Lit(Map(dict(zip(items[::2], items[1::2], strict=True))) if items else NOTHING, made.type)


@inlines("assoc")
def assoc(op: CallBuiltin, place: Place) -> Op | None:
    """A map with up to three entries more, which needs no tests of its operands."""
    count = len(op.args)
    if place.is_text or count not in (3, 5, 7) or not op.args[0].type.only(DICT):
        return None
    if not all(map(is_stored_key, op.args[1::2])):
        return None
    return CallRuntime(WITH_ENTRY if count == 3 else WITH_ENTRIES, op.args)


def keyword_get(op: CallRuntime, place: Place) -> Op | None:
    """`(:key map)`."""
    subject, key = op.args
    type_ = subject.type
    if type_.only(DICT):
        is_there = type_.only(MAP) and type(key) is Lit and has_field(type_, key.value)
        return Python("map_item" if is_there else "map_get", op.args)
    return looked_up(op, place, "map_item" if is_item(type_, key) else "map_get", "keyword")


INLINE_RUNTIME[KEYWORD_GET] = keyword_get


def held_at(op: CallRuntime, place: Place) -> Op | None:
    """A step of `get-in`: nil where there is no map."""
    share_default(op, place.is_text)
    subject, key, *default = op.args
    if not is_stored_as_is(key.type):
        return None
    kind = "map_item" if is_item(subject.type, key) and not default else "map_get"
    if subject.type.only(DICT):
        return Python(kind, op.args)
    return looked_up(op, place, kind)


INLINE_RUNTIME[LOOK] = held_at


def field(op: CallRuntime, place: Place) -> Op | None:
    """A field of a map that is a tuple."""
    type_ = op.args[0].type
    if type_.only(VECTOR):
        return python("field", *op.args[:2])
    if not place.guards or not may_be(type_, VECTOR):
        return None
    return guarded(op, "field", is_kind(type_, VECTOR, "tuple"))


INLINE_RUNTIME[FIELD] = INLINE_RUNTIME[FIELD_LOOK] = field


def field_level(op: CallRuntime, place: Place) -> Op | None:
    """A map that is a tuple at a level of a path."""
    return Move(op.args[0]) if op.args[0].type.only(VECTOR) else None


INLINE_RUNTIME[FIELD_LEVEL] = field_level


def level(op: CallRuntime, place: Place) -> Op | None:
    """The map at a level of a path, a new one where there is nothing."""
    subject, key = op.args[:2]
    if place.is_text or not subject.type.only(DICT | NIL) or not is_stored_key(key):
        return None
    inner = place.nested()
    new = inner.bind(MakeMap([]), "level", shape_of({}))
    return If(subject, Block([], Result(subject)), Block(inner.before, Result(new)))


INLINE_RUNTIME[LEVEL] = level


@inlines("contains?", "hashmap/contains?")
def contains(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2:
        return None
    subject, key = op.args
    if op.name == "contains?" and subject.type.only(STR) and key.type.only(STR):
        return python("in", key, subject)
    if not is_stored_as_is(key.type):
        return looked_up(op, place, "map_has") if op.name == "contains?" else None
    if subject.type.only(DICT if op.name == "contains?" else HASHMAP):
        return python("map_has", subject, key)
    if op.name != "contains?":
        return None
    return looked_up(op, place, "map_has")


def stored(op: CallRuntime, place: Place) -> Op | None:
    """The key as a dict has it: most are stored as they are."""
    key = op.args[0]
    if not place.guards or not may_be(key.type, STORED_AS_THEY_ARE):
        return None
    return guarded(op, "first_of", ("atomic", (0,)))


INLINE_RUNTIME[STORED] = stored
INLINE_RUNTIME[NEW_KEY] = stored
INLINE_RUNTIME[EXTENDED] = lambda op, place: Python("extended", op.args)
