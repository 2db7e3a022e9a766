"""The types of native code, and what is known of a module while its functions are translated."""

from __future__ import annotations

import ast
from collections.abc import Callable

from semac.types.lattice import ARRAY, BOOL, FLOAT, INT, STR, Type

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)


class NotNative(Exception):
    """A function, or a part of it, has no native form that surely does the same."""


class Facts:
    """runtime names: local name → `module.name` of what is imported. constants: globals that always hold a literal.
    signatures: of the native functions, (types of parameters, type of the result)."""

    def __init__(self, tree: ast.Module, native_name: Callable[[str], str]) -> None:
        self.native_name = native_name
        self.imported: dict[str, str] = {}
        self.constants: dict[str, ast.Constant] = {}
        self.signatures: dict[str, tuple[list[str], str]] = {}
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module is not None:
                if statement.module == "math" or statement.module.startswith("sema_runtime."):
                    for alias in statement.names:
                        self.imported[alias.asname or alias.name] = f"{statement.module}.{alias.name}"

    def runtime(self, node: ast.expr) -> str | None:
        """`module.name` of a function that a name stands for; `range` for Python's own."""
        if not isinstance(node, ast.Name):
            return None
        return "range" if node.id == "range" and node.id not in self.imported else self.imported.get(node.id)


def native_type(type_: Type) -> str | None:
    """The type of a parameter in native code; None when there is none."""
    for tags, kind in ((INT, "int"), (FLOAT, "float"), (BOOL, "bool"), (STR, "str")):
        if type_.only(tags):
            return kind
    if type_.only(ARRAY) and type_.arrays:
        items = {native_type(site.type) for site in type_.arrays}
        item = items.pop()
        return array_of(item) if not items and item in ("int", "float", "bool") else None
    return None


def result_type(type_: Type) -> str:
    """The type of a result in native code: anything else is an object."""
    return native_type(type_) or "object"


def array_of(kind: str) -> str:
    return f"list[{kind}]"


def array_item(kind: str) -> str:
    return kind[5:-1]


def join(a: str, b: str) -> str:
    if a != b:
        raise NotNative(f"a variable that is {a} or {b}")
    return a
