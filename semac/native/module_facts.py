"""What native code knows of the module around it: its globals, constants, record classes, functions.

A global that the module assigns once, on its top level, is fetched when the functions that use it are bound: they run
natively from there on. All other globals are read from the module's dict each time.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

from semac.native.function import FunctionCode
from semac.native.scopes import Scope
from semac.native.values import Value, float_literal

TYPE_OBJECTS = {
    "int": "PyLong", "float": "PyFloat", "bool": "PyBool", "str": "PyUnicode", "tuple": "PyTuple", "list": "PyList",
    "dict": "PyDict", "bytes": "PyBytes", "object": "PyBaseObject", "type": "PyType", "set": "PySet",
}  # fmt: skip
RUNTIME_TYPES = {
    "sema_runtime.values.lists.List": "T_List",
    "sema_runtime.values.maps.Map": "T_Map",
    "sema_runtime.values.maps.HashMap": "T_HashMap",
    "sema_runtime.values.mutable.MutableArray": "T_Array",
    "sema_runtime.values.lists.EMPTY": "O_EMPTY",
}
NUMBER_TYPES = "sema_runtime.lib.numbers.arithmetic.INT_OR_FLOAT"


Constant = Callable[[FunctionCode, Any], Value]
CONSTANT: list[Constant] = []  # what gives the value of a constant (`expressions.py`)


def constant_value(f: FunctionCode, value: Any) -> Value:
    return CONSTANT[0](f, value)


class Global:
    """A global of the module that is constant once it is defined. c: the C variable that holds it."""

    __slots__ = ("c", "name", "path", "place")

    def __init__(self, name: str, c: str, path: str, place: int) -> None:
        self.name = name
        self.c = c
        self.path = path  # of what is imported: module.name
        self.place = place  # the index of the statement that defines it


class ModuleFacts:
    """tree: the module's Python, whose nodes are numbered here. is_open: whether code that is not in it may assign to
    its globals."""

    def __init__(self, tree: ast.Module, is_open: bool) -> None:
        self.tree = tree
        self.is_draft = True
        self.is_certain = False  # in the first rounds, what isn't known yet is guessed
        self.constants: dict[tuple[str, Any], str] = {}
        self.constant_values: list[tuple[str, Any]] = []
        self.names: dict[str, str] = {}
        self.builtins: dict[str, str] = {}
        self.objects: dict[tuple[str, str], str] = {}  # of the runtime: (module, name)
        self.float_texts: dict[str, float] = {}
        for number, node in enumerate(ast.walk(tree)):
            node.number = number  # type: ignore[attr-defined]
        self.globals = {} if is_open else constant_globals(tree)
        self.defined = every_global(tree)
        self.literals = {
            name: statement.value.value
            for statement in tree.body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
            for name, _ in definitions(statement)
            if name in self.globals
        }
        self.classes = {
            statement.name: slots
            for statement in tree.body
            if isinstance(statement, ast.ClassDef)
            and (slots := slots_of_class(statement))
            and statement.name in self.globals
        }
        self.functions: dict[str, FunctionCode] = {}  # of the top level that have a native form, by name

    def inner_function(self, f: FunctionCode, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> FunctionCode:
        """The code of a function inside of another."""
        raise NotImplementedError

    # Constants

    def constant(self, value: Any) -> str:
        """The C variable of a constant object."""
        key = type(value).__name__, repr(value)
        if key not in self.constants:
            self.constants[key] = f"C_{len(self.constants)}"
            self.constant_values.append((self.constants[key], value))
        return self.constants[key]

    def constant_name(self, text: str) -> str:
        """The C variable of an interned string."""
        return self.names.setdefault(
            text, f"N_{len(self.names)}_{''.join(c if c.isascii() and c.isalnum() else '_' for c in text)}"
        )

    def runtime_object(self, module: str, name: str) -> str:
        """The C variable of something that the runtime has, which the module need not import."""
        return self.objects.setdefault((module, name), f"O{len(self.objects)}_{name}")

    def float_text(self, value: float) -> str:
        text = float_literal(value)
        self.float_texts[text] = value
        return text

    # Globals

    def is_builtin(self, f: FunctionCode, name: str) -> bool:
        """Whether a name is that of a builtin of Python in a function."""
        return f.variable(name) is None and name not in self.defined and hasattr(builtins, name)

    def runtime_path(self, f: FunctionCode, name: str) -> str | None:
        """`module.name` of what a name imports from the runtime, or from Python."""
        found = self.globals.get(name)
        return found.path or None if found is not None and f.variable(name) is None else None

    def runtime_value(self, f: FunctionCode, name: str) -> Value:
        """What a name of the module surely is."""
        found = self.globals[name]
        f.needs.add(name)
        kind = "type" if found.path in RUNTIME_TYPES and found.path != "sema_runtime.values.lists.EMPTY" else ""
        if found.path == NUMBER_TYPES:
            kind = "number types"
        return Value(RUNTIME_TYPES.get(found.path, found.c), "o", kind=kind)

    def global_value(self, f: FunctionCode, node: ast.Name) -> Value:
        name = node.id
        if name in self.globals:
            if type(self.literals.get(name, self)) in (int, float, bool):
                f.needs.add(name)
                return constant_value(f, self.literals[name])
            return self.runtime_value(f, name)
        if self.is_builtin(f, name):
            if name in TYPE_OBJECTS:
                return Value(f"(PyObject *)&{TYPE_OBJECTS[name]}_Type", "o", kind="type" if name != "object" else "")
            return Value(self.builtins.setdefault(name, f"B_{name}"), "o")
        f.at(node)
        return f.checked("o", f"sema_global(GLOBALS, {self.constant_name(name)})", node)

    def slots_of(self, f: FunctionCode, attr: str) -> list[tuple[str, int]]:
        """The record classes with a slot of that name: (C variable of the class, index of the slot)."""
        found = []
        for name, slots in self.classes.items():
            if attr in slots:
                f.needs.add(name)
                found.append((self.globals[name].c, sorted(slots).index(attr)))
        return found


def constant_globals(tree: ast.Module) -> dict[str, Global]:
    """The globals that are assigned once, by a statement of the top level."""
    count: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            for name in node.names:
                count[name] = 2
    for statement in tree.body:
        for name in assigned_at_top(statement):
            count[name] = count.get(name, 0) + 1
    found: dict[str, Global] = {}
    for place, statement in enumerate(tree.body):
        for name, path in definitions(statement):
            if count[name] == 1:
                c = f"G{len(found)}_{''.join(c if c.isascii() else '_' for c in name)}"
                found[name] = Global(name, c, path, place)
    return found


def definitions(statement: ast.stmt) -> list[tuple[str, str]]:
    """The globals that a statement of the top level surely defines, and what is imported under each."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [(statement.name, "")]
    if isinstance(statement, ast.Assign) and all(isinstance(target, ast.Name) for target in statement.targets):
        return [(target.id, "") for target in statement.targets if isinstance(target, ast.Name)]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value is not None:
        return [(statement.target.id, "")]
    if isinstance(statement, ast.ImportFrom) and not statement.level:
        is_known = statement.module in ("math", "builtins", "fractions") or (statement.module or "").startswith(
            "sema_runtime."
        )
        return [
            (alias.asname or alias.name, f"{statement.module}.{alias.name}" if is_known else "")
            for alias in statement.names
        ]
    return []


def assigned_at_top(statement: ast.stmt) -> list[str]:
    """All names that a statement of the top level may assign, those of functions inside left out."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import):
        return [(alias.asname or alias.name).partition(".")[0] for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        return [alias.asname or alias.name for alias in statement.names]
    found = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.append(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) or (isinstance(node, ast.ExceptHandler) and node.name):
            found.append(str(node.name))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found += assigned_at_top(node)
    return found


def every_global(tree: ast.Module) -> set[str]:
    """All names that the module may define."""
    names = {name for statement in tree.body for name in assigned_at_top(statement)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            names.update(node.names)
    return names


def slots_of_class(statement: ast.ClassDef) -> tuple[str, ...]:
    """The `__slots__` of a record class of the module."""
    for part in statement.body:
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name) and part.targets[0].id == "__slots__":
            value = ast.literal_eval(part.value)
            return value if isinstance(value, tuple) else (value,)
    return ()
