"""Turns of tasks around builtins that call back (`map`, `sort`, `apply`), as the reference's machine takes them.

A builtin that has called back gives the other tasks a turn when it ends, but for those that the reference's machine
runs inline: `map`, `filter`, `for-each` and the folds with callbacks that can't wait, and every builtin called in these
callbacks. In each callback, the first channel operation gives a turn even where it need not wait.

The compiler has `call_native` make such calls, in programs with tasks only.
"""

from __future__ import annotations

from sema_runtime.tasks.scheduler import scheduler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Callbacks:
    """The callbacks of one call of a builtin. has_begun: there was one; is_used: one has called a task builtin;
    is_fresh: the current has not; is_inline: the call gives no turn unless one is used."""

    __slots__ = ("has_begun", "is_fresh", "is_inline", "is_used")

    def __init__(self, is_inline: bool, has_begun: bool) -> None:
        self.is_inline = is_inline
        self.has_begun = has_begun
        self.is_used = self.is_fresh = False

    def begin(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, each call of which is a callback."""

        def callback(*args: Any) -> Any:
            self.has_begun = self.is_fresh = True
            return function(*args)

        return callback


def call_native(native: Callable[..., Any], is_inline: bool, /, *args: Any) -> Any:
    """The result of a builtin. is_inline: whether the reference's machine runs it inline."""
    here = scheduler()
    strand = here.current()
    outer = strand.callback
    is_inline = is_inline or (outer is not None and outer.is_inline)
    callbacks = strand.callback = Callbacks(is_inline, calls_builtin(native, args))
    here.natives += 1
    try:
        return native(*[callbacks.begin(arg) if is_program_function(arg) else arg for arg in args])
    finally:
        here.natives -= 1
        strand.callback = outer
        if callbacks.is_used or (callbacks.has_begun and not is_inline):
            here.pause()


def force_promise(promise: Any) -> Any:
    """`(force promise)`: computing the value of a `delay` is a callback."""
    from functools import partial

    from sema_runtime.values.promises import force

    if getattr(promise, "thunk", None) is None:
        return force(promise)
    return call_native(_call, False, partial(force, promise))


def _call(function: Callable[[], Any]) -> Any:
    return function()


def calls_builtin(native: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether a call certainly calls back a builtin, which `begin` leaves as it is."""
    if not any(callable(arg) and not is_program_function(arg) for arg in args):
        return False
    least = 2 if native.__name__ == "sort" else 1
    sizes = [len(arg) for arg in args if hasattr(arg, "__len__")]  # the collection comes last
    return native.__name__ == "apply" or (bool(sizes) and sizes[-1] >= least)


def is_program_function(value: Any) -> bool:
    """Whether a value is a function of the program: what a builtin does with others can't call task builtins."""
    module = getattr(value, "__module__", None)
    return callable(value) and type(module) is str and not module.startswith("sema_runtime.")
