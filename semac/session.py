"""A running environment: compiles and runs text piece by piece. For the command line, the REPL, `eval` and tests."""

from __future__ import annotations

import sys
from typing import Any

from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro
from semac.analyze import OPERATORS
from semac.driver import RESULT, CompiledUnit, compile_forms, compile_source
from semac.limits import deepen
from semac.names import mangle


class Session:
    """Globals and macros that outlive one piece of text. closed: no later text will call what this one defines."""

    def __init__(self, filename: str = "<input>", closed: bool = True) -> None:
        self.filename = filename
        self.closed = closed
        self.macros: dict[str, Macro] = {}
        self.globals: dict[str, Any] = {"__name__": "__main__", "__file__": filename, "__sema_session__": self}
        self.names: set[str] = set()
        self.python_names: set[str] = set()  # those that hold things imported from Python

    def run(self, text: str, filename: str | None = None, drain: bool = True) -> Any:
        """Runs source text; gives the value of the last form. drain: only after all tasks it started have ended."""
        name = filename or self.filename
        mode = "program" if self.closed else "module"
        return self.execute(self.compile(text, name, mode), drain)

    def compile(self, text: str, filename: str, mode: str = "module") -> CompiledUnit:
        """Source text compiled with what the session knows."""
        known, python = frozenset(self.names), frozenset(self.python_names)
        return compile_source(text, filename, mode, result=True, macros=self.macros, known=known, python=python)

    def run_form(self, form: Any) -> Any:
        """The value of one form, as `eval` computes it: in the globals, with nothing lexical around.

        A macro that it defines serves later texts and evals; the program that is running sees a variable.
        """
        before = dict(self.macros)
        known, python = frozenset(self.names), frozenset(self.python_names)
        unit = compile_forms(
            List([form]), self.filename, "module", result=True, macros=self.macros, known=known, python=python
        )
        for name, macro in self.macros.items():
            if before.get(name) is not macro:
                self.globals[mangle(name)] = macro
        return self.execute(unit, drain=False)

    def execute(self, unit: CompiledUnit, drain: bool = True) -> Any:
        deepen()
        found = {name for name, var in unit.unit.globals.items() if var.defined or var.assigned}
        self.names |= found if drain else found - OPERATORS  # what `eval` defines never changes the operators
        self.python_names = set(unit.unit.python_names)
        exec(unit.code, self.globals)
        if drain:
            drain_tasks()
        return self.globals.pop(RESULT, None)


def drain_tasks() -> None:
    """Lets tasks that are still running finish."""
    if "sema_runtime.tasks.scheduler" in sys.modules:
        from sema_runtime.tasks import drain

        drain()
