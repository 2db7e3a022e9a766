"""What the faults of tests/network/test_llm_faults.py are made of: replies and streams of each wire, and a server that
follows a script for each request it gets."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any, NamedTuple

from llm_support import chat_reply, claude_reply
from net_support import Happening, received, stall

RESET = object()  # the connection is reset
STALL = object()  # nothing more comes; waits until the client hangs up
Script = list[Any]  # bytes to send, RESET or STALL; then the connection is closed


class Wire(NamedTuple):
    """name: of the provider. option: what takes its URL. whole: a good reply. events: the pieces of a good stream of
    `Hello world`; two of them carry text, the numbers of which are in texts."""

    name: str
    option: str
    whole: Any
    events: list[bytes]
    texts: tuple[int, int]
    said_before: int  # tokens of the prompt that the server has reported when the first text comes

    def configure(self, url: str) -> str:
        return f'(llm/configure :{self.name} {{:api-key "key-of-the-test" {self.option} "{url}" :default-model "m"}})'


def _sse(value: Any, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(value).encode() + b"\n\n"


def _delta(text: str) -> bytes:
    return _sse({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})


def _claude(kind: str, **fields: Any) -> bytes:
    return _sse({"type": kind, **fields}, kind)


def _claude_text(text: str) -> bytes:
    return _claude("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def _gemini(text: str, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]}, **more}]}


def _ollama(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", "content": text}, "done": False, **more}


GEMINI_USAGE = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
OLLAMA_END = {"done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2}

WIRES = {
    "openai": Wire(
        "local",
        ":base-url",
        chat_reply("Hello world"),
        [
            _delta("Hello "),
            _delta("world"),
            _sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
            _sse({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
            b"data: [DONE]\n\n",
        ],
        (0, 1),
        0,
    ),
    "anthropic": Wire(
        "anthropic",
        ":base-url",
        claude_reply({"type": "text", "text": "Hello world"}),
        [
            _claude("message_start", message={"id": "m1", "model": "m", "usage": {"input_tokens": 3}}),
            _claude("content_block_start", index=0, content_block={"type": "text", "text": ""}),
            _claude_text("Hello "),
            _claude_text("world"),
            _claude("content_block_stop", index=0),
            _claude("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2}),
            _claude("message_stop"),
        ],
        (2, 3),
        3,
    ),
    "gemini": Wire(
        "gemini",
        ":base-url",
        {**_gemini("Hello world", finishReason="STOP"), "usageMetadata": GEMINI_USAGE},
        [
            _sse({**_gemini("Hello "), "usageMetadata": {**GEMINI_USAGE, "candidatesTokenCount": 1}}),
            _sse({**_gemini("world", finishReason="STOP"), "usageMetadata": GEMINI_USAGE}),
        ],
        (0, 1),
        3,
    ),
    "ollama": Wire(
        "ollama",
        ":host",
        _ollama("Hello world", **OLLAMA_END),
        [json.dumps(one).encode() + b"\n" for one in (_ollama("Hello "), _ollama("world"), _ollama("", **OLLAMA_END))],
        (0, 1),
        0,
    ),
}


# Scripts


class Complete(bytes):
    """A reply behind which the connection can be used again."""


def whole(body: Any, status: int = 200, headers: str = "", length: int | None = None) -> bytes:
    """A reply in one piece. headers: further lines. length: announced instead of the true one."""
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    kind = "" if "content-type" in headers else "content-type: application/json\r\n"
    size = len(data) if length is None else length
    made = f"HTTP/1.1 {status} X\r\ncontent-length: {size}\r\n{kind}{headers}\r\n".encode() + data
    return Complete(made) if length is None else made


def streamed(pieces: list[bytes], ends: bool = True) -> bytes:
    """A stream; without its end the transfer is incomplete."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
    return Complete(head + chunks + b"0\r\n\r\n") if ends else head + chunks


class Scripted:
    """A server's handler: the nth request gets the nth script, the last one again and again."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = scripts
        self.requests: list[Any] = []
        self.asked, self.hung_up = Happening(), Happening()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            self.requests.append(await received(reader))
            script = self.scripts[min(len(self.requests), len(self.scripts)) - 1]
            self.asked.happens()
            for step in script:
                await self._do(step, reader, writer)
            if not (script and isinstance(script[-1], Complete)):
                return

    async def _do(self, step: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if step is RESET:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        elif step is STALL:
            try:
                await stall(reader)
            finally:
                self.hung_up.happens()
        else:
            writer.write(step)
            await writer.drain()
