"""The Sema names of functions and globals, from the attributes that the compiler and the builtins set."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

ANONYMOUS = "<lambda>"
COMPILED = " by semac."  # the end of the docstring of a module that was written as Python text
TEXT_FILES = ("<input", "<string>", "<stdin>")
PRIVATE = "_fast_"  # what the Python names of private copies of functions begin with
EXPORTS = "__sema_exports__"  # the Sema names that an `(export ...)` declares
SILENT = "sema silent"  # what a constant of a function without effects begins with (`tasks/still.py`)
GLOBALS = "__sema_globals__"  # the globals that are the program's, in modules that were imported or use `eval`


def function_name(function: Any) -> str:
    """The Sema name of a callable; `<lambda>` when it has none.

    A builtin carries `__sema_name__`. A function of a compiled module is found in that module's `__sema_names__` by the
    name of its code; names that table doesn't list follow the rule `_` → `-`.
    """
    own = getattr(function, "__sema_name__", None)
    if own is not None:
        return str(own)
    code = getattr(function, "__code__", None)
    if code is None:
        inner = getattr(function, "func", None) or getattr(function, "__func__", None)
        return function_name(inner) if inner is not None else str(getattr(function, "__name__", ANONYMOUS))
    return name_of_code(code.co_name, sema_names(code, function.__globals__))


def sema_names(code: CodeType, namespace: dict[str, Any]) -> dict[str, str] | None:
    """The names table of code of a compiled program with these globals; None for code of anything else."""
    table: dict[str, str] | None = namespace.get("__sema_names__")
    if table is None:
        file = code.co_filename
        if file.endswith(".sema") or file.startswith(TEXT_FILES) or str(namespace.get("__doc__")).endswith(COMPILED):
            return {}
    return table


def name_of_code(co_name: str, table: dict[str, str] | None) -> str:
    """The Sema name for a code object's name; table: its module's `__sema_names__`, None for a plain Python module."""
    if table is None:
        return co_name
    name = table.get(co_name)
    if name is not None:
        return name
    return co_name if co_name.startswith("<") else co_name.replace("_", "-")


def program_globals(namespace: dict[str, Any]) -> dict[str, str]:
    """Maps Sema names to Python names of the program's globals; empty for a module that doesn't list them.

    The compiler writes a tuple of Python names, since most modules are never asked for them: `total_over` is
    `total-over`; a name that doesn't follow that rule has its Sema name after a space, `is_empty empty?`.
    """
    known = namespace.get(GLOBALS, ())
    if type(known) is tuple:
        pairs = [entry.partition(" ") for entry in known]
        known = {sema or python.replace("_", "-"): python for python, _, sema in pairs}
        if GLOBALS in namespace:
            namespace[GLOBALS] = known
    names: dict[str, str] = known
    return names
