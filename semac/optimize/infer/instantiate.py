"""Signatures of builtins against the types of a call: what their variables stand for, what is called, what escapes."""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING

from semac.types.lattice import (
    ALL,
    ANY,
    ARRAY,
    BOOL,
    BYTES,
    CHAR,
    COUNT,
    DICT,
    FLAT,
    FLOAT,
    FN,
    HASHMAP,
    INT,
    KEYWORD,
    LIST,
    MAP,
    NEVER,
    NIL,
    NUMBER,
    OTHER,
    RATIO,
    RECORD,
    SEQUENCE,
    STR,
    SYMBOL,
    VECTOR,
    Type,
    atom,
    join,
    join_all,
    make,
    restrict,
)
from semac.types.signatures import Function as FunctionExpr
from semac.types.signatures import Name, Param, Signature, TypeExpr, Union, Variable, signature_for, variables

if TYPE_CHECKING:
    from semac.optimize.infer.flow import Flow

TAGS = {
    "any": ALL, "never": 0, "nil": NIL, "bool": BOOL, "int": INT, "nat": COUNT, "float": FLOAT, "rational": RATIO,
    "number": NUMBER, "str": STR, "char": CHAR, "keyword": KEYWORD, "symbol": SYMBOL, "fn": FN | KEYWORD | OTHER,
    "bytevector": BYTES, "other": OTHER | RECORD | FN, "list": LIST, "flat": FLAT, "vector": VECTOR, "seq": SEQUENCE,
    "array": ARRAY, "map": MAP, "hashmap": HASHMAP, "dict": DICT,
}  # fmt: skip
WITHOUT_ITEMS = NIL | BOOL | NUMBER | CHAR | KEYWORD | SYMBOL  # kinds of values that nothing goes through
Bound = dict[str, Type]
ROUNDS = 6  # of a function argument whose result is its own argument, before that is unknown


def instantiate(expr: TypeExpr, bound: Bound) -> Type:
    """The type that an expression stands for."""
    if type(expr) is Variable:
        return bound.get(expr.letter, NEVER)
    if type(expr) is Union:
        return join_all(instantiate(part, bound) for part in expr.parts if is_given(part, bound))
    if type(expr) is FunctionExpr:
        return atom(FN)
    assert type(expr) is Name
    tags = TAGS[expr.name]
    inner = [instantiate(arg, bound) for arg in expr.args]
    if not inner:
        return atom(tags)
    if tags & DICT:
        return make(tags, key=inner[0], value=inner[1])
    return make(tags, item=inner[0], vitem=inner[0])


@cache
def accepted(expr: TypeExpr, is_optional: bool) -> int:
    """The kinds of values for which a call with such a parameter can return; it raises for any other.

    scripts/check_signatures.py verifies that declarations say this. Values of Python's own pass for many a kind.
    """
    tags = NIL if is_optional else 0
    for part in parts_of(expr):
        tags |= TAGS[part.name] if type(part) is Name else ALL
    return tags | OTHER | RECORD


def is_given(part: TypeExpr, bound: Bound) -> bool:
    """Whether a part of a union can be: `vector b` can't where the argument that has `vector b` too wasn't one."""
    letters = variables(part) if type(part) is Name else frozenset()
    return not letters or any(letter in bound for letter in letters)


class Use:
    """What a call does with an argument. tags: the kinds of values for which it can return. function: that of a
    parameter which is called at once. binds: whether the argument says what variables stand for."""

    __slots__ = ("binds", "escapes", "function", "tags", "type")

    def __init__(self, param: Param, shown: frozenset[str]) -> None:
        self.type = param.type
        self.tags = accepted(param.type, param.optional)
        called = [part for part in parts_of(param.type) if type(part) is FunctionExpr]
        self.function = called[0] if param.mode == "now" and called else None
        is_kept = param.mode == "keep" and not variables(param.type) & shown
        self.escapes = self.function is None and (param.mode in ("now", "later") or is_kept)
        self.binds = any(type(part) is Variable or (type(part) is Name and part.args) for part in parts_of(param.type))


class Plan:
    """What there is to do about a call of a builtin with so many arguments. unbound: variables of the result alone.
    result: its type, where that is always the same. refused: positions of arguments, with the kinds of values for which
    the call can't return."""

    __slots__ = ("calls", "refused", "result", "signature", "unbound", "uses")

    def __init__(self, signature: Signature, count: int) -> None:
        self.signature = signature
        shown = variables(signature.result)
        self.unbound = sorted(shown.difference(*(variables(param.type) for param in signature.params)))
        self.uses = [Use(signature.param(index), shown) for index in range(count)]
        self.refused = [(index, tags) for index, use in enumerate(self.uses) if (tags := ALL & ~use.tags)]
        self.calls = any(use.function is not None for use in self.uses)
        self.result = None if shown else instantiate(signature.result, {})


@cache
def plan_for(name: str, count: int) -> Plan | None:
    """None where no signature is declared, or none fits."""
    signature = signature_for(name, count)
    return None if signature is None else Plan(signature, count)


def match_arguments(flow: Flow, plan: Plan, args: list[Type]) -> Bound:
    """What the variables of a signature stand for in a call. Function arguments are called, others may escape."""
    bound: Bound = dict.fromkeys(plan.unbound, NEVER)
    for use, arg in zip(plan.uses, args, strict=True):
        if use.binds:
            bind(flow, use.type, arg, bound)
        if use.escapes:
            flow.solver.escape(arg)
    if not plan.calls:
        return bound
    functions = [(use.function, arg) for use, arg in zip(plan.uses, args, strict=True) if use.function is not None]
    for _ in range(ROUNDS):
        before = dict(bound)
        for function, arg in functions:
            result = flow.apply(arg, [instantiate(param, bound) for param in function.params])
            bind(flow, function.result, result, bound)
        if bound == before:
            return bound
    for function, arg in functions:
        flow.solver.escape(arg)
        for letter in variables(function.result):
            bound[letter] = ANY
    return bound


def parts_of(expr: TypeExpr) -> tuple[TypeExpr, ...]:
    return expr.parts if type(expr) is Union else (expr,)


def bind(flow: Flow, expr: TypeExpr, type_: Type, bound: Bound) -> None:
    """Adds to the variables of an expression what a value of a type has in their place."""
    if type(expr) is Variable:
        bound[expr.letter] = join(bound.get(expr.letter, NEVER), type_)
    elif type(expr) is Union:
        of_parts = [TAGS[part.name] if type(part) is Name else ALL for part in expr.parts]
        is_named = type_.only(reduce(or_, of_parts)) and ALL not in of_parts  # else a Python value may stand for one
        for part, part_tags in zip(expr.parts, of_parts, strict=True):
            if not is_named or type_.tags & part_tags:
                bind(flow, part, type_, bound)
    elif type(expr) is Name and expr.args and type_ is not NEVER:
        tags = TAGS[expr.name]
        if tags & DICT:
            known = type_.only(DICT)
            if not known:
                flow.solver.escape(type_)
            bind(flow, expr.args[0], type_.key if known else ANY, bound)
            bind(flow, expr.args[1], type_.value if known else ANY, bound)
        else:
            bind(flow, expr.args[0], items_of(flow, type_), bound)


def escape_data(flow: Flow, signature: Signature, args: list[Type]) -> None:
    """Opens what the result may hold, or a function argument may be given, without a type that says so."""
    for index, arg in enumerate(args):
        param = signature.param(index)
        if arg.refs and not (param.mode == "now" and any(type(part) is FunctionExpr for part in parts_of(param.type))):
            flow.solver.escape(arg)


def items_of(flow: Flow, type_: Type) -> Type:
    """What an item of a sequence or array can be."""
    type_ = restrict(type_, ~WITHOUT_ITEMS)
    if type_ is NEVER:
        return NEVER
    if not type_.only(SEQUENCE | ARRAY) or (type_.tags & ARRAY and type_.arrays is None):
        flow.solver.escape(type_)
        return ANY
    item = join(type_.item, type_.vitem)
    for site in type_.arrays or ():
        item = join(item, flow.solver.read(site))
    return item
