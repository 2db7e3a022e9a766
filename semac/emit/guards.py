"""Adjacent guards become one: `(f1 if t1 else g1, f2 if t2 else g2)` → `(f1, f2) if t1 and t2 else (g1, g2)`.

The general call behind a guard is right for any operands, so all items may take it when one test fails. Each variable's
type is then asked for once, where it was once an operator.
"""

from __future__ import annotations

import ast
from itertools import pairwise

from semac.emit.pyast import Loc, call, name


def merged(items: list[ast.expr], loc: Loc) -> ast.expr:
    """The tuple of some emitted expressions, with their guards merged where all ask for the same type."""
    guards = [guarded_names(item) for item in items]
    tests = [guard for guard in guards if guard is not None]
    plain = all(guard is not None or is_simple(item) for guard, item in zip(guards, items, strict=True))
    if len(tests) < 2 or not plain or any(guard[-1] != after[-1] for guard, after in pairwise(tests)):
        return ast.Tuple(items, ast.Load(), **loc)
    variables = dict.fromkeys(variable for guard in tests for variable in guard[:-1])
    types: list[ast.expr] = [call(name("type", loc), [name(variable, loc)], loc) for variable in variables]
    test = ast.Compare(types[0], [ast.Is() for _ in types], [*types[1:], name(tests[0][-1], loc)], **loc)
    fast = [item.body if isinstance(item, ast.IfExp) else item for item in items]
    slow = [item.orelse if isinstance(item, ast.IfExp) else item for item in items]
    return ast.IfExp(test, ast.Tuple(fast, ast.Load(), **loc), ast.Tuple(slow, ast.Load(), **loc), **loc)


def guarded_names(item: ast.expr) -> list[str] | None:
    """The variables whose type a guard asks for, and the type; None for what is no guard of variables alone."""
    if not isinstance(item, ast.IfExp) or not isinstance(item.test, ast.Compare):
        return None
    *asked, kind = [item.test.left, *item.test.comparators]
    if not isinstance(kind, ast.Name) or not all(isinstance(op, ast.Is) for op in item.test.ops):
        return None
    names = [
        question.args[0].id
        for question in asked
        if isinstance(question, ast.Call)
        and isinstance(question.func, ast.Name)
        and question.func.id == "type"
        and isinstance(question.args[0], ast.Name)
    ]
    return [*names, kind.id] if len(names) == len(asked) else None


def is_simple(item: ast.expr) -> bool:
    """Whether an expression can stand in both branches: variables, constants and bare operators on them."""
    if isinstance(item, ast.BinOp):
        return is_simple(item.left) and is_simple(item.right)
    return isinstance(item, ast.Name | ast.Constant)
