"""Providers that never end, trickle, or send JSON that costs: real sockets, every wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fault_wires import WIRES, Wire, whole
from llm_support import llm as llm
from net_support import received, serving

from sema_runtime.llm import http
from sema_runtime.values.errors import SemaError
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM = '(llm/stream "hi" (fn (piece) nil))'


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")


@contextmanager
def sending(begin: bytes, again: bytes, pause: float = 0.01) -> Iterator[str]:
    """The URL of a server that sends something, and then something else without end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(begin)
        while not writer.is_closing():
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(pause)

    with serving(serve) as url:
        yield url


def refused(wire: Wire, url: str, program: str) -> str:
    session = Session()
    session.run(wire.configure(url))
    with pytest.raises(SemaError) as caught:
        session.run(program)
    return caught.value.message


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


BEATS = {
    "openai": [b": ping\n\n", b": OPENROUTER PROCESSING\n\n", b"\n", b"retry: 1\n\n"],
    "anthropic": [b'event: ping\ndata: {"type": "ping"}\n\n', b": x\n"],
    "gemini": [b":\n\n"],
    "ollama": [b"\n", b" \n"],
}


@pytest.mark.parametrize(("name", "beat"), [(name, beat) for name, beats in BEATS.items() for beat in beats])
def test_a_stream_of_heartbeats_ends(name: str, beat: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TIMEOUT_MS", 250)
    wire = WIRES[name]
    for begin in (HEAD, HEAD + chunk(b"".join(wire.events[: wire.texts[0] + 1]))):
        with sending(begin, chunk(beat)) as url:
            assert refused(wire, url, STREAM) == f"HTTP error: no reply from {url} within 0.25 s"


@pytest.mark.parametrize("name", WIRES)
def test_a_reply_that_trickles_meets_the_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sema_runtime.llm.retry.sleep", lambda *_: None, raising=False)
    with sending(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{", b" ") as url:
        program = '(llm/complete "hi" {:timeout 80})'
        assert refused(WIRES[name], url, program) == f"HTTP error: no reply from {url} within 0.08 s"


def test_a_stream_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BYTES", 1_000_000)
    wire = WIRES["openai"]
    with sending(HEAD, chunk(wire.events[0] * 500), 0) as url:
        assert refused(wire, url, STREAM) == "Parse error: the stream is longer than 1000000 bytes"


@contextmanager
def replying(body: bytes) -> Iterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(whole(body))
        await writer.drain()
        writer.close()

    with serving(serve) as url:
        yield url


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("7" * 1_000_000, "the integer 77777777777777777777... has 1000000 digits; at most 20000 are read"),
        ("[" * 1_000_000, ""),
    ],
)
def test_replies_that_would_cost(name: str, value: str, reason: str) -> None:
    body = json.dumps(WIRES[name].whole).encode()
    with replying(body[:-1] + b', "extra": ' + value.encode() + b"}") as url:
        message = refused(WIRES[name], url, '(llm/complete "hi")')
    assert message.startswith("Parse error: reply is ")
    assert reason in message
    assert len(message) < 400


def tool_call(arguments: str) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "note", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"text": ' + "7" * 1_000_000 + "}", "the integer 77777777777777777777... has 1000000 digits"),
        ('{"text": ' + "[" * 200 + "]" * 200 + "}", "it is nested deeper than 127 levels"),
        ('{"text": ' + "[" * 100_000, "it is nested deeper than 127 levels"),
    ],
)
def test_arguments_of_tools_that_would_cost(arguments: str, reason: str) -> None:
    program = """
      (deftool note "Notes" {:text {:type :string}} (lambda (text) text))
      (defagent scribe {:system "s" :tools [note]})
      (agent/run scribe "go")"""
    with replying(json.dumps(tool_call(arguments)).encode()) as url:
        assert reason in refused(WIRES["openai"], url, f"(begin {program})")
