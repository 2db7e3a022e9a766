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
from semac.analyze.forms.binding import formals, note_function, values_items
from semac.analyze.forms.functions import make_function
from semac.analyze.forms.patterns import bind_pattern, pattern
from semac.analyze.python_calls import set_attribute, set_dotted
from semac.analyze.scope import Scope
from semac.ir.nodes import Const, Lambda, Let, Ref, Runtime, Seq, Set

EMPTY_SIGNATURE = "define: empty function signature"


def target_var(a: Context, name: str, scope: Scope) -> tuple[Any, str]:
    """(variable, "global" or "local") that a define of that name sets here."""
    if scope.parent is None and scope.function is a.unit.main and not scope.vars:
        return a.define_global(name), "global"
    var = scope.find_in_function(name)
    if var is not None:
        return var, "local"
    if scope.function is a.unit.main and not in_local_scope(scope):
        return a.define_global(name), "global"
    return scope.declare(name), "local"


def in_local_scope(scope: Scope) -> bool:
    return scope.parent is not None


def define(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 2, name="define") if len(form.items) != 2 else check_define(a, form)
    target = parts[0]
    if type(target) is List:
        return define_function(a, target, parts[1:], scope, "define")
    if type(target) is Symbol:
        if len(parts) != 2:
            raise ArityError("define", "2", len(parts))
        var, where = target_var(a, target.name, scope)
        value = a.node(parts[1], scope)
        if type(value) is Lambda and value.function.name == "<lambda>":
            value.function.py = target.name
        return definition(a, var, value, where)
    if type(target) in (tuple, Map):
        if len(parts) != 2:
            raise ArityError("define", "2", len(parts))
        return define_pattern(a, target, parts[1], scope)
    raise SemaTypeError("symbol, list, vector, or map", type_name(target))


def check_define(a: Context, form: List) -> Any:
    target = form.items[1]
    if type(target) in (Symbol, tuple, Map):
        raise ArityError("define", "2", 1)
    if type(target) is List and target.items:
        raise a.error("define: function body cannot be empty")
    if type(target) is List:
        raise a.error(EMPTY_SIGNATURE)
    raise SemaTypeError("symbol, list, vector, or map", type_name(target))


def definition(a: Context, var: Any, value: Any, where: str) -> Any:
    note_function(var, value)
    return Set(var, value, where, span=a.span)


def define_function(a: Context, target: List, body: Any, scope: Scope, what: str) -> Any:
    if not target.items:
        raise a.error(EMPTY_SIGNATURE)
    name = a.name_of(target.items[0], what)
    var, where = target_var(a, name, scope)
    function = make_function(a, name, list(target.items[1:]), body, scope, what=what)
    return definition(a, var, Lambda(function, span=a.span), where)


def defun(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 3, name="defun")
    name = a.name_of(parts[0], "defun")
    if type(parts[1]) is not List:
        raise a.error("defun: expected a list")
    var, where = target_var(a, name, scope)
    function = make_function(a, name, list(parts[1].items), parts[2:], scope, what="defun")
    return definition(a, var, Lambda(function, span=a.span), where)


def define_pattern(a: Context, target: Any, value_form: Any, scope: Scope) -> Any:
    """(define [a b] v): binds temporaries by the pattern, then sets each name."""
    value = a.node(value_form, scope)
    inner = scope.child()
    made = pattern(a, target, inner)
    sets: list[Any] = []
    for name, source in inner.vars.items():
        var, where = target_var(a, name, scope)
        var.defined += 2
        sets.append(Set(var, Ref(source), where, span=a.span))
    return bind_pattern(a, made, value, lambda: Seq([*sets, Const(None)], span=a.span))


def define_values(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 2, 2)
    value = a.node(parts[1], scope)
    inner = scope.child()
    shape = formals(a, parts[0], inner, "define-values")
    sets: list[Any] = []
    for name, source in inner.vars.items():
        var, where = target_var(a, name, scope)
        var.defined += 2
        sets.append(Set(var, Ref(source), where, span=a.span))
    return bind_pattern(a, shape, values_items(value, shape), lambda: Seq([*sets, Const(None)], span=a.span))


def set_(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 2, 2)
    if type(parts[0]) is List and parts[0].items and type(parts[0].items[0]) is Symbol:
        if parts[0].items[0].name.startswith(".-"):
            return set_attribute(a, parts[0], parts[1], scope)
    name = a.name_of(parts[0], "set!")
    var = scope.find(name)
    if var is None and "." in name and name not in a.defined:
        made = set_dotted(a, name, parts[1], scope)
        if made is not None:
            return made
    if var is None:
        var = a.global_var(name)
        if name in INDEX and name not in a.defined:
            a.unit.reassigned.add(name)
        else:
            a.defined.add(name)
    var.assigned += 1
    return Set(var, a.node(parts[1], scope), None, span=a.span)


def define_record_type(a: Context, form: List, scope: Scope) -> Any:
    parts = form.items[1:]
    if len(parts) < 3:
        raise a.error("define-record-type: requires at least type name, constructor, and predicate")
    tag = a.name_of(parts[0], "define-record-type")
    constructor = parts[1]
    if type(constructor) is not List:
        raise a.error("define-record-type: expected a list")
    if not constructor.items:
        raise a.error("define-record-type: constructor spec must have a name")
    maker = a.name_of(constructor.items[0], "define-record-type")
    params = [a.name_of(param, "define-record-type") for param in constructor.items[1:]]
    predicate = a.name_of(parts[2], "define-record-type")
    getters: list[tuple[str, str]] = []
    for field in parts[3:]:
        if type(field) is not List:
            raise a.error("define-record-type: expected a list")
        if len(field.items) < 2:
            raise a.error("define-record-type: field spec must have at least (field accessor)")
        name = a.name_of(field.items[0], "define-record-type")
        getters.append((a.name_of(field.items[1], "define-record-type"), name))
    inner = scope.child()
    kind = inner.declare(f"{tag}-type")

    lib = "sema_runtime.lib.collections.records:"
    type_node = Runtime(lib + "make_record_type", [Const(tag), Const(tuple(params))], span=a.span)
    sets: list[Any] = [
        record_set(
            a, maker, Runtime(lib + "record_constructor", [Ref(kind), Const(maker), Const(tuple(params))]), scope
        ),
        record_set(a, predicate, Runtime(lib + "record_predicate", [Ref(kind), Const(predicate)]), scope),
    ]
    for getter, name in getters:
        made = Runtime(lib + "record_accessor", [Ref(kind), Const(getter), Const(name)])
        sets.append(record_set(a, getter, made, scope))
    return Let([(kind, type_node)], Seq([*sets, Const(None)], span=a.span), span=a.span)


def record_set(a: Context, name: str, value: Any, scope: Scope) -> Any:
    var, where = target_var(a, name, scope)
    var.defined += 1
    return Set(var, value, where, span=a.span)


def defmulti(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 2, 2)
    name = a.name_of(parts[0], "defmulti")
    value = Runtime(
        "sema_runtime.lib.language.multimethods:MultiMethod", [Const(name), a.node(parts[1], scope)], span=a.span
    )
    return record_set(a, name, value, scope)


def defmethod(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 3, 3)
    a.name_of(parts[0], "defmethod")
    nodes = [a.node(part, scope) for part in parts]
    return Runtime("sema_runtime.lib.language.multimethods:add_method", nodes, span=a.span)


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
