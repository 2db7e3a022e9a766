"""Questions about the tree: which variables of a body may be read too early, which loops are left by jumps."""

from __future__ import annotations

from typing import Any

from semac.ir import nodes as ir


def read_early(variables: list[ir.Var], body: Any) -> set[ir.Var]:
    """Variables of a body that may be read before their definition has run."""
    items = body.items if type(body) is ir.Seq else [body]
    pending = set(variables)
    early: set[ir.Var] = set()
    for item in items:
        if type(item) is ir.Set and item.var in pending and item.define:
            if type(item.value) is not ir.Lambda:
                early |= mentioned(item.value) & pending
            pending.discard(item.var)
        else:
            early |= mentioned(item) & pending
        if not pending:
            break
    if pending:
        early |= pending
    # a function defined first may be called before a later variable is defined
    defined_functions = [i for i in items if type(i) is ir.Set and type(i.value) is ir.Lambda]
    plain = [i.var for i in items if type(i) is ir.Set and i.define and type(i.value) is not ir.Lambda]
    if defined_functions and plain:
        used = set().union(*(mentioned(i.value) for i in defined_functions))
        first = next(
            (i for i, item in enumerate(items) if not (type(item) is ir.Set and type(item.value) is ir.Lambda)), 0
        )
        later = {item.var for item in items[first + 1 :] if type(item) is ir.Set and item.define}
        early |= used & later & set(variables)
    return early


def mentioned(node: Any) -> set[ir.Var]:
    return {part.var for part in ir.walk(node) if type(part) is ir.Ref or type(part) is ir.Set}


def jumps_out(loop: Any) -> bool:
    """Whether an inner loop jumps back to this one."""
    return any(
        type(part) is ir.NamedLet and part is not loop and part.is_loop and recurs(part.function.body, loop)
        for part in ir.walk(loop.function.body)
    )


def recurs(node: Any, loop: Any) -> bool:
    """Whether a jump back to the loop happens somewhere below node."""
    return any(type(part) is ir.Call and part.recur is loop for part in ir.walk(node))
