"""Recorded traffic of real servers: reading it, what the official SDKs make of it, what we make of it.

A recording is one request and its reply. Sources: VCR files (`cassettes/**/*.yaml`, `.yaml.gz`) as they come in source
distributions, and the small JSON files of tests/data/llm/recordings.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import Reply, Request
from sema_runtime.llm.providers import PRESETS, Provider
from sema_runtime.llm.transport import wire_of


@dataclass
class Recording:
    """wire: openai, anthropic, gemini or ollama. body: the request's JSON. reply: the bytes as they came."""

    source: str
    wire: str
    url: str
    body: dict[str, Any]
    status: int
    content_type: str
    reply: bytes

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def stream(self) -> bool:
        return (
            "event-stream" in self.content_type
            or "ndjson" in self.content_type
            or self.reply.startswith((b"data:", b"event:"))
        )


# Reading


def in_folder(folder: Path) -> Iterator[Recording]:
    """Every recording of a chat below a folder that one of our wires speaks."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "cassettes" in str(file) and file.name.endswith((".yaml", ".yaml.gz")):
            yield from in_file(file, str(file.relative_to(folder)))


def in_file(file: Path, source: str) -> Iterator[Recording]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    try:
        value = yaml.load(raw, loader)
    except yaml.YAMLError:
        return
    if not isinstance(value, dict):
        return
    pairs = [(one.get("request"), one.get("response")) for one in value.get("interactions") or ()]
    pairs += zip(value.get("requests") or (), value.get("responses") or (), strict=False)
    for number, (request, response) in enumerate(pairs):
        made = _recording(f"{source}#{number}", request or {}, response or {})
        if made is not None:
            yield made


def _recording(source: str, request: dict[str, Any], response: dict[str, Any]) -> Recording | None:
    body = request.get("parsed_body") or _decoded(_bytes(request.get("body")))
    if not isinstance(body, dict) or request.get("method") != "POST":
        return None
    reply = response.get("parsed_body")
    data = _bytes(response.get("body")) if reply is None else json.dumps(reply, ensure_ascii=False).encode()
    wire = _wire(request.get("uri") or "", data)
    if wire is None or not data:
        return None
    headers = {key.lower(): value for key, value in (response.get("headers") or {}).items()}
    kind = headers.get("content-type") or ""
    status = response.get("status") or response.get("status_code") or 200
    return Recording(
        source=source,
        wire=wire,
        url=request.get("uri") or "",
        body=body,
        status=int(status["code"] if isinstance(status, dict) else status),
        content_type=kind[0] if isinstance(kind, list) else kind,
        reply=data,
    )


def _bytes(value: Any) -> bytes:
    if isinstance(value, dict):
        value = value.get("string", value.get("base64_string"))
    data = value.encode() if isinstance(value, str) else value or b""
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _wire(url: str, reply: bytes) -> str | None:
    path = urlsplit(url).path
    if path.endswith("/chat/completions"):
        return "openai"
    if path.endswith("/v1/messages"):
        return "anthropic"
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return "gemini"
    if path.endswith("/api/chat"):
        return "ollama"
    if "REDACTED" in url:  # langchain's recordings hide them
        return "openai" if b'"chat.completion' in reply else "anthropic" if b'"stop_reason"' in reply else None
    return None


def load(file: Path) -> Recording:
    """One of our own JSON files."""
    value = json.loads(file.read_text())
    reply = value["reply"] if isinstance(value["reply"], str) else json.dumps(value["reply"], ensure_ascii=False)
    return Recording(
        file.stem, value["wire"], value["url"], value["request"], value["status"], value["type"], reply.encode()
    )


# What we make of it


@dataclass
class Outcome:
    """What a reply says. calls: (id, name, arguments); ids are None where the wire has none. tokens: (prompt,
    completion, read from cache)."""

    content: str
    calls: list[tuple[str | None, str, Any]]
    tokens: tuple[int, int, int]
    stop: str | None

    @classmethod
    def of(cls, reply: Reply, ids: bool) -> Outcome:
        calls = [(call.id if ids else None, call.name, call.arguments) for call in reply.tool_calls]
        usage = reply.usage
        return cls(reply.content, calls, (usage.prompt, usage.completion, usage.cache_read), reply.stop_reason)


def provider_of(recording: Recording) -> Provider:
    """The provider that would have sent it."""
    for name, preset in PRESETS.items():
        if preset.wire == recording.wire and urlsplit(preset.base_url).hostname == recording.host:
            return Provider(name, preset.wire, preset.base_url, preset.model, "k", preset.stream_usage)
    return Provider("local", recording.wire, "http://localhost/v1", "m", "k")


def ours(recording: Recording, pieces: list[bytes] | None = None) -> Outcome:
    """What our wire makes of the reply; pieces: the reply's bytes, split. Raises ProviderError."""
    wire = wire_of(provider_of(recording))
    request = Request([], model="?")
    if not recording.stream:
        reply = wire.parse(recording.reply.decode(), request)
    else:
        reader, splitter = wire.StreamReader(request), wire.splitter()
        heard = []
        for piece in [*(pieces or [recording.reply]), None]:
            for event in splitter.close() if piece is None else splitter.feed(piece):
                if not reader.done:
                    heard.append(reader.feed(event))
        reply = reader.reply()
        assert "".join(heard) == reply.content
    return Outcome.of(reply, recording.wire in ("openai", "anthropic"))


def events(recording: Recording, pieces: list[bytes]) -> list[Any]:
    """What our splitter makes of the reply's bytes."""
    splitter = wire_of(provider_of(recording)).splitter()
    return [event for piece in pieces for event in splitter.feed(piece)] + splitter.close()


# What the official SDKs make of it


def theirs(recording: Recording) -> Outcome:
    """What the provider's own client makes of the same bytes. Raises the client's exceptions."""
    readers = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini, "ollama": _ollama}
    return readers[recording.wire](recording)


def _transport(recording: Recording, http: Any = httpx) -> Any:
    """http: httpx, or the library of the same interface that a client wants instead."""
    headers = {"content-type": recording.content_type or "application/json"}
    return http.MockTransport(lambda _: http.Response(recording.status, headers=headers, content=recording.reply))


def _openai(recording: Recording) -> Outcome:
    import groq
    import openai

    sdk: Any = groq if "groq" in recording.host else openai
    make = sdk.Groq if sdk is groq else sdk.OpenAI
    client = make(api_key="k", max_retries=0, http_client=httpx.Client(transport=_transport(recording)))
    chat: Any = __import__(f"{sdk.__name__}.types.chat", fromlist=["ChatCompletion"])
    options = {"body": recording.body, "cast_to": chat.ChatCompletion}
    if not recording.stream:
        whole = client.post("/chat/completions", **options)
        choice = whole.choices[0]
        called = [
            (call.id, call.function.name, _arguments(call.function.arguments))
            for call in choice.message.tool_calls or ()
        ]
        text = _joined(choice.message.content) or getattr(choice.message, "refusal", None) or ""
        return Outcome(text, called, _openai_tokens(whole.usage), choice.finish_reason)
    chunks = client.post("/chat/completions", **options, stream=True, stream_cls=sdk.Stream[chat.ChatCompletionChunk])
    return _openai_chunks(list(chunks))


def _openai_chunks(chunks: list[Any]) -> Outcome:
    text, stop, usage = "", None, None
    calls: dict[int, list[Any]] = {}
    for chunk in chunks:
        usage = chunk.usage or getattr(getattr(chunk, "x_groq", None), "usage", None) or usage
        for choice in chunk.choices:
            if choice.index:
                continue
            text += _joined(choice.delta.content) or getattr(choice.delta, "refusal", None) or ""
            stop = choice.finish_reason or stop
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(piece.index, [None, "", ""])
                call[0] = piece.id or call[0]
                call[1] += piece.function.name or ""
                call[2] += piece.function.arguments or ""
    called = [(i, name, _arguments(arguments)) for _, (i, name, arguments) in sorted(calls.items())]
    return Outcome(text, called, _openai_tokens(usage), stop)


def _joined(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part.get("text"), str))
    return content or ""


def _openai_tokens(usage: Any) -> tuple[int, int, int]:
    if usage is None:
        return 0, 0, 0
    details = getattr(usage, "prompt_tokens_details", None)
    return usage.prompt_tokens or 0, usage.completion_tokens or 0, getattr(details, "cached_tokens", None) or 0


def _anthropic(recording: Recording) -> Outcome:
    import anthropic
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import Message as Whole
    from anthropic.types import RawMessageStreamEvent

    http: Any = getattr(anthropic._base_client, "httpx2", httpx)  # what it uses since 2.0
    client = anthropic.Anthropic(
        api_key="k", max_retries=0, http_client=http.Client(transport=_transport(recording, http))
    )
    options: dict[str, Any] = {"body": recording.body, "cast_to": Whole}
    if not recording.stream:
        whole: Any = client.post("/v1/messages", **options)
        texts = "\n".join(block.text for block in whole.content if block.type == "text")
    else:
        whole = None
        buffers: dict[int, bytes] = {}
        kind: Any = anthropic.Stream[RawMessageStreamEvent]
        for event in client.post("/v1/messages", **options, stream=True, stream_cls=kind):
            whole = accumulate_event(event=event, current_snapshot=whole, json_bufs=buffers)
        texts = "".join(block.text for block in whole.content if block.type == "text")
    called = [(block.id, block.name, block.input) for block in whole.content if block.type == "tool_use"]
    usage = whole.usage
    tokens = (usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens or 0)
    return Outcome(texts, called, tokens, whole.stop_reason)


def _gemini(recording: Recording) -> Outcome:
    from google import genai
    from google.genai import types

    options = types.HttpOptions(api_version="v1beta", httpx_client=httpx.Client(transport=_transport(recording)))
    client = genai.Client(api_key="k", http_options=options)
    models: Any = client.models
    stream = recording.stream
    replies = (
        list(models.generate_content_stream(model="m", contents="x"))
        if stream
        else [models.generate_content(model="m", contents="x")]
    )
    texts: list[str] = []
    called: list[tuple[str | None, str, Any]] = []
    used = None
    for reply in replies:
        used = reply.usage_metadata or used
        for part in ((reply.candidates or [None])[0] and (reply.candidates[0].content or types.Content()).parts) or ():
            if part.text is not None and not part.thought:
                texts.append(part.text)
            if part.function_call:
                called.append((None, part.function_call.name or "", part.function_call.args or {}))
    count = used or types.GenerateContentResponseUsageMetadata()
    tokens = (
        count.prompt_token_count or 0,
        (count.candidates_token_count or 0) + (count.thoughts_token_count or 0),
        count.cached_content_token_count or 0,
    )
    return Outcome(("" if stream else "\n").join(texts), called, tokens, "tool_use" if called else "stop")


def _ollama(recording: Recording) -> Outcome:
    import ollama

    client = ollama.Client(host="http://localhost", transport=_transport(recording))
    made = client._request(  # the public methods would check the request again
        ollama.ChatResponse, "POST", "/api/chat", json=recording.body, stream=recording.stream
    )
    chunks: list[Any] = list(made) if recording.stream else [made]
    called = [
        (None, call.function.name, dict(call.function.arguments))
        for chunk in chunks
        for call in chunk.message.tool_calls or ()
    ]
    last = chunks[-1]
    text = "".join(chunk.message.content or "" for chunk in chunks)
    return Outcome(
        text,
        called,
        (last.prompt_eval_count or 0, last.eval_count or 0, 0),
        "tool_use" if called else last.done_reason or "stop",
    )


def _arguments(text: str | None) -> Any:
    """As the contract says: {} for what is no JSON."""
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return {}


# Errors


def our_error(recording: Recording) -> str:
    """Our message for a reply that is not 2xx, without its prefix."""
    from sema_runtime.llm.wires.common import status_error

    error: ProviderError = status_error(recording.status, recording.reply.decode(), None)
    return error.message.partition(" - ")[2] or error.message


def their_error(recording: Recording) -> str:
    """The message that the official client finds in it."""
    try:
        theirs(recording)
    except Exception as error:
        body = getattr(error, "body", None)
        inner = body.get("error", body) if isinstance(body, dict) else None
        return str(inner.get("message") if isinstance(inner, dict) else getattr(error, "message", error))
    raise AssertionError("the client raised nothing")


# The same conversation in our terms


def rebuilt(recording: Recording) -> dict[str, Any]:
    """The body that our wire makes of the recorded conversation. Raises Beyond."""
    from request_readers import request_of

    provider = provider_of(recording)
    request = request_of(recording.wire, recording.body, recording.url)
    made: dict[str, Any] = wire_of(provider).body(provider, request, bool(recording.body.get("stream")))
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]
