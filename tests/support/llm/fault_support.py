"""Asks a provider that fails: what the program gets, what is charged, and the attempts that are noted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fault_wires import Script, Scripted, Wire
from llm_support import SLEPT
from llm_support import llm as llm
from net_support import serving

from sema_runtime.llm import observers
from sema_runtime.llm.budgets import usage
from sema_runtime.llm.errors import ProviderError

CALL, STREAM = '(llm/complete "hi")', '(llm/stream "hi" (fn (piece) (set! heard (append heard (list piece)))))'
HEARD = "(define heard '())"


@dataclass
class Seen:
    """What came of a call. heard: the pieces of a stream."""

    value: Any = None
    error: ProviderError | None = None
    heard: list[str] = field(default_factory=list)

    @property
    def message(self) -> str:
        return self.error.message if self.error is not None else ""


def asked(wire: Wire, url: str, program: str) -> Seen:
    """Asks a provider once, under a budget."""
    from semac.session import Session

    session = Session()
    session.run(HEARD + wire.configure(url))
    seen = Seen()
    try:
        seen.value = session.run(f"(llm/with-budget {{:max-tokens 100000}} (fn () {program}))")
    except ProviderError as error:
        seen.error = error
    seen.heard = list(session.globals["heard"])
    return seen


@contextmanager
def fault(wire: Wire, *scripts: Script) -> Iterator[tuple[str, Scripted]]:
    server = Scripted(*scripts)
    with serving(server) as url:
        yield url, server


def journal() -> list[str]:
    """The attempts of the last call: the error of each, "" for success."""
    call = observers.last()
    assert call is not None
    for attempt in call.attempts:
        assert attempt.started <= attempt.ended
    return [getattr(attempt.error, "message", "") for attempt in call.attempts]


def waits() -> list[float]:
    call = observers.last()
    assert call is not None
    return [attempt.wait_ms for attempt in call.attempts]


def charged() -> int:
    return usage.session.usage.total


def check(seen: Seen, wire: Wire, message: str, attempts: int) -> None:
    """An error that says who was asked; nothing charged; as many attempts as that."""
    assert seen.message.startswith(message)
    assert seen.error is not None
    assert seen.error.note == f"provider {wire.name}, model m"
    assert journal() == [seen.message] * attempts
    assert len(SLEPT) == attempts - 1
    assert waits() == [*SLEPT, 0]
    assert charged() == 0
