"""Questions about the tree: which variables of a body may be read too early, which loops are left by jumps."""

from __future__ import annotations

from typing import Any

from semac.ir import nodes as ir


def read_early(variables: list[ir.Var], body: Any) -> set[ir.Var]:
    """Variables of a body that may be read before their definition has run.

    What runs at an item of the body reads what the item mentions, and what functions defined in the body mention that
    it may call: those that it mentions, and so on. It may also keep such a function for later.
    """
    items = body.items if type(body) is ir.Seq else [body]
    places: dict[ir.Var, int] = {}  # where each variable is defined
    functions: dict[ir.Var, set[ir.Var]] = {}  # functions of the body → what they mention
    for place, item in enumerate(items):
        if type(item) is ir.Set and item.define:
            places.setdefault(item.var, place)
            if type(item.value) is ir.Lambda:
                functions.setdefault(item.var, set()).update(mentioned(item.value))
    early = set(variables) - places.keys()
    for place, item in enumerate(items):
        if type(item) is ir.Set and item.define and type(item.value) is ir.Lambda:
            continue
        for var in reached(mentioned(item), functions):
            if places.get(var, -1) > place or (places.get(var) == place and var in early_in(item, functions)):
                early.add(var)
    return early & set(variables)


def reached(start: set[ir.Var], functions: dict[ir.Var, set[ir.Var]]) -> set[ir.Var]:
    """The variables of which code may be run that mentions some of them."""
    found: set[ir.Var] = set()
    todo = list(start)
    while todo:
        var = todo.pop()
        if var not in found:
            found.add(var)
            todo += functions.get(var, ())
    return found


def early_in(item: Any, functions: dict[ir.Var, set[ir.Var]]) -> set[ir.Var]:
    """The variables that the value of a definition may read, while it is computed."""
    return reached(mentioned(item.value), functions) if type(item) is ir.Set else set()


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
