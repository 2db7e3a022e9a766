"""Streamed answers: iterators over pieces of text. Closing one ends its request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

from sema_runtime.ai.producer import Producer
from sema_runtime.tasks.hosted import outcome_of, scheduler_of
from sema_runtime.tasks.scheduler import scheduler

T = TypeVar("T")
Work = Callable[[Callable[[str], None]], T]


class _Pieces(Generic[T]):
    """What both kinds of streams share. text: what was read so far. result: the whole, once everything is read."""

    def __init__(self, producer: Producer) -> None:
        self._producer: Producer | None = producer
        self._pieces: list[str] = []
        self._result: T | None = None
        self._read = False

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def result(self) -> T:
        if not self._read:
            raise RuntimeError("the stream isn't at its end yet")
        return self._result  # type: ignore[return-value]

    def _take(self, end: type[Exception]) -> str | None:
        """Returns the next piece, None if there is none yet. Raises end after the last one, and what the work
        raised."""
        producer = self._producer
        if producer is None:
            raise end
        producer.begin()
        piece = producer.take()
        if piece is not None:
            self._pieces.append(piece)
        elif producer.ended:
            self._producer = None
            self._result = producer.result()
            self._read = True
            raise end
        return piece


class Stream(_Pieces[T]):
    """An async iterator over the pieces of an answer: `async for piece in stream`.

    Nothing is sent before the first piece is asked for. Leaving the loop early, `await stream.aclose()`, the end of
    `async with stream` and cancelling the asyncio task all end the request; what was used by then is charged.
    """

    def __init__(self, work: Work[T]) -> None:
        self._loop = asyncio.get_running_loop()
        super().__init__(Producer(scheduler_of(self._loop), work))

    def __aiter__(self) -> Stream[T]:
        return self

    async def __anext__(self) -> str:
        while (piece := self._take(StopAsyncIteration)) is None:
            await self._news()
        return piece

    async def _news(self) -> None:
        assert self._producer is not None
        waiting: asyncio.Future[None] = self._loop.create_future()
        self._producer.on_news = lambda: None if waiting.done() else waiting.set_result(None)
        try:
            await waiting
        except asyncio.CancelledError:
            await self.aclose()
            raise

    async def read(self) -> T:
        """Reads to the end and returns the result: for `ai.stream`, the whole text."""
        async for _ in self:
            pass
        return self.result

    async def aclose(self) -> None:
        """Ends the request, if it is still under way."""
        producer, self._producer = self._producer, None
        if producer is not None and producer.cancel():
            assert producer.task is not None
            try:
                await outcome_of(producer.task)
            except Exception:
                return

    async def __aenter__(self) -> Stream[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        producer = getattr(self, "_producer", None)  # missing when there is no running loop
        if producer is not None and producer.task is not None:
            producer.abandon()
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(producer.cancel)


class SyncStream(_Pieces[T]):
    """An iterator over the pieces of an answer. Leaving the loop early, `close()` and `with` end the request."""

    def __init__(self, work: Work[T]) -> None:
        super().__init__(Producer(scheduler(), work))

    def __iter__(self) -> SyncStream[T]:
        return self

    def __next__(self) -> str:
        while (piece := self._take(StopIteration)) is None:
            self._wait()
        return piece

    def _wait(self) -> None:
        producer = self._producer
        assert producer is not None
        waiter = producer.scheduler.waiter()
        producer.on_news = waiter.wake
        try:
            producer.scheduler.wait(waiter)
        except BaseException:
            self.close()
            raise

    def read(self) -> T:
        """Reads to the end and returns the result: for `stream`, the whole text."""
        for _ in self:
            pass
        return self.result

    def close(self) -> None:
        """Ends the request, if it is still under way."""
        producer, self._producer = self._producer, None
        if producer is not None and producer.cancel() and not producer.ended:
            waiter = producer.scheduler.waiter()
            producer.promise.watchers.append(waiter.wake)
            producer.scheduler.wait(waiter)

    def __enter__(self) -> SyncStream[T]:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if self._producer is not None:
            self._producer.abandon()
            self._producer.cancel()
