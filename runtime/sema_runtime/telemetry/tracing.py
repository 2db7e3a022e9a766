"""The tracer, which begins and ends spans and hands them to a file or to OpenTelemetry."""

from __future__ import annotations

import os
from time import time_ns

from sema_runtime.telemetry.spans import NO_SPAN_ID, Span, current_span, identity, new_id, plain, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.telemetry.bridge import Bridge
    from sema_runtime.telemetry.compat import Compat
    from sema_runtime.telemetry.file_sink import FileSink
    from sema_runtime.telemetry.settings import Settings


class Tracer:
    """Begins and ends spans. file, bridge: where spans go; at least one is set."""

    def __init__(self, settings: Settings, compat: Compat, file: FileSink | None, bridge: Bridge | None) -> None:
        self.settings = settings
        self.compat = compat
        self.file = file
        self.bridge = bridge
        self.open: dict[Span, None] = {}
        self.failed = False
        if hasattr(os, "register_at_fork"):  # open spans end in the process that began them
            os.register_at_fork(after_in_child=self.open.clear)

    def begin(
        self, name: str, kind: str, attributes: dict[str, Any], parent: Span | None = None, start: int = 0
    ) -> Span:
        """Begins a span. It is current until it ends, unless it has a parent: then it never is."""
        outer = current_span.get()
        span = Span(plain(name), kind, start or time_ns(), outer)
        owner = identity.get()
        if owner is not None:
            ids = {"gen_ai.conversation.id": owner.conversation, "session.id": owner.session, "user.id": owner.user}
            span.update(ids | self.compat.identity(owner.session))
        span.update(attributes)
        if self.bridge is not None:
            self.safely(self.bridge.begin, span, parent)
        if not span.trace_id:
            above = parent or outer
            span.trace_id = above.trace_id if above is not None else new_id(32)
            span.parent_id = above.span_id if above is not None else NO_SPAN_ID
            span.span_id = new_id(16)
        if parent is None:
            current_span.set(span)
        self.open[span] = None
        return span

    def end(self, span: Span, end: int = 0) -> None:
        """Ends a span and sends it. A span that the parent process began before a fork is left to that process."""
        if span not in self.open:
            return
        del self.open[span]
        span.end = max(end or time_ns(), span.start)
        if current_span.get() is span:  # not so if a span ends in another context than it began in
            current_span.set(span.outer)
        if self.bridge is not None:
            self.safely(self.bridge.end, span)
        if self.file is not None:
            self.file.put(span)

    def safely(self, function: Callable[..., Any], *args: Any) -> None:
        """Calls a function whose errors must not disturb the program; warns of the first one on stderr."""
        try:
            function(*args)
        except Exception as error:
            if not self.failed:
                self.failed = True
                warn(f"a span is incomplete ({type(error).__name__}: {error})")

    def finish(self) -> None:
        """Ends open spans and sends everything, within a few seconds. Called once, at the end of the program."""
        for span in reversed(list(self.open)):
            span.fail("cancelled", "the program ended")
            self.end(span)
        if self.file is not None:
            self.file.close()
        if self.bridge is not None:
            self.bridge.close()
