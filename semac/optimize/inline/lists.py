"""Lists: their first item and their rest are attributes. Lengths of everything that has one.

Sound because `car` and `empty` of a `List` are always set, and `next` is the rest or None where it isn't linked yet;
anything but an exact `List` goes to the builtin.
"""

from __future__ import annotations

from semac.anf.nodes import CallBuiltin, Lit, Move, Op, Python
from semac.optimize.inline.table import Place, guarded, inlines, is_kind, may_be, of_foreign, python
from semac.types.lattice import (
    ARRAY,
    BYTES,
    DICT,
    FLAT,
    LIST,
    NIL,
    OTHER,
    POSITIVE,
    STR,
    VECTOR,
    ZERO,
    Type,
    atom,
)

LINKED = ("linked", (0,))
SIZED = LIST | VECTOR | STR | DICT
HEADS = ("head", "head_second", "head_third")  # items of a vector at an index
LENGTHS = {
    "length": SIZED | ARRAY | BYTES, "count": SIZED, "string-length": STR, "string/length": STR,
    "mutable-array/length": ARRAY, "bytevector-length": BYTES, "bytevector/length": BYTES, "bytes/length": BYTES,
}  # fmt: skip


def is_list(type_: Type) -> tuple[str, tuple[int, ...]]:
    return is_kind(type_, LIST, "List")


def asks(type_: Type, place: Place) -> bool:
    """Whether to ask if a value is a list."""
    return place.guards and may_be(type_, LIST)


@inlines("car", "first")
def first(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    type_ = op.args[0].type
    if type_.only(LIST):
        return Python("sure_car" if op.filled else "car", op.args)
    if has_item(type_, 0):
        return tuple_item(op, 0, place)
    if type_.only(VECTOR):
        return guarded(op, "head", ("filled", (0,))) if place.guards else None
    return of_foreign(guarded(op, "car", is_list(type_)), "first", place) if asks(type_, place) else None


@inlines("cdr", "rest")
def rest(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    type_ = op.args[0].type
    if type_.only(LIST):
        return guarded(op, "next", LINKED) if place.guards else Python("cdr", op.args)
    return guarded(op, "next", is_list(type_), LINKED) if asks(type_, place) else None


@inlines("last")
def last(op: CallBuiltin, place: Place) -> Op | None:
    """`xs.flat[-1] if xs.flat else None`, `xs[-1]` of a vector that surely has items."""
    if len(op.args) != 1 or place.is_text:
        return None
    type_ = op.args[0].type
    if type_.only(VECTOR):
        return python("part", op.args[0], Lit(-1)) if type_.vec else None
    if type_.only(FLAT):
        return python("flat_part", op.args[0], Lit(-1)) if type_.row else python("flat_last", op.args[0])
    return None


@inlines("cadr")
def second(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1 or not place.guards:
        return None
    type_ = op.args[0].type
    if has_item(type_, 1):
        return tuple_item(op, 1, place)
    if type_.only(FLAT):
        return None if place.is_text else flat_item(type_, op, 1)
    if type_.only(LIST):
        return guarded(op, "second", LINKED)
    return of_foreign(guarded(op, "second", is_list(type_), LINKED), "second", place) if asks(type_, place) else None


@inlines("caddr")
def third(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1 or place.is_text:
        return None
    type_ = op.args[0].type
    if has_item(type_, 2):
        return tuple_item(op, 2, place)
    return flat_item(type_, op, 2) if type_.only(FLAT) else None


def has_item(type_: Type, index: int) -> bool:
    """Whether a value is a vector that surely has an item at an index, or nil."""
    is_vector = bool(type_.tags & VECTOR) and type_.only(VECTOR | NIL)
    return is_vector and type_.vec is not None and len(type_.vec) > index


def tuple_item(op: CallBuiltin, index: int, place: Place) -> Op | None:
    if op.args[0].type.only(VECTOR):
        return python("part", op.args[0], Lit(index))
    return guarded(op, HEADS[index], ("not_nil", (0,))) if place.guards else None


def flat_item(type_: Type, op: CallBuiltin, index: int) -> Op:
    """The item of a flat list at an index; nil where it has no so many."""
    if type_.row is not None:
        return python("flat_part", op.args[0], Lit(index)) if index < len(type_.row) else Move(Lit(None, atom(NIL)))
    return python("flat_get", op.args[0], Lit(index))


@inlines("cddr")
def after_second(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1 or not place.guards or not op.args[0].type.only(LIST):
        return None
    first_rest = place.bind(guarded(CallBuiltin("cdr", op.args), "next", LINKED), "rest_", op.args[0].type)
    return guarded(CallBuiltin("cdr", [first_rest]), "next", LINKED)


@inlines("null?")
def is_null(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    type_ = op.args[0].type
    if type_.only(LIST):
        return Python("empty", op.args)
    if type_.only(VECTOR):
        return None
    return guarded(op, "empty", is_list(type_)) if asks(type_, place) else None


@inlines("pair?")
def is_pair(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    type_ = op.args[0].type
    if type_.only(LIST):
        return Python("filled", op.args)
    return guarded(op, "filled", is_list(type_)) if asks(type_, place) else None


@inlines("empty?")
def is_empty(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    type_ = op.args[0].type
    if type_.only(LIST):
        return Python("empty", op.args)
    if type_.only(VECTOR | STR):
        return Python("blank", op.args)
    if type_.only(DICT):
        return Python("map_blank", op.args)
    return guarded(op, "empty", is_list(type_)) if asks(type_, place) else None


@inlines("string/empty?")
def is_empty_text(op: CallBuiltin, place: Place) -> Op | None:
    return Python("blank", op.args) if len(op.args) == 1 and op.args[0].type.only(STR) else None


@inlines(*LENGTHS)
def length(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    type_ = op.args[0].type
    if not type_.only(LENGTHS[op.name]):
        return unknown_length(op, place)
    if type(op.args[0]) is Lit and type(text := op.args[0].value) is str and place.guards:
        return Move(Lit(len(text), atom(POSITIVE if text else ZERO)))
    if type_.only(VECTOR | STR | BYTES):
        return Python("len", op.args)
    if type_.only(FLAT):
        return Python("flat_len", op.args)
    if type_.only(LIST):
        return Python("list_len", op.args) if place.guards else Python("len", op.args)
    if type_.only(DICT):
        return Python("map_len", op.args)
    if type_.only(ARRAY):
        return Python("array_len", op.args)
    return None


def unknown_length(op: CallBuiltin, place: Place) -> Op | None:
    """`len(xs)` of a text, or of a vector or a list of Python, behind a test."""
    type_ = op.args[0].type
    if not place.guards or op.as_value or type(op.args[0]) is Lit:
        return None
    if LENGTHS[op.name] == STR:
        return guarded(op, "len", ("str", (0,))) if may_be(type_, STR) else None
    if LENGTHS[op.name] & VECTOR and place.is_module and type_.tags & OTHER and may_be(type_, VECTOR):
        return guarded(op, "len", ("indexed", (0,)))
    return None
