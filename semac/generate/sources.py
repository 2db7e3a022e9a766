"""What loops run over: the items of values, as expressions of Python."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeGuard

from sema_runtime.values.lists import List
from semac.anf.nodes import (
    Block,
    Call,
    CallBuiltin,
    CallRuntime,
    Comprehension,
    Expr,
    Guarded,
    If,
    Iteration,
    Lit,
    Pattern,
    Python,
    Read,
    Ref,
    Result,
    SequencePattern,
    VarPattern,
)
from semac.anf.walk import blocks
from semac.generate.context import Context
from semac.generate.fusion import is_range
from semac.generate.nest import expr_weight
from semac.generate.pyast import (
    Loc,
    attribute,
    builtin,
    call,
    const,
    loc_of,
)
from semac.generate.python_ops import MAKE_LISTS, list_items
from semac.generate.truth import value_of
from semac.ir.intrinsics import LISTS_OF_ROWS, MAP_CLASSES
from semac.types.lattice import DICT, FLAT, INT, LIST, SEQUENCE, STR

ARITHMETIC = "sema_runtime.lib.numbers.arithmetic:"
COUNTING = "sema_runtime.support.counting:"
LOOK_UPS = frozenset(("get", "map_get", "map_item"))  # maps hold lists of the language
AFTER_FIRST = "sema_runtime.values.sequences:after_first"
ITERATE = "sema_runtime.values.matching:iterate"


def items(c: Context, source: Expr, who: str, loc: Loc) -> ast.expr:
    """What a Python loop can run over: the items of a value."""
    if is_cut(c, source):
        return items_of_rest(c, source)
    if is_python_range(source):
        return range_of(c.exprs(source.args), loc)
    if type(source) is If and all(map(is_expression, blocks(source))) and any(map(gives_range, blocks(source))):
        test = c.test(source.test)
        then, otherwise = (items(c, value_of(block), who, loc) for block in blocks(source))
        return ast.IfExp(test, then, otherwise, **loc)
    value = c.expr(source)
    if source.type.only(LIST) and is_list_object(source) and not c.module.unit.is_text:
        return items_at_hand(source, value, loc)
    if source.type.only(SEQUENCE):
        return value
    return call(c.runtime(ITERATE, loc), [value, const(who, loc)], loc)


def items_of_rest(c: Context, source: Expr) -> ast.expr:
    """The expression of a list of which only the items count: of a rest that nothing else needs a slice, without the
    cells that a `cdr` makes."""
    if not is_cut(c, source):
        return c.expr(source)
    rest: Guarded | CallBuiltin = source  # type: ignore[assignment]
    value, loc = c.expr(rest.args[0]), c.loc(rest)
    return call(c.runtime(AFTER_FIRST, loc), [value], loc)


def is_cut(c: Context, source: Expr) -> bool:
    if not c.module.cuts_rests:
        return False
    if type(source) is Guarded:
        return source.fast == "next" and source.slow in ("builtin:cdr", "builtin:rest")
    return type(source) is CallBuiltin and source.name in ("cdr", "rest") and len(source.args) == 1


def items_at_hand(source: Expr, value: ast.expr, loc: Loc) -> ast.expr:
    """The items of a list of the language, without a call where it has them: `xs.flat`, `xs.flat or xs.items`."""
    if source.type.only(FLAT):
        return attribute(value, "flat", loc)
    return list_items([value], loc) if isinstance(value, ast.Name) else attribute(value, "items", loc)


def is_at_hand(value: ast.expr) -> bool:
    """Whether an expression is one of `items_at_hand`."""
    return isinstance(value, ast.BoolOp) or (isinstance(value, ast.Attribute) and value.attr in ("flat", "items"))


def is_list_object(source: Expr) -> bool:
    """Whether a source of a type of lists surely prints as a list of the language, not as one of Python's."""
    if type(source) is If:
        return all(type(block.exit) is Result and is_list_object(block.exit.value) for block in blocks(source))
    if type(source) is Lit:
        return type(source.value) is List
    made = source.var.op if type(source) is Ref else source
    if type(made) in (Call, CallBuiltin, Read):
        return True
    if type(made) is Python:
        return made.kind in MAKE_LISTS or made.kind in LOOK_UPS
    if type(made) is CallRuntime:
        return made.path in LISTS_OF_ROWS
    return type(source) is Ref and not (type(made) is Comprehension and made.bare)


def iterable(c: Context, op: Iteration) -> ast.expr:
    """The expression over which a loop runs."""
    loc = c.loc(op)
    place = op.place  # type: ignore[attr-defined]
    if place is not None:
        loc = loc_of(place)
    if op.how in RAW:
        return RAW[op.how](c, op, c.exprs(op.sources), loc)
    sources = [items(c, source, op.who, loc) for source in op.sources]
    c.loc(op)
    if op.how == "indexed":
        return call(builtin("enumerate", loc), sources, loc)
    if op.how == "zip":
        return call(builtin("zip", loc), sources, loc)
    if op.how == "reversed":
        kept = is_at_hand(sources[0]) or is_python_range(op.sources[0])
        over = attribute(sources[0], "items", loc) if op.sources[0].type.only(LIST) and not kept else sources[0]
        return call(builtin("reversed", loc), [over], loc)
    return sources[0]


def lines(c: Context, op: Iteration, args: list[ast.expr], loc: Loc) -> ast.expr:
    return call(c.runtime("sema_runtime.lib.files.files:lines_of", loc), [*args, const(op.who, loc)], loc)


def pairs(c: Context, op: Iteration, args: list[ast.expr], loc: Loc) -> ast.expr:
    source = op.sources[0]
    if is_bare_and_ordered(source) and isinstance(args[0], ast.Call):
        return call(builtin("sorted", loc), [call(attribute(args[0].args[0], "items", loc), [], loc)], loc)
    if source.type.only(DICT):
        return call(attribute(args[0], "pairs", loc), [], loc)
    return call(c.runtime("sema_runtime.lib.collections.map_entries:map_pairs", loc), args, loc)


def is_bare_and_ordered(source: Expr) -> bool:
    """Whether a map that is made here of a bare dict has keys that Python orders as the language does, and as they are:
    no two entries have one key, so that no values are compared."""
    if type(source) is not CallRuntime or source.path not in MAP_CLASSES:
        return False
    return source.type.key.only(INT) or source.type.key.only(STR)


def is_expression(block: Block) -> bool:
    return type(block.exit) is Result and not block.instrs and expr_weight(block.exit.value) > 0


def gives_range(block: Block) -> bool:
    return type(block.exit) is Result and is_python_range(block.exit.value)


def is_python_range(source: Expr) -> TypeGuard[CallBuiltin]:
    return type(source) is CallBuiltin and is_range(source)


def range_of(args: list[ast.expr], loc: Loc) -> ast.expr:
    if len(args) == 2 and isinstance(args[0], ast.Constant) and args[0].value == 0:
        args = args[1:]
    return call(builtin("range", loc), args, loc)


def counter(c: Context, op: Iteration, args: list[ast.expr], loc: Loc) -> ast.expr:
    """`count_until(ge, 0, n)`: a range that is made when the loop begins."""
    tests = [c.runtime(ARITHMETIC + op.who, loc)] if op.who else []
    return call(c.runtime(COUNTING + op.how, loc), [*tests, *args], loc)


def walk(c: Context, op: Iteration, args: list[ast.expr], loc: Loc) -> ast.expr:
    return call(c.runtime("sema_runtime.values.lists:walk", loc), args, loc)


RAW: dict[str, Callable[[Context, Iteration, list[ast.expr], Loc], ast.expr]] = {
    "lines": lines,
    "pairs": pairs,
    "range": lambda c, op, args, loc: range_of(args, loc),
    "walk": walk,
    "text": lambda c, op, args, loc: args[0],
    "count_to": counter,
    "count_until": counter,
    "count_while": counter,
}


def target(c: Context, pattern: Pattern, loc: Loc) -> ast.expr:
    """What the items are bound to: a name, or a tuple of names for items that surely fit."""
    if type(pattern) is VarPattern:
        return ast.Name(c.bound(pattern.var), ast.Store(), **loc)
    if type(pattern) is SequencePattern:
        return ast.Tuple([target(c, part, loc) for part in pattern.parts], ast.Store(), **loc)
    return ast.Name(c.names.temporary("_"), ast.Store(), **loc)
