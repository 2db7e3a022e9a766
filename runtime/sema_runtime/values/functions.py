"""Tail calls of unknown functions, which plain Python can't express."""

from __future__ import annotations

import sys

from sema_runtime.native import enters_natively
from sema_runtime.values.lists import List
from sema_runtime.values.matching import iterate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

FUNCTION: type = type(lambda: None)


class TailCall:
    """A call that is returned to the `tail_call` that waits for it."""

    __slots__ = ("args", "function")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args


def tail_call(function: Callable[..., Any], *args: Any) -> Any:
    """Calls function in tail position without growing the stack.

    Emitted as `return tail_call(f, x)`. When the function with this call was itself called by a `tail_call`, the call
    is returned to that one, which loops; otherwise this one becomes the loop. Chains of any length use three frames.
    """
    if type(function) is not FUNCTION:
        return _foreign_call(function, args)
    code: CodeType | None = None
    try:
        frame = sys._getframe(2)
        code = frame.f_code
    except ValueError:  # called by no Python code: the first function of a thread
        pass
    if (code is _CODE or code is _APPLY or code is _IN_TAIL or code is _APPLY_IN_TAIL) and not enters_natively(frame):
        return TailCall(function, args)
    result: Any = function(*args)
    while type(result) is TailCall:
        result = result.function(*result.args)
    return result


def call_in_tail(is_tail: bool, function: Callable[..., Any], *args: Any) -> Any:
    """`tail_call` for native code, which has no frame. is_tail: whether its caller was called by one of these."""
    if type(function) is not FUNCTION:
        return _foreign_call(function, args)
    if is_tail:
        return TailCall(function, args)
    result: Any = function(*args)
    while type(result) is TailCall:
        result = result.function(*result.args)
    return result


def _foreign_call(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Calls something that may call back without a frame of its own (`functools.reduce`); this frame marks it."""
    return function(*args)


def tail_apply(function: Callable[..., Any], *args: Any) -> Any:
    """`(apply f a b items)` in tail position, with the flat stack of `tail_call`."""
    last = args[-1]
    items = (last.flat or last.items) if type(last) is List else iterate(last, "apply")
    arguments = (*args[:-1], *items)
    if type(function) is not FUNCTION:
        return _foreign_apply(function, arguments)
    code: CodeType | None = None
    try:
        frame = sys._getframe(2)
        code = frame.f_code
    except ValueError:
        pass
    if (code is _CODE or code is _APPLY or code is _IN_TAIL or code is _APPLY_IN_TAIL) and not enters_natively(frame):
        return TailCall(function, arguments)
    result: Any = function(*arguments)
    while type(result) is TailCall:
        result = result.function(*result.args)
    return result


def apply_in_tail(is_tail: bool, function: Callable[..., Any], *args: Any) -> Any:
    """`tail_apply` for native code."""
    last = args[-1]
    items = (last.flat or last.items) if type(last) is List else iterate(last, "apply")
    arguments = (*args[:-1], *items)
    if type(function) is not FUNCTION:
        return _foreign_apply(function, arguments)
    if is_tail:
        return TailCall(function, arguments)
    result: Any = function(*arguments)
    while type(result) is TailCall:
        result = result.function(*result.args)
    return result


def _foreign_apply(function: Any, arguments: tuple[Any, ...]) -> Any:
    if not callable(function):
        from sema_runtime.values.errors import type_error

        type_error("callable", function)
    return _foreign_call(function, arguments)


# Code that calls what it is given, and goes on with a call that it gets back.
_CODE, _APPLY = tail_call.__code__, tail_apply.__code__
_IN_TAIL, _APPLY_IN_TAIL = call_in_tail.__code__, apply_in_tail.__code__
TRAMPOLINES = (_CODE, _APPLY, _IN_TAIL, _APPLY_IN_TAIL)
