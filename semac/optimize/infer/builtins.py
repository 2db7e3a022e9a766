"""What calls of builtins give: rules where the arguments decide more than a signature can say, else the signature."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from semac.anf.nodes import BuiltinRef, CallBuiltin, Expr, Lit, Op, Ref
from semac.anf.records import RecordMember, Site
from semac.ir.nodes import Function, Var
from semac.optimize.infer.instantiate import escape_data, instantiate, items_of, match_arguments, plan_for
from semac.optimize.infer.record_types import set_attribute
from semac.types.lattice import (
    ANY,
    ARRAY,
    COUNT,
    DICT,
    FALSE,
    FLAT,
    INT,
    LIST,
    NEVER,
    NIL,
    POSITIVE,
    SEQUENCE,
    STR,
    TRUE,
    VECTOR,
    ZERO,
    Type,
    atom,
    join,
    join_all,
    list_of,
    make,
    restrict,
    row_of,
    vector_of,
)

if TYPE_CHECKING:
    from semac.optimize.infer.flow import Flow

ON_ARRAYS = frozenset(
    ("mutable-array/get", "mutable-array/set!", "mutable-array/push!", "mutable-array/length", "mutable-array/->vector")
)
# Builtins whose second argument is an index → how many arguments they take where they raise for one outside.
INDEXED = {"nth": 2, "string-ref": 2, "mutable-array/get": 2, "mutable-array/set!": 3}

Rule = Callable[["Flow", CallBuiltin, "list[Type]"], "Type | None"]
RULES: dict[str, Rule] = {}
MANY_ITEMS = 8  # of a list written out, each of which has a type of its own
BOOL_TYPE, INT_TYPE, NIL_TYPE = atom(TRUE | FALSE), atom(INT), atom(NIL)
UNKNOWN = Var("", None)  # what no code computes
FOLDS = {
    "+": atom(ZERO),
    "*": atom(POSITIVE),
    "max": NEVER,
    "min": NEVER,
}  # builtins of any number of operands → of none
# What makes a row of any number of items → its type
ROW_MAKERS: dict[Any, Callable[[Type], Type]] = {
    "list": lambda item: list_of(item, FLAT),
    "vector": lambda item: make(VECTOR, vitem=item),
}


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def builtin_result(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type:
    """The type of a call of a builtin, where it returns."""
    plan = plan_for(op.name, len(args))
    if plan is not None and NEVER not in args:
        for index, refused in plan.refused:
            arg = args[index]
            if arg.tags & refused and arg is not ANY:
                args = list(args)
                args[index] = arg = restrict(arg, ~refused)  # what is left of it where the call returns
                if arg is NEVER:
                    return NEVER
    by_rule = RULES.get(op.name)
    if by_rule is not None:
        type_ = by_rule(flow, op, args)
        if type_ is not None:
            return type_
    return by_signature(flow, op.name, args)


def leave_out_refused(flow: Flow, op: CallBuiltin, args: list[Type]) -> None:
    """The arguments of a call that returned are none that its builtin refuses."""
    facts, first = flow.facts, op.args[0] if op.args else None
    if op.name in ON_ARRAYS and type(first) is Ref:
        facts.narrow(first.var, ARRAY)
    plan = plan_for(op.name, len(args))
    if plan is not None:
        for index, refused in plan.refused:
            value, arg = op.args[index], args[index]
            if arg.tags & refused and arg is not ANY and type(value) is Ref:
                value.var.is_vouched = True
                facts.narrow(value.var, ~refused)
    if flow.tells_signs and INDEXED.get(op.name) == len(args) and args[0].only(SEQUENCE | ARRAY | STR):
        if type(op.args[1]) is Ref and args[1].only(INT):
            facts.narrow(op.args[1].var, COUNT)  # nothing has an item before the first


def called_function(flow: Flow, function: Any, args: list[Type], op: Op | None = None) -> Type:
    """The type of a call of one known function: of the program, of a record type, a builtin."""
    if type(function) is Function:
        return flow.call_known(function, args)
    if type(function) is RecordMember:
        return flow.call_member(function, args)
    if NEVER in args:
        return NEVER
    return builtin_result(flow, CallBuiltin(function, [Ref(UNKNOWN, arg) for arg in args]), args)


def by_signature(flow: Flow, name: str, args: list[Type]) -> Type:
    if NEVER in args:
        return NEVER
    plan = plan_for(name, len(args))
    if plan is None:
        for arg in args:
            flow.solver.escape(arg)
        return ANY
    bound = match_arguments(flow, plan, args)
    result = instantiate(plan.signature.result, bound) if plan.result is None else plan.result
    if result.is_vague or any(type_.is_vague for type_ in bound.values()):
        escape_data(flow, plan.signature, args)
    return result


# Truth


@rule("<", ">", "<=", ">=", "=", "not", "eq?", "equal?", "nil?")
def truth(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type:
    return BOOL_TYPE


# Lists and vectors


@rule("list")
def make_list(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type:
    return row_of(*args) if 0 < len(args) <= MANY_ITEMS else list_of(join_all(args), FLAT)


@rule("vector")
def make_vector(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type:
    return vector_of(*args)


@rule("cons")
def cons(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) != 2 or NEVER in args:
        return NEVER if NEVER in args else None
    head, tail = args
    if tail.only(LIST):
        return list_of(join(head, tail.item))
    return None


@rule("car", "first")
def first(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) != 1 or args[0] is NEVER:
        return NEVER if len(args) == 1 else None
    if not args[0].only(SEQUENCE):
        return None
    known = args[0].vec if args[0].only(VECTOR) else args[0].row if args[0].only(LIST) else None
    if known:
        return known[0]
    item = items_of(flow, args[0])
    return item if op.filled else join(item, NIL_TYPE)


@rule("cdr", "rest")
def rest(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) != 1 or args[0] is NEVER:
        return NEVER if len(args) == 1 else None
    return after(args[0], 1) if args[0].only(LIST) else None


def after(type_: Type, count: int) -> Type:
    """The type of a list without its first items."""
    if type_.row is None:
        return list_of(type_.item)
    left = type_.row[count:]
    return row_of(*left, tags=LIST) if left else list_of(NEVER)


@rule("map/entries")
def map_entries(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    return list_of(row_of(args[0].key, args[0].value), FLAT) if len(args) == 1 and args[0].only(DICT) else None


@rule("cadr", "caddr")
def later_item(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) != 1 or not args[0].only(SEQUENCE):
        return None
    known = args[0].vec if args[0].only(VECTOR) else args[0].row if args[0].only(LIST) else None
    index = 1 if op.name == "cadr" else 2
    if known is not None and len(known) > index:
        return known[index]
    item = join(args[0].item, args[0].vitem)
    return item if op.filled else join(item, NIL_TYPE)


@rule("cddr")
def later_rest(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    return after(args[0], 2) if len(args) == 1 and args[0].only(LIST) else None


@rule("nth")
def nth(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) != 2 or NEVER in args:
        return NEVER if NEVER in args else None
    vec, index = args[0].vec if args[0].only(VECTOR) else args[0].row if args[0].only(LIST) else None, op.args[1]
    if vec is not None and type(index) is Lit and type(index.value) is int:
        return vec[index.value] if 0 <= index.value < len(vec) else NEVER
    return items_of(flow, args[0]) if args[0].only(SEQUENCE) else None


# Mutable arrays


@rule("mutable-array/length")
def array_length(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    return atom(COUNT) if args and args[0].only(ARRAY) else None


@rule("mutable-array/new")
def array_new(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if NEVER in args or len(args) > 2:
        return None
    if op.site is None:
        op.site = Site()
    site: Site = op.site
    if args:
        flow.solver.grow(site, args[1] if len(args) > 1 else NEVER)
    return make(ARRAY, arrays=frozenset((site,)))


@rule("mutable-array/get")
def array_get(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) < 2 or NEVER in args:
        return None
    if not args[0].only(ARRAY) or args[0].arrays is None:
        return None
    item = items_of(flow, args[0])
    return join(item, args[2]) if len(args) > 2 else item


@rule("mutable-array/set!", "mutable-array/push!")
def array_set(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) < 2:
        return None
    value = args[-1]
    if args[0].tags & ARRAY and args[0].arrays is not None:
        for site in args[0].arrays:
            flow.solver.grow(site, value)
            flow.solver.escape_from(site, value)
    elif args[0] is not NEVER:
        flow.solver.escape(value)
    return args[0] if args[0].only(ARRAY) else None


# Python


@rule("py/setattr!")
def setattr_(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if args:
        set_attribute(flow.solver, args[0])
    return None


@cache
def settled(functions: frozenset[Any], least: int) -> Type | None:
    """What builtins give whatever their arguments are, of which there are at least so many; None where that differs."""
    result = NEVER
    for function in functions:
        if type(function) is not str:
            return None
        for count in range(least, least + MANY_ITEMS):
            plan = plan_for(function, count)
            if plan is not None:
                if plan.result is None:
                    return None
                result = join(result, plan.result)
    return None if result is NEVER else result


def is_builtin(value: Expr, name: str) -> bool:
    return type(value) is BuiltinRef and value.name == name


@rule("apply")
def apply_(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) < 2 or NEVER in args:
        return NEVER if NEVER in args else None
    head, more = args[0], join_all([*args[1:-1], items_of(flow, args[-1])])
    if len(args) == 3 and is_builtin(op.args[0], "map") and args[1].fns and args[1].fns <= ROW_MAKERS.keys():
        cell = items_of(flow, items_of(flow, args[2]))
        return list_of(join_all(ROW_MAKERS[name](cell) for name in args[1].fns), FLAT)
    if head.fns is None or not head.fns:
        return None
    if head.fns <= FOLDS.keys() and args[-1].only(SEQUENCE):
        operands = [more, more, more]  # more of them give no other type
        return join_all(join(FOLDS[name], called_function(flow, name, operands)) for name in head.fns)
    if len(args) == 2 and args[1].only(SEQUENCE) and head.fns == {"append"} and (more is NEVER or more.only(SEQUENCE)):
        return list_of(join(more.item, more.vitem), FLAT)
    if len(args) == 2 and head.fns == {"vector"}:
        return make(VECTOR, vitem=more)
    if any(type(function) is not Function for function in head.fns):
        result = settled(head.fns, len(args) - 2)
        if result is not None:
            by_signature(flow, op.name, args)
        return result
    result = NEVER
    for function in head.fns:
        for param in function.params:
            flow.solver.grow(param, more)
        if function.rest is not None:
            flow.solver.grow(function.rest, list_of(more, FLAT))
        result = join(result, flow.solver.read(function))
    return result
