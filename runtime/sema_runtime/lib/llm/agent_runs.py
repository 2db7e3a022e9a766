"""What runs of all agents share: the agent of a value, its thread of memory, the request of a run."""

from __future__ import annotations

from sema_runtime.llm.agents import Agent
from sema_runtime.support import options as opt
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.memory import Thread
    from sema_runtime.llm.messages import Message, Request
    from sema_runtime.values.maps import Map


def agent_of(value: Any) -> Agent:
    """The agent itself; raises a type error for anything else."""
    if not isinstance(value, Agent):
        type_error("agent", value)
    return value


def memory_thread(options: Map) -> Thread | None:
    """The thread of :memory, to which the run adds its turns."""
    handle = options.lookup(keyword("memory"))
    if handle is None:
        return None
    from sema_runtime.capabilities import require
    from sema_runtime.llm.memory import thread_of

    require("agent/run", "fs-write")
    return thread_of("agent/run", handle, refresh=True)


def request_of(agent: Agent, said: Message, options: Map, remembered: list[Message]) -> Request:
    from sema_runtime.llm.history import conversation_id, messages_of
    from sema_runtime.llm.messages import Request
    from sema_runtime.llm.requests import observe

    history = messages_of(options.lookup(keyword("messages")), options.lookup(keyword("session")))
    request = Request(
        messages=[*remembered, *history, said],
        model=agent.model,
        system=agent.system or None,
        reasoning_effort=opt.name_or_text(options, "reasoning-effort"),
        strict_tools=opt.is_native("agent/run", options),
    )
    observe(request, options)
    request.conversation_id = conversation_id(options)
    return request
