"""Operations on owned maps (owned.py): the variable is a raw dict, so they are Python's own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from semac import ir
from semac.owned import is_owned_assoc
from semac.pyast import attribute, call, name

if TYPE_CHECKING:
    from semac.emit import FunctionEmitter as Emitter


def owned_operation(e: Emitter, node: Any) -> ast.expr | None:
    """A builtin call on an owned variable, or one that makes a fresh dict for an owner; None for all others."""
    if node.name == "hashmap/new" and not node.args and node in e.module.unit.raw:
        return ast.Dict([], [], **e.loc(node))
    if not node.args or not e.is_owned(node.args[0]):
        return None
    if node.name == "assoc" and is_owned_assoc(node):
        return change(e, node)
    if node.name == "get":
        return read_owned(e, node, "get", node.args[1:])
    if node.name == "contains?":
        key = e.expr(node.args[1])
        return ast.Compare(key, [ast.In()], [raw_name(e, node)], **e.loc(node))
    if node.name in ("count", "length", "map/count"):
        return call(name("len", e.loc(node)), [raw_name(e, node)], e.loc(node))
    return None


def raw_name(e: Emitter, node: Any) -> ast.expr:
    return name(node.args[0].var.py, e.loc(node))


def read_owned(e: Emitter, node: Any, method: str, args: list[Any]) -> ast.expr:
    """`m.get(key, default)`."""
    made = e.exprs(args)
    return call(attribute(raw_name(e, node), method, e.loc(node)), made, e.loc(node))


def change(e: Emitter, node: Any) -> ast.expr:
    """`m[key] = value` for each pair; the value is m itself."""
    var: ir.Var = node.args[0].var
    made = e.exprs(node.args[1:])
    loc = e.loc(node)
    values = made[1::2]
    if len(values) > 1:  # all values are computed before the first entry changes
        values = [
            value if isinstance(value, ast.Constant | ast.Name) else e.save(value, "value", loc) for value in values
        ]
    for key, value in zip(made[0::2], values, strict=True):
        place = ast.Subscript(name(var.py, loc), key, ast.Store(), **loc)
        e.append(ast.Assign([place], value, **loc))
    result: ast.expr = name(var.py, loc)
    return result if node in e.module.unit.raw else e.wrap(result, var.owned)
