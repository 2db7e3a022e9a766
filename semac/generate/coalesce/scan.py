"""The names that the statements of a printed function read and set, each in one look at them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

SCOPES = (ast.Lambda, ast.GeneratorExp)
LOOPS = frozenset((ast.For, ast.While))
# The fields of frequent expressions in which names can be.
PARTS: dict[type, tuple[str, ...]] = {
    ast.Attribute: ("value",),
    ast.BinOp: ("left", "right"),
    ast.BoolOp: ("values",),
    ast.Compare: ("left", "comparators"),
    ast.Subscript: ("value", "slice"),
    ast.Tuple: ("elts",),
    ast.UnaryOp: ("operand",),
}
# The blocks of statements that have any, functions left out.
NESTING: dict[type, tuple[str, ...]] = {
    ast.If: ("body", "orelse"),
    ast.For: ("body", "orelse"),
    ast.While: ("body", "orelse"),
    ast.With: ("body",),
    ast.Try: ("body", "orelse", "handlers", "finalbody"),
}


class Names:
    """reads: by statement, the names that its own expressions read. nodes: where each name stands. kept: names that
    stay as they are. is_known: whether there is no statement of a kind that isn't known here."""

    def __init__(self, kept: set[str]) -> None:
        self.reads: dict[ast.stmt, list[str]] = {}
        self.nodes: dict[str, list[ast.Name]] = {}
        self.kept = set(kept)
        self.is_known = True

    def statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        kind = type(node)
        if kind is ast.FunctionDef:
            self.kept.add(node.name)  # type: ignore[attr-defined]
            self.hide(node)
            return
        if kind is ast.Global or kind is ast.Nonlocal:
            self.kept.update(node.names)  # type: ignore[attr-defined]
            return
        if kind not in KNOWN or getattr(node, "finalbody", None):
            self.is_known = False
            return
        reads = self.reads[node] = []
        for field in KNOWN[kind]:
            value = getattr(node, field)
            for part in value if isinstance(value, list) else (value,):
                if part is not None:
                    self.expression(part, reads)
        for field in NESTING.get(kind, ()):
            for inner in getattr(node, field):
                if type(inner) is ast.ExceptHandler:
                    self.handler(inner)
                else:
                    self.statement(inner)

    def handler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.kept.add(node.name)  # Python unbinds it
        self.statements(node.body)

    def expression(self, node: ast.AST, reads: list[str]) -> None:
        """Notes the names of an expression, or of a target."""
        stack: list[Any] = [node]
        while stack:
            part = stack.pop()
            kind = type(part)
            if kind is ast.Name:
                self.nodes.setdefault(part.id, []).append(part)
                if type(part.ctx) is ast.Load:
                    reads.append(part.id)
                continue
            if kind is ast.Constant:
                continue
            if kind in SCOPES:
                self.hide(part)
                continue
            if kind is ast.NamedExpr:
                self.kept.add(part.target.id)
                stack.append(part.value)
                continue
            if kind is ast.comprehension:
                self.hide(part.target)
            for field in PARTS.get(kind) or part._fields:
                value = getattr(part, field)
                if type(value) is list:
                    stack += value
                elif isinstance(value, ast.AST):
                    stack.append(value)

    def hide(self, node: ast.AST) -> None:
        """Keeps all names that stand in a part of the code with a scope of its own."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                self.kept.add(part.id)
            elif isinstance(part, ast.arg):
                self.kept.add(part.arg)
            elif isinstance(part, ast.FunctionDef):
                self.kept.add(part.name)


# The fields of a statement with expressions, blocks left out.
KNOWN: dict[type, tuple[str, ...]] = {
    ast.Assign: ("targets", "value"),
    ast.AugAssign: ("target", "value"),
    ast.Expr: ("value",),
    ast.Return: ("value",),
    ast.Raise: ("exc", "cause"),
    ast.If: ("test",),
    ast.While: ("test",),
    ast.For: ("target", "iter"),
    ast.Try: (),
    ast.With: ("items",),
    ast.Pass: (),
    ast.Break: (),
    ast.Continue: (),
}


def targets_of(node: ast.AST | None) -> list[str]:
    """The names that a target sets."""
    kind = type(node)
    if kind is ast.Name:
        return [node.id]  # type: ignore[union-attr]
    if kind is ast.Tuple or kind is ast.List:
        return [name for item in node.elts for name in targets_of(item)]  # type: ignore[union-attr]
    return targets_of(node.value) if isinstance(node, ast.Starred) else []


def copied(node: ast.stmt) -> tuple[str, str] | None:
    """(y, x) of a statement `y = x`."""
    if type(node) is ast.Assign and type(node.value) is ast.Name and len(node.targets) == 1:
        target = node.targets[0]
        return (target.id, node.value.id) if type(target) is ast.Name else None
    return None


def statements_in(body: list[ast.stmt], depth: int = 0) -> Iterator[tuple[ast.stmt, int]]:
    """Statements and those inside of them, functions left out, each with the number of loops around."""
    for node in body:
        yield node, depth
        kind = type(node)
        if kind not in NESTING:
            continue
        inner = depth + (kind in LOOPS)
        for field in NESTING[kind]:
            part = getattr(node, field)
            for block in [handler.body for handler in part] if field == "handlers" else [part]:
                if block:
                    yield from statements_in(block, inner)
