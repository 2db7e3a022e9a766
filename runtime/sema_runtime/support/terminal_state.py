"""Changes of the terminal that are undone however the program ends.

`hold` registers how to undo a change, before it is made; `release` undoes it, once. When the program ends (by its last
form, an error, `exit`, Ctrl-C, SIGTERM or SIGHUP), the changes still held are undone, the latest first.
"""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ENDING_SIGNALS = ("SIGTERM", "SIGHUP")

_held: dict[Held, None] = {}
_watching = False


class Held:
    """A change that is in force. undo: reverts it; it must work at any time, in a signal handler too."""

    __slots__ = ("owner", "undo")

    def __init__(self, undo: Callable[[], None]) -> None:
        self.undo = undo
        self.owner = os.getpid()  # a forked process leaves the terminal to its parent


def hold(undo: Callable[[], None]) -> Held:
    """Arranges that undo is called when the result is released, or when the program ends."""
    _watch()
    held = Held(undo)
    _held[held] = None
    return held


def release(held: Held) -> None:
    """Undoes a change, unless that was done already."""
    if held not in _held:
        return
    del _held[held]
    if held.owner != os.getpid():
        return
    _flush()
    held.undo()


def restore_all() -> None:
    """Undoes every change that is held."""
    for held in reversed(list(_held)):
        release(held)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except (OSError, ValueError, RuntimeError):  # closed, or interrupted by a signal while writing
        return


def _watch() -> None:
    """Arranges, once, that the end of the program restores the terminal."""
    global _watching
    if _watching:
        return
    _watching = True
    atexit.register(restore_all)
    _restore_before_tracebacks()
    _restore_on_signals()


def _restore_before_tracebacks() -> None:
    show = sys.excepthook

    def restored(kind: Any, error: Any, trace: Any) -> None:
        restore_all()
        show(kind, error, trace)

    sys.excepthook = restored


def _restore_on_signals() -> None:
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may set handlers

    def end(number: int, _: object) -> None:
        restore_all()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for name in ENDING_SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
