"""Branches, `while`, and the ways out of statements."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from semac.native.expressions import expr, meet
from semac.native.function import Around, FunctionCode, said
from semac.native.tests import test
from semac.native.values import COUNTED, DROP, Value

Block = Callable[[FunctionCode, list[ast.stmt]], None]
BLOCK: list[Block] = []  # what writes statements (`statements.py`)


def block(f: FunctionCode, body: list[ast.stmt]) -> None:
    BLOCK[0](f, body)


# Ways out


def return_(f: FunctionCode, node: ast.Return) -> None:
    value = expr(f, node.value) if node.value is not None else Value("Py_None", "o", kind="none")
    f.returns.add(said(value))
    if not f.module.is_draft or f.result:
        value = f.converted(value, f.result or value.rep, node)
    if f.around and any(each.kind in ("finally", "with") for each in f.around):
        value = f.temp(value.rep, f.take(value), kind=value.kind)
    unwind(f, 0)
    others = [each for each in f.live if each is not value]
    f.emit(f"r = {f.take(value)};")
    f.emit("".join(DROP[each.rep].format(each.c) + "; " for each in reversed(others)) + "goto done;")
    f.assigned = None


def jump(f: FunctionCode, where: str) -> None:
    """`break` or `continue`, to a label of the loop around."""
    index = max(i for i, each in enumerate(f.around) if each.kind == "loop")
    around = f.around[index]
    unwind(f, index + 1)
    around.used.add(where)
    if where == "end":
        around.exits.append(f.assigned)
    drops = "".join(DROP[value.rep].format(value.c) + "; " for value in reversed(f.live[around.depth :]))
    f.emit(f"{drops}goto {where}_{around.label};")
    f.assigned = None


def unwind(f: FunctionCode, index: int) -> None:
    """Writes what happens on the way out of statements, up to those around at an index."""
    arounds = f.around
    for at in range(len(arounds) - 1, index - 1, -1):
        each = arounds[at]
        f.around = arounds[:at]
        if each.kind == "handler":
            f.emit(f"sema_handled({each.saved});")
        elif each.kind == "finally":
            block(f, each.body)
        elif each.kind == "with":
            f.fail_if(f"sema_exit({each.saved}) < 0", each.node)
    f.around = arounds


def break_(f: FunctionCode, node: ast.Break) -> None:
    jump(f, "end")


def continue_(f: FunctionCode, node: ast.Continue) -> None:
    jump(f, "next")


# Branches


def if_(f: FunctionCode, node: ast.If) -> None:
    condition = tested(f, node.test)
    on_true, on_false = f.branches
    if condition in ("0", "1"):
        f.assigned = on_true if condition == "1" else on_false
        block(f, node.body if condition == "1" else node.orelse)
        return
    f.emit(f"if ({condition}) {{")
    f.assigned = on_true
    block(f, node.body)
    after = f.assigned
    f.assigned = on_false
    if node.orelse:
        f.emit("} else {")
        block(f, node.orelse)
    f.emit("}")
    f.assigned = meet(after, f.assigned)


def tested(f: FunctionCode, node: ast.expr) -> str:
    """A test, of which a first round may not know enough."""
    found = ["(0)"]
    f.branches = f.assigned, f.assigned
    f.guess(lambda: found.append(test(f, node)))
    return found[-1]


def while_(f: FunctionCode, node: ast.While) -> None:
    f.loops = True
    around = Around("loop", f.fresh("loop"), len(f.live))
    f.emit("for (;;) {")
    f.emit("if (TICK(S)) {")
    f.emit(f"F.site = {f.site(node)}; {f.leave()} }}")
    condition = tested(f, node.test)
    on_true, on_false = f.branches
    after: Any = None if condition == "1" else on_false
    last = "last" if node.orelse else "end"
    if condition != "1":
        f.emit(f"if (!({condition})) goto {last}_{around.label};")
        around.used.add(last)
    f.assigned = on_true
    f.around.append(around)
    block(f, node.body)
    f.around.pop()
    if "next" in around.used:
        f.emit(f"next_{around.label}: ;")
    f.emit("}")
    if node.orelse and "last" in around.used:
        f.emit(f"last_{around.label}: ;")
        f.assigned = after
        block(f, node.orelse)
        after = f.assigned
    if "end" in around.used:
        f.emit(f"end_{around.label}: ;")
    for exit_ in around.exits:
        after = meet(after, exit_)
    f.assigned = after


__all__ = ["BLOCK", "COUNTED", "block", "break_", "continue_", "if_", "jump", "return_", "tested", "unwind", "while_"]
