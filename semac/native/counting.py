"""Loops over the counters of `sema_runtime.support.counting`, as loops over a range."""

from __future__ import annotations

import ast
from collections.abc import Callable

from sema_runtime.support.counting import ENDS, GOES_ON
from semac.native.types import NotNative

COUNTING = "sema_runtime.support.counting."


def counted_loop(
    function: str,
    test: str | None,
    args: list[ast.expr],
    target: ast.Name,
    body: list[ast.stmt],
    temporary: Callable[[], str],
) -> list[ast.stmt]:
    """The loop. A counter that never ends fails: the plain twin runs then.

    function: `range` or one of `count_to`, `count_until` and `count_while`; test: the comparison, for the last two.
    """
    if function == "range":
        return [ast.For(target, ast.Call(ast.Name("range"), args, []), body, [])]
    if function == COUNTING + "count_to":
        direction, more = 0, 0
    elif test is not None and function == COUNTING + "count_until":
        direction, more = ENDS[test.rpartition(".")[2]]
    elif test is not None and function == COUNTING + "count_while":
        direction, more = GOES_ON[test.rpartition(".")[2]]
    else:
        raise NotNative("a loop over a collection")
    start, bound = temporary(), temporary()
    values = [*args, ast.Constant(1)][:3]
    before: list[ast.stmt] = [assigned(start, values[0]), assigned(bound, values[1])]
    step = ast.unparse(values[2])
    if not step.lstrip("-").isdecimal():
        step = temporary()
        before.append(assigned(step, values[2]))
    if direction:
        check = f"if {step} {'<=' if direction > 0 else '>='} 0: fail()"
    else:
        check = f"if ({step} != 1 and {step} != -1) or ({bound} - {start}) * {step} < 0: fail()"
    if step.lstrip("-").isdecimal() or not direction:
        source = expression(f"range({start}, {bound} + {more}, {step})")
        return [*before, *ast.parse(check).body, ast.For(target, source, body, [])]
    # mypyc makes objects of the counters of a range whose step it doesn't know
    goes_on = expression(f"{start} {'<' if direction > 0 else '>'} {bound} + {more}")
    count = ast.parse(f"{target.id} = {start}\n{start} += {step}").body
    return [*before, *ast.parse(check).body, ast.While(goes_on, [*count, *body], [])]


def assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def expression(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body
