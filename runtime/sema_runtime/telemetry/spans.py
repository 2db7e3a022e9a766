"""A span, the current one, whose conversation it belongs to, and the tracer that hands spans to where they go."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar
from random import Random
from time import time_ns

from sema_runtime.support.visible import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.telemetry.bridge import Bridge
    from sema_runtime.telemetry.compat import Compat
    from sema_runtime.telemetry.file_sink import FileSink
    from sema_runtime.telemetry.settings import Settings

CLIENT, INTERNAL = "client", "internal"
NO_SPAN_ID = "0" * 16

_random = Random()  # our own: programs may seed theirs
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)


def new_id(digits: int) -> str:
    """A random number as that many hexadecimal digits, not all of them 0."""
    return f"{_random.getrandbits(4 * digits) or 1:0{digits}x}"


class Identity:
    """Whom the spans started now belong to; None: not known."""

    __slots__ = ("conversation", "session", "user")

    def __init__(self, conversation: str | None, session: str | None = None, user: str | None = None) -> None:
        self.conversation = conversation
        self.session = session
        self.user = user


_current: ContextVar[Span | None] = ContextVar("current_span", default=None)
identity: ContextVar[Identity | None] = ContextVar("telemetry_identity", default=None)


def current() -> Span | None:
    """The innermost span that is open here. Tasks start with the one they were started in."""
    return _current.get()


def new_conversation() -> str:
    return f"conv_{new_id(16)}"


class Span:
    """A piece of work with its times, in ns since 1970 (end: 0 while it is open).

    ids: 32 and 16 hex digits. status: None, "ok" or "error: …". events: (name, time, attributes). theirs: the same span
    of OpenTelemetry, where there is one, and before: what was current there."""

    __slots__ = (
        *("attributes", "before", "end", "events", "kind", "name", "outer", "parent_id", "span_id", "start"),
        *("status", "theirs", "trace_id"),
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
        self.theirs: Any = None
        self.before: Any = None

    def update(self, attributes: dict[str, Any]) -> None:
        """Sets attributes; None stands for no attribute. Without effect once the span has ended."""
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
    """value as every exporter takes it: text that can be encoded, ints of 64 bits, finite floats."""
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


class Tracer:
    """Begins and ends spans. file, bridge: where they go, at least one of them."""

    def __init__(self, settings: Settings, compat: Compat, file: FileSink | None, bridge: Bridge | None) -> None:
        self.settings = settings
        self.compat = compat
        self.file = file
        self.bridge = bridge
        self.open: dict[Span, None] = {}
        self.failed = False
        if hasattr(os, "register_at_fork"):  # what is open ends in the process that began it
            os.register_at_fork(after_in_child=self.open.clear)

    def begin(
        self, name: str, kind: str, attributes: dict[str, Any], parent: Span | None = None, start: int = 0
    ) -> Span:
        """A span that is current until it ends; with a parent, one that never is."""
        outer = _current.get()
        span = Span(plain(name), kind, start or time_ns(), outer)
        who = identity.get()
        if who is not None:
            span.update({"gen_ai.conversation.id": who.conversation, "session.id": who.session, "user.id": who.user})
            span.update(self.compat.identity(who.session))
        span.update(attributes)
        if self.bridge is not None:
            self.safely(self.bridge.begin, span, parent)
        if not span.trace_id:
            above = parent or outer
            span.trace_id = above.trace_id if above is not None else new_id(32)
            span.parent_id = above.span_id if above is not None else NO_SPAN_ID
            span.span_id = new_id(16)
        if parent is None:
            _current.set(span)
        self.open[span] = None
        return span

    def end(self, span: Span, end: int = 0) -> None:
        """Sends the span off. A span that another process began, before this one was forked off, is not ours to end."""
        if span not in self.open:
            return
        del self.open[span]
        span.end = max(end or time_ns(), span.start)
        if _current.get() is span:  # it isn't where a span ends in another context than it began in
            _current.set(span.outer)
        if self.bridge is not None:
            self.safely(self.bridge.end, span)
        if self.file is not None:
            self.file.put(span)

    def safely(self, function: Callable[..., Any], *args: Any) -> None:
        """Calls what must not disturb the program; the first failure is told on stderr."""
        try:
            function(*args)
        except Exception as error:
            if not self.failed:
                self.failed = True
                warn(f"a span is incomplete ({type(error).__name__}: {error})")

    def finish(self) -> None:
        """Ends what is open and sends everything, within a few seconds. Called once: at the end of the program."""
        for span in reversed(list(self.open)):
            span.fail("cancelled", "the program ended")
            self.end(span)
        if self.file is not None:
            self.file.close()
        if self.bridge is not None:
            self.bridge.close()


def warn(message: str) -> None:
    """A line on stderr: telemetry never stops a program."""
    try:
        tell(f"warning: telemetry: {message}")
    except (OSError, ValueError, AttributeError):
        return  # stderr is closed
