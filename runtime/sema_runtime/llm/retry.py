"""Retries: up to 3 on 429, status 500 and above, and network errors. The wait is the server's, or random."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sema_runtime.llm.errors import ProviderError

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")
MAX_RETRIES = 3
MAX_WAIT_MS = 30_000
FIRST_WAIT_MS = 500
MAX_EXPONENT = 6


def wait_ms(attempt: int, hint_ms: int | None, uniform: Callable[[float, float], float] = random.uniform) -> float:
    """Returns the wait after an attempt (0 is the first call). hint_ms: what the server asked for."""
    if hint_ms is not None:
        return min(hint_ms, MAX_WAIT_MS)
    return uniform(0, min(FIRST_WAIT_MS * 2 ** min(attempt, MAX_EXPONENT), MAX_WAIT_MS))


def with_retries(call: Callable[[], T], on_wait: Callable[[float], None]) -> T:
    """Returns the result of call, with retries; only the current task sleeps between them.

    on_wait: gets each wait, in milliseconds, before it begins.
    """
    try:
        return call()
    except ProviderError as error:
        if not error.retryable:
            raise
        return _again(call, error, on_wait)


def _again(call: Callable[[], T], first: ProviderError, on_wait: Callable[[float], None]) -> T:
    """Makes the attempts after a failed first one; tenacity is loaded only here."""
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    from sema_runtime import tasks

    outcomes = iter((first,))

    def attempt() -> T:
        failed = next(outcomes, None)
        if failed is not None:
            raise failed
        return call()

    def seconds(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        hint = error.wait_ms if isinstance(error, ProviderError) else None
        return wait_ms(state.attempt_number - 1, hint) / 1000

    def wait(waited: float) -> None:
        on_wait(waited * 1000)
        tasks.sleep(waited * 1000)

    retrying = Retrying(
        stop=stop_after_attempt(MAX_RETRIES + 1),
        wait=seconds,
        retry=retry_if_exception(lambda error: isinstance(error, ProviderError) and error.retryable),
        sleep=wait,
        reraise=True,
    )
    try:
        return retrying(attempt)
    except ProviderError as error:
        raise error.with_traceback(None) from error.__cause__  # frames of tenacity would hide the program's
