"""The types of a text's functions and variables, as people read them."""

from __future__ import annotations

import os
from typing import Any

from sema_runtime.values.errors import SemaError
from semac.ir.unit import Unit
from semac.pipeline import compile_source
from semac.types.lattice import (
    ANY,
    BOOL,
    FALSE,
    FN,
    INT,
    LIST,
    MAP,
    NAMES,
    NIL,
    OTHER,
    RECORD,
    TRUE,
    VECTOR,
    Type,
)

REWRITING = "loops,calls,versions"  # passes that would make other functions of those that stand in the text
MOST_PARTS = 3  # of a union, or fields of a map, that are shown
MOST_LENGTH = 60  # characters of a type
GROUPS = (("int", INT), ("bool", BOOL))


class _Done(Exception):
    """Types are inferred: what the compiler would do next isn't needed."""


def inferred_types(text: str, file: str) -> dict[str, Any]:
    """What is known of a text's names, as JSON. Empty for a text that can't be compiled; macro bodies run.

    functions: [line, column, what is returned or "", {variable: type}] by the place where their form begins;
    globals: type by name.
    """
    units: list[Unit] = []

    def watch(name: str, unit: Unit) -> None:
        if name == "infer" and unit.filename == file:
            units.append(unit)
            raise _Done

    before = os.environ.get("SEMA_SKIP")
    os.environ["SEMA_SKIP"] = REWRITING
    try:
        compile_source(text, file, "module", optimize=True, watch=watch)
    except _Done:
        return _described(units[0])
    except (SemaError, RecursionError):
        pass
    finally:
        if before is None:
            del os.environ["SEMA_SKIP"]
        else:
            os.environ["SEMA_SKIP"] = before
    return {"functions": [], "globals": {}}


def _described(unit: Unit) -> dict[str, Any]:
    functions = []
    for function in (*unit.functions, unit.main):
        types: dict[str, set[str]] = {}
        params = {*function.params, function.rest}
        for var in function.locals:
            if var not in params:
                types.setdefault(var.name, set()).add(sema_text(var.type))
        known = {name: shown.pop() for name, shown in types.items() if len(shown) == 1}
        known = {name: shown for name, shown in known.items() if name and shown}
        span = function.span
        if span is not None and getattr(span, "is_written", True):
            functions.append([span.line, span.col, sema_text(function.type), known])
        elif function is unit.main:
            functions.append([0, 0, "", known])
    defined = {name: var for name, var in unit.globals.items() if var.defined and var.function is None}
    globals_ = {name: sema_text(var.type) for name, var in defined.items()}
    return {"functions": functions, "globals": {name: text for name, text in globals_.items() if text}}


def sema_text(type_: Type | None) -> str:
    """A type in the words of the language; "" where nothing certain is known."""
    if type_ is None or not type_.tags or type_ is ANY or type_.tags & OTHER:
        return ""
    parts = _parts(type_)
    if not parts or len(parts) > MOST_PARTS:
        return ""
    text = " | ".join(parts)
    return text if len(text) <= MOST_LENGTH else ""


def _parts(type_: Type) -> list[str]:
    """The kinds of a union, nil at the end."""
    tags = type_.tags
    parts = []
    for name, group in GROUPS:
        if tags & group:
            parts.append({TRUE: "#t", FALSE: "#f"}.get(tags & group, name))
            tags &= ~group
    for name, tag in NAMES.items():
        if tags & tag and tag not in (NIL, INT, TRUE, FALSE):
            parts.append(_part(type_, name, tag))
    return [*parts, "nil"] if tags & NIL else parts


def _part(type_: Type, name: str, tag: int) -> str:
    if tag == LIST:
        item = sema_text(type_.item)
        return f"list[{item}]" if item else "list"
    if tag == VECTOR:
        item = sema_text(type_.vitem)
        return f"vector[{item}]" if item else "vector"
    if tag == MAP and type_.shape is not None and 0 < len(type_.shape) <= MOST_PARTS:
        fields = [f":{key.name} {sema_text(part) or 'any'}" for key, part in type_.shape]
        return "{" + " ".join(fields) + "}"
    if tag == RECORD and type_.records and len(type_.records) == 1:
        return str(next(iter(type_.records)).name)
    return "function" if tag == FN else name
