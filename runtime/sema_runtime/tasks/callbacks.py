"""Turns of tasks around builtins that call back (`map`, `sort`, `apply`), as the reference's machine takes them.

A builtin that calls back gives the other tasks a turn when it ends, but for those that the reference's machine runs
inline: `map`, `filter`, `for-each` and the folds with callbacks that can't wait, and every builtin called in these
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
    """The callbacks of one call of a builtin. is_used: one has called a task builtin; is_fresh: the current has not;
    is_inline: the call gives no turn unless one is used."""

    __slots__ = ("is_fresh", "is_inline", "is_used")

    def __init__(self, is_inline: bool) -> None:
        self.is_inline = is_inline
        self.is_used = self.is_fresh = False

    def begin(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, each call of which is a callback."""

        def callback(*args: Any) -> Any:
            self.is_fresh = True
            return function(*args)

        return callback


def call_native(native: Callable[..., Any], is_inline: bool, /, *args: Any) -> Any:
    """The result of a builtin. is_inline: whether the reference's machine runs it inline."""
    here = scheduler()
    strand = here.current()
    outer = strand.callback
    callbacks = strand.callback = Callbacks(is_inline or (outer is not None and outer.is_inline))
    here.natives += 1
    try:
        return native(*[callbacks.begin(arg) if is_program_function(arg) else arg for arg in args])
    finally:
        here.natives -= 1
        strand.callback = outer
        if callbacks.is_used or not callbacks.is_inline:
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


def is_program_function(value: Any) -> bool:
    """Whether a value is a function of the program: what a builtin does with others can't call task builtins."""
    module = getattr(value, "__module__", None)
    return callable(value) and type(module) is str and not module.startswith("sema_runtime.")
