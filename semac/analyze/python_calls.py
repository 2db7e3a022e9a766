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


def denial(context: Context, form: str) -> Any:
    """An expression that raises PermissionDenied for a form."""
    return Runtime("sema_runtime.capabilities:require", [Const(form), Const(GROUP)], span=context.span)


def note_use(context: Context) -> None:
    global used
    used = True
    context.unit.uses_python = True


def dotted(context: Context, name: str, scope: Scope) -> Any:
    """`json.dumps` as attribute access, when its first part is an imported Python name; else None."""
    first, *rest = name.split(".")
    if first not in context.unit.python_names or not all(rest):
        return None
    if GROUP in denied:
        return denial(context, name)
    note_use(context)
    node: Any = Ref(scope.find(first) or context.global_var(first), span=context.span)
    for part in rest:
        node = PyAttr(node, attribute_name(part), span=context.span)
    return node


def python_call(context: Context, name: str, items: Any, scope: Scope) -> Any:
    """A call of an imported Python name, or of a dotted one below it, with keyword arguments; else None."""
    if scope.find(name) is not None:
        return None
    if name in context.unit.python_names:
        head: Any = denial(context, name) if GROUP in denied else Ref(context.global_var(name), span=context.span)
    else:
        head = None if name in context.defined else dotted(context, name, scope)
    if head is None or type(head) is Runtime:
        return head
    args, keywords = python_arguments(context, items[1:], scope)
    return PyCall(head, args, keywords, span=context.span)


def attribute_name(name: str) -> str:
    """What Python calls an attribute or a parameter: `max-iter` is `max_iter`, `empty?` is_empty, `class` class_."""
    plain = name.replace("-", "_")
    return plain if plain.isidentifier() and not iskeyword(plain) else mangle(name)


def python_arguments(context: Context, forms: Any, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments: a literal keyword names the next argument."""
    args: list[Any] = []
    keywords: dict[str, Any] = {}
    index = 0
    while index < len(forms):
        form = forms[index]
        if type(form) is Keyword and index + 1 < len(forms):
            key = attribute_name(form.name)
            if key in keywords:
                raise context.error(f"keyword argument {form} given twice")
            keywords[key] = context.node(forms[index + 1], scope)
            index += 2
        elif keywords:
            raise context.error(
                "positional argument after a keyword argument", hint="write ':name for a keyword as a value"
            )
        else:
            args.append(context.node(form, scope))
            index += 1
    return args, keywords


def method_call(context: Context, form: List, scope: Scope) -> Any:
    """(.name obj args...) or (.-name obj)."""
    name = form.items[0].name
    if GROUP in denied:
        return denial(context, name)
    note_use(context)
    if name.startswith(".-") and len(name) > 2:
        (target,) = context.expect(form, 1, 1)
        return attribute_path(context, context.node(target, scope), name[2:])
    parts = context.expect(form, 1)
    target = attribute_path(context, context.node(parts[0], scope), name[1:])
    args, keywords = python_arguments(context, parts[1:], scope)
    return PyCall(target, args, keywords, span=context.span)


def attribute_path(context: Context, node: Any, path: str) -> Any:
    """`a.b` of an object: its attribute a, and of that the attribute b."""
    for part in path.split("."):
        if not part:
            raise context.error(f".{path}: an attribute has no name")
        node = PyAttr(node, attribute_name(part), span=context.span)
    return node


def method_value(context: Context, name: str) -> Any:
    """`.upper` or `.-name` where no call is meant: a function of the object."""
    if GROUP in denied:
        return denial(context, name)
    note_use(context)
    if name.startswith(".-") and len(name) > 2:
        path = ".".join(map(attribute_name, name[2:].split(".")))
        return Runtime("operator:attrgetter", [Const(path)], span=context.span)
    if "." in name[1:]:
        raise context.error(f"{name}: the method of an attribute can only be called", hint=f"(fn (x) ({name} x))")
    return Runtime("operator:methodcaller", [Const(attribute_name(name[1:]))], span=context.span)


def set_attribute(context: Context, place: List, value: Any, scope: Scope) -> Any:
    name = place.items[0].name
    if GROUP in denied:
        return denial(context, name)
    note_use(context)
    if len(place.items) != 2:
        raise context.error("set!: expected (.-name object)")
    target = attribute_path(context, context.node(place.items[1], scope), name[2:])
    return PySetAttr(target.object, target.name, context.node(value, scope), span=context.span)


def set_dotted(context: Context, name: str, value: Any, scope: Scope) -> Any:
    """(set! module.attribute value); None when name is no such thing."""
    place = dotted(context, name, scope)
    if type(place) is not PyAttr:
        return place
    return PySetAttr(place.object, place.name, context.node(value, scope), span=context.span)
