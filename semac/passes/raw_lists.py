"""Raw lists: variables that hold the pieces of a split string and are only read piece by piece stay Python lists."""

from __future__ import annotations

from typing import Any

from semac.ir import nodes as ir
from semac.ir.facts import is_plain_split


def find_raw_lists(nodes: list[Any]) -> None:
    """Marks variables that hold the pieces of a split string and are only read piece by piece."""
    pieces = {
        var: value
        for node in nodes
        if type(node) is ir.Let
        for var, value in node.bindings
        if is_plain_split(value) and not var.assigned and not var.captured
    }
    if not pieces:
        return
    looked: set[Any] = set()
    for node in nodes:
        if is_piece_access(node):
            looked.add(node.args[0])
    for node in nodes:
        if type(node) is ir.Ref and node.var in pieces and node not in looked:
            pieces.pop(node.var, None)
    for var in pieces:
        var.raw_list = True


def is_piece_access(node: Any) -> bool:
    """`(first v)`, `(length v)`, `(nth v 2)`."""
    if type(node) is not ir.CallBuiltin or not node.args or type(node.args[0]) is not ir.Ref:
        return False
    if node.name in ("first", "car", "length", "count"):
        return len(node.args) == 1
    return (
        node.name == "nth" and len(node.args) == 2 and type(node.args[1]) is ir.Const and is_index(node.args[1].value)
    )


def is_index(value: Any) -> bool:
    return type(value) is int and value >= 0
