"""Servers on loopback for the tests of the network: an asyncio loop in a thread, and what servers are written with."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from llm_support import PROXIES as PROXIES
from llm_support import closed_port as closed_port
from llm_support import run as run

PATIENCE = 10  # seconds until something that should happen counts as not happening

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]]


class Received(NamedTuple):
    """A request as it came in; names of headers in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Background:
    """An asyncio loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of a coroutine, run there."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    @contextmanager
    def held(self, context: Any) -> Iterator[Any]:
        """An asynchronous context manager, entered and left there."""
        value = self.run(context.__aenter__())
        try:
            yield value
        finally:
            self.run(context.__aexit__(None, None, None))


background = Background()


@asynccontextmanager
async def _listening(handler: Handler, tls: Any) -> AsyncIterator[str]:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, asyncio.CancelledError):  # clients that hang up are part of the tests
            await handler(reader, writer)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=2048, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        server.close()


@contextmanager
def serving(handler: Handler, tls: Any = None) -> Iterator[str]:
    """The URL of a server that hands each connection to the handler, for the time of a `with`."""
    with background.held(_listening(handler, tls)) as url:
        yield url


async def received(reader: asyncio.StreamReader) -> Received:
    """The next request of a connection. Raises EOFError when there is none."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, target, headers, body)


def reply(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """A reply in HTTP's form. Underscores in the names of headers stand for `-`."""
    data = body.encode() if isinstance(body, str) else body
    lines = [
        f"{name.replace('_', '-')}: {value}" for name, value in {"content_length": str(len(data)), **headers}.items()
    ]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + data


def answering(data: bytes) -> Handler:
    """Sends the same bytes for each request."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await received(reader):
            writer.write(data)
            await writer.drain()

    return handler


async def stall(reader: asyncio.StreamReader) -> None:
    """Returns when the client hangs up."""
    while await reader.read(1024):
        pass


@contextmanager
def certified(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ssl.SSLContext, Callable[[], None]]]:
    """The TLS of a server on loopback with a certificate of its own, and what makes clients trust it."""
    from sema_runtime.net import tls

    if shutil.which("openssl") is None:
        pytest.skip("needs openssl for a certificate")
    key, certificate = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-days", "2"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def trust() -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        tls.tls_context.cache_clear()

    yield context, trust
    tls.tls_context.cache_clear()


class Happening:
    """Something that a server sees and a test waits for."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def happens(self) -> None:
        self.event.set()

    def happened(self) -> bool:
        """Waits for it."""
        return self.event.wait(PATIENCE)
