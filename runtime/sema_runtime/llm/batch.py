"""Many prompts at once: no cache, cassette, retry, fallback or rate limit."""

from __future__ import annotations

from dataclasses import replace

from sema_runtime import tasks
from sema_runtime.llm import transport, usage
from sema_runtime.llm.messages import Reply, Request
from sema_runtime.llm.providers import registry


def batch(requests: list[Request]) -> list[str]:
    """The replies' texts in the order of the requests. Raises the first failure (by position)."""
    if not requests:
        return []
    provider = registry().require_default()
    resolved = [replace(one, model=one.model or provider.default_model) for one in requests]
    replies: list[Reply | BaseException]
    if provider.wire == "sema":
        replies = [transport.send(provider, one, one.model) for one in resolved]
    else:
        replies = tasks.suspend(transport.send_all(provider, resolved))
    texts = []
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
        usage.track(reply)
        texts.append(reply.content)
    return texts
