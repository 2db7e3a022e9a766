"""Macros and code as data: defmacro, define-syntax, quasiquote, macroexpand, eval; delay and force."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro
from semac.analyze.context import Context, Handler
from semac.analyze.forms.functions import note_marks
from semac.analyze.scope import Scope
from semac.ir.nodes import Const, Runtime, Set


def defmacro(a: Context, form: List, scope: Scope) -> Any:
    from semac.expand.expander import make_macro

    macro = make_macro(form, a.environment.evaluate)
    note_marks(a, macro.name, form.items[2].items, "defmacro")
    return define_macro(a, macro, scope)


def define_syntax(a: Context, form: List, scope: Scope) -> Any:
    from semac.expand.syntax_rules import make_syntax_rules

    try:
        macro = make_syntax_rules(form)
    except SemaError as error:
        if serves_below(a, scope):
            raise
        return Runtime("sema_runtime.values.matching:malformed", [Const(error.message), Const(error.hint)], span=a.span)
    return define_macro(a, macro, scope)


def define_macro(a: Context, macro: Macro, scope: Scope) -> Any:
    """At top level the macro serves the forms below. Forms above that use its name as that of a variable see a value
    that can't be called, as the program is expanded before it runs; elsewhere the name becomes such a value there."""
    is_served = serves_below(a, scope)
    if is_served:
        if macro.name not in a.own:
            a.macros[macro.name] = macro
        if macro.name not in a.unit.globals or macro.name in a.own:
            return Const(None)
    var = a.define_global(macro.name)
    var.defined += 2
    binding = Set(var, Const(macro), "global", span=a.span)
    if not is_served:
        return binding
    a.before.append(binding)
    return Const(None)


def serves_below(a: Context, scope: Scope) -> bool:
    """Whether a macro that is defined here serves the forms below."""
    return scope.parent is None and scope.function is a.unit.main and a.top_level


def quasiquote(a: Context, form: List, scope: Scope) -> Any:
    from sema_runtime.values.macros import gensym
    from semac.expand.quasiquote import expand_quasiquote

    (template,) = a.expect(form, 1, 1)
    return a.node(expand_quasiquote(template, gensym), scope)


def macroexpand(a: Context, form: List, scope: Scope) -> Any:
    (value,) = a.expect(form, 1, 1)
    a.unit.lists_globals = True
    return Runtime(
        "sema_runtime.compiler_bridge:macroexpand", [a.node(value, scope), Runtime("builtins:globals", [])], span=a.span
    )


def eval_(a: Context, form: List, scope: Scope) -> Any:
    (value,) = a.expect(form, 1, 1)
    a.unit.is_open = a.unit.lists_globals = True
    return Runtime(
        "sema_runtime.compiler_bridge:eval_form", [a.node(value, scope), Runtime("builtins:globals", [])], span=a.span
    )


def delay(a: Context, form: List, scope: Scope) -> Any:
    (value,) = a.expect(form, 1, 1)
    return Runtime("sema_runtime.values.promises:Promise", [a.thunk([value], scope)], span=a.span)


def force(a: Context, form: List, scope: Scope) -> Any:
    (value,) = a.expect(form, 1, 1)
    path = "sema_runtime.tasks.callbacks:force_promise" if a.task_names else "sema_runtime.values.promises:force"
    return Runtime(path, [a.node(value, scope)], span=a.span)


FORMS: dict[str, Handler] = {
    "defmacro": defmacro,
    "define-syntax": define_syntax,
    "quasiquote": quasiquote,
    "macroexpand": macroexpand,
    "eval": eval_,
    "delay": delay,
    "force": force,
}
