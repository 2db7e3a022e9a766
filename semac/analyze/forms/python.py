"""Python from Sema.

(py/import "json")                     the module as `json`; (py/import "numpy" :as np) renames it
(py/from "pathlib" Path (PurePath :as Pure))   names of a module
(json.dumps x :indent 2)               dotted names reach into imported modules; keywords are keyword arguments
(.upper s) (.split s "," :maxsplit 1)  methods; `.upper` alone is a function: (map .upper words)
(.-name obj)  (set! (.-name obj) v)    attributes
(py/call f 1 :key 2)                   any callable with keyword arguments
(py/get obj key)                       indexing
(py/with (f (open "x")) body...)       context managers

Names, methods and attributes are in `analyze/python_calls.py`, which says what a sandbox does to all of these.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.capabilities import denied
from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.python_calls import GROUP, attribute_name, denial, note_use, python_arguments
from semac.analyze.scope import Scope
from semac.ir.intrinsics import BREAKPOINT
from semac.ir.nodes import CallBuiltin, PyCall, PyImport, PyItem, Runtime, With
from semac.syntax.definitions import bound_module, bound_name


def denied_in_sandbox(name: str, handler: Handler) -> Handler:
    """The handler of a special form that gives access to Python; in a sandbox that denies it, the form is an error."""

    def checked(context: Context, form: List, scope: Scope) -> Any:
        if GROUP in denied:
            return denial(context, name)
        note_use(context)
        return handler(context, form, scope)

    return checked


# Imports


def py_import(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 1, 3)
    module = module_name(context, parts[0], "py/import", '(py/import "json") or (py/import "numpy" :as np)')
    alias = bound_module(parts)
    if alias is None:
        raise context.error("py/import: expected :as name", hint='(py/import "numpy" :as np)')
    return PyImport(module, None, bind(context, alias), span=context.span)


def py_from(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2)
    module = module_name(context, parts[0], "py/from", '(py/from "pathlib" Path)')
    names = []
    for part in parts[1:]:
        pair = bound_name(part)
        if pair is None:
            raise context.error("py/from: expected a symbol", hint='(py/from "pathlib" Path (PurePath :as Pure))')
        names.append((attribute_name(pair[0]), bind(context, pair[1])))
    return PyImport(module, names, None, span=context.span)


def module_name(context: Context, form: Any, who: str, hint: str) -> str:
    if type(form) is not str:
        raise context.error(f"{who}: expected a string", hint=hint)
    absolute = form.lstrip(".") if who == "py/from" else form
    if not all(part.isidentifier() for part in absolute.split(".")) and (absolute or not form):
        raise context.error(f"{who}: '{form}' is no name of a Python module", hint=hint)
    return form


def bind(context: Context, name: str) -> Any:
    var = context.define_global(name)
    var.defined += 2  # no function of the program, whatever it is
    context.unit.python_names.add(name)
    return var


def py_call(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 1)
    args, keywords = python_arguments(context, parts[1:], scope)
    return PyCall(context.node(parts[0], scope), args, keywords, span=context.span)


def py_get(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2, 3)
    nodes = [context.node(part, scope) for part in parts]
    if len(nodes) == 2:
        return PyItem(*nodes, span=context.span)
    call = CallBuiltin("py/get", nodes, False, span=context.span)
    context.unit.fixed.add(call)
    return call


def py_with(context: Context, form: List, scope: Scope) -> Any:
    binding, *body = context.expect(form, 2)
    if type(binding) is not List or len(binding.items) != 2:
        raise context.error("py/with: expected (name context)")
    manager = context.node(binding.items[1], scope)
    inner = scope.child()
    var = inner.declare(context.name_of(binding.items[0], "py/with"))
    return With(manager, var, context.body(body, inner), span=context.span)


def breakpoint_(context: Context, form: List, scope: Scope) -> Any:
    context.expect(form, 0, 0)
    return Runtime(BREAKPOINT, [], span=context.span)


HANDLERS: dict[str, Handler] = {
    "py/import": py_import,
    "py/from": py_from,
    "py/call": py_call,
    "py/get": py_get,
    "py/with": py_with,
    "breakpoint": breakpoint_,
}
FORMS = {name: denied_in_sandbox(name, handler) for name, handler in HANDLERS.items()}
