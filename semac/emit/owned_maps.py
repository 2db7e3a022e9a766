"""Operations on owned maps (`passes/ownership.py`): the variable is a raw dict, so they are Python's own."""

from __future__ import annotations

import ast
from typing import Any

from semac.emit.emitter import Emitter
from semac.emit.pyast import attribute, call, const, name
from semac.ir import nodes as ir
from semac.ir.facts import is_owned_assoc
from semac.ir.types import PLAIN_KEYS, only


def owned_operation(e: Emitter, node: Any) -> ast.expr | None:
    """A builtin call on an owned variable, or one that makes a fresh dict for an owner; None for all others."""
    if node.name == "hashmap/new" and not node.args and node in e.module.unit.raw:
        return ast.Dict([], [], **e.loc(node))
    if node.args and type(node.args[0]) is ir.Ref and node.args[0].var.raw_list:
        return piece(e, node)
    if not node.args or not e.is_owned(node.args[0]):
        return None
    if node.name == "assoc" and is_owned_assoc(node):
        return change(e, node)
    if node.name == "get":
        return read_owned(e, node, "get", node.args[1:])
    if node.name == "contains?":
        key = stored_key(e, node.args[1], e.expr(node.args[1]), "maps:stored")
        return ast.Compare(key, [ast.In()], [raw_name(e, node)], **e.loc(node))
    if node.name in ("count", "length", "map/count"):
        return call(name("len", e.loc(node)), [raw_name(e, node)], e.loc(node))
    return None


def plain_split(e: Emitter, node: Any) -> ast.expr:
    """`text.split(separator)`."""
    text, separator = e.exprs(node.args)
    return call(attribute(text, "split", e.loc(node)), [separator], e.loc(node))


def piece(e: Emitter, node: Any) -> ast.expr:
    """A look at a raw list: `v[0]`, `v[2] if len(v) > 2 else nth(v, 2)`, `len(v)`."""
    loc = e.loc(node)
    pieces = raw_name(e, node)
    size = call(name("len", loc), [pieces], loc)
    if node.name in ("length", "count"):
        return size
    if node.name in ("first", "car"):  # splitting gives one piece at least
        return ast.Subscript(pieces, const(0, loc), ast.Load(), **loc)
    index = const(node.args[1].value, loc)
    there = ast.Compare(size, [ast.Gt()], [index], **loc)
    failing = call(e.runtime(e.builtin_path("nth"), loc), [pieces, index], loc)
    return ast.IfExp(there, ast.Subscript(pieces, index, ast.Load(), **loc), failing, **loc)


def raw_name(e: Emitter, node: Any) -> ast.expr:
    return name(node.args[0].var.py, e.loc(node))


def read_owned(e: Emitter, node: Any, method: str, args: list[Any]) -> ast.expr:
    """`m.get(key, default)`."""
    values = e.exprs(args)
    values[0] = stored_key(e, args[0], values[0], "maps:stored")
    return call(attribute(raw_name(e, node), method, e.loc(node)), values, e.loc(node))


def stored_key(e: Emitter, node: Any, key: ast.expr, maker: str) -> ast.expr:
    """The dict key for a key expression: itself, when maps surely store it as it is."""
    if only(node.type, PLAIN_KEYS):
        return key
    return call(e.runtime(f"sema_runtime.values.{maker}", e.current), [key], e.current)


def change(e: Emitter, node: Any) -> ast.expr:
    """`m[key] = value` for each pair; the value is m itself."""
    var: ir.Var = node.args[0].var
    parts = e.exprs(node.args[1:])
    loc = e.loc(node)
    values = parts[1::2]
    if len(values) > 1:  # all values are computed before the first entry changes
        values = [
            value if isinstance(value, ast.Constant | ast.Name) else e.save(value, "value", loc) for value in values
        ]
    for index, (key, value) in enumerate(zip(parts[0::2], values, strict=True)):
        key = stored_key(e, node.args[1 + 2 * index], key, "map_keys:assoc_key")
        place = ast.Subscript(name(var.py, loc), key, ast.Store(), **loc)
        e.append(ast.Assign([place], value, **loc))
    return name(var.py, loc)
