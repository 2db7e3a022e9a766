"""Where macro bodies run: builtins and earlier macros, but nothing that the program defines."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro

if TYPE_CHECKING:
    from semac.expand.expander import PreludeMacros


def evaluate(form: Any, macros: dict[str, Macro]) -> Any:
    """The value of a form in the macro environment."""
    from semac.emit.module import RESULT
    from semac.pipeline import compile_forms

    unit = compile_forms(List([form]), "<macro>", "module", result=True, macros=macros)
    scope: dict[str, Any] = {"__name__": "__sema_macro__", "__sema_names__": {}}
    exec(unit.code, scope)
    return scope.pop(RESULT, None)


@cache
def prelude() -> PreludeMacros:
    """The macros of `prelude.sema`, compiled as they are used, once per process."""
    from semac.expand.expander import PreludeMacros

    return PreludeMacros(lambda form: evaluate(form, {}))
