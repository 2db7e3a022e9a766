"""The terminal's raw mode: keys, Ctrl-C included, arrive one by one, not echoed and not edited.

Each request for it is a `RawMode`. The terminal is restored when the last request ends. A request that ends also ends
the later ones of the same task.
"""

from __future__ import annotations

import sys

from sema_runtime.catalogue import builtin
from sema_runtime.lib.language.control import called
from sema_runtime.support.terminal_state import hold, release
from sema_runtime.values.errors import SemaError, type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_requests: list[RawMode] = []
_before: Any = None  # the terminal's attributes before the first of them
_by_token: dict[int, RawMode] = {}
_tokens = 0


class RawMode:
    """A request for raw mode on a descriptor. Raises SemaError when the terminal refuses."""

    def __init__(self, descriptor: int) -> None:
        try:
            import termios
            import tty
        except ImportError:
            raise SemaError("io/tty-raw!: this system has no Unix terminals") from None
        global _before
        if not _requests:
            _before = termios.tcgetattr(descriptor)
        self.descriptor = descriptor
        self.task = running_task()
        _requests.append(self)
        self.held = hold(self._leave)
        try:
            tty.setraw(descriptor, termios.TCSANOW)
        except termios.error as error:
            self.end()
            raise SemaError(f"io/tty-raw!: tcsetattr failed: {error.args[-1]}") from None

    def end(self) -> None:
        """Takes the request back."""
        release(self.held)

    def _leave(self) -> None:
        import termios

        if self not in _requests:
            return
        place = _requests.index(self)
        _requests[place:] = [request for request in _requests[place:] if request.task is not self.task]
        if _requests:
            return
        try:
            termios.tcsetattr(self.descriptor, termios.TCSANOW, _before)
        except termios.error:  # the terminal is gone
            return


def terminal() -> int | None:
    """The descriptor of the input, if that is a terminal."""
    return sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None


def raw_mode() -> RawMode | None:
    """A request for raw mode; None without a terminal."""
    descriptor = terminal()
    return None if descriptor is None else RawMode(descriptor)


def running_task() -> Any:
    """The task that is running; None for the program's main line."""
    if "sema_runtime.tasks.scheduler" not in sys.modules:
        return None
    from sema_runtime.tasks.scheduler import scheduler
    from sema_runtime.tasks.waiting import Task

    fiber = scheduler().current()
    return fiber if isinstance(fiber, Task) else None


@builtin("io/tty-raw!", type="-> int|nil")
def io_tty_raw_mut() -> int | None:
    """Puts the terminal into raw mode, in which keys, Ctrl-C included, arrive one by one and aren't echoed, and returns
    a token for io/tty-restore!.

    Returns nil when stdin isn't a terminal. The terminal is also restored when the task or the program ends.

    ; (let ((token (io/tty-raw!))) (io/read-key) (io/tty-restore! token))
    """
    global _tokens
    request = raw_mode()
    if request is None:
        return None
    token, _tokens = _tokens, _tokens + 1
    _by_token[token] = request
    if request.task is not None:
        request.task.promise.watchers.append(lambda _: request.end())
    return token


@builtin("io/tty-restore!", type="int -> nil")
def io_tty_restore_mut(token: Any) -> None:
    """Ends the raw mode of a token; does nothing when it has already ended.

    ; (let ((token (io/tty-raw!))) (io/read-key) (io/tty-restore! token))
    """
    if type(token) is not int:
        type_error("integer", token)
    request = _by_token.pop(token, None)
    if request is not None:
        request.end()


@builtin("__with-raw-mode", type="now (-> a) -> a")
def sema_with_raw_mode(body: Any) -> Any:
    """What `io/with-raw-mode` expands to: the value of body, called in raw mode if the input is a terminal."""
    function = called(body)
    request = raw_mode()
    try:
        return function()
    finally:
        if request is not None:
            request.end()
