"""Names, attributes and methods of Python in Sema programs: `(json.dumps x)`, `(.upper text)`, `(.-name object)`.

Where a sandbox denies Python, each of them becomes an error that is raised when the form is reached; as that is
decided here, ordinary programs pay nothing. So code compiled without a sandbox must not run in one: see
`imports/cache.py`.
"""

from __future__ import annotations

from keyword import iskeyword
from typing import Any

from sema_runtime.capabilities import denied
from sema_runtime.values.atoms import Keyword
from sema_runtime.values.lists import List
from semac.analyze.context import Context
from semac.analyze.scope import Scope
from semac.ir.identifiers import mangle
from semac.ir.nodes import Const, PyAttr, PyCall, PySetAttr, Ref, Runtime

GROUP = "python"


used = False  # whether any form was compiled here that can reach into Python: what it does there is not known


def denial(a: Context, form: str) -> Any:
    """An expression that raises PermissionDenied for a form."""
    return Runtime("sema_runtime.capabilities:require", [Const(form), Const(GROUP)], span=a.span)


def note_use() -> None:
    global used
    used = True


def dotted(a: Context, name: str, scope: Scope) -> Any:
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


def python_call(a: Context, name: str, items: Any, scope: Scope) -> Any:
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


def python_arguments(a: Context, forms: Any, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
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


def method_call(a: Context, form: List, scope: Scope) -> Any:
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


def attribute_path(a: Context, node: Any, path: str) -> Any:
    """`a.b` of an object: its attribute a, and of that the attribute b."""
    for part in path.split("."):
        if not part:
            raise a.error(f".{path}: an attribute has no name")
        node = PyAttr(node, attribute_name(part), span=a.span)
    return node


def method_value(a: Context, name: str) -> Any:
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


def set_attribute(a: Context, place: List, value: Any, scope: Scope) -> Any:
    name = place.items[0].name
    if GROUP in denied:
        return denial(a, name)
    note_use()
    if len(place.items) != 2:
        raise a.error("set!: expected (.-name object)")
    found = attribute_path(a, a.node(place.items[1], scope), name[2:])
    return PySetAttr(found.object, found.name, a.node(value, scope), span=a.span)


def set_dotted(a: Context, name: str, value: Any, scope: Scope) -> Any:
    """(set! module.attribute value); None when name is no such thing."""
    place = dotted(a, name, scope)
    if type(place) is not PyAttr:
        return place
    return PySetAttr(place.object, place.name, a.node(value, scope), span=a.span)
