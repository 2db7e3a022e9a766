"""Where macro bodies run: builtins and earlier macros, but nothing that the program defines."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from sema_runtime.values.macros import Macro

if TYPE_CHECKING:
    from semac.expand.expander import PreludeMacros
    from semac.expand.interfaces import Interface

Run = Callable[[Any, dict[str, Macro], str], Any]


class MacroEnvironment:
    """What analysis asks for while it expands a program: macros, the values of their bodies, interfaces of modules.

    run: compiles a form of a file, in which the given macros are known, and returns its value. The pipeline hands
    itself in.
    """

    def __init__(self, run: Run, macros: dict[str, Macro]) -> None:
        self.macros = macros
        self.prelude = prelude_macros(run)
        self._run = run

    def evaluate_in(self, file: str) -> Callable[[Any], Any]:
        """A function that gives the value of a form of a file where macro bodies run."""
        return lambda form: self._run(form, self.macros, file)

    def interface(self, spec: str, importer: str) -> Interface | None:
        """What the module offers that `(import "spec")` means in the file importer; None when it can't be read."""
        from semac.expand.interfaces import find_interface

        return find_interface(spec, importer, self.evaluate_in)


@cache
def prelude_macros(run: Run) -> PreludeMacros:
    """The macros of `prelude.sema`, compiled as they are used, once per process."""
    from semac.expand.expander import PreludeMacros

    return PreludeMacros(lambda form: run(form, {}, "<macro>"))
