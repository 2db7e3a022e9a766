"""Analysis of a whole program, repeated where a late definition changes what earlier forms mean."""

from __future__ import annotations

from typing import TypeVar

from sema_runtime.values.lists import List
from semac.analyze.analyzer import Analyzer, LateDefinition
from semac.analyze.forms import SPECIAL_FORMS
from semac.expand.environment import MacroEnvironment

A = TypeVar("A", bound=Analyzer)


def analyze_program(
    forms: List,
    filename: str,
    environment: MacroEnvironment,
    kind: type[A],
    known: frozenset[str] = frozenset(),
    python: frozenset[str] = frozenset(),
) -> A:
    """The analyzer, of the class kind, after it has analyzed a program's forms; its `unit` holds the IR.

    known: names that earlier units of the same session defined; python: those of them that hold things imported from
    Python. The macros of the program are added to those of the environment. Raises SemaError with a `span`.
    """
    macros = environment.macros
    before = dict(macros)
    reassigned: frozenset[str] = frozenset()
    while True:
        try:
            analyzer = kind(filename, SPECIAL_FORMS, environment, known, reassigned)
            analyzer.unit.python_names |= python
            analyzer.program(forms)
            return analyzer
        except LateDefinition as late:
            known, reassigned = known | late.names, late.reassigned
            macros.clear()
            macros.update(before)
