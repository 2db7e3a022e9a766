"""Macro definitions and macro calls, and the table of the prelude's macros."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sema_runtime.values.atoms import Symbol, symbol
from sema_runtime.values.errors import ArityError, SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro, gensym
from sema_runtime.values.maps import Map
from semac.syntax.spans import moved, relocated

Evaluate = Callable[[Any], Any]
MAX_STEPS = 10_000  # expansions in a row of one call
MAX_ARGUMENTS = 100_000  # a call that has grown to more of them, and is a macro call still, will not end
DOT, LAMBDA = symbol("."), symbol("lambda")
PRELUDE = os.path.join(os.path.dirname(__file__), "prelude.sema")

__all__ = ["PreludeMacros", "expand_all", "expand_call", "gensym", "make_macro"]


def make_macro(form: List, evaluate: Evaluate) -> Macro:
    """The macro that `(defmacro name (param ... [. rest]) body ...)` defines.

    evaluate: gives the Python callable for a `(lambda ...)` form; it is asked on the first call of the macro, so a
    macro that is never used costs nothing and reports nothing. Raises SemaError or ArityError for a malformed form.
    """
    items = form.items
    if len(items) < 4:
        raise ArityError("defmacro", "3+", len(items) - 1)
    name, params = items[1], items[2]
    if type(name) is not Symbol:
        raise SemaError("defmacro: name must be a symbol")
    if type(params) is not List:
        raise SemaError("defmacro: params must be a list")
    if not all(type(param) is Symbol for param in params.items):
        raise SemaError("defmacro: parameter must be a symbol")
    places = getattr(form.span, "children", ()) or ()
    function_form = relocated([LAMBDA, *items[2:]], form.span, (None, *places[2:]))
    return Macro(name.name, _transformer(name.name, params, function_form, evaluate))


def _transformer(name: str, params: List, function_form: List, evaluate: Evaluate) -> Callable[..., Any]:
    """A callable that checks the number of arguments, and compiles the macro's body when it is first called."""
    has_rest = len(params.items) > 1 and params.items[-2] is DOT
    least = len(params.items) - 2 if has_rest else len(params.items)
    expected = f"{least}+" if has_rest else str(least)
    function: Any = None

    def transformer(*forms: Any) -> Any:
        nonlocal function
        if len(forms) < least or (len(forms) > least and not has_rest):
            raise ArityError(name, expected, len(forms))
        if function is None:
            function = evaluate(function_form)
        return function(*forms)

    return transformer


def expand_call(macro: Macro, form: List, span: Any) -> Any:
    """The form that replaces a macro call; its new lists stand where the call does.

    An error of the macro is raised on with `span`, the place of the call, and a note that names the macro.
    """
    try:
        result = macro.transformer(*form.items[1:])
    except RecursionError as error:
        from sema_runtime.conditions.describe import condition_of

        overflow = condition_of(error)
        _place(overflow, macro, span)
        raise overflow from None
    except Exception as error:
        _place(error, macro, span)
        raise
    return _settled(result, moved(span))


def expand_all(form: Any, macro: Macro, find: Callable[[str], Macro | None], span: Any) -> Any:
    """Expands a call of macro until its head is no macro any more.

    find: the macro that a head symbol means at the call, or None. Raises SemaError when the limits above are passed.
    """
    for _ in range(MAX_STEPS):
        form = expand_call(macro, form, span)
        if type(form) is not List or not form.items or type(form.items[0]) is not Symbol:
            return form
        next_macro = find(form.items[0].name)
        if next_macro is None:
            return form
        if len(form.items) > MAX_ARGUMENTS:
            break
        macro = next_macro
        span = form.span or span
    hint = "each expansion is a macro call again; give the macro a case that ends"
    error = SemaError(f"macro '{macro.name}' never stops expanding", hint)
    error.span = span  # type: ignore[attr-defined]
    raise error


def _place(error: Exception, macro: Macro, span: Any) -> None:
    """Moves an error from inside a macro to the call of it."""
    inner: Any = getattr(error, "span", None)
    where = f", line {inner.line} of its source" if hasattr(inner, "line") else ""
    note = f"while expanding the macro '{macro.name}'{where}"
    if not isinstance(error, SemaError):
        error.add_note(note)
    elif error.note is None:
        error.note = note
    error.span = span  # type: ignore[attr-defined]


def _settled(form: Any, span: Any) -> Any:
    """The form with `span` on every list that has no place of its own.

    Rebuilds instead of marking: a macro may return the same constant list from every call.
    """
    if type(form) is not List and type(form) is not tuple and type(form) is not Map:
        return form
    done: dict[int, Any] = {}
    stack: list[tuple[Any, bool]] = [(form, False)]
    while stack:
        inner, parts_done = stack.pop()
        key = id(inner)
        if key in done:
            continue
        if type(inner) is List and inner.span is not None:
            done[key] = inner
            continue
        parts = _parts(inner)
        if not parts_done:
            stack.append((inner, True))
            stack.extend((part, False) for part in parts if type(part) in _COMPOUND and id(part) not in done)
            continue
        new = [done[id(part)] if type(part) in _COMPOUND else part for part in parts]
        if type(inner) is List:
            done[key] = relocated(new, span)
        elif all(part is old for part, old in zip(new, parts, strict=True)):
            done[key] = inner
        else:
            done[key] = tuple(new) if type(inner) is tuple else type(inner).of(zip(new[::2], new[1::2], strict=True))
    return done[id(form)]


_COMPOUND = frozenset((List, tuple, Map))


def _parts(form: Any) -> Any:
    if type(form) is Map:
        return [part for pair in form.pairs() for part in pair]
    return form.items if type(form) is List else form


class PreludeMacros:
    """Name → Macro for the macros of `prelude.sema`; each is read and compiled when it is first asked for."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._sources: dict[str, str] | None = None
        self._macros: dict[str, Macro] = {}

    def get(self, name: str) -> Macro | None:
        """The macro of that name, or None."""
        macro = self._macros.get(name)
        if macro is not None:
            return macro
        source = self._table().get(name)
        if source is None:
            return None
        from semac.syntax.reader import read_one

        self._macros[name] = macro = make_macro(read_one(source), self._evaluate)
        return macro

    def names(self) -> list[str]:
        """Every macro of the prelude, sorted."""
        return sorted(self._table())

    def __contains__(self, name: str) -> bool:
        return name in self._table()

    def _table(self) -> dict[str, str]:
        """Name → text of its definition. Each definition starts a line with `(defmacro name`."""
        if self._sources is None:
            with open(PRELUDE, encoding="utf-8") as file:
                texts = file.read().split("\n(defmacro ")[1:]
            self._sources = {text.split(None, 1)[0]: "(defmacro " + text for text in texts}
        return self._sources
