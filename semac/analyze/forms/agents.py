"""deftool, defagent, prompt, message: forms whose meaning is in the LLM runtime."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.forms.definitions import record_set
from semac.analyze.scope import Scope
from semac.ir.nodes import Const, Ref, Runtime, Seq


def deftool(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 4, 5)
    name = a.name_of(parts[0], "deftool")
    nodes = [a.node(part, scope) for part in parts[1:]]
    value = Runtime("sema_runtime.lib.llm.tools:make_tool", [Const(name), *nodes], span=a.span)
    return defined(a, name, value, scope)


def defagent(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 2, 2)
    name = a.name_of(parts[0], "defagent")
    value = Runtime("sema_runtime.lib.llm.agents:make_agent", [Const(name), a.node(parts[1], scope)], span=a.span)
    return defined(a, name, value, scope)


def defined(a: Context, name: str, value: Any, scope: Scope) -> Any:
    """Sets the name and gives its value, which a plain definition at top level does not."""
    target = record_set(a, name, value, scope)
    return Seq([target, Ref(target.var, span=a.span)], span=a.span)


def message(a: Context, form: List, scope: Scope) -> Any:
    role, *content = a.expect(form, 2)
    nodes = [a.node(part, scope) for part in content]
    return Runtime("sema_runtime.lib.llm.prompts:make_message", [a.node(role, scope), *nodes], span=a.span)


def prompt(a: Context, form: List, scope: Scope) -> Any:
    nodes = []
    for part in a.expect(form, 0):
        head = part.items[0] if type(part) is List and part.items else None
        if type(head) is Symbol and head.name in ("user", "system", "assistant", "tool"):
            content = [a.node(one, scope) for one in part.items[1:]]
            nodes.append(
                Runtime("sema_runtime.lib.llm.prompts:role_message", [Const(head.name), *content], span=a.span)
            )
        else:
            nodes.append(a.node(part, scope))
    return Runtime("sema_runtime.lib.llm.prompts:make_prompt", nodes, span=a.span)


FORMS: dict[str, Handler] = {
    "deftool": deftool,
    "defagent": defagent,
    "message": message,
    "prompt": prompt,
}
