"""Traces and metrics: of calls to models, agents, tools and searches, and of the program's own spans.

Off unless the environment names a place to send them to (settings.py), the program does (`otel/configure`), or the
Python program around us has configured OpenTelemetry. This file is what the rest of the runtime sees; while telemetry
is off it loads nothing else, and each function costs a test or two. Nothing here blocks the program or makes it fail.

    spans.py     a span, the current one, whose conversation it belongs to; a tracer hands spans to where they go
    chat.py      the spans of calls to models, from their records (llm/calls.py)
    work.py      the spans of agents, tools and searches, and those of `otel/…`
    names.py     providers and errors as the conventions name them
    content.py   prompts and replies as attributes, where that is asked for
    compat.py    the names other tools want besides (SEMA_OTEL_COMPAT)
    file_sink.py spans as lines of a file
    bridge.py    spans as OpenTelemetry's own, for its exporters and for a host's provider
    otlp.py      exporters over the network
"""

from __future__ import annotations

import sys
from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from sema_runtime.llm.agents import ToolLoop
    from sema_runtime.llm.calls import Attempt, Call
    from sema_runtime.llm.messages import ToolCall
    from sema_runtime.telemetry.settings import Settings
    from sema_runtime.telemetry.spans import Tracer
    from sema_runtime.telemetry.work import Work

_tracer: Tracer | None = None
_looked = False  # whether the environment has been asked
_lock = RLock()


def tracer() -> Tracer | None:
    """Where spans go; None while telemetry is off. A host may configure OpenTelemetry at any time."""
    if _tracer is not None:
        return _tracer
    if _looked and "opentelemetry.trace" not in sys.modules:
        return None
    return _look()


def _look() -> Tracer | None:
    global _tracer, _looked
    with _lock:
        if _tracer is None:
            first, _looked = not _looked, True
            import os

            if first and any(os.environ.get(name) for name in SWITCHES):
                from sema_runtime.telemetry.settings import from_environment

                _tracer = from_environment()
            elif "opentelemetry.trace" in sys.modules:
                from sema_runtime.telemetry.settings import from_host

                _tracer = from_host()
        return _tracer


SWITCHES = (
    "SEMA_OTEL_FILE",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def configure(settings: Settings) -> bool:
    """Turns telemetry on as a program asks; whether this call did. What is on already stays as it is."""
    global _tracer
    with _lock:
        if tracer() is not None:
            return False
        from sema_runtime.telemetry.settings import opened

        _tracer = opened(settings)
        return _tracer is not None


def reset() -> None:
    """As at the start of the process, once everything has been sent."""
    global _tracer, _looked
    with _lock:
        if _tracer is not None:
            import atexit

            atexit.unregister(_tracer.finish)
            _tracer.finish()
        _tracer, _looked = None, False


class Nothing:
    """What the functions below give while telemetry is off: a `with` block without effect. It is false."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __enter__(self) -> Nothing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def returned(self, value: Any) -> None:
        pass


NOTHING = Nothing()


def agent_run(loop: ToolLoop) -> Work | Nothing:
    """`with agent_run(loop) as span:` around a tool loop; `span.returned(text)` before it ends."""
    here = tracer()
    if here is None:
        return NOTHING
    from sema_runtime.telemetry.work import AgentRun

    return AgentRun(here, loop)


def tool_call(call: ToolCall, description: str) -> Work | Nothing:
    """Around the execution of a model's tool call; `span.returned(text)` with its result."""
    here = tracer()
    if here is None:
        return NOTHING
    from sema_runtime.telemetry.work import ToolRun

    return ToolRun(here, call, description)


def retrieval(dimensions: int, top_k: int) -> Work | Nothing:
    """Around a search of a vector store; `span.returned(found)` with the documents and their scores."""
    here = tracer()
    if here is None:
        return NOTHING
    from sema_runtime.telemetry.work import Retrieval

    return Retrieval(here, dimensions, top_k)


class Calls:
    """The observer of calls to models (llm/calls.py)."""

    __slots__ = ()

    def started(self, call: Call) -> None:
        here = tracer()
        if here is not None:
            from sema_runtime.telemetry import chat

            here.safely(chat.started, here, call)

    def retrying(self, call: Call, attempt: Attempt) -> None:
        """The attempts are in the record when the call ends."""

    def ended(self, call: Call) -> None:
        if call.spans is not None and _tracer is not None:
            from sema_runtime.telemetry import chat

            _tracer.safely(chat.ended, _tracer, call)


calls = Calls()
