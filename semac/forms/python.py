"""Python from Sema.

(py/import "json")                     the module as `json`; (py/import "numpy" :as np) renames it
(py/from "pathlib" Path PurePath)      names of a module
(json.dumps x :indent 2)               dotted names reach into imported modules; keywords are keyword arguments
(.upper s) (.split s "," :maxsplit 1)  methods
(.-name obj)  (set! (.-name obj) v)    attributes
(py/call f 1 :key 2)                   any callable with keyword arguments
(py/get obj key) (py/slice obj a b)    indexing
(py/with (f (open "x")) body...)       context managers
"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.lists import List
from semac.analyze import Analyzer, special
from semac.forms.definitions import define_global
from semac.ir import PyAttr, PyCall, PyImport, PySetAttr, Ref, Runtime, With
from semac.scope import Scope


@special("py/import")
def py_import(a: Analyzer, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 1, 3)
    if type(parts[0]) is not str:
        raise a.error("py/import: expected a string", hint='(py/import "json") or (py/import "numpy" :as np)')
    alias = parts[0].partition(".")[0]
    if len(parts) > 1:
        if len(parts) != 3 or type(parts[1]) is not Keyword or parts[1].name != "as" or type(parts[2]) is not Symbol:
            raise a.error("py/import: expected :as name", hint='(py/import "numpy" :as np)')
        alias = parts[2].name
    var = define_global(a, alias)
    var.defined += 2
    a.unit.python_names.add(alias)
    return PyImport(parts[0], None, var, span=a.span)


@special("py/from")
def py_from(a: Analyzer, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 2)
    if type(parts[0]) is not str:
        raise a.error("py/from: expected a string", hint='(py/from "pathlib" Path)')
    names = []
    for part in parts[1:]:
        name = a.name_of(part, "py/from")
        var = define_global(a, name)
        var.defined += 2
        a.unit.python_names.add(name)
        names.append((name, var))
    return PyImport(parts[0], names, None, span=a.span)


def dotted(a: Analyzer, name: str) -> Any:
    """`json.dumps` as attribute access, when its first part is an imported Python name; else None."""
    first, *rest = name.split(".")
    if first not in a.unit.python_names or not all(rest):
        return None
    node: Any = Ref(a.global_var(first), span=a.span)
    for part in rest:
        node = PyAttr(node, mangle_attribute(part), span=a.span)
    return node


def python_call(a: Analyzer, name: str, items: Any, scope: Scope) -> Any:
    """A call of an imported Python name, or of a dotted one below it, with keyword arguments; else None."""
    if scope.find(name) is not None:
        return None
    head: Any = Ref(a.global_var(name), span=a.span) if name in a.unit.python_names else dotted(a, name)
    if head is None:
        return None
    args, keywords = python_arguments(a, items[1:], scope)
    return PyCall(head, args, keywords, span=a.span)


def mangle_attribute(name: str) -> str:
    return name.replace("-", "_")


def python_arguments(a: Analyzer, forms: Any, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments: a literal keyword names the next argument."""
    args: list[Any] = []
    keywords: dict[str, Any] = {}
    index = 0
    while index < len(forms):
        form = forms[index]
        if type(form) is Keyword and index + 1 < len(forms):
            keywords[mangle_attribute(form.name)] = a.node(forms[index + 1], scope)
            index += 2
        elif keywords:
            raise a.error("positional argument after a keyword argument")
        else:
            args.append(a.node(form, scope))
            index += 1
    return args, keywords


def method_call(a: Analyzer, form: List, scope: Scope) -> Any:
    """(.name obj args...) or (.-name obj)."""
    name = form.items[0].name
    if name.startswith(".-"):
        (target,) = a.expect(form, 1, 1)
        return PyAttr(a.node(target, scope), mangle_attribute(name[2:]), span=a.span)
    parts = a.expect(form, 1)
    target = a.node(parts[0], scope)
    args, keywords = python_arguments(a, parts[1:], scope)
    return PyCall(PyAttr(target, mangle_attribute(name[1:]), span=a.span), args, keywords, span=a.span)


def set_attribute(a: Analyzer, place: List, value: Any, scope: Scope) -> Any:
    name = place.items[0].name
    if len(place.items) != 2:
        raise a.error("set!: expected (.-name object)")
    return PySetAttr(a.node(place.items[1], scope), mangle_attribute(name[2:]), a.node(value, scope), span=a.span)


@special("py/call")
def py_call(a: Analyzer, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 1)
    args, keywords = python_arguments(a, parts[1:], scope)
    return PyCall(a.node(parts[0], scope), args, keywords, span=a.span)


@special("py/with")
def py_with(a: Analyzer, form: List, scope: Scope) -> Any:
    binding, *body = a.expect(form, 2)
    if type(binding) is not List or len(binding.items) != 2:
        raise a.error("py/with: expected (name context)")
    context = a.node(binding.items[1], scope)
    inner = scope.child()
    var = inner.declare(a.name_of(binding.items[0], "py/with"))
    return With(context, var, a.body(body, inner), span=a.span)


@special("breakpoint")
def breakpoint_(a: Analyzer, form: List, scope: Scope) -> Any:
    a.expect(form, 0, 0)
    return Runtime("builtins:breakpoint", [], span=a.span)
