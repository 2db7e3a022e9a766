"""deftool, defagent, prompt, message: forms whose meaning is in the LLM runtime."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.scope import Scope
from semac.ir.nodes import Const, Node, Ref, Runtime, Seq, Set


def deftool(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 4, 5)
    name = context.name_of(parts[0], "deftool")
    nodes = [context.node(part, scope) for part in parts[1:]]
    value = Runtime("sema_runtime.lib.llm.tools:make_tool", [Const(name), *nodes], span=context.span)
    return defined(context, name, value)


def defagent(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2, 2)
    name = context.name_of(parts[0], "defagent")
    value = Runtime(
        "sema_runtime.lib.llm.agents:make_agent", [Const(name), context.node(parts[1], scope)], span=context.span
    )
    return defined(context, name, value)


def defined(context: Context, name: str, value: Any) -> Any:
    """Sets the global of that name, wherever the form stands; its value is that of the form."""
    var = context.define_global(name)
    var.defined += 1
    return Seq([Set(var, value, "global", span=context.span), Ref(var, span=context.span)], span=context.span)


def message(context: Context, form: List, scope: Scope) -> Any:
    role, *content = context.expect(form, 2)
    nodes = [context.node(part, scope) for part in content]
    return Runtime("sema_runtime.lib.llm.prompts:make_message", [context.node(role, scope), *nodes], span=context.span)


def prompt(context: Context, form: List, scope: Scope) -> Any:
    nodes: list[Node] = []
    for part in context.expect(form, 0):
        head = part.items[0] if type(part) is List and part.items else None
        if type(head) is Symbol and head.name in ("user", "system", "assistant", "tool"):
            content = [context.node(item, scope) for item in part.items[1:]]
            nodes.append(
                Runtime("sema_runtime.lib.llm.prompts:role_message", [Const(head.name), *content], span=context.span)
            )
        else:
            nodes.append(context.node(part, scope))
    return Runtime("sema_runtime.lib.llm.prompts:make_prompt", nodes, span=context.span)


FORMS: dict[str, Handler] = {
    "deftool": deftool,
    "defagent": defagent,
    "message": message,
    "prompt": prompt,
}
