"""Ctrl-C in the REPL with the editor: it ends what is evaluated, and nothing else.

The editor takes Ctrl-C as a key. A signal that comes between two prompts has nothing to end and must not end the REPL:
the user would lose the session.
"""

from __future__ import annotations

import signal
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


def nothing(number: int, frame: FrameType | None) -> None:
    """A handler of signals that have nothing to end. (One that the system ignores would be ignored by children too.)"""


def ignore() -> None:
    """From now on Ctrl-C does nothing outside of `heeded`; but not where another handler was set, or in a thread."""
    ours = threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, nothing)


def heeded(action: Callable[[], str | None]) -> str | None:
    """Runs an action that Ctrl-C ends by KeyboardInterrupt. Raises what the action raises."""
    if signal.getsignal(signal.SIGINT) is not nothing:  # a handler of the user's code
        return action()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return action()
    finally:
        ignore()
