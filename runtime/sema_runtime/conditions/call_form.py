"""How a program called the builtin that fails: by its name, or as a value that it had."""

from __future__ import annotations

import sys

from sema_runtime.native import calls_around

SUBSCRIPTS = "sema_runtime.conditions.subscripts"  # calls a builtin again that the program called by its name


def used_as_value() -> bool:
    """Whether the builtin that asks was called as a value (`(map car xs)`, `(let ((f car)) (f x))`), not by its name.

    The reference words some errors differently for the two.
    """
    from sema_runtime.conditions.stack_trace import calls_directly

    builtin = sys._getframe(1)
    caller = next(calls_around(builtin), None)
    if caller is None:
        return True
    code, namespace, instruction, _ = caller
    module = str(namespace.get("__name__", ""))
    if module == SUBSCRIPTS:
        return False
    if module.startswith("sema_runtime."):
        return True
    return not calls_directly(code, instruction, builtin.f_code.co_name)
