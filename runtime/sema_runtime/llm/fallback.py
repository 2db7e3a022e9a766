"""Provider chains (`llm/with-fallback`) and the minimum distance between calls (`llm/with-rate-limit`)."""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

from sema_runtime.llm.messages import Request
from sema_runtime.llm.providers import Provider, registry
from sema_runtime.values.atoms import Keyword
from sema_runtime.values.errors import LlmError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map


class Entry(NamedTuple):
    """model: None for the request's own, else the provider's default."""

    provider: str
    model: str | None = None


chain: ContextVar[tuple[Entry, ...]] = ContextVar("fallback", default=())


def entry_of(value: Any) -> Entry:
    """Returns the entry of `:name`, `"name"`, `[:name "model"]` or `{:provider :name :model "m"}`. Raises a type error
    for anything else."""
    if isinstance(value, Keyword | str):
        return Entry(_name(value))
    if isinstance(value, tuple | List | list) and len(value) == 2:
        first, model = value
        if isinstance(first, Keyword | str) and isinstance(model, str):
            return Entry(_name(first), model)
    if isinstance(value, Map | dict):
        first, model = value.get("provider"), value.get("model")
        if isinstance(first, Keyword | str) and (model is None or isinstance(model, str)):
            return Entry(_name(first), model)
    type_error('provider: :name, [:name "model"] or {:provider :name :model "model"}', value)


def _name(value: Keyword | str) -> str:
    return value if isinstance(value, str) else value.name


def targets(request: Request) -> list[tuple[Provider, str]]:
    """Returns the providers to ask, in order, each with its model. Raises LlmError when none is configured."""
    registered = registry()
    entries = chain.get()
    if not entries:
        provider = registered.require_default()
        return [(provider, request.model or provider.default_model)]
    resolved = []
    for entry in entries:
        named = registered.providers.get(entry.provider)
        if named is None:
            names = ", ".join(sorted(registered.providers)) or "none"
            raise LlmError(f"fallback provider '{entry.provider}' not found", hint=f"configured providers: {names}")
        resolved.append((named, entry.model or request.model or named.default_model))
    return resolved


@dataclass(slots=True)
class RateLimit:
    """At least interval seconds between the starts of calls. next_start: the first free moment (monotonic clock)."""

    interval: float
    next_start: float = 0.0

    def wait_seconds(self) -> float:
        """Takes the next slot and returns the seconds until it."""
        now = time.monotonic()
        start = max(now, self.next_start)
        self.next_start = start + self.interval
        return start - now


rate: ContextVar[RateLimit | None] = ContextVar("rate_limit", default=None)


def wait_for_slot() -> None:
    """Waits until the rate limit in force allows a call; only the current task waits."""
    limit = rate.get()
    seconds = limit.wait_seconds() if limit is not None else 0.0
    if seconds > 0:
        from sema_runtime import tasks

        tasks.sleep(seconds * 1000)
