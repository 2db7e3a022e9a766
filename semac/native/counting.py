"""Loops over the counters of `sema_runtime.support.counting`, as loops over a range."""

from __future__ import annotations

import ast
from collections.abc import Callable

from sema_runtime.support.counting import ENDS, GOES_ON
from semac.native.types import NotNative

COUNTING = "sema_runtime.support.counting."


def counted_range(
    function: str, test: str | None, args: list[ast.expr], temporary: Callable[[], str]
) -> tuple[list[ast.stmt], ast.expr]:
    """(statements before the loop, the range). A counter that never ends fails: the plain twin runs then.

    function: `range` or one of `count_to`, `count_until` and `count_while`; test: the comparison, for the last two.
    """
    if function == "range":
        return [], ast.Call(ast.Name("range"), args, [])
    if function == COUNTING + "count_to":
        direction, more = 0, 0
    elif test is not None and function == COUNTING + "count_until":
        direction, more = ENDS[test.rpartition(".")[2]]
    elif test is not None and function == COUNTING + "count_while":
        direction, more = GOES_ON[test.rpartition(".")[2]]
    else:
        raise NotNative("a loop over a collection")
    start, bound, step = [temporary() for _ in range(3)]
    values = [*args, ast.Constant(1)][:3]
    lines = [
        ast.Assign([ast.Name(name, ast.Store())], value)
        for name, value in zip((start, bound, step), values, strict=True)
    ]
    if direction:
        check = f"if {step} {'<=' if direction > 0 else '>='} 0: fail()"
    else:
        check = f"if ({step} != 1 and {step} != -1) or ({bound} - {start}) * {step} < 0: fail()"
    source = ast.parse(f"range({start}, {bound} + {more}, {step})", mode="eval").body
    return [*lines, *ast.parse(check).body], source
