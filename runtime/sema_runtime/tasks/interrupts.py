"""Ctrl-C: what it does in programs, and how to hold it back while something must not be interrupted.

    with held():                     # Ctrl-C waits until the end of this block
        write_the_beginning()
        with released():             # except here, during a wait
            wait()
        write_the_end()

Code that holds Ctrl-C must not switch to another task. A second Ctrl-C doesn't wait.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _State(threading.local):
    """depth: how many blocks hold Ctrl-C. came: one waits for their end."""

    depth = 0
    came = False


_state = _State()

stops: list[Callable[[int, Any], None]] = []
"""Functions that stop the running asyncio loops, the innermost last."""


def interrupt(number: int, frame: Any) -> None:
    """Handles Ctrl-C: stops the running loop, or raises KeyboardInterrupt."""
    (stops[-1] if stops else raised)(number, frame)


def raised(number: int, frame: Any) -> None:
    """Raises KeyboardInterrupt, at the end of the block that holds it."""
    if _state.depth and not _state.came:
        _state.came = True
    else:
        signal.default_int_handler(number, frame)


def is_unhandled(number: int) -> bool:
    """Whether only Python or this module handles a signal."""
    return signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL, interrupt)


@contextmanager
def handled() -> Iterator[None]:
    """Installs `interrupt` for Ctrl-C inside the block, so that `held` works. Keeps a handler of the program's own."""
    ours = threading.current_thread() is threading.main_thread() and is_unhandled(signal.SIGINT)
    before = signal.signal(signal.SIGINT, interrupt) if ours else None
    try:
        yield
    finally:
        if ours and signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, before)


class held:
    """Holds Ctrl-C back until the end of the block."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = _state.depth
        _state.depth += 1

    def __exit__(self, *_: object) -> None:
        _state.depth = self.before
        _raise_what_came()


class released:
    """Allows Ctrl-C, also one that was held back, until the end of the block."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = _state.depth
        _raise_what_came(0)
        _state.depth = 0  # last: what is raised from here on is raised in the block

    def __exit__(self, *_: object) -> None:
        _state.depth = self.before


def _raise_what_came(depth: int | None = None) -> None:
    """Raises KeyboardInterrupt if one was held back and the depth is 0. depth: instead of the real one."""
    if _state.came and not (_state.depth if depth is None else depth):
        _state.came = False
        raise KeyboardInterrupt
