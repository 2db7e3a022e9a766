"""The types of native code, and what is known of a module while its functions are translated."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from semac.types.lattice import ARRAY, BOOL, FLOAT, INT, LIST, NIL, RECORD, STR, Type

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
        self.prefix = ""
        self.record_kinds: dict[Any, str] = {}
        self.fields: dict[str, dict[str, str]] = {}  # of native records: by kind, the kinds of their fields
        self.classes: dict[str, str] = {}  # classes of records → their kinds
        self.accessors: dict[str, tuple[str, str]] = {}  # functions → (kind of the record, attribute)
        self.constructors: dict[str, str] = {}  # functions → kinds of the records that they make
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


def native_type(type_: Type, facts: Facts) -> str | None:
    """The type of a parameter in native code; None when there is none.

    It says all that the compiler knows: a test of Python's type at an entry is then as good as the inferred type. So
    what is always true, or a list of known length, has none, as the code may rely on it.
    """
    for tags, kind in ((INT, "int"), (FLOAT, "float"), (BOOL, "bool"), (STR, "str")):
        if type_.tags == tags:
            return kind
    if type_.only(ARRAY) and type_.arrays:
        items = {native_type(site.type, facts) for site in type_.arrays}
        item = items.pop()
        return array_of(item) if not items and item in ("int", "float", "bool") else None
    if type_.only(LIST) and type_.row is None and type_.item.only(RECORD):
        item = native_type(type_.item, facts)
        return None if item is None else f"seq[{item}]"
    if type_.only(RECORD | NIL) and type_.tags & RECORD and type_.records is not None and len(type_.records) == 1:
        record = facts.record_kinds.get(next(iter(type_.records)))
        return record if record is None or not type_.tags & NIL else record + OPTIONAL
    return None


def field_kind(type_: Type, facts: Facts) -> str | None:
    """The type of a field of a native record."""
    kind = native_type(type_, facts)
    return None if kind is None or kind.startswith(("list[", "seq[")) else kind


def result_type(type_: Type, facts: Facts) -> str:
    """The type of a result in native code: anything else is an object."""
    return native_type(type_, facts) or "object"


def array_of(kind: str) -> str:
    return f"list[{kind}]"


def array_item(kind: str) -> str:
    return kind[5:-1]


def base_of(kind: str) -> str:
    """The record in an optional one, or in a list."""
    return kind.removesuffix(OPTIONAL).removeprefix("seq[").removesuffix("]")


def shown(kind: str, quoted: bool = False) -> str:
    """A kind as an annotation."""
    text = kind.replace("seq[", "list[")
    return f'"{text}"' if quoted and text not in PLAIN else text


def fits(kind: str, wanted: str) -> bool:
    """Whether a value of a kind may stand where one is wanted."""
    if kind == wanted or (wanted == "object" and kind in (*PLAIN, "none")):
        return True
    return wanted.endswith(OPTIONAL) and kind in ("none", wanted.removesuffix(OPTIONAL))


def join(a: str, b: str) -> str:
    for wanted in (a, b, a + OPTIONAL, b + OPTIONAL):
        if fits(a, wanted) and fits(b, wanted) and (wanted != "object" or a == b):
            if wanted.removesuffix(OPTIONAL) not in (*PLAIN, "none") or a == b:
                return wanted
    raise NotNative(f"a variable that is {a} or {b}")


PLAIN = ("int", "float", "bool", "str", "object")
OPTIONAL = " | None"
