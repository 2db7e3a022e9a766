"""Turns of tasks around builtins that call back (`map`, `sort`, `apply`), as the reference's machine takes them.

A builtin that has called back gives the other tasks a turn when it ends. Exceptions are builtins that the reference's
machine runs inline: `map`, `filter`, `for-each` and the folds with callbacks that can't wait, and every builtin called
in these callbacks. In each callback, the first channel operation gives a turn even if it need not wait.

In programs with tasks, the compiler makes such calls with `call_native`.
"""

from __future__ import annotations

from sema_runtime.tasks.scheduler import scheduler
from sema_runtime.tasks.waiting import CALLING, Callbacks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# Builtins that keep or hand on other functions than their first argument: those are the program's own.
CALLING_THE_FIRST = frozenset(("apply", "foldl", "foldr"))


def call_native(native: Callable[..., Any], is_inline: bool, /, *args: Any) -> Any:
    """The result of a builtin. is_inline: whether the reference's machine runs it inline."""
    queue = scheduler()
    if queue.pulled is not None and queue.pulled.is_quiet:
        return native(*args)
    fiber = queue.current()
    outer = fiber.callback
    is_inline = is_inline or (outer is not None and outer.is_inline)
    callbacks = fiber.callback = Callbacks(is_inline, calls_builtin(native, args))
    queue.natives += 1
    CALLING.add(queue)
    try:
        called = args[:1] if native.__name__ in CALLING_THE_FIRST else args
        begun = [callbacks.begin(arg) if is_program_function(arg) else arg for arg in called]
        return native(*begun, *args[len(called) :])
    finally:
        queue.natives -= 1
        if not queue.natives:
            CALLING.discard(queue)
        fiber.callback = outer
        if callbacks.is_used or (callbacks.has_begun and not is_inline):
            queue.pause()


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
