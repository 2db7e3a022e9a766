"""Builtins that take a whole list or vector at once: conversions, joins, `apply`.

Sound because the items have types for which Python's function does what the builtin does: `sum` and `max` of exact
ints, `join` of strings. The list in between need not be one of the language where nothing else sees it
(generate/fusion.py). `apply` of a function that surely is one of the program's or a builtin is a call, but in a tail
call that could be part of an endless chain (optimize/tails.py).
"""

from __future__ import annotations

from semac.anf.build import is_fixed
from semac.anf.nodes import BuiltinRef, CallBuiltin, CallRuntime, Expr, Guarded, Lit, Move, Op, Ref
from semac.ir.intrinsics import OVER_ROWS, TAIL_OF
from semac.ir.nodes import Function
from semac.optimize.inline.table import Place, inlines, python
from semac.types.lattice import FLAT, FN, INT, LIST, SEQUENCE, STR, VECTOR, Type

DOWN = {"<": False, "<=": False, ">": True, ">=": True}  # comparators → whether the greatest comes first
HANDED_ON = frozenset(("apply",))  # builtins that ask who calls them


@inlines("list->vector")
def list_to_vector(op: CallBuiltin, place: Place) -> Op | None:
    return python("to_tuple", *op.args) if len(op.args) == 1 and op.args[0].type.only(LIST) else None


@inlines("vector->list")
def vector_to_list(op: CallBuiltin, place: Place) -> Op | None:
    """`List(v)`."""
    return python("listed", *op.args) if len(op.args) == 1 and op.args[0].type.only(VECTOR) else None


@inlines("append")
def appended(op: CallBuiltin, place: Place) -> Op | None:
    """`List([*xs.flat, *ys.flat])`."""
    if len(op.args) < 2 or place.is_text or not all(arg.type.only(SEQUENCE) for arg in op.args):
        return None
    return python("spliced", *[after_index(arg, place) for arg in op.args])


def after_index(value: Expr, place: Place) -> Expr:
    """The items of a list that is the rest of a sequence from an index on; else the list itself."""
    made = value.var.op if type(value) is Ref and not value.var.name and is_fixed(value.var) else None
    if type(made) is not CallRuntime or made.path != TAIL_OF:
        return value
    return place.bind(python("rest_of_text", *made.args), "items")


def items_of(items: Expr, place: Place) -> Expr:
    """What Python goes through fastest: the items of a list. What may be a vector as well is gone through as it is."""
    return place.bind(python("flat_items", items), "items") if items.type.only(FLAT) else items


@inlines("reverse")
def turned_list(op: CallBuiltin, place: Place) -> Op | None:
    """`List(xs.flat[::-1])`."""
    if len(op.args) != 1 or place.is_text or not op.args[0].type.only(FLAT):
        return None
    items = place.bind(python("flat_items", op.args[0]), "items")
    return python("listed", place.bind(python("turned", items), "items"))


@inlines("sort")
def ordered(op: CallBuiltin, place: Place) -> Op | None:
    """`List(sorted(xs.flat))` of ints, or of strings; of ints also by a comparison: equal ones are the same."""
    if not op.args or not op.args[0].type.only(FLAT | VECTOR):
        return None
    items, tags = op.args[0], item_tags(op.args[0].type)
    if not tags or (tags & ~INT and tags & ~STR):
        return None
    if len(op.args) == 2:
        is_down = DOWN.get(op.args[1].name) if type(op.args[1]) is BuiltinRef and not tags & ~INT else None
        if is_down is None or place.is_text:
            return None
        over = items_of(items, place)
        up = place.bind(python("sorted_items", over), "items")
        return python("listed", place.bind(python("turned", up), "items") if is_down else up)
    if len(op.args) != 1:
        return None
    made = items.var.op if type(items) is Ref and is_fixed(items.var) else None
    if type(made) is CallBuiltin and made.name == "keys":  # they are in order
        return Move(items)
    return python("sorted", items_of(items, place))


@inlines("string/join", "string-join")
def joined_by(op: CallBuiltin, place: Place) -> Op | None:
    """`", ".join(texts)`, where the separator is written out: Python computes it first."""
    if len(op.args) != 2 or type(op.args[1]) is not Lit or not op.args[1].type.only(STR):
        return None
    items = op.args[0].type
    return python("join", *op.args) if items.only(SEQUENCE) and item_tags(items) == STR else None


def item_tags(type_: Type) -> int:
    """The kinds of values that the items of a sequence can be."""
    return type_.item.tags | type_.vitem.tags


@inlines("apply")
def applied(op: CallBuiltin, place: Place) -> Op | None:
    """`sum(xs)`, `max(xs)` of ints; `f(a, *xs.flat)`."""
    if len(op.args) < 2:
        return None
    return over_rows(op) or fold_of_ints(op, place) or spread(op, place)


def over_rows(op: CallBuiltin) -> Op | None:
    """`apply` of `append`, `vector`, `map list` and `map vector`: one function of the runtime, which no chain of tail
    calls can go through."""
    names = tuple(arg.name if type(arg) is BuiltinRef else "" for arg in op.args[:-1])
    path = OVER_ROWS.get(names)
    return None if path is None else CallRuntime(path, op.args[-1:], type=op.type)


def fold_of_ints(op: CallBuiltin, place: Place) -> Op | None:
    """Without an item, `max` is an error of the language."""
    if len(op.args) != 2 or type(op.args[0]) is not BuiltinRef or not op.args[1].type.only(FLAT | VECTOR):
        return None
    name, items = op.args[0].name, op.args[1]
    if not item_tags(items.type) or item_tags(items.type) & ~INT:
        return None
    if name == "+":
        return python("sum_of", items)
    test = "filled" if items.type.only(VECTOR) else "has_items" if items.type.only(FLAT) else None
    if name in ("max", "min") and place.guards and test:
        return Guarded([(test, (1,))], op.args, f"{name}_of", "builtin:apply")
    return None


def spread(op: CallBuiltin, place: Place) -> Op | None:
    *before, last = op.args
    head = before[0].type
    if place.is_text or op.tail or not head.only(FN) or not head.fns or not last.type.only(SEQUENCE):
        return None
    if any(type(member) is not Function and (type(member) is not str or member in HANDED_ON) for member in head.fns):
        return None
    if last.type.only(FLAT):
        last = place.bind(python("flat_items", last), "items")
    elif last.type.only(LIST):
        last = place.bind(python("list_items", last), "items")
    elif not last.type.only(VECTOR):
        return None
    return python("spread", *before, last)
