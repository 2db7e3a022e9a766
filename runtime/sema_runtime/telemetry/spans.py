"""A span, the current span, and the conversation it belongs to."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar
from random import Random
from time import time_ns

from sema_runtime.support.visible import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLIENT, INTERNAL = "client", "internal"
NO_SPAN_ID = "0" * 16

_random = Random()  # a separate one: programs may seed the shared one
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)


def new_id(digits: int) -> str:
    """Returns a random number as that many hexadecimal digits, not all of them 0."""
    return f"{_random.getrandbits(4 * digits) or 1:0{digits}x}"


class Identity:
    """The conversation, session and user that new spans belong to; None: not known."""

    __slots__ = ("conversation", "session", "user")

    def __init__(self, conversation: str | None, session: str | None = None, user: str | None = None) -> None:
        self.conversation = conversation
        self.session = session
        self.user = user


current_span: ContextVar[Span | None] = ContextVar("current_span", default=None)
identity: ContextVar[Identity | None] = ContextVar("telemetry_identity", default=None)


def current() -> Span | None:
    """Returns the innermost open span. A new task starts with the span it was started in."""
    return current_span.get()


def new_conversation() -> str:
    return f"conv_{new_id(16)}"


class Span:
    """A piece of work with its times, in ns since 1970 (end: 0 while it is open).

    ids: 32 and 16 hex digits. status: None, "ok" or "error: …". events: (name, time, attributes). otel_span: the same
    span of OpenTelemetry, if there is one; otel_context: what was current there before."""

    __slots__ = (
        *("attributes", "end", "events", "kind", "name", "outer", "parent_id", "span_id", "start"),
        *("otel_context", "otel_span", "status", "trace_id"),
    )

    def __init__(self, name: str, kind: str, start: int, outer: Span | None) -> None:
        self.name = name
        self.kind = kind
        self.start = start
        self.outer = outer
        self.end = 0
        self.trace_id = self.span_id = ""
        self.parent_id = NO_SPAN_ID
        self.status: str | None = None
        self.attributes: dict[str, Any] = {}
        self.events: list[tuple[str, int, dict[str, Any]]] = []
        self.otel_span: Any = None
        self.otel_context: Any = None

    def update(self, attributes: dict[str, Any]) -> None:
        """Sets attributes, except those that are None. Has no effect once the span has ended."""
        if not self.end:
            for key, value in attributes.items():
                if value is not None:
                    self.attributes[key] = plain(value)

    def event(self, name: str, attributes: dict[str, Any], time: int = 0) -> None:
        if not self.end:
            self.events.append((plain(name), time or time_ns(), {key: plain(v) for key, v in attributes.items()}))

    def fail(self, error_type: str, message: str) -> None:
        if not self.end:
            self.attributes["error.type"] = error_type
            self.status = f"error: {plain(message)}"


def plain(value: Any) -> Any:
    """Returns a value as every exporter takes it: text that can be encoded, ints of 64 bits, finite floats."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else str(value)
    if isinstance(value, float):
        return value if abs(value) <= sys.float_info.max else str(value)
    return [plain(item) for item in value]


def warn(message: str) -> None:
    """Writes a warning to stderr: telemetry never stops a program."""
    try:
        tell(f"warning: telemetry: {message}")
    except (OSError, ValueError, AttributeError):
        return  # stderr is closed
