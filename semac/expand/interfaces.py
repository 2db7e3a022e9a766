"""What an importing program must know of a module while it is compiled: its macros and the names it exports."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sema_runtime.values.atoms import Symbol, symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro
from semac.syntax.definitions import defined_names


class Interface:
    """path: the module's file; exports: names it offers; macros: those of its top level; macro_files: their sources."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.exports: list[str] = []
        self.macros: dict[str, Macro] = {}
        self.macro_files: list[str] = []


def find_interface(spec: str, importer: str, evaluate_in: Callable[[str], Callable[[Any], Any]]) -> Interface | None:
    """The interface of the module that spec means in the file importer; None when it can't be found or read.

    What is wrong with the module is reported when it is run, with its own place.
    """
    from sema_runtime.compiler_bridge import resolve
    from semac import sources
    from semac.syntax.reader import read_program

    try:
        path = os.path.realpath(resolve(spec, importer))
        forms = read_program(sources.decode(sources.read(path), path))
    except (OSError, SemaError):
        return None
    interface = Interface(path)
    body, declared = module_body(list(forms))
    for form in body:
        note_macro(form, interface, evaluate_in(path))
    names = [name for form in body for name in defined_names(form)]
    interface.exports = names + list(interface.macros) if declared is None else declared
    return interface


def module_body(forms: list[Any]) -> tuple[list[Any], list[str] | None]:
    """(top-level forms, exported names or None) with a `(module name (export ...) ...)` form opened."""
    for form in forms:
        if head_of(form) == "module" and len(form.items) > 2 and head_of(form.items[2]) == "export":
            exported = [name.name for name in form.items[2].items[1:] if type(name) is Symbol]
            others = [other for other in forms if other is not form]
            return [*others, *form.items[3:]], exported
    return forms, None


def defines_macro(forms: list[Any], name: str) -> bool:
    """Whether a macro of that name is defined at the top level of a module."""
    wanted = [symbol(name)]
    return any(
        head_of(form) in ("defmacro", "define-syntax") and form.items[1:2] == wanted for form in module_body(forms)[0]
    )


def note_macro(form: Any, interface: Interface, evaluate: Callable[[Any], Any]) -> None:
    from semac.expand.expander import make_macro
    from semac.expand.syntax_rules import make_syntax_rules

    head = head_of(form)
    try:
        if head == "defmacro":
            macro = make_macro(form, evaluate)
        elif head == "define-syntax":
            macro = make_syntax_rules(form)
        else:
            return
    except SemaError:
        return
    interface.macros[form.items[1].name] = macro


def head_of(form: Any) -> str:
    """The name of a list form's head symbol, "" for anything else."""
    if type(form) is List and form.items and type(form.items[0]) is Symbol:
        return str(form.items[0].name)
    return ""
