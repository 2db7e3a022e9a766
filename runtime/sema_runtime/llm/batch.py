"""Many concurrent completions: no cache, cassette, retry, fallback or rate limit."""

from __future__ import annotations

import asyncio

from sema_runtime import tasks
from sema_runtime.llm import policy_guard, transport
from sema_runtime.llm.attempt import ChatAttempt
from sema_runtime.llm.budgets import usage
from sema_runtime.llm.calls import Call
from sema_runtime.llm.messages import Reply, Request
from sema_runtime.llm.observers import observed
from sema_runtime.llm.providers import Provider, registry
from sema_runtime.values.errors import LlmError


def batch(requests: list[Request]) -> list[str]:
    """Returns the replies' texts in the order of the requests. Raises the first failure (by position)."""
    if not requests:
        return []
    provider = registry().require_default()
    guard = policy_guard.current.get()
    if guard is not None:
        requests = [
            guard.request(provider.name, request.model or provider.default_model, request) for request in requests
        ]
    calls = [Call("chat", request) for request in requests]
    try:
        if provider.wire == "sema":
            for call in calls:
                _ask_function(provider, call)
        else:
            tasks.suspend(_ask_all(provider, calls))
    except BaseException:
        _count(calls)
        raise
    failure = _count(calls)
    if failure is not None:
        raise failure
    return [_text(call) if guard is None else guard.reply_text(call) for call in calls]


def _ask_function(provider: Provider, call: Call) -> None:
    """Asks a provider written in Sema, which answers one call at a time. Raises what it raises."""
    with observed(call):
        model = _model(provider, call)
        with ChatAttempt(call, provider, model) as attempt:
            reply = attempt.succeeded(transport.send(provider, call.chat_request, model))
        _settle(call, reply)


async def _ask_all(provider: Provider, calls: list[Call]) -> None:
    """Makes all calls; each call records how it ended."""
    await asyncio.gather(*(_ask(provider, call) for call in calls), return_exceptions=True)


async def _ask(provider: Provider, call: Call) -> None:
    with observed(call):
        model = _model(provider, call)
        with await ChatAttempt.begin_async(call, provider, model) as attempt:
            reply = attempt.succeeded(await transport.send_async(provider, call.chat_request, model))
        _settle(call, reply)


def _model(provider: Provider, call: Call) -> str:
    return call.chat_request.model or provider.default_model


def _settle(call: Call, reply: Reply) -> None:
    """Measures a reply. A call with a reservation is charged at once: other calls may wait for it."""
    usage.measure(call, reply)
    if call.reservation is not None:
        usage.charge(call)
        call.charged = True


def _count(calls: list[Call]) -> BaseException | None:
    """Counts and charges every answered call, even if others failed. Returns the error of the first call, by position,
    that failed or overspent the budget."""
    failure: BaseException | None = None
    for call in calls:
        if call.reply is None:
            failure = failure or call.error
            continue
        usage.count(call)
        try:
            if not call.charged:
                usage.charge(call)
        except LlmError as error:
            failure = failure or error
    return failure


def _text(call: Call) -> str:
    assert call.reply is not None
    return call.reply.content
