"""Coroutines that await Sema functions: many on one thread, cancelled, failing, with a context, under a server."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
from contextvars import ContextVar
from typing import Any

import httpx
import pytest
import uvicorn

from sema_runtime.interop import SemaError, Thrown, asynchronous, keyword, run
from semac.session import Session

PROGRAM = """
(define (slow-double x) (async/sleep 1) (* 2 x))
(define (later n) (async/sleep 5) n)
(define (fan-out n) (foldl + 0 (async/all (map (fn (i) (async (later i))) (range n)))))
(define (fails x) (async/sleep 1) (throw {:code x}))
(define (waits log) (try (async/sleep 60000) (catch e (log (:type e)))))
(define (stubborn log) (try (async/sleep 60000) (catch e (log 1))) (async/sleep 60000) (log 2))
(define (calls f) (f))
(define (serve text) (async/sleep 1) (string/upper text))
"""


@pytest.fixture(scope="module")
def module() -> Any:
    session = Session()
    session.run(PROGRAM)
    return type("Module", (), {name: staticmethod(f) for name, f in session.globals.items() if callable(f)})


def limited(main: Any) -> Any:
    async def inside() -> Any:
        return await asyncio.wait_for(main(), 20)

    return asyncio.run(inside())


def test_thousands_wait_on_one_thread(module: Any) -> None:
    async def main() -> list[int]:
        threads = threading.active_count()
        found = await asyncio.gather(*(run(module.slow_double, n) for n in range(3000)))
        assert threading.active_count() == threads
        return found

    assert limited(main) == [2 * n for n in range(3000)]


def test_arguments_by_name_and_a_coroutine_function(module: Any) -> None:
    double = asynchronous(module.slow_double)
    assert inspect.iscoroutinefunction(double) and double.__name__ == "slow_double"
    assert limited(lambda: double(x=4)) == 8
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        limited(lambda: double(y=4))


def test_tasks_inside_of_the_function(module: Any) -> None:
    assert limited(lambda: run(module.fan_out, 100)) == 4950


def test_errors_are_those_of_a_plain_call(module: Any) -> None:
    with pytest.raises(Thrown) as thrown:
        limited(lambda: run(module.fails, 3))
    assert thrown.value.value["code"] == 3

    def broken() -> None:
        raise LookupError("k")

    with pytest.raises(LookupError):
        limited(lambda: run(module.calls, broken))
    with pytest.raises(SemaError, match="expected"):
        limited(lambda: run(module.slow_double, "a"))


def test_cancelling_is_seen_by_the_function_and_waited_for(module: Any) -> None:
    seen: list[Any] = []

    async def main() -> None:
        for function in (module.waits, module.stubborn):
            task = asyncio.create_task(run(function, seen.append))
            await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert seen == [keyword("cancelled"), 1]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.005):
                await run(module.fan_out, 1000)

    limited(main)


def test_a_task_that_is_cancelled_before_it_begins(module: Any) -> None:
    seen: list[Any] = []

    async def main() -> None:
        task = asyncio.create_task(run(module.calls, lambda: seen.append(1)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    limited(main)
    assert seen == []


def test_the_function_shares_the_context_of_the_coroutine(module: Any) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="unset")

    def look() -> str:
        before = variable.get()
        variable.set(f"{before} and seen")
        return before

    async def main() -> None:
        variable.set("set")
        assert await run(module.calls, look) == "set"
        assert variable.get() == "set and seen"
        assert await asyncio.create_task(run(module.calls, look)) == "set and seen"
        assert variable.get() == "set and seen"  # a task of asyncio has a context of its own
        token = variable.set("scoped")
        await run(module.calls, look)
        variable.reset(token)
        assert variable.get() == "set and seen"

    limited(main)


def test_a_task_group(module: Any) -> None:
    seen: list[Any] = []

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(run(module.waits, seen.append))
            group.create_task(run(module.fails, 1))

    with pytest.raises(ExceptionGroup) as caught:
        limited(main)
    (one,) = caught.value.exceptions
    assert isinstance(one, Thrown) and seen == [keyword("cancelled")]


def test_requests_of_a_real_server(module: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        text = await run(module.serve, scope["path"][1:])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": text.encode()})

    async def main() -> list[str]:
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        async with httpx.AsyncClient(trust_env=False) as client:
            base = f"http://127.0.0.1:{listening.getsockname()[1]}"
            replies = await asyncio.gather(*(client.get(f"{base}/page-{n}") for n in range(20)))
        server.should_exit = True
        await serving
        return [reply.text for reply in replies]

    assert limited(main) == [f"PAGE-{n}" for n in range(20)]
