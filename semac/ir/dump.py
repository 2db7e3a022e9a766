"""The tree of a unit as text: `sema compile --dump tree`, and `--dump expanded`."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.printer import to_text
from semac.ir import nodes as ir
from semac.ir.unit import Unit

HEADS: dict[type, str] = {
    ir.Seq: "begin", ir.If: "if", ir.And: "and", ir.Or: "or", ir.While: "while", ir.Throw: "throw",
}  # fmt: skip


def tree_text(unit: Unit) -> str:
    """The nodes of a unit, one a line."""
    return "".join(tree(item, 0) for item in unit.tree.items)


def expanded_text(unit: Unit) -> str:
    """The unit as Sema text, macros and sugar gone."""
    return "".join(expanded(item) + "\n" for item in unit.tree.items)


def tree(node: Any, depth: int) -> str:
    """A node a line, children indented below."""
    pad = "  " * depth
    line = f"{pad}{type(node).__name__}{details(node)}\n"
    if type(node) is ir.Let:
        for var, value in node.bindings:
            line += f"{pad}  {var.name} =\n{tree(value, depth + 2)}"
        return line + tree(node.body, depth + 1)
    if type(node) in (ir.Lambda, ir.NamedLet):
        function = node.function
        params = " ".join(var.name for var in function.params)
        line = line.rstrip("\n") + f" ({params})\n"
    return line + "".join(tree(child, depth + 1) for child in ir.children(node))


def details(node: Any) -> str:
    kind = type(node)
    if kind in (ir.Const, ir.Quote):
        return f" {to_text(node.value)}"
    if kind in (ir.Ref, ir.Set):
        return f" {node.var.name}"
    if kind in (ir.Builtin, ir.CallBuiltin):
        return f" {node.name}"
    if kind is ir.Runtime:
        return f" {node.path.partition(':')[2]}"
    if kind is ir.NamedLet:
        return f" {node.function.name}{' loop' if node.is_loop else ''}"
    if kind is ir.Call:
        return " jump" if node.recur is not None else " tail" if node.tail else ""
    return ""


def expanded(node: Any) -> str:
    """A node as Sema text, macros and sugar gone."""
    kind = type(node)
    if kind is ir.Const:
        return to_text(node.value)
    if kind is ir.Quote:
        return f"(quote {to_text(node.value)})"
    if kind is ir.Ref:
        return str(node.var.name)
    if kind is ir.Builtin:
        return str(node.name)
    if kind is ir.Let:
        bindings = " ".join(f"({var.name} {expanded(value)})" for var, value in node.bindings)
        return f"(let* ({bindings}) {expanded(node.body)})"
    if kind is ir.Lambda:
        return f"(lambda ({parameters(node.function)}) {expanded(node.function.body)})"
    if kind is ir.NamedLet:
        pairs = zip(node.function.params, node.inits, strict=True)
        bindings = " ".join(f"({var.name} {expanded(value)})" for var, value in pairs)
        return f"(let {node.function.name} ({bindings}) {expanded(node.function.body)})"
    if kind is ir.Set:
        word = "define" if node.define else "set!"
        return f"({word} {node.var.name} {expanded(node.value)})"
    if kind is ir.Call:
        return f"({' '.join(expanded(part) for part in (node.head, *node.args))})"
    head = HEADS.get(kind)
    if kind is ir.CallBuiltin:
        head = node.name
    elif kind is ir.Runtime:
        head = node.path.partition(":")[2]
    elif kind is ir.Define:
        return expanded(node.body)
    elif kind is ir.Try:
        return f"(try {expanded(node.body)} (catch {node.var.name} {expanded(node.handler)}))"
    elif kind is ir.Vector:
        return f"[{' '.join(map(expanded, node.items))}]"
    elif kind is ir.MapLit:
        return f"{{{' '.join(expanded(part) for part in ir.children(node))}}}"
    return f"({' '.join([head or kind.__name__.lower(), *map(expanded, ir.children(node))])})"


def parameters(function: ir.Function) -> str:
    names = [var.name for var in function.params]
    return " ".join([*names, ".", function.rest.name] if function.rest is not None else names)
