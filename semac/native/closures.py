"""Functions inside of functions: Python functions with their cells, whose calls from C run natively."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from semac.native.values import Value

if TYPE_CHECKING:
    from semac.native.function import FunctionCode


def closure(f: FunctionCode, node: ast.FunctionDef | ast.Lambda) -> Value:
    """The function that a definition or a lambda makes."""
    scope = f.scope.inner[node]
    inner = f.module.inner_function(f, node, scope)
    cells = []
    for name in scope.free:
        variable = f.variable(name)
        assert variable is not None
        cells.append(variable.c)
    array = "NULL"
    if cells:
        array = f.fresh("cells")
        f.emit(f"PyObject *{array}[] = {{{', '.join(cells)}}};")
    c = f"sema_closure(K_{inner.index}, GLOBALS, {array}, {len(cells)}, W_{inner.index})"
    return f.checked("o", c, node, "function")
