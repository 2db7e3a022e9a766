"""Python from Sema.

(py/import "json")                     the module as `json`; (py/import "numpy" :as np) renames it
(py/from "pathlib" Path (PurePath :as Pure))   names of a module
(json.dumps x :indent 2)               dotted names reach into imported modules; keywords are keyword arguments
(.upper s) (.split s "," :maxsplit 1)  methods; `.upper` alone is a function: (map .upper words)
(.-name obj)  (set! (.-name obj) v)    attributes
(py/call f 1 :key 2)                   any callable with keyword arguments
(py/get obj key)                       indexing
(py/with (f (open "x")) body...)       context managers

Where a sandbox denies Python, each of these forms becomes an error that is raised when the form is reached; as that is
decided here, ordinary programs pay nothing. So code compiled without a sandbox must not run in one: see `cache.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from keyword import iskeyword
from typing import Any

from sema_runtime.capabilities import denied
from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.lists import List
from semac.analyze.analyzer import Analyzer, Handler, special
from semac.analyze.forms.definitions import define_global
from semac.analyze.scope import Scope
from semac.ir.identifiers import mangle
from semac.ir.nodes import CallBuiltin, Const, PyAttr, PyCall, PyImport, PyItem, PySetAttr, Ref, Runtime, With

GROUP = "python"

used = False  # whether any form was compiled here that can reach into Python: what it does there is not known


def denial(a: Analyzer, form: str) -> Any:
    """An expression that raises PermissionDenied for a form."""
    return Runtime("sema_runtime.capabilities:require", [Const(form), Const(GROUP)], span=a.span)


def note_use() -> None:
    global used
    used = True


def interop(name: str) -> Callable[[Handler], Handler]:
    """Registers the handler of a special form that gives access to Python."""

    def register(handler: Handler) -> Handler:
        def checked(a: Analyzer, form: List, scope: Scope) -> Any:
            if GROUP in denied:
                return denial(a, name)
            note_use()
            return handler(a, form, scope)

        special(name)(checked)
        return handler

    return register


# Imports


@interop("py/import")
def py_import(a: Analyzer, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 1, 3)
    module = module_name(a, parts[0], "py/import", '(py/import "json") or (py/import "numpy" :as np)')
    alias = bound_module(parts)
    if alias is None:
        raise a.error("py/import: expected :as name", hint='(py/import "numpy" :as np)')
    return PyImport(module, None, bind(a, alias), span=a.span)


@interop("py/from")
def py_from(a: Analyzer, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 2)
    module = module_name(a, parts[0], "py/from", '(py/from "pathlib" Path)')
    names = []
    for part in parts[1:]:
        pair = bound_name(part)
        if pair is None:
            raise a.error("py/from: expected a symbol", hint='(py/from "pathlib" Path (PurePath :as Pure))')
        names.append((attribute_name(pair[0]), bind(a, pair[1])))
    return PyImport(module, names, None, span=a.span)


def module_name(a: Analyzer, form: Any, who: str, hint: str) -> str:
    if type(form) is not str:
        raise a.error(f"{who}: expected a string", hint=hint)
    if not all(part.isidentifier() for part in form.split(".")):
        raise a.error(f"{who}: '{form}' is no name of a Python module", hint=hint)
    return form


def bound_module(parts: Any) -> str | None:
    """The name that (py/import module [:as name]) binds; None when it is malformed."""
    if len(parts) == 1:
        return str(parts[0]).partition(".")[0]
    is_alias = len(parts) == 3 and type(parts[1]) is Keyword and parts[1].name == "as" and type(parts[2]) is Symbol
    return parts[2].name if is_alias else None


def bound_name(part: Any) -> tuple[str, str] | None:
    """(name in the module, name here) of a part of py/from: a symbol, or (name :as other)."""
    if type(part) is Symbol:
        return part.name, part.name
    if type(part) is List and len(part.items) == 3 and type(part.items[0]) is Symbol:
        other = bound_module(part.items)
        return None if other is None else (part.items[0].name, other)
    return None


def bind(a: Analyzer, name: str) -> Any:
    var = define_global(a, name)
    var.defined += 2  # no function of the program, whatever it is
    a.unit.python_names.add(name)
    return var


def imported_names(form: Any) -> list[str]:
    """The names that a top-level form binds to things of Python."""
    if type(form) is not List or len(form.items) < 2 or type(form.items[0]) is not Symbol:
        return []
    head, parts = form.items[0].name, form.items[1:]
    if head in ("begin", "progn", "module"):
        return [name for part in parts for name in imported_names(part)]
    if head == "py/import":
        found = bound_module(parts) if type(parts[0]) is str else None
        return [] if found is None else [found]
    if head == "py/from":
        return [pair[1] for part in parts[1:] if (pair := bound_name(part)) is not None]
    return []


# Attributes and calls


def dotted(a: Analyzer, name: str, scope: Scope) -> Any:
    """`json.dumps` as attribute access, when its first part is an imported Python name; else None."""
    first, *rest = name.split(".")
    if first not in a.unit.python_names or not all(rest):
        return None
    if GROUP in denied:
        return denial(a, name)
    note_use()
    node: Any = Ref(scope.find(first) or a.global_var(first), span=a.span)
    for part in rest:
        node = PyAttr(node, attribute_name(part), span=a.span)
    return node


def python_call(a: Analyzer, name: str, items: Any, scope: Scope) -> Any:
    """A call of an imported Python name, or of a dotted one below it, with keyword arguments; else None."""
    if scope.find(name) is not None:
        return None
    if name in a.unit.python_names:
        head: Any = denial(a, name) if GROUP in denied else Ref(a.global_var(name), span=a.span)
    else:
        head = None if name in a.defined else dotted(a, name, scope)
    if head is None or type(head) is Runtime:
        return head
    args, keywords = python_arguments(a, items[1:], scope)
    return PyCall(head, args, keywords, span=a.span)


def attribute_name(name: str) -> str:
    """What Python calls an attribute or a parameter: `max-iter` is `max_iter`, `empty?` is_empty, `class` class_."""
    plain = name.replace("-", "_")
    return plain if plain.isidentifier() and not iskeyword(plain) else mangle(name)


def python_arguments(a: Analyzer, forms: Any, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments: a literal keyword names the next argument."""
    args: list[Any] = []
    keywords: dict[str, Any] = {}
    index = 0
    while index < len(forms):
        form = forms[index]
        if type(form) is Keyword and index + 1 < len(forms):
            key = attribute_name(form.name)
            if key in keywords:
                raise a.error(f"keyword argument {form} given twice")
            keywords[key] = a.node(forms[index + 1], scope)
            index += 2
        elif keywords:
            raise a.error("positional argument after a keyword argument", hint="write ':name for a keyword as a value")
        else:
            args.append(a.node(form, scope))
            index += 1
    return args, keywords


def method_call(a: Analyzer, form: List, scope: Scope) -> Any:
    """(.name obj args...) or (.-name obj)."""
    name = form.items[0].name
    if GROUP in denied:
        return denial(a, name)
    note_use()
    if name.startswith(".-") and len(name) > 2:
        (target,) = a.expect(form, 1, 1)
        return attribute_path(a, a.node(target, scope), name[2:])
    parts = a.expect(form, 1)
    target = attribute_path(a, a.node(parts[0], scope), name[1:])
    args, keywords = python_arguments(a, parts[1:], scope)
    return PyCall(target, args, keywords, span=a.span)


def attribute_path(a: Analyzer, node: Any, path: str) -> Any:
    """`a.b` of an object: its attribute a, and of that the attribute b."""
    for part in path.split("."):
        if not part:
            raise a.error(f".{path}: an attribute has no name")
        node = PyAttr(node, attribute_name(part), span=a.span)
    return node


def method_value(a: Analyzer, name: str) -> Any:
    """`.upper` or `.-name` where no call is meant: a function of the object."""
    if GROUP in denied:
        return denial(a, name)
    note_use()
    if name.startswith(".-") and len(name) > 2:
        path = ".".join(map(attribute_name, name[2:].split(".")))
        return Runtime("operator:attrgetter", [Const(path)], span=a.span)
    if "." in name[1:]:
        raise a.error(f"{name}: the method of an attribute can only be called", hint=f"(fn (x) ({name} x))")
    return Runtime("operator:methodcaller", [Const(attribute_name(name[1:]))], span=a.span)


def set_attribute(a: Analyzer, place: List, value: Any, scope: Scope) -> Any:
    name = place.items[0].name
    if GROUP in denied:
        return denial(a, name)
    note_use()
    if len(place.items) != 2:
        raise a.error("set!: expected (.-name object)")
    found = attribute_path(a, a.node(place.items[1], scope), name[2:])
    return PySetAttr(found.object, found.name, a.node(value, scope), span=a.span)


def set_dotted(a: Analyzer, name: str, value: Any, scope: Scope) -> Any:
    """(set! module.attribute value); None when name is no such thing."""
    place = dotted(a, name, scope)
    if type(place) is not PyAttr:
        return place
    return PySetAttr(place.object, place.name, a.node(value, scope), span=a.span)


@interop("py/call")
def py_call(a: Analyzer, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 1)
    args, keywords = python_arguments(a, parts[1:], scope)
    return PyCall(a.node(parts[0], scope), args, keywords, span=a.span)


@interop("py/get")
def py_get(a: Analyzer, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 2, 3)
    nodes = [a.node(part, scope) for part in parts]
    if len(nodes) == 2:
        return PyItem(*nodes, span=a.span)
    made = CallBuiltin("py/get", nodes, False, span=a.span)
    a.unit.fixed.add(made)
    return made


@interop("py/with")
def py_with(a: Analyzer, form: List, scope: Scope) -> Any:
    binding, *body = a.expect(form, 2)
    if type(binding) is not List or len(binding.items) != 2:
        raise a.error("py/with: expected (name context)")
    context = a.node(binding.items[1], scope)
    inner = scope.child()
    var = inner.declare(a.name_of(binding.items[0], "py/with"))
    return With(context, var, a.body(body, inner), span=a.span)


@interop("breakpoint")
def breakpoint_(a: Analyzer, form: List, scope: Scope) -> Any:
    a.expect(form, 0, 0)
    return Runtime("builtins:breakpoint", [], span=a.span)
