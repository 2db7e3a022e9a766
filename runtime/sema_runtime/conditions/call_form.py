"""How a program called the builtin that fails: by its name, or as a value that it had."""

from __future__ import annotations

import sys

SUBSCRIPTS = "sema_runtime.conditions.subscripts"  # calls a builtin again that the program called by its name


def used_as_value() -> bool:
    """Whether the builtin that asks was called as a value (`(map car xs)`, `(let ((f car)) (f x))`), not by its name.

    The reference words some errors differently for the two.
    """
    from sema_runtime.conditions.stack_trace import calls_directly

    caller = sys._getframe(2)
    module = str(caller.f_globals.get("__name__", ""))
    if module == SUBSCRIPTS:
        return False
    if module.startswith("sema_runtime."):
        return True
    return not calls_directly(caller.f_code, caller.f_lasti, sys._getframe(1).f_code.co_name)
