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


def defmacro(context: Context, form: List, scope: Scope) -> Any:
    from semac.expand.expander import make_macro

    macro = make_macro(form, context.environment.evaluate_in(context.unit.filename))
    note_marks(context, macro.name, form.items[2].items, "defmacro")
    return define_macro(context, macro, scope)


def define_syntax(context: Context, form: List, scope: Scope) -> Any:
    from semac.expand.syntax_rules import make_syntax_rules

    try:
        macro = make_syntax_rules(form)
    except SemaError as error:
        if serves_below(context, scope):
            raise
        return Runtime(
            "sema_runtime.values.matching:malformed", [Const(error.message), Const(error.hint)], span=context.span
        )
    return define_macro(context, macro, scope)


def define_macro(context: Context, macro: Macro, scope: Scope) -> Any:
    """At top level the macro serves the forms below. Forms above that use its name as that of a variable see a value
    that can't be called, as the program is expanded before it runs; elsewhere the name becomes such a value there."""
    is_served = serves_below(context, scope)
    if is_served:
        if macro.name not in context.own:
            context.macros[macro.name] = macro
        if macro.name not in context.unit.globals or macro.name in context.own:
            return Const(None)
    var = context.define_global(macro.name)
    var.defined += 2
    binding = Set(var, Const(macro), "global", span=context.span)
    if not is_served:
        return binding
    context.before.append(binding)
    return Const(None)


def serves_below(context: Context, scope: Scope) -> bool:
    """Whether a macro that is defined here serves the forms below."""
    return scope.parent is None and scope.function is context.unit.main and context.top_level


def quasiquote(context: Context, form: List, scope: Scope) -> Any:
    from sema_runtime.values.macros import gensym
    from semac.expand.quasiquote import expand_quasiquote

    (template,) = context.expect(form, 1, 1)
    return context.node(expand_quasiquote(template, gensym), scope)


def macroexpand(context: Context, form: List, scope: Scope) -> Any:
    (value,) = context.expect(form, 1, 1)
    context.unit.lists_globals = True
    return Runtime(
        "sema_runtime.compiler_bridge:macroexpand",
        [context.node(value, scope), Runtime("builtins:globals", [])],
        span=context.span,
    )


def eval_(context: Context, form: List, scope: Scope) -> Any:
    (value,) = context.expect(form, 1, 1)
    context.unit.is_open = context.unit.lists_globals = True
    return Runtime(
        "sema_runtime.compiler_bridge:eval_form",
        [context.node(value, scope), Runtime("builtins:globals", [])],
        span=context.span,
    )


def delay(context: Context, form: List, scope: Scope) -> Any:
    (value,) = context.expect(form, 1, 1)
    return Runtime("sema_runtime.values.promises:Promise", [context.thunk([value], scope)], span=context.span)


def force(context: Context, form: List, scope: Scope) -> Any:
    (value,) = context.expect(form, 1, 1)
    path = "sema_runtime.tasks.callbacks:force_promise" if context.task_names else "sema_runtime.values.promises:force"
    return Runtime(path, [context.node(value, scope)], span=context.span)


FORMS: dict[str, Handler] = {
    "defmacro": defmacro,
    "define-syntax": define_syntax,
    "quasiquote": quasiquote,
    "macroexpand": macroexpand,
    "eval": eval_,
    "delay": delay,
    "force": force,
}
