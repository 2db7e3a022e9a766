"""Files that hold workflows."""

from __future__ import annotations

from typing import Any

from sema_runtime.llm.jsonable import is_map
from sema_runtime.llm.tools.tool import Tool
from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List


def workflow_in(path: str) -> Tool | None:
    """The first top-level workflow of a file as a tool without a handler; None where there is none."""
    from semac.sources import decode, read
    from semac.syntax.reader import read_program

    try:
        forms = read_program(decode(read(path), path))
    except (OSError, SemaError):
        return None  # loading it will say why
    for form in forms.items:
        if type(form) is List and len(form) > 3 and _is_symbol(form.items[0], "defworkflow"):
            _, name, doc, meta, *_ = form.items
            if type(name) is Symbol:
                parameters = meta.get("args") if is_map(meta) else None
                return Tool(name.name, doc if isinstance(doc, str) else "", parameters, _no_handler)
    return None


def _is_symbol(form: Any, name: str) -> bool:
    return type(form) is Symbol and form.name == name


def _no_handler() -> None: ...


def describes_arguments(parameters: Any) -> bool:
    """Whether `:args` is a map of parameters: to types, or to maps of them."""
    if not is_map(parameters) or not len(parameters):
        return False
    return all(is_map(spec) or isinstance(spec, Keyword) for _, spec in parameters.pairs())
