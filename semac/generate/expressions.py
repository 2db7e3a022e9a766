"""Expressions: a table of functions over (context, operation)."""

from __future__ import annotations

import ast
from typing import Any

from sema_runtime.values.atoms import Char
from semac.anf.nodes import (
    BuiltinRef,
    Call,
    CallBuiltin,
    CallOpen,
    CallRuntime,
    Closure,
    Comprehension,
    Expr,
    Fits,
    For,
    GetField,
    Guarded,
    If,
    Import,
    IsRecord,
    Lit,
    Logic,
    MakeMap,
    MakeRecordType,
    MakeVector,
    Move,
    Op,
    PyAttr,
    PyCall,
    PyItem,
    Python,
    Read,
    RecordFunction,
    Ref,
    Result,
    Throw,
)
from semac.anf.step_nodes import Consume, Facts, Pull
from semac.anf.walk import blocks
from semac.generate import guards
from semac.generate.constants import LISTS, MAPS, constant
from semac.generate.context import AT_INDEX, Context
from semac.generate.destination import DROP, Dest
from semac.generate.functions import define_function, lambda_expression
from semac.generate.guards import Operands
from semac.generate.iteration import comprehension, result_param
from semac.generate.nested.numbers import Numbers, item_of, leaves
from semac.generate.nested.quotients import inexact
from semac.generate.pyast import Loc, attribute, builtin, call, compare, const, name, opposite, tuple_of
from semac.generate.python_ops import PYTHON_OPS
from semac.generate.records import get_field, is_record, make_record_type, record_function
from semac.generate.sources import ITERATE, LOOK_UPS, is_cut, is_list_object, items_at_hand, items_of_rest
from semac.generate.steps import consume, pull
from semac.generate.truth import logic_expression
from semac.ir.identifiers import mangle
from semac.ir.nodes import Function, Var
from semac.optimize.keys import is_stored_key
from semac.types.lattice import FLAT, FLOAT, INT, LIST, NATURAL

# Operations, with the number of their operands → what people would write, where code to run looks inside of values.
PLAINER = {
    ("list_items", 1): "items",
    ("list_len", 1): "array_len",
    ("map_get", 2): "map_lookup",
    ("flat_len", 1): "len",
    ("flat_part", 2): "part",
}


def expression(c: Context, expr: Expr) -> ast.expr:
    """The expression of an operand. What must be a statement goes to the current block first."""
    kind = type(expr)
    if isinstance(expr, Op) and not expr.weight:
        return saved(c, expr)
    if isinstance(expr, Op):
        c.loc(expr)  # its operands may have no place of their own
    printed: ast.expr = EXPRESSIONS[kind](c, expr)
    return printed


def saved(c: Context, op: Op) -> ast.expr:
    """The variable to which statements give the value of an operation."""
    if type(op) is Closure:
        function = op.function
        target = c.names.temporary(mangle(function.py or function.own_name or name_of_argument(c, function)))
        define_function(c, op, target)
        if c.at_module:
            c.module.names.taken.add(target)
        return name(target, c.current)
    param = result_param(op) if type(op) is For else None
    if param is not None:
        c.stmt(op, DROP)
        return name(param.py, c.current)
    target = c.names.temporary("result")
    c.stmt(op, Dest("assign", target))
    return name(target, c.current)


def name_of_argument(c: Context, function: Function) -> str:
    """What a function that is an argument would like to be called."""
    if c.defining:
        return f"do_{c.defining}"
    return "fn" if function.params or function.rest is not None else "body"


def ref(c: Context, operand: Ref) -> ast.expr:
    if not operand.var.py:  # declared, but nothing that runs ever defines it
        return const(None, c.current)
    return name(operand.var.py, c.current)


def lit(c: Context, operand: Lit) -> ast.expr:
    return constant(c, operand.value, c.current)


def builtin_ref(c: Context, operand: BuiltinRef) -> ast.expr:
    return c.builtin(operand.name, c.loc(operand))


def move(c: Context, op: Move) -> ast.expr:
    return c.expr(op.value)


def read(c: Context, op: Read) -> ast.expr:
    if not op.var.py:
        return const(None, c.loc(op))
    return name(op.var.py, c.loc(op))


def closure(c: Context, op: Closure) -> ast.expr:
    return lambda_expression(c, op)


# Calls


def call_(c: Context, op: Call) -> ast.expr:
    c.repeats += 1  # quoted data keeps its name: an error shows what is called only where that is loaded as it is
    head = c.expr(op.head)
    c.repeats -= 1
    if isinstance(head, ast.UnaryOp):
        head = name(c.module.names.constant("-inf", "minus_infinity", head), c.current)
    args = c.exprs(op.args)
    return call(head, args, c.loc(op))


def call_builtin(c: Context, op: CallBuiltin) -> ast.expr:
    args = [items_of_rest(c, arg) for arg in op.args] if op.name == "append" else c.exprs(op.args)
    loc = c.loc(op)
    function = c.builtin_function(op.name, loc) if op.fixed else c.builtin(op.name, loc)
    return call(function, args, loc)


def call_open(c: Context, op: CallOpen) -> ast.expr:
    args = c.exprs(op.args)
    loc = c.loc(op)
    return call(c.builtin(op.name, loc), args, loc)


def call_runtime(c: Context, op: CallRuntime) -> ast.expr:
    args = c.exprs(op.args)
    loc = c.loc(op)
    if op.path == ITERATE and isinstance(args[0], ast.ListComp):  # it has been made for this
        return args[0]
    return call(c.runtime(op.path, loc), args, loc)


def python(c: Context, op: Python) -> ast.expr:
    if op.kind == "not":
        return opposite(c.test(op.args[0]), c.loc(op))
    args = [items_of_rest(c, arg) for arg in op.args] if op.kind == "spliced" else c.exprs(op.args)
    loc = c.loc(op)
    if op.kind in TAKE_ITEMS and not c.module.unit.is_text:
        args = [item_source(c, op.kind, one, printed, loc) for one, printed in zip(op.args, args, strict=True)]
    if op.kind == "List":
        return call(c.runtime(LISTS + "List", loc), [ast.List(args, ast.Load(), **loc)] if args else [], loc)
    texts = same_text(op, args, loc) if op.kind == "is" and len(args) == 2 else None
    if texts is not None:
        return texts
    printed = operation(c, op.kind, args, loc)
    if op.kind == "mul":
        printed.numbers = numbers_of(op)  # type: ignore[attr-defined]
    return printed


def numbers_of(product: Python) -> str:
    """What a product is known to be, for the box, which bounds those of ints (semac/box/products.py)."""
    types = [arg.type for arg in product.args]
    if any(type_.only(FLOAT) for type_ in types):
        return "float"
    if all(type_.only(NATURAL) for type_ in types):
        return "natural"
    return "int" if all(type_.only(INT) for type_ in types) else ""


TAKE_ITEMS = frozenset(
    ("spliced", "to_tuple", "join", "sum_of", "max_of", "min_of", "max_or", "min_or")
)  # what reads all items of a list


def item_source(c: Context, kind: str, operand: Expr, printed: ast.expr, loc: Loc) -> ast.expr:
    """What an operation reads the items of an operand from. A text may be joined of a stack (own/stacks.py)."""
    known = FLAT if kind == "join" else LIST
    is_made_here = type(operand) is Python and operand.kind not in LOOK_UPS
    if kind == "spliced" and is_cut(c, operand):
        return printed  # a slice of Python's
    if operand.type.only(known) and not is_made_here and is_list_object(operand):
        return items_at_hand(operand, printed, loc)
    return printed


def same_text(op: Python, args: list[ast.expr], loc: Loc) -> ast.expr | None:
    """`text[i] == text[j]` where characters of texts are compared: each has one object, so their texts tell them."""
    texts: list[ast.expr] = []
    for operand, printed in zip(op.args, args, strict=True):
        if isinstance(printed, ast.Subscript) and hasattr(printed, "is_character"):
            texts.append(printed.slice)
        elif type(operand) is Lit and type(operand.value) is Char:
            texts.append(const(operand.value.value, loc))
    return compare(texts[0], ast.Eq(), texts[1], loc) if len(texts) == 2 else None


def operation(c: Context, kind: str, args: list[ast.expr], loc: Loc) -> ast.expr:
    """An operation of Python on printed operands."""
    if c.module.unit.is_text:
        kind = PLAINER.get((kind, len(args)), kind)
        if kind == "array_len" and isinstance(args[0], ast.Call) and is_new_list(c, args[0]):
            return call(builtin("len", loc), args[0].args, loc)
    entry = PYTHON_OPS[kind]
    return entry.print([*args, c.runtime(entry.runtime, loc)] if entry.runtime else args, loc)


def is_new_list(c: Context, made: ast.Call) -> bool:
    """Whether a list is made on the spot of one of Python's."""
    lists = c.module.names.imports.get("sema_runtime.values.lists", {})
    return isinstance(made.func, ast.Name) and made.func.id == lists.get("List") and len(made.args) == 1


def guarded(c: Context, op: Guarded) -> ast.expr:
    """`a + b if type(a) is type(b) is int else add(a, b)`."""
    found = leaves(op) if c.module.asks_once else None
    if found is not None:
        return of_numbers(c, op, found)
    held = held_items(c, op)
    if held is not None:
        return of_items(c, op, held)
    operands = Operands(c, inexact(op) if c.module.asks_once else op.args)
    loc = c.loc(op)
    if guards.python_tests(operands, op):
        return operation(c, op.fast, operands.values, loc)
    asked = guards.test(operands, op, loc)
    again = operands.again()
    fast = operation(c, op.fast, again, loc)
    if asked is None:
        return fast
    otherwise = slow_call(c, op, list(again))
    if op.foreign:
        otherwise = guards.foreign(c, op, again, otherwise, loc)
    if op.type.form:  # a character as text
        otherwise = attribute(otherwise, "value", loc)
    return ast.IfExp(asked, fast, otherwise, **loc)


def held_items(c: Context, op: Guarded) -> Var | None:
    """The variable that holds the items of the sequence in which a guard looks for one."""
    if not c.items or op.tests[0] != AT_INDEX:
        return None
    items = c.items_of(c.expr(op.args[0]))
    if not items:
        return None
    held = Var("items", None)
    held.py = items
    return held


def of_items(c: Context, op: Guarded, held: Var) -> ast.expr:
    """`items[1] if len(items) > 1 else nth(xs, 1)`: there are items where the question for the type would be true, or
    where the sequence is a list of the language that has them at hand."""
    operands = Operands(c, [Ref(held), *op.args[1:]])
    loc = c.loc(op)
    asked = guards.test(operands, Guarded(op.tests[1:], op.args, op.fast, op.slow, span=op.span), loc)
    again = operands.again()
    otherwise = slow_call(c, op, [c.expr(op.args[0]), *again[1:]])
    if op.type.form:  # a character as text
        otherwise = attribute(otherwise, "value", loc)
    asked = asked or name(held.py, loc)  # whatever has any has a length
    return ast.IfExp(asked, operation(c, op.fast, again, loc), otherwise, **loc)


def of_numbers(c: Context, op: Guarded, found: list[Expr]) -> ast.expr:
    """`a * b + c if type(a) is type(b) is type(c) in INT_OR_FLOAT else add(mul(a, b), c)`."""
    numbers = Numbers(c, op, found)

    def value(operand: Expr, is_fast: bool) -> ast.expr:
        if id(operand) in numbers.written and (is_fast or item_of(operand) is None):
            return numbers.written[id(operand)]
        if type(operand) is not Guarded:
            return c.expr(operand)
        args = [value(arg, is_fast) for arg in operand.args]
        return operation(c, operand.fast, args, c.loc(operand)) if is_fast else slow_call(c, operand, args)

    fast = value(op, True)
    return fast if numbers.asked is None else ast.IfExp(numbers.asked, fast, value(op, False), **c.loc(op))


def slow_call(c: Context, op: Guarded, args: list[ast.expr]) -> ast.expr:
    loc = c.loc(op)
    path, _, builtin = op.slow.partition("builtin:")
    return call(c.builtin_function(builtin, loc) if builtin else c.runtime(path, loc), args, loc)


# Data


def make_vector(c: Context, op: MakeVector | Facts) -> ast.expr:
    return tuple_of(c.exprs(op.items), c.loc(op))


def make_map(c: Context, op: MakeMap) -> ast.expr:
    values = c.exprs(op.items)
    loc = c.loc(op)
    keys, items = values[0::2], values[1::2]
    if op.is_raw:
        return ast.Dict(list(keys), list(items), **loc)
    if all(map(is_stored_key, op.items[0::2])):
        return call(c.runtime(MAPS + "Map", loc), [ast.Dict(list(keys), list(items), **loc)], loc)
    pairs: list[ast.expr] = [tuple_of([key, item], loc) for key, item in zip(keys, items, strict=True)]
    literal = c.runtime("sema_runtime.values.map_keys:map_literal", loc)
    return call(literal, [ast.List(pairs, ast.Load(), **loc)], loc)


# Control


def if_(c: Context, op: If) -> ast.expr:
    test = c.test(op.test)
    then, otherwise = (result_of(c, block) for block in blocks(op))
    return ast.IfExp(test, then, otherwise, **c.loc(op))


def result_of(c: Context, block: Any) -> ast.expr:
    assert type(block.exit) is Result and not block.instrs
    return c.expr(block.exit.value)


def throw(c: Context, op: Throw) -> ast.expr:
    value = c.expr(op.value)
    loc = c.loc(op)
    if op.is_map:  # an expression has no exception that holds a bare dict
        value = call(c.runtime("sema_runtime.values.maps:Map", loc), [value], loc)
    return call(c.runtime("sema_runtime.lib.language.control:throw", loc), [value], loc)


def logic(c: Context, op: Logic) -> ast.expr:
    return logic_expression(c, op)


# Python


def py_attr(c: Context, op: PyAttr) -> ast.expr:
    return attribute(c.expr(op.object), op.name, c.loc(op))


def py_item(c: Context, op: PyItem) -> ast.expr:
    target, key = c.exprs([op.object, op.key])
    loc = c.loc(op)  # no width: its error stays that of Python (conditions/subscripts.py)
    return ast.Subscript(
        target, key, ast.Load(), **{**loc, "end_lineno": loc["lineno"], "end_col_offset": loc["col_offset"]}
    )


def py_call(c: Context, op: PyCall) -> ast.expr:
    values = c.exprs([op.head, *op.args])
    loc = c.loc(op)
    count = len(values) - len(op.keywords)
    keywords = [ast.keyword(key, value, **loc) for key, value in zip(op.keywords, values[count:], strict=True)]
    return call(values[0], values[1:count], loc, keywords)


def import_(c: Context, op: Import) -> ast.expr:
    path = c.expr(op.path)
    loc = c.loc(op)
    names: list[ast.expr] = [const(imported, loc) for imported in op.names]
    scope = call(builtin("globals", loc), [], loc)
    return call(c.runtime("sema_runtime.compiler_bridge:import_file", loc), [path, scope, *names], loc)


EXPRESSIONS: dict[type, Any] = {
    Ref: ref,
    Lit: lit,
    BuiltinRef: builtin_ref,
    Move: move,
    Read: read,
    Closure: closure,
    Call: call_,
    CallBuiltin: call_builtin,
    CallOpen: call_open,
    CallRuntime: call_runtime,
    MakeRecordType: make_record_type,
    RecordFunction: record_function,
    GetField: get_field,
    IsRecord: is_record,
    Python: python,
    Guarded: guarded,
    Fits: guards.fits,
    Facts: make_vector,
    Pull: pull,
    Consume: consume,
    MakeVector: make_vector,
    MakeMap: make_map,
    If: if_,
    Logic: logic,
    Throw: throw,
    PyAttr: py_attr,
    PyItem: py_item,
    PyCall: py_call,
    Import: import_,
    Comprehension: comprehension,
}
