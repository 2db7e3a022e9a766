"""Python's asyncio from Sema: awaitables, asynchronous iterators and context managers, and coroutine functions.

The forms (`await`, `py/async-with`, `py/async-for`) are in `semac/analyze/forms/python_async.py`.
"""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@builtin("py/async", type="later fn -> fn", cap="python")
def py_async(function: Any) -> Any:
    """The coroutine function of a function, for libraries that await their callbacks: Starlette, aiohttp, asyncio.

    It runs as a task of the loop that awaits it; its waits leave the loop free.

    (define double (py/async (fn (x) (async/sleep 1) (* 2 x))))
    (await (double 4)) => 8
    """
    from sema_runtime.interop import asynchronous

    if not callable(function):
        type_error("callable", function)
    return asynchronous(function)


@builtin("py/async-iter", type="keep any -> any", cap="python")
def py_async_iter(iterable: Any) -> Iterator[Any]:
    """An iterator over an asynchronous one: it waits for each item, and other tasks run meanwhile.

    ; (fn (response) (py/iter->list (py/async-iter (.aiter_lines response))))
    """
    from sema_runtime.tasks import suspend

    items = type(iterable).__aiter__(iterable)
    following = type(items).__anext__
    while True:
        try:
            item = suspend(_coroutine(following(items)))
        except StopAsyncIteration:
            return
        yield item


async def _coroutine(awaitable: Any) -> Any:
    """asyncio makes a task of a coroutine, but not of what the methods of an asynchronous generator return."""
    return await awaitable


@builtin("py/for-each", type="now (any -> any), keep any -> nil", cap="python")
def py_for_each(function: Any, iterable: Any) -> None:
    """Calls function with each item of anything iterable, as the items come: generators, files, cursors, sets.

    (py/for-each println (py/set [1])) prints 1
    """
    if not callable(function):
        type_error("callable", function)
    for item in iterable:
        function(item)


class Waiting:
    """A context manager that stands for an asynchronous one: it waits for its entry and its exit."""

    def __init__(self, manager: Any) -> None:
        self.manager = manager

    def __enter__(self) -> Any:
        from sema_runtime.tasks import suspend

        return suspend(_coroutine(type(self.manager).__aenter__(self.manager)))

    def __exit__(self, *error: Any) -> Any:
        from sema_runtime.tasks import finish

        return finish(_coroutine(type(self.manager).__aexit__(self.manager, *error)))


class InLoop:
    """While it is open, code finds the running loop that it will be awaited in, as `aiohttp.ClientSession` asks for."""

    def __enter__(self) -> None:
        from asyncio import _get_running_loop, _set_running_loop

        from sema_runtime.tasks.scheduler import scheduler

        self.is_marked = _get_running_loop() is None
        if self.is_marked:
            _set_running_loop(scheduler().loop())

    def __exit__(self, *_: object) -> None:
        from asyncio import _set_running_loop

        if self.is_marked:
            _set_running_loop(None)
