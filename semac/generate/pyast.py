"""Short constructors for Python AST nodes, each with a position (a dict of lineno and friends)."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from sema_runtime.conditions.sites import MARK
from semac.ir.identifiers import PREDEFINED
from semac.syntax.spans import SiteSpan

Loc = dict[str, Any]
LOAD, STORE = ast.Load(), ast.Store()
new: Any = ast.AST.__new__  # nodes of which there are many get their fields at once: a third less time for each
NOWHERE: Loc = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}


def loc_of(span: Any) -> Loc:
    """The AST position of a Span: columns count from 0 there. The end column tells the site (conditions/sites.py)."""
    col, end_col = span.col - 1, max(span.end_col - 1, 0)
    if end_col >= MARK > col:
        end_col = MARK - 1
    if type(span) is SiteSpan:
        end_col += MARK * span.site
    return {"lineno": span.line, "col_offset": col, "end_lineno": span.end_line, "end_col_offset": end_col}


def name(identifier: str, loc: Loc) -> ast.Name:
    node: ast.Name = new(ast.Name)
    node.__dict__ = {"id": identifier, "ctx": LOAD, **loc}
    return node


class Made(threading.local):
    """builtins: the names of builtins of Python in what a thread is emitting."""

    def __init__(self) -> None:
        self.builtins: list[ast.Name] = []


MADE = Made()


def builtin(identifier: str, loc: Loc) -> ast.Name:
    """A builtin of Python that the compiler itself uses. `give_way` renames it where the program has such a name."""
    node = name(identifier, loc)
    MADE.builtins.append(node)
    return node


def begin() -> None:
    """To be called before a module is emitted."""
    MADE.builtins = []


def give_way(names: AbstractSet[str], rename: Callable[[str], str]) -> None:
    """Renames the builtins among `names` wherever the compiler has used them since `begin`: what the program calls so
    keeps its name."""
    made, MADE.builtins = MADE.builtins, []
    clashing = PREDEFINED & names
    for node in made if clashing else ():
        if node.id in clashing:
            node.id = rename(node.id)


def const(value: Any, loc: Loc) -> ast.Constant:
    node: ast.Constant = new(ast.Constant)
    node.__dict__ = {"value": value, "kind": None, **loc}
    return node


def call(function: ast.expr, args: list[ast.expr], loc: Loc, keywords: list[ast.keyword] | None = None) -> ast.Call:
    node: ast.Call = new(ast.Call)
    node.__dict__ = {"func": function, "args": args, "keywords": keywords or [], **loc}
    return node


def attribute(value: ast.expr, attr: str, loc: Loc) -> ast.Attribute:
    return ast.Attribute(value, attr, LOAD, **on_one_line(loc))


def on_one_line(loc: Loc) -> Loc:
    """The place without its other lines: Python says of an attribute that it stands on the last line of its place."""
    if loc["lineno"] == loc["end_lineno"]:
        return loc
    return {**loc, "end_lineno": loc["lineno"], "end_col_offset": max(loc["end_col_offset"], loc["col_offset"])}


def subscript(value: ast.expr, index: ast.expr, loc: Loc) -> ast.Subscript:
    return ast.Subscript(value, index, LOAD, **loc)


def compare(left: ast.expr, op: ast.cmpop, right: ast.expr, loc: Loc) -> ast.Compare:
    return ast.Compare(left, [op], [right], **loc)


def binop(left: ast.expr, op: ast.operator, right: ast.expr, loc: Loc) -> ast.BinOp:
    return ast.BinOp(left, op, right, **loc)


def boolop(op: ast.boolop, parts: list[ast.expr], loc: Loc) -> ast.expr:
    """`a and b and c`, with nested operations of the same kind merged."""
    if len(parts) == 1:
        return parts[0]
    flat: list[ast.expr] = []
    for part in parts:
        if isinstance(part, ast.BoolOp) and type(part.op) is type(op):
            flat += part.values
        else:
            flat.append(part)
    return ast.BoolOp(op, flat, **loc)


NEGATED: dict[type, type] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def negate(test: ast.expr, loc: Loc) -> ast.expr:
    """`not test`, written the short way where that means the same."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in NEGATED:
        return ast.Compare(test.left, [NEGATED[type(test.ops[0])]()], test.comparators, **loc)
    if isinstance(test, ast.BoolOp) and all(map(has_short_negation, test.values)):
        op: ast.boolop = ast.Or() if isinstance(test.op, ast.And) else ast.And()
        return ast.BoolOp(op, [negate(value, loc) for value in test.values], **loc)
    return ast.UnaryOp(ast.Not(), test, **loc)


def opposite(test: ast.expr, loc: Loc) -> ast.expr:
    """`not test` as a value, which is True or False."""
    negated = negate(test, loc)
    return negated if is_bool(negated) else call(builtin("bool", loc), [negated], loc)


def is_bool(value: ast.expr) -> bool:
    """Whether an expression surely is True or False."""
    if isinstance(value, ast.BoolOp):
        return all(map(is_bool, value.values))
    if isinstance(value, ast.Constant):
        return type(value.value) is bool
    return isinstance(value, ast.Compare) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not))


def has_short_negation(test: ast.expr) -> bool:
    """Whether `negate` has a shorter way than putting `not` in front."""
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in NEGATED


def assign(target: str, value: ast.expr, loc: Loc) -> ast.stmt:
    return ast.Assign([ast.Name(target, STORE, **loc)], value, **loc)


def tuple_of(items: list[ast.expr], loc: Loc) -> ast.Tuple:
    return ast.Tuple(items, LOAD, **loc)


def store_tuple(names: list[str], loc: Loc) -> ast.Tuple:
    return ast.Tuple([ast.Name(n, STORE, **loc) for n in names], STORE, **loc)


def walrus(target: str, value: ast.expr, loc: Loc) -> ast.NamedExpr:
    return ast.NamedExpr(ast.Name(target, STORE, **loc), value, **loc)


LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def terminates(block: list[ast.stmt]) -> bool:
    """Whether control never falls out of the end of a block."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, LEAVING):
        return True
    return isinstance(last, ast.If) and terminates(last.body) and terminates(last.orelse)


def drop_trailing_continue(block: list[ast.stmt]) -> None:
    """Removes `continue` where the end of the loop body is reached anyway."""
    while block:
        last = block[-1]
        if isinstance(last, ast.Continue):
            block.pop()
            continue
        if isinstance(last, ast.If):
            drop_trailing_continue(last.body)
            drop_trailing_continue(last.orelse)
            if not last.body:
                last.body = [ast.Pass(**position(last))]
        return


def position(node: Any) -> Loc:
    return {
        "lineno": node.lineno,
        "col_offset": node.col_offset,
        "end_lineno": node.end_lineno,
        "end_col_offset": node.end_col_offset,
    }


def unless_kind(subject: str, kind: str, direct: ast.expr, general: ast.expr, loc: Loc) -> ast.IfExp:
    """`direct if type(subject) is kind else general(subject)`: the common case without a call."""
    test = compare(call(builtin("type", loc), [name(subject, loc)], loc), ast.Is(), builtin(kind, loc), loc)
    return ast.IfExp(test, direct, call(general, [name(subject, loc)], loc), **loc)
