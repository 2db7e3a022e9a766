"""The Python of a module, linked with the extension that holds its native functions.

A function begins with `if type(n) is int: result = native(n)`, where the types are those that the native function
assumes; its own code runs where they are others, and where the native function failed. So errors, their messages and
their traces come from Python code alone. A native function is called when all definitions that it needs have run.
"""

from __future__ import annotations

import ast
import os

from semac.native.kernels import Entry, Kernels
from semac.native.records import converted

RUNTIME = "sema_runtime.native"
PREFIX = "__sema_native_"


def linked(tree: ast.Module, kernels: Kernels, module: str, path: str) -> ast.Module:
    """The module with calls of its native functions. tree is changed.

    module, path: the extension's name and file; a relative path starts in the folder of the module.
    """
    entries = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name in kernels.entries
        and len(node.args.args) == len(kernels.entries[node.name].params)
    }  # fmt: skip
    last: dict[str, int] = {}
    defined = {name for entry in kernels.entries.values() for name in entry.needed}
    for index, statement in enumerate(tree.body):
        for name in names_of(statement) & defined:
            last[name] = index
    after: dict[int, list[ast.stmt]] = {}
    for name, node in entries.items():
        needed = kernels.entries[name].needed
        if not needed <= last.keys():
            continue
        add_call(node, kernels.entries[name], kernels)
        place = max(last[each] for each in needed)
        entry = f"{kernels.prefix}e_{name}"
        source = f"{PREFIX}{name} = {PREFIX}_entry(globals(), {module!r}, {PREFIX + name!r}, {entry!r})"
        after.setdefault(place, []).extend(located(source, node))
    if not after:
        return tree
    body: list[ast.stmt] = []
    for index, statement in enumerate(tree.body):
        body += [statement, *after.get(index, ())]
    names = f"FAILED as {PREFIX}_FAILED, entry as {PREFIX}_entry, load as {PREFIX}_load, never as {PREFIX}_never"
    names += f"\nfrom sema_runtime.values.lists import List as {PREFIX}_List"
    targets = "".join(f"{PREFIX}{name} = " for name in entries)
    file = repr(path) if os.path.isabs(path) else f"{path!r}, __file__"
    head = f"from {RUNTIME} import {names}\n{PREFIX}_load({module!r}, {file})\n{targets}{PREFIX}_never"
    tree.body = [*located(head, None), *body]
    return tree


def names_of(statement: ast.stmt) -> set[str]:
    """The globals that a top-level statement surely defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return {statement.targets[0].id}
    return set()


def add_call(node: ast.FunctionDef, entry: Entry, kernels: Kernels) -> None:
    """Puts the call of the native function at the head of a function, below its docstring and its declarations."""
    names = [arg.arg for arg in node.args.args]
    kinds = []
    for kind in entry.params:
        record = converted(kind, kernels.records)
        kinds.append(kind if record is None else f"{PREFIX}_List" if kind.startswith("seq[") else record.python)
    test = " and ".join(f"type({name}) is {kind}" for name, kind in zip(names, kinds, strict=True)) or "True"
    result = f"{PREFIX}_result"
    source = f"""if {test}:
    {result} = {PREFIX}{node.name}({", ".join([*names, *entry.classes])})
    if {result} is not {PREFIX}_FAILED:
        return {result}"""
    at = 0
    while at < len(node.body) and (
        isinstance(node.body[at], ast.Global | ast.Nonlocal)
        or (at == 0 and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant))
    ):
        at += 1
    node.body[at:at] = located(source, node)


def located(source: str, node: ast.stmt | None) -> list[ast.stmt]:
    """Statements that stand where another one does."""
    statements = ast.parse(source).body
    for statement in statements:
        for part in ast.walk(statement):
            if hasattr(part, "lineno"):
                part.lineno = part.end_lineno = node.lineno if node is not None else 1  # type: ignore[attr-defined]
                part.col_offset = part.end_col_offset = 0  # type: ignore[attr-defined]
    return statements
