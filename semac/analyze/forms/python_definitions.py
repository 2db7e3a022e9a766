"""Definitions of the shape that Python's tools read.

(py/def (area shape [scale float 1.0] (unit "m") * (exact #f) **more) -> float body...)
(py/def [decorator (.get app "/")] (name ...) body...)
(py/fn (x (y 2)) body...)
(py/class [dataclass] (Point Base :frozen #t) "doc" [x int] [y int 0] (define unit "m") (py/def (norm self) ...))

`x` is a plain parameter, `(x default)` has a default, `[x type]` and `[x type default]` an annotation; behind `*` or
`*args` parameters are keyword-only. Functions and classes are called like things of Python: keywords name arguments.
"""

from __future__ import annotations

import builtins
from keyword import iskeyword
from typing import Any

from sema_runtime.values.atoms import Keyword, Symbol, symbol
from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.forms.functions import make_function
from semac.analyze.forms.python import bind, denied_in_sandbox
from semac.analyze.python_calls import attribute_name, python_arguments
from semac.analyze.scope import Scope
from semac.analyze.task_calls import symbols_in
from semac.ir.nodes import Const, Lambda, PyCall, PyItem, Runtime, Set, Vector
from semac.syntax.definitions import decorated

DEFINITIONS = "sema_runtime.lib.python.definitions:"
ARROW = symbol("->")
PREDEFINED = frozenset(name for name in dir(builtins) if not name.startswith("_") and not iskeyword(name))


def def_(context: Context, form: List, scope: Scope) -> Any:
    decorators, (header, *rest) = decorated(context.expect(form, 2))
    if type(header) is not List or not header.items:
        raise context.error("py/def: expected (name parameter ...)", hint="(py/def (area w (h 1)) (* w h))")
    name = context.name_of(header.items[0], "py/def")
    variable = bind(context, name)
    value = function(context, name, header.items[1:], rest, scope)
    return Set(variable, decorate(context, decorators, value, scope), "global", span=context.span)


def fn(context: Context, form: List, scope: Scope) -> Any:
    params, *rest = context.expect(form, 2)
    if type(params) is not List:
        raise context.error("py/fn: expected (parameter ...)")
    return function(context, "<lambda>", params.items, rest, scope)


def decorate(context: Context, decorators: Any, value: Any, scope: Scope) -> Any:
    """The value in its decorators, the last one innermost."""
    for decorator in reversed(decorators):
        value = PyCall(of_python(context, decorator, scope), [value], {}, span=context.span)
    return value


def of_python(context: Context, form: Any, scope: Scope) -> Any:
    """The node of a decorator or a type; a name of Python's builtins means that, unless the program has such a name."""
    if type(form) is Symbol and form.name in PREDEFINED:
        known = scope.find(form.name) or form.name in context.defined or form.name in context.unit.python_names
        if not known:
            return Runtime(DEFINITIONS + "python_name", [Const(form.name)], span=context.span)
    return context.node(form, scope)


def annotation(context: Context, form: Any, scope: Scope) -> Any:
    """The node of a type: `int`, `(list int)` for `list[int]`, `nil`, a string; with a keyword in it a call."""
    if type(form) is not List or not form.items or any(type(item) is Keyword for item in form.items):
        return of_python(context, form, scope)
    if type(form.items[0]) is Symbol and form.items[0].name.startswith((".", "py/")):
        return context.node(form, scope)
    if type(form.items[0]) is Symbol and form.items[0].name.endswith("Annotated"):  # of which only the first is a type
        first, *notes = form.items[1:]
        args = [annotation(context, first, scope), *(context.node(note, scope) for note in notes)]
        return PyItem(context.node(form.items[0], scope), Vector(args, span=context.span), span=context.span)
    head, *args = (annotation(context, item, scope) for item in form.items)
    return PyItem(head, args[0] if len(args) == 1 else Vector(args, span=context.span), span=context.span)


# Functions


def function(context: Context, name: str, params: Any, rest: Any, scope: Scope) -> Any:
    """The node of a function; rest: `-> type` perhaps, and the body."""
    words: dict[str, list[str]] = {"p": [], "k": [], "a": [], "w": []}
    names: dict[str, list[Any]] = {"p": [], "k": [], "a": [], "w": []}
    values: dict[str, list[Any]] = {"p": [], "k": [], "a": [], "w": []}
    kind = "p"
    for param in params:
        own, word = param, kind
        if type(param) is Symbol and param.name.startswith("*"):
            text = param.name.lstrip("*")
            kind = "k"
            if not text:
                continue
            own, word = symbol(text), "w" if param.name.startswith("**") else "a"
            words[word].append(word)
        else:
            own, mark, given = parameter(context, param, scope)
            if word == "p" and "=" not in mark and any("=" in other for other in words["p"]):
                raise context.error(f"py/def: the parameter {own.name} without a default follows one with a default")
            words[word].append(word + mark)
            values[word] += given
        names[word].append(own)
    result: list[Any] = []
    if len(rest) > 2 and rest[0] is ARROW:
        result = [annotation(context, rest[1], scope)]
        rest = rest[2:]
    if not rest:
        raise context.error("py/def: expected a body")
    if name == "__init__":
        rest = [*rest, None]  # Python insists
    ordered = [own for kind in "pkaw" for own in names[kind]]
    made = make_function(context, name, ordered, rest, scope, what="py/def")
    shape = [word for kind in "pkaw" for word in words[kind]] + ["r"] * len(result)
    shape += ["y"] * any("py/yield" in symbols_in(form) for form in rest)
    operands = [value for kind in "pkaw" for value in values[kind]] + result
    shown = Const(attribute_name(name) if name != "<lambda>" else name)
    head = [Lambda(made, span=context.span), shown, Const(" ".join(shape))]
    return Runtime(DEFINITIONS + "python_function", [*head, *operands], span=context.span)


def parameter(context: Context, param: Any, scope: Scope) -> tuple[Symbol, str, list[Any]]:
    """(name, marks, values) of a parameter."""
    if type(param) is Symbol:
        return param, "", []
    if type(param) is List and len(param.items) == 2 and type(param.items[0]) is Symbol:
        return param.items[0], "=", [context.node(param.items[1], scope)]
    if type(param) is tuple and len(param) in (2, 3) and type(param[0]) is Symbol:
        default = [context.node(param[2], scope)] if len(param) == 3 else []
        return param[0], "=:" if default else ":", [*default, annotation(context, param[1], scope)]
    raise context.error(
        "py/def: expected a parameter: name, (name default), [name type] or [name type default]",
        hint="(py/def (area [w float] (h 1) * (unit nil)) ...)",
    )


# Classes


def class_(context: Context, form: List, scope: Scope) -> Any:
    decorators, (header, *body) = decorated(context.expect(form, 1))
    parts = header.items if type(header) is List else [header]
    name = context.name_of(parts[0] if parts else None, "py/class")
    variable = bind(context, name)
    bases, settings = python_arguments(context, parts[1:], scope)
    for index, base in enumerate(parts[1 : 1 + len(bases)]):
        bases[index] = annotation(context, base, scope)
    doc = body.pop(0) if body and type(body[0]) is str else None
    whole = context.span
    members = []
    for part in body:
        context.span = getattr(part, "span", None) or whole
        members.append(member(context, part, scope))
    context.span = whole
    options = PyCall(Runtime(DEFINITIONS + "python_name", [Const("dict")]), [], settings, span=context.span)
    made = Runtime(
        DEFINITIONS + "python_class",
        [Const(attribute_name(name)), Const(doc), Vector(bases, span=context.span), options, *members],
        span=context.span,
    )
    return Set(variable, decorate(context, decorators, made, scope), "global", span=context.span)


def member(context: Context, part: Any, scope: Scope) -> Any:
    """The vector for a part of a class: a field, an attribute with a value, a method."""
    if type(part) is tuple and len(part) in (2, 3):
        name = context.name_of(part[0], "py/class")
        values = [annotation(context, part[1], scope), *(context.node(value, scope) for value in part[2:])]
        return Vector([Const("field"), Const(attribute_name(name)), *values], span=context.span)
    items = part.items if type(part) is List else ()
    head = items[0].name if items and type(items[0]) is Symbol else ""
    if head == "py/def" and len(items) > 2:
        decorators, (header, *rest) = decorated(items[1:])
        if type(header) is List and header.items:
            name = context.name_of(header.items[0], "py/def")
            value = function(context, name, header.items[1:], rest, scope)
            return attribute(context, name, decorate(context, decorators, value, scope))
    if head == "define" and len(items) == 3:
        return attribute(context, context.name_of(items[1], "py/class"), context.node(items[2], scope))
    raise context.error(
        "py/class: expected a field, an attribute or a method",
        hint='[x int], [x int 0], (define unit "m"), (py/def (norm self) ...)',
    )


def attribute(context: Context, name: str, value: Any) -> Any:
    return Vector([Const("value"), Const(attribute_name(name)), value], span=context.span)


HANDLERS: dict[str, Handler] = {"py/def": def_, "py/fn": fn, "py/class": class_}
FORMS = {name: denied_in_sandbox(name, handler) for name, handler in HANDLERS.items()}
