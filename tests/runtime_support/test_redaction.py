"""Keys in messages: parameters of URLs, passwords, headers that a server repeats, and what looks like a key."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sema_runtime.conditions.describe import condition_map
from sema_runtime.support.redaction import hidden, shown_url
from sema_runtime.support.secrets import REDACTED
from sema_runtime.values.printer import to_text
from semac.session import Session

KEY = "Zq81-very_secret"
NAMES = [
    "key", "KEY", "api_key", "apikey", "api-key", "token", "access_token", "sig", "signature", "client_secret",
    "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "X-Goog-Signature", "AWSAccessKeyId", "api%5Fkey",
    "password", "subscription-key", "my_api_key", "upload-token", "code",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "before", ["https://h.example/p?", "https://h.example/p?a=1&", "https://h.example/p#", "/p?a=b;"]
)
def test_parameters_that_are_keys(name: str, before: str) -> None:
    assert shown_url(f"{before}{name}={KEY}&z=2") == f"{before}{name}={REDACTED}&z=2"


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/search?q=key&page=2&monkey=1&keyword=x&design=y&zipcode=1",
        "the token is: not what was expected",
        "https://example.com/a@b/c?d=e",
        "Basic information about a key: value pairs",
        "authorize your app with a bearer of news",
    ],
)
def test_texts_without_keys_stay(text: str) -> None:
    assert hidden(text) == text


@pytest.mark.parametrize(
    "text",
    [
        f"http GET https://example.com/?key={KEY}: refused",
        f"see (https://example.com/?a=b&sig={KEY}).",
        f"https://ada:{KEY}@example.com/",
        f"https://:{KEY}@example.com/",
        f"Authorization: Bearer {KEY}",
        f"authorization: Basic {KEY}",
        f'{{"headers": {{"Authorization": "Bearer {KEY}"}}}}',
        f'{{"x-api-key":"{KEY}"}}',
        f"{{'api_key': '{KEY}'}}",
        f"x-goog-api-key={KEY}",
        f"Cookie: session={KEY}",
    ],
)
def test_keys_are_hidden_by_their_place(text: str) -> None:
    assert KEY not in hidden(text)
    assert hidden(hidden(text)) == hidden(text)


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-0123456789abcdef",
        "AIzaSyA-0123456789abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_0123456789abcdefghijklmn",
    ],
)
def test_keys_are_hidden_by_their_form(key: str) -> None:
    assert hidden(f"wrong key {key} given") == f"wrong key {REDACTED} given"


def test_long_texts_take_no_time() -> None:
    for piece in ("?key=", "a=", "authorization:", "://a:", '"key": "', "eyJ" + "a" * 20 + ".", ":", "Bearer "):
        hidden(piece * (200_000 // len(piece)))


# Where messages come from


@contextmanager
def answering(status: str, body: str) -> Iterator[str]:
    """The address of a server that gives one answer to all requests, and repeats their head in it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                head = connection.recv(1 << 16).decode("latin-1").replace("\r\n", "\n")
                text = body.replace("HEAD", json.dumps(head)[1:-1]).encode()
                connection.sendall(
                    f"HTTP/1.1 {status}\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n".encode()
                )
                connection.sendall(text)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def told(program: str) -> str:
    """Everything that a program's error says."""
    with pytest.raises(Exception) as caught:
        Session().run(program)
    return to_text(condition_map(caught.value)) + str(caught.value)


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    "program",
    [
        '(http/get "http://ada:KEY@127.0.0.1:PORT/x?token=KEY&api_key=KEY")',
        '(http/get "http://127.0.0.1:PORT/x?key=KEY" {:timeout -1})',
        '(http/get "htp://x/?key=KEY")',
        '(ws/connect "ws://127.0.0.1:PORT/x?access_token=KEY")',
        '(ws/connect "http://127.0.0.1:PORT/x?access_token=KEY")',
        '(mcp/connect {:url "http://127.0.0.1:PORT/mcp?api_key=KEY"})',
        '(mcp/connect {:url "htp://h/mcp?api_key=KEY"})',
        '(begin (llm/configure :mine {:api-key "k" :base-url "http://127.0.0.1:PORT/v1?key=KEY"}) (llm/complete "x"))',
        '(http/events "http://127.0.0.1:PORT/x?sig=KEY" (fn (e) e))',
    ],
)
def test_errors_without_an_answer(program: str, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_USAGE", "off")
    shown = told(program.replace("KEY", KEY).replace("PORT", str(closed_port)))
    assert KEY not in shown


def test_answers_that_repeat_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_USAGE", "off")
    with answering("401 Unauthorized", '{"error": {"message": "no: HEAD"}}') as host:
        program = f'(begin (llm/configure :mine {{:api-key "{KEY}" :base-url "http://{host}/v1?sig={KEY}"}})'
        assert KEY not in told(program + ' (llm/complete "x"))')
    with answering("500 Broken", '{"error": {"message": "no: HEAD"}}') as host:
        headers = f'{{"Authorization" "Bearer {KEY}" "X-Odd" "{KEY}"}}'
        assert KEY not in told(f'(mcp/connect {{:url "http://{host}/mcp?key={KEY}" :headers {headers}}})')


def test_journals_and_traces(tmp_path: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from sema_runtime.telemetry.names import error_message
    from sema_runtime.workflow.run.envelopes import shown

    error = ValueError(f"no route to https://h.example/?key={KEY}")
    assert KEY not in error_message(error) + shown(error)
