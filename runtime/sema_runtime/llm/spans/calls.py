"""The spans and metrics of calls to models: `chat MODEL`, `embeddings MODEL`, `rerank`, with a child for each retry.

A call's record (llm/calls.py) has everything. The span begins with the call, so that spans that the program begins
meanwhile nest below it, and gets its attributes when the call ends.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

from sema_runtime.llm.budgets import pricing
from sema_runtime.llm.spans import content
from sema_runtime.llm.spans.failures import error_type
from sema_runtime.telemetry.names import error_message, provider_name
from sema_runtime.telemetry.spans import CLIENT, INTERNAL, Identity, Span, identity, new_conversation
from sema_runtime.telemetry.tracing import Tracer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.calls import Attempt, Call
    from sema_runtime.llm.messages import Request, Usage

KINDS = {"chat": "llm", "embeddings": "embedding", "rerank": "reranker"}


def identity_of(request: Request | None) -> Identity:
    """Returns whom a call belongs to: the request's own ids, else those in force, else a new conversation."""
    current = identity.get()
    if request is None or not (request.conversation_id or request.session_id or request.user_id):
        return current or _own(new_conversation())
    own = request.conversation_id
    conversation = own or (current.conversation if current else None) or new_conversation()
    session = request.session_id or (current.session if current else None) or conversation
    return Identity(conversation, session, request.user_id or (current.user if current else None))


def _own(conversation: str) -> Identity:
    return Identity(conversation, conversation)


def started(tracer: Tracer, call: Call) -> None:
    """Begins the span of a call, which keeps it and the previous identity."""
    before = identity.get()
    identity.set(identity_of(call.request))
    attributes: dict[str, Any] = {} if call.operation == "rerank" else {"gen_ai.operation.name": call.operation}
    attributes |= tracer.compat.span_kind(KINDS[call.operation])
    if call.request is not None:
        attributes |= _settings(tracer, call.request)
    span = tracer.begin(call.operation, INTERNAL if call.operation == "rerank" else CLIENT, attributes)
    call.spans = (span, before)


def _settings(tracer: Tracer, request: Request) -> dict[str, Any]:
    """Returns the request's settings as attributes."""
    parameters = {"temperature": request.temperature, "max_tokens": request.max_tokens}
    return {
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.max_tokens": request.max_tokens,
        "sema.gen_ai.request.reasoning_effort": request.reasoning_effort,
        "gen_ai.output.type": "json" if request.json_mode else "text",
        **tracer.compat.parameters(parameters | {"reasoning_effort": request.reasoning_effort}),
        **tracer.compat.tools(request.tools),
        **tracer.compat.metadata(request.metadata),
    }


def ended(tracer: Tracer, call: Call) -> None:
    """Adds what the call's record has to its span, and ends it."""
    span, before = call.spans
    call.spans = None
    identity.set(before)
    try:
        _fill(tracer, call, span)
        _retries(tracer, call, span)
    finally:
        tracer.end(span, call.ended)
    if tracer.bridge is not None and call.operation != "rerank" and not call.cached:
        _measure(tracer, call)


def _fill(tracer: Tracer, call: Call, span: Span) -> None:
    if call.error is not None:
        span.fail(error_type(call.error), error_message(call.error))
    provider, model = _provider(call), _model(call)
    if call.operation != "rerank":
        span.update({"gen_ai.provider.name": provider_name(provider) or None, "gen_ai.request.model": model or None})
        span.update(tracer.compat.dispatch(call.operation, provider, model))
        span.name = f"{call.operation} {model}" if model else call.operation
    if call.usage is not None and (call.usage.total or (call.error is None and call.operation != "rerank")):
        span.update(_used(tracer, call, call.usage))
    if call.streaming:
        span.update({"sema.gen_ai.is_streaming": True})
        if call.first_piece:
            span.update({"sema.gen_ai.server.time_to_first_token": (call.first_piece - call.started) / 1e9})
            span.update(tracer.compat.streaming(_rfc3339(call.first_piece)))
    if call.operation == "chat":
        _fill_chat(tracer, call, span, provider, model)
    else:
        content.payload(tracer, call, span)


def _fill_chat(tracer: Tracer, call: Call, span: Span, provider: str, model: str) -> None:
    reply = call.reply
    if reply is not None:
        span.update(
            {
                "gen_ai.response.model": reply.model or None,
                "gen_ai.response.finish_reasons": [reply.stop_reason] if reply.stop_reason else None,
                "sema.gen_ai.cache.hit": True if call.cached else None,
            }
        )
    tags = [f"operation:{call.operation}"]
    tags += [f"provider:{provider_name(provider)}"] if provider else []
    tags += [f"model:{model}"] if model else []
    tags += ["cache-hit"] if call.cached else []
    request = call.request
    if request is not None:
        span.update(tracer.compat.tags([*tags, *request.tags]))
        if tracer.settings.capture:
            content.exchange(tracer, span, request, reply)


def _provider(call: Call) -> str:
    """Returns the provider that answered, as programs name it; "" for the response cache."""
    if call.cached:
        return ""
    return "cassette" if call.replayed else call.provider


def _model(call: Call) -> str:
    if call.model:
        return call.model
    if call.reply is not None:
        return call.reply.model
    return call.request.model if call.request is not None else ""


def _used(tracer: Tracer, call: Call, used: Usage) -> dict[str, Any]:
    """Returns tokens and cost as attributes, except unknown ones."""
    attributes: dict[str, Any] = {"gen_ai.usage.input_tokens": used.prompt}
    if call.operation == "chat":
        attributes |= {
            "gen_ai.usage.output_tokens": used.completion,
            "gen_ai.usage.total_tokens": used.total,
            "gen_ai.usage.cache_read.input_tokens": used.cache_read or None,
            "gen_ai.usage.cache_creation.input_tokens": used.cache_creation or None,
        }
    elif call.operation == "embeddings":
        attributes["gen_ai.response.model"] = call.reply.model if call.reply is not None else None
        attributes |= tracer.compat.embedding_model(_model(call))
    cost = None if call.cached else call.cost_usd
    attributes |= {"gen_ai.usage.cost": cost, "gen_ai.usage.cost_usd": cost}
    if tracer.compat.active:
        attributes |= tracer.compat.usage(used, cost, None if cost is None else _split(call, used))
    return attributes


def _split(call: Call, used: Usage) -> tuple[float, float] | None:
    """Returns the costs of prompt and reply in USD."""
    model = call.reply.model if call.reply is not None else call.model
    prompt = pricing.cost(model, call.provider, used.prompt, 0)
    completion = pricing.cost(model, call.provider, 0, used.completion)
    return None if prompt is None or completion is None else (prompt, completion)


def _retries(tracer: Tracer, call: Call, span: Span) -> None:
    """Adds a child span for each repeated attempt, and an event for each change to another provider."""
    number = 0
    for attempt, following in pairwise(call.attempts):
        if attempt.error is None:
            continue
        if (attempt.provider, attempt.model) == (following.provider, following.model):
            number += 1
            _retry(tracer, span, attempt, number)
        else:
            number = 0
            failure = {"error.type": error_type(attempt.error), "message": error_message(attempt.error)}
            tried = {"gen_ai.provider.name": provider_name(attempt.provider), "gen_ai.request.model": attempt.model}
            span.event("sema.fallback", tried | failure, attempt.ended)


def _retry(tracer: Tracer, parent: Span, attempt: Attempt, number: int) -> None:
    waited = {"sema.retry.attempt": number, "sema.retry.wait_ms": round(attempt.wait_ms)}
    whose = {key: parent.attributes.get(key) for key in ("gen_ai.conversation.id", "session.id", "user.id")}
    attributes = whose | waited | tracer.compat.span_kind("chain")
    child = tracer.begin("llm.retry_attempt", INTERNAL, attributes, parent, attempt.started)
    if attempt.error is not None:
        child.fail(error_type(attempt.error), error_message(attempt.error))
    tracer.end(child, attempt.ended)


def _measure(tracer: Tracer, call: Call) -> None:
    """Records the two metrics of the conventions: duration and tokens."""
    bridge = tracer.bridge
    assert bridge is not None
    attributes = {
        "gen_ai.operation.name": call.operation,
        "gen_ai.provider.name": provider_name(_provider(call)),
        "gen_ai.request.model": _model(call),
    }
    failed = {"error.type": error_type(call.error)} if call.error is not None else {}
    bridge.measure_duration((call.ended - call.started) / 1e9, attributes | failed)
    if call.usage is not None and call.error is None:
        answered = attributes | {"gen_ai.response.model": call.reply.model if call.reply is not None else _model(call)}
        bridge.measure_tokens(call.usage.prompt, answered | {"gen_ai.token.type": "input"})
        if call.operation == "chat":
            bridge.measure_tokens(call.usage.completion, answered | {"gen_ai.token.type": "output"})


def _rfc3339(time_ns: int) -> str:
    moment = datetime.fromtimestamp(time_ns / 1e9, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
