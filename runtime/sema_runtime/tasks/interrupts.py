"""Ctrl-C: what it does in programs, and how it is kept from coming in the middle of what must be done as a whole.

    with held():                     # Ctrl-C waits until the end of this block
        write_the_beginning()
        with released():             # but for here, where something is waited for
            wait()
        write_the_end()

Nothing may give control to another task while Ctrl-C is held. A second Ctrl-C doesn't wait.
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


class _Here(threading.local):
    """depth: how many blocks hold Ctrl-C. came: one waits for their end."""

    depth = 0
    came = False


_here = _Here()

stops: list[Callable[[int, Any], None]] = []
"""What stops the asyncio loops that run, the innermost last."""


def interrupt(number: int, frame: Any) -> None:
    """What Ctrl-C does where nobody else handles it: it stops the loop that runs, or is raised."""
    (stops[-1] if stops else raised)(number, frame)


def raised(number: int, frame: Any) -> None:
    """Raises KeyboardInterrupt, at the end of what holds it."""
    if _here.depth and not _here.came:
        _here.came = True
    else:
        signal.default_int_handler(number, frame)


def is_unhandled(number: int) -> bool:
    """Whether nothing but Python, or we here, handles a signal."""
    return signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL, interrupt)


@contextmanager
def handled() -> Iterator[None]:
    """While inside, Ctrl-C can be held. A handler of somebody else's is left alone; it may become `interrupt`
    meanwhile."""
    ours = threading.current_thread() is threading.main_thread() and is_unhandled(signal.SIGINT)
    before = signal.signal(signal.SIGINT, interrupt) if ours else None
    try:
        yield
    finally:
        if ours and signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, before)


class held:
    """Has Ctrl-C wait until the end of the block."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = _here.depth
        _here.depth += 1

    def __exit__(self, *_: object) -> None:
        _here.depth = self.before
        _raise_what_came()


class released:
    """Lets Ctrl-C come, also one that waited, until the end of the block."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = _here.depth
        _raise_what_came(0)
        _here.depth = 0  # last: what is raised from here on is raised in the block

    def __exit__(self, *_: object) -> None:
        _here.depth = self.before


def _raise_what_came(depth: int | None = None) -> None:
    """Raises KeyboardInterrupt if one waited for the depth to become 0. depth: as if it were that."""
    if _here.came and not (_here.depth if depth is None else depth):
        _here.came = False
        raise KeyboardInterrupt
