"""http/events against real servers on loopback: whole streams, broken ones, and those that are left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from net_support import PROXIES, Happening, answering, received, reply, run, serving, stall

from sema_runtime import tasks
from sema_runtime.values.errors import IoError, SemaError
from sema_runtime.values.printer import to_text


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


def event_stream(*pieces: bytes, cut: bool = False) -> Any:
    """A server that sends an event stream piece by piece."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n")
        writer.write(b"transfer-encoding: chunked\r\n\r\n")
        for piece in pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
        if cut:
            await stall(reader)
        else:
            writer.write(b"0\r\n\r\n")

    return handler


def test_events() -> None:
    pieces = (b": hello\n\nda", b"ta: 1\ndata: 2\n\nid: 7\nevent: tick\nda", "ta: é\n\n".encode())
    with serving(event_stream(*pieces)) as url:
        value = run(f"""
            (define seen '())
            (define last (http/events "{url}" (fn (e) (set! seen (cons e seen)))))
            (list last (reverse seen))""")
    assert to_text(value) == ('("7" ({:data "1\\n2" :event "message" :id nil} {:data "é" :event "tick" :id "7"}))')


def test_events_of_a_request_with_a_body() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got = await received(reader)
        said = f"{got.method} {got.headers['accept']} {got.headers['last-event-id']} {got.body.decode()}"
        writer.write(reply(f"data: {said}\n\n", content_type="text/event-stream"))

    options = '{:method "post" :body {:q 1} :headers {:last-event-id "6"}}'
    with serving(handler) as url:
        assert run(f'(define s nil) (http/events "{url}" {options} (fn (e) (set! s (:data e)))) s') == (
            'POST text/event-stream 6 {"q":1}'
        )


def test_a_handler_ends_the_stream() -> None:
    hung_up = Happening()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await event_stream(b"data: 1\n\ndata: 2\n\n", cut=True)(reader, writer)
        hung_up.happens()

    with serving(handler) as url:
        assert run(f'(define n 0) (http/events "{url}" (fn (e) (set! n (+ n 1)) :stop)) n') == 1
        tasks.suspend(asyncio.to_thread(hung_up.happened))
        assert hung_up.event.is_set()
        with pytest.raises(SemaError, match="enough"):
            run(f'(http/events "{url}" (fn (e) (error "enough")))')


@pytest.mark.parametrize(
    ("server", "options", "reason"),
    [
        (answering(reply("gone", "410 Gone")), "", "status 410: gone"),
        (answering(reply("<html>", content_type="text/html")), "", "expected text/event-stream, got text/html"),
        (answering(reply("x")), "", "expected text/event-stream, got a reply without a content type"),
        (event_stream(b"data: 1\n\n", cut=True), ":timeout 100", "timed out after 100 ms"),
        (event_stream(b"data: " + b"x" * 100, cut=True), ":max-bytes 99", "an event is larger than 99 bytes"),
    ],
)
def test_streams_that_fail(server: Any, options: str, reason: str) -> None:
    with serving(server) as url:
        with pytest.raises(IoError) as caught:
            run(f'(http/events "{url}" {{{options}}} (fn (e) e))')
        assert caught.value.message == f"http GET {url}: {reason}"


def test_events_in_a_cancelled_task() -> None:
    hung_up = Happening()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await event_stream(b"data: 1\n\n", cut=True)(reader, writer)
        hung_up.happens()

    with serving(handler) as url:
        run(f"""
            (define c (channel/new 1))
            (define p (async (http/events "{url}" (fn (e) (channel/send c 1) (async/sleep 100000)))))
            (channel/recv c)
            (async/cancel p)
            (sleep 1)""")
        tasks.suspend(asyncio.to_thread(hung_up.happened))
        assert hung_up.event.is_set()
