"""Items of vectors, lists, mutable arrays and strings by index.

Python takes a negative index as one from the end, so an index is compared with 0 unless its type says that it isn't
negative. Whether it is too great Python tests itself: its error becomes that of the language where it is shown or
caught (conditions/subscripts.py), from the variables of the function that failed, which must have ended by then. Inside
of a `try` of the same function it goes on, so there that is tested as well. The language has no other indices than
exact ints.
"""

from __future__ import annotations

from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallBuiltin, Expr, If, Lit, Move, Op, Python, Ref, Result, SetArrayItem, SetItem
from semac.optimize.inline.table import Place, guarded, inlines, known_index, may_be, python
from semac.types.lattice import ARRAY, BOOL, BYTES, CHAR, FLAT, INT, LIST, NATURAL, NIL, OTHER, STR, VECTOR, Type, atom

BOOL_TYPE = atom(BOOL)

RESTS = frozenset(("mod", "modulo", "remainder"))


def index_tests(op: CallBuiltin, kind: str = "index", ends: bool = False) -> list[tuple[str, tuple[int, ...]]]:
    """The tests that operand 1 is an index of operand 0. kind: how the sequence says its length. ends: whether Python's
    own test does, as an error ends the call of the function, whose variables then tell what it was."""
    index = op.args[1]
    if index.type.only(NATURAL):
        return [(f"{'python' if ends else 'natural'}_{kind}", (0, 1))]
    is_int = [] if index.type.only(INT) else [("int", (1,))]
    return [*is_int, (f"low_{kind}" if ends else kind, (0, 1))]


def held_index_tests(op: CallBuiltin, ends: bool, kind: str = "index") -> list[tuple[str, tuple[int, ...]]]:
    """The tests that operand 1, an int, is an index of operand 0, of which another test has asked what it is."""
    if not ends:
        return index_tests(op, kind)
    return [(f"rest_of_{kind}" if op.args[1].type.only(NATURAL) else f"low_{kind}", (0, 1))]


def may_be_index(index: Expr) -> bool:
    """Whether to ask if a value is an index."""
    return known_index(index) is not None or (type(index) is not Lit and may_be(index.type, INT))


def greatest_index(index: Expr) -> int | None:
    """The greatest index that a value surely doesn't exceed, of a value that is no less than 0; None where that isn't
    known: a literal, or what is left of a division by one."""
    literal = known_index(index)
    if literal is not None or type(index) is not Ref or not index.type.only(NATURAL) or not is_fixed(index.var):
        return literal
    op = index.var.op
    is_rest = (type(op) is CallBuiltin and op.name in RESTS) or (type(op) is Python and op.kind == "mod")
    divisor = known_index(op.args[1]) if is_rest and len(op.args) == 2 else None
    return divisor - 1 if divisor else None


@inlines("nth")
def nth(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2:
        return None
    sequence, index = op.args
    greatest = greatest_index(index)
    type_ = sequence.type
    if type_.only(VECTOR) and type_.vec is not None and greatest is not None and greatest < len(type_.vec):
        return python("part", sequence, index)
    if not place.guards or not may_be_index(index):
        return None
    if type_.only(VECTOR):
        return guarded(op, "item", *index_tests(op, ends=place.ends))
    if type_.only(FLAT):
        if type_.row is not None and greatest is not None and greatest < len(type_.row):
            return python("flat_part", sequence, index)
        return guarded(op, "flat_item", *index_tests(op, "flat_index", place.ends))
    if type_.only(LIST):
        items = place.bind(python("list_items", sequence), "items")
        on_items = CallBuiltin("nth", [items, index])
        return guarded(on_items, "item", *index_tests(on_items))
    if type_.only(ARRAY):
        return guarded(op, "array_item", *index_tests(op, "array_index"))
    if type_.only(VECTOR | NIL) and type_.tags & VECTOR and index.type.only(INT) and place.ends:
        return guarded(op, "item", ("not_nil", (0,)), *held_index_tests(op, True))
    if not may_be(type_, VECTOR):
        return None
    if place.is_module and type_.tags & OTHER:  # the error of a list of Python isn't one of the language
        return guarded(op, "item", ("indexed", (0,)), *index_tests(op)) if may_be(index.type, INT) else None
    if index.type.only(INT):
        return guarded(op, "item", ("tuple", (0,)), *held_index_tests(op, place.ends))
    return None


def is_array_access(op: CallBuiltin, place: Place) -> bool:
    return place.guards and op.args[0].type.only(ARRAY) and may_be_index(op.args[1])


def is_array_or_nil(type_: Type) -> bool:
    """Whether a value is an array or nil, as an item of an array that was made with nil in all its places."""
    return type_.only(ARRAY | NIL) and bool(type_.tags & ARRAY)


@inlines("mutable-array/get")
def array_get(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) not in (2, 3) or not place.guards or not may_be_index(op.args[1]):
        return None
    type_ = op.args[0].type
    if type_.only(ARRAY):
        return guarded(op, "array_item", *index_tests(op, "array_index", place.ends and len(op.args) == 2))
    if is_array_or_nil(type_) and op.args[1].type.only(INT) and place.ends and len(op.args) == 2:
        return guarded(op, "array_item", ("not_nil", (0,)), *held_index_tests(op, True, "array_index"))
    if may_be(type_, ARRAY) and op.args[1].type.only(INT):
        ends = place.ends and len(op.args) == 2
        return guarded(op, "array_item", ("MutableArray", (0,)), *held_index_tests(op, ends, "array_index"))
    return None


@inlines("mutable-array/set!")
def array_set(op: CallBuiltin, place: Place) -> Op | None:
    """`if 0 <= i < len(a.items): a.items[i] = v`; the value is the array."""
    if len(op.args) != 3:
        return None
    array, index, value = op.args
    or_nil = is_array_or_nil(array.type) and not array.type.only(ARRAY)
    if or_nil and place.guards and place.ends and index.type.only(NATURAL):
        test = place.bind(
            python("not", place.bind(python("is_none", array), "is_nil", BOOL_TYPE)), "is_array", BOOL_TYPE
        )
        return set_if(op, place, test, SetArrayItem(array, index, value))
    if not is_array_access(op, place):
        return None
    if index.type.only(NATURAL) and place.ends:
        place.do(SetArrayItem(array, index, value))
        return Move(array if place.wanted else Lit(None))
    is_natural, is_int = index.type.only(NATURAL), index.type.only(INT)
    if is_int and place.ends:
        test = place.bind(python("ge", index, Lit(0, atom(NATURAL))), "is_index", BOOL_TYPE)
        return set_if(op, place, test, SetArrayItem(array, index, value))
    kind = "is_natural_array_index" if is_natural else "is_array_index" if is_int else "is_int_array_index"
    return set_if(op, place, place.bind(python(kind, array, index), "is_index", BOOL_TYPE), None)


def set_if(op: CallBuiltin, place: Place, test: Expr, setting: Op | None) -> Op:
    """Sets an item of an array where a test holds. setting: how; without, an index is there that was tested."""
    array, index, value = op.args
    then, otherwise = place.nested(), place.nested()
    then.do(setting or SetItem(then.bind(python("items", array), "items"), index, value))
    failed = otherwise.bind(CallBuiltin(op.name, list(op.args), fixed=op.fixed), "array", op.type)
    result = array if place.wanted else Lit(None)
    return If(test, Block(then.before, Result(result)), Block(otherwise.before, Result(failed)))


@inlines("mutable-array/push!")
def array_push(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2 or not op.args[0].type.only(ARRAY):
        return None
    array, value = op.args
    push = python("push", array, value)
    if not place.wanted:
        return push
    place.do(push)
    return Move(array)


@inlines("string-ref", "string/ref")
def string_ref(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2:
        return None
    text, index = op.args
    if place.guards and text.type.only(STR) and may_be_index(index):
        return guarded(op, "text_item" if op.type.form else "char", *index_tests(op, ends=place.ends))
    if not op.type.form:
        return None
    return python("value", place.bind(CallBuiltin(op.name, op.args, fixed=op.fixed), "char", atom(CHAR)))


@inlines("bytevector-u8-ref", "bytevector/u8-ref", "bytevector/ref", "bytes/ref")
def byte_ref(op: CallBuiltin, place: Place) -> Op | None:
    """`data[i] if 0 <= i < len(data) else bytevector_u8_ref(data, i)`: the message tells the length."""
    if len(op.args) != 2 or not place.guards or not op.args[0].type.only(BYTES) or not may_be_index(op.args[1]):
        return None
    return guarded(op, "item", *index_tests(op))
