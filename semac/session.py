"""A running environment: compiles and runs text piece by piece. For the command line, the REPL, `eval` and tests."""

from __future__ import annotations

import builtins
from types import CodeType, FunctionType
from typing import Any

from sema_runtime.values.atoms import symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro
from semac.analyze.analyzer import Analyzer
from semac.analyze.program import analyze_program
from semac.generate.session_names import SharedNames, shared_names
from semac.ir.intrinsics import OPERATORS
from semac.pipeline import EXPANSION, CompiledUnit, compile_forms, compile_source, macro_environment
from semac.process import called_back, deepen, drain_tasks
from semac.sources import decode, read
from semac.syntax.reader import read_program

MACRO_DEFINERS = (symbol("defmacro"), symbol("define-syntax"))


class Session:
    """Globals and macros that outlive one piece of text. closed: no later text will call what this one defines."""

    def __init__(self, filename: str = "<input>", closed: bool = True, namespace: dict[str, Any] | None = None) -> None:
        """namespace: the globals of a module that is running, for `eval` and `load` in it."""
        self.filename = filename
        self.closed = closed
        self.macros: dict[str, Macro] = {}
        fresh: dict[str, Any] = {"__name__": "__main__", "__file__": filename, "__builtins__": builtins}  # for pdb
        self.globals = fresh if namespace is None else namespace
        self.globals["__sema_session__"] = self
        self.names: set[str] = set()
        self.shared: SharedNames = shared_names(self.globals)
        self.python_names: set[str] = set()  # those that hold things imported from Python

    def run(self, text: str, filename: str | None = None, drain: bool = True) -> Any:
        """Runs a text; the value of its last form. drain: whether tasks that are left have time to finish."""
        name = filename or self.filename
        mode = "program" if self.closed else "module"
        return self.execute(self.compile(text, name, mode), drain)

    def compile(self, text: str, filename: str, mode: str = "module") -> CompiledUnit:
        """Source text compiled with what the session knows."""
        known, python = frozenset(self.names), frozenset(self.python_names)
        unit = compile_source(text, filename, mode, macros=self.macros, known=known, python=python, shared=self.shared)
        unit.show_warnings()
        return unit

    def run_form(self, form: Any) -> Any:
        """The value of one form, as `eval` computes it: in the globals, with nothing lexical around.

        A macro that it defines serves later texts and evals; the program that is running sees a variable. Other tasks
        take their turns when a form has run, but not while a macro is expanded.
        """
        before = dict(self.macros)
        known, python = frozenset(self.names), frozenset(self.python_names)
        unit = compile_forms(
            List([form]), self.filename, "module", macros=self.macros, known=known, python=python, shared=self.shared
        )
        for name, macro in self.macros.items():
            if before.get(name) is not macro:
                self.globals[self.shared.global_name(name)] = macro
        if not has_code(form) or self.globals.get("__name__") == EXPANSION:
            return self.execute(unit, drain=False)
        return called_back(lambda: self.execute(unit, drain=False))

    def execute(self, unit: CompiledUnit, drain: bool = True, code: CodeType | None = None) -> Any:
        """The value of the last form. code: that of the unit, where it is there already."""
        deepen()
        names = {name for name, var in unit.unit.globals.items() if var.defined or var.assigned}
        self.names |= names if drain else names - OPERATORS  # what `eval` defines never changes the operators
        self.python_names = set(unit.unit.python_names)
        code = code or unit.code
        self.bind_ours()
        value = FunctionType(code, self.globals)(unit.unit.values)
        if drain:
            drain_tasks()
        return value

    def bind(self, name: str, value: Any) -> None:
        """Defines a global."""
        self.globals[self.shared.global_name(name)] = value
        self.names.add(name)

    def bind_ours(self) -> None:
        """Has globals hold the atoms and imports of inputs; a builtin only where no definition has taken its place."""
        while self.shared.atoms:
            python, value = self.shared.atoms.popitem()
            self.globals[python] = value
        while self.shared.imports:
            from importlib import import_module

            python, (module, attr) = self.shared.imports.popitem()
            if python not in self.globals:
                self.globals[python] = getattr(import_module(module), attr)


def has_code(form: Any) -> bool:
    """Whether something runs when a form is evaluated. nil is nothing, and what defines a macro is done by then."""
    return form is not None and not (type(form) is List and form.items and form.items[0] in MACRO_DEFINERS)


def macros_of(path: str) -> dict[str, Macro]:
    """All macros that a source file defines or imports; none when it can't be read."""
    macros: dict[str, Macro] = {}
    try:
        analyze_program(read_program(decode(read(path), path)), path, macro_environment(macros), Analyzer)
    except (OSError, SemaError):
        return {}
    return macros
