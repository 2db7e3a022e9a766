"""Tools from what a program gives: tools themselves, and Python functions."""

from __future__ import annotations

from sema_runtime.llm.jsonable import is_sequence
from sema_runtime.llm.tools.tool import Tool
from sema_runtime.values.atoms import Keyword
from sema_runtime.values.errors import SemaTypeError
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def tools_in(value: Any) -> tuple[Tool, ...]:
    """Returns the tools of a list or vector, which may hold Python functions; none for any other value.

    Raises a type error for an item that is no tool.
    """
    return tuple(map(checked_tool, value)) if is_sequence(value) else ()


def checked_tool(value: Any) -> Tool:
    """Returns a tool itself or the tool of a Python function. Raises a type error for anything else."""
    tool = tool_from(value)
    if tool is None:
        hint = ":tools holds the tools themselves: {:tools [read-file]}, without a quote"
        raise SemaTypeError("tool", type_name(value), hint=hint)
    return tool


def tool_from(value: Any) -> Tool | None:
    """Returns a tool itself or the tool of a Python function; None for anything else."""
    if isinstance(value, Tool):
        return value
    if not callable(value) or isinstance(value, Keyword):
        return None
    from sema_runtime.llm.tools.python_functions import PythonTool

    return PythonTool(value)
