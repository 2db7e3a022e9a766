"""Calls that plain Python can't express: tail calls of unknown functions, functions and their Sema names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class TailCall:
    """A call handed back to the `tail_call` that is waiting for it."""

    __slots__ = ("args", "function")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args


def tail_call(function: Callable[..., Any], *args: Any) -> Any:
    """Calls function in tail position without growing the stack.

    Emitted as `return tail_call(f, x)`. When the function that says so was itself called by a `tail_call`, the call is
    handed back to that one, which loops; otherwise this one becomes the loop. Chains of any length use three frames.
    """
    if sys._getframe(2).f_code is _CODE:
        return TailCall(function, args)
    result = function(*args)
    while type(result) is TailCall:
        result = result.function(*result.args)
    return result


_CODE = tail_call.__code__
