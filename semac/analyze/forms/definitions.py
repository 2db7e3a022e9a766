"""define, def, defn, defun, set!, define-values, define-record-type, defmulti, defmethod."""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.atoms import Symbol
from sema_runtime.values.errors import ArityError, SemaTypeError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.typenames import type_name
from semac.analyze.context import Context, Handler
from semac.analyze.forms.binding import assignments, formals, note_function, values_items
from semac.analyze.forms.functions import make_function
from semac.analyze.forms.patterns import bind_pattern, pattern
from semac.analyze.python_calls import set_attribute, set_dotted
from semac.analyze.scope import Scope
from semac.ir.nodes import Const, Lambda, Let, Ref, Runtime, Seq, Set

EMPTY_SIGNATURE = "define: empty function signature"


def target_var(context: Context, name: str, scope: Scope) -> tuple[Any, str]:
    """(variable, "global" or "local") that a define of that name sets here."""
    var = scope.find_in_function(name)
    if var is not None:
        return var, "local"
    if context.at_top_level(scope):
        return context.define_global(name), "global"
    return scope.define(name), "local"


def define(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2, name="define") if len(form.items) != 2 else check_define(context, form)
    target = parts[0]
    if type(target) is List:
        return define_function(context, target, parts[1:], scope, "define")
    if type(target) is Symbol:
        if len(parts) != 2:
            raise ArityError("define", "2", len(parts))
        var, where = target_var(context, target.name, scope)
        value = context.node(parts[1], scope)
        if type(value) is Lambda and value.function.name == "<lambda>":
            value.function.py = target.name
        return definition(context, var, value, where)
    if type(target) in (tuple, Map):
        if len(parts) != 2:
            raise ArityError("define", "2", len(parts))
        return define_pattern(context, target, parts[1], scope)
    raise SemaTypeError("symbol, list, vector, or map", type_name(target))


def check_define(context: Context, form: List) -> Any:
    target = form.items[1]
    if type(target) in (Symbol, tuple, Map):
        raise ArityError("define", "2", 1)
    if type(target) is List and target.items:
        for name in target.items:  # their errors come first
            context.name_of(name, "define")
        raise context.error("define: function body cannot be empty")
    if type(target) is List:
        raise context.error(EMPTY_SIGNATURE)
    raise SemaTypeError("symbol, list, vector, or map", type_name(target))


def definition(context: Context, var: Any, value: Any, where: str) -> Any:
    note_function(var, value)
    return Set(var, value, where, span=context.span)


def define_function(context: Context, target: List, body: Any, scope: Scope, what: str) -> Any:
    if not target.items:
        raise context.error(EMPTY_SIGNATURE)
    name = context.name_of(target.items[0], what)
    var, where = target_var(context, name, scope)
    function = make_function(context, name, list(target.items[1:]), body, scope, what=what)
    return definition(context, var, Lambda(function, span=context.span), where)


def defun(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 3, name="defun")
    name = context.name_of(parts[0], "defun")
    if type(parts[1]) is not List:
        raise context.error("defun: expected a list")
    var, where = target_var(context, name, scope)
    function = make_function(context, name, list(parts[1].items), parts[2:], scope, what="defun")
    return definition(context, var, Lambda(function, span=context.span), where)


def define_pattern(context: Context, target: Any, value_form: Any, scope: Scope) -> Any:
    """(define [a b] v): binds temporaries by the pattern, then sets each name."""
    inner = scope.child()
    shape = pattern(context, target, inner)
    targets = [target_var(context, name, scope) for name in inner.vars]  # the value sees them
    value = context.node(value_form, scope)
    sets = assignments(context, targets, inner)
    return bind_pattern(context, shape, value, lambda: Seq([*sets, Const(None)], span=context.span))


def define_values(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2, 2)
    inner = scope.child()
    shape = formals(context, parts[0], inner, "define-values")
    targets = [target_var(context, name, scope) for name in inner.vars]  # the value sees them
    values = values_items(context.node(parts[1], scope), shape, context.span)
    sets = assignments(context, targets, inner)
    return bind_pattern(context, shape, values, lambda: Seq([*sets, Const(None)], span=context.span))


def set_(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2, 2)
    if type(parts[0]) is List and parts[0].items and type(parts[0].items[0]) is Symbol:
        if parts[0].items[0].name.startswith(".-"):
            return set_attribute(context, parts[0], parts[1], scope)
    name = context.name_of(parts[0], "set!")
    var = scope.find(name)
    if var is None and "." in name and name not in context.defined:
        attribute = set_dotted(context, name, parts[1], scope)
        if attribute is not None:
            return attribute
    if var is None:
        var = context.global_var(name)
        if name in INDEX and name not in context.defined:
            context.unit.reassigned.add(name)
        else:
            context.defined.add(name)
    value = context.node(parts[1], scope)
    var = scope.find(name) or var  # the value may define it
    var.assigned += 1
    return Set(var, value, None, span=context.span)


def define_record_type(context: Context, form: List, scope: Scope) -> Any:
    parts = form.items[1:]
    if len(parts) < 3:
        raise context.error("define-record-type: requires at least type name, constructor, and predicate")
    tag = context.name_of(parts[0], "define-record-type")
    constructor = parts[1]
    if type(constructor) is not List:
        raise context.error("define-record-type: expected a list")
    if not constructor.items:
        raise context.error("define-record-type: constructor spec must have a name")
    maker = context.name_of(constructor.items[0], "define-record-type")
    params = [context.name_of(param, "define-record-type") for param in constructor.items[1:]]
    predicate = context.name_of(parts[2], "define-record-type")
    getters: list[tuple[str, str]] = []
    for field in parts[3:]:
        if type(field) is not List:
            raise context.error("define-record-type: expected a list")
        if len(field.items) < 2:
            raise context.error("define-record-type: field spec must have at least (field accessor)")
        name = context.name_of(field.items[0], "define-record-type")
        getters.append((context.name_of(field.items[1], "define-record-type"), name))
    inner = scope.child()
    kind = inner.declare(f"{tag}-type")

    lib = "sema_runtime.lib.collections.records:"
    type_node = Runtime(lib + "make_record_type", [Const(tag), Const(tuple(params))], span=context.span)
    sets: list[Any] = [
        record_set(
            context, maker, Runtime(lib + "record_constructor", [Ref(kind), Const(maker), Const(tuple(params))]), scope
        ),
        record_set(context, predicate, Runtime(lib + "record_predicate", [Ref(kind), Const(predicate)]), scope),
    ]
    for getter, name in getters:
        accessor = Runtime(lib + "record_accessor", [Ref(kind), Const(getter), Const(name)])
        sets.append(record_set(context, getter, accessor, scope))
    return Let([(kind, type_node)], Seq([*sets, Const(None)], span=context.span), span=context.span)


def record_set(context: Context, name: str, value: Any, scope: Scope) -> Any:
    var, where = target_var(context, name, scope)
    var.defined += 1
    return Set(var, value, where, span=context.span)


def defmulti(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2, 2)
    name = context.name_of(parts[0], "defmulti")
    value = Runtime(
        "sema_runtime.lib.language.multimethods:MultiMethod",
        [Const(name), context.node(parts[1], scope)],
        span=context.span,
    )
    return record_set(context, name, value, scope)


def defmethod(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 3, 3)
    context.name_of(parts[0], "defmethod")
    nodes = [context.node(part, scope) for part in parts]
    return Runtime("sema_runtime.lib.language.multimethods:add_method", nodes, span=context.span)


FORMS: dict[str, Handler] = {
    "define": define,
    "def": define,
    "defn": defun,
    "defun": defun,
    "define-values": define_values,
    "set!": set_,
    "define-record-type": define_record_type,
    "defmulti": defmulti,
    "defmethod": defmethod,
}
