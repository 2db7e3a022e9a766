"""ws/connect and its family against real servers on loopback: of the websockets package, and raw ones for faults."""

from __future__ import annotations

import asyncio
import builtins
from pathlib import Path
from typing import Any

import pytest
from net_support import PROXIES, Happening, answering, certified, closed_port, received, reply, run, serving, stall
from websocket_support import echo, goodbye, shown, talking
from websockets.asyncio.server import ServerConnection

from sema_runtime import capabilities
from sema_runtime.lib.network import websocket
from sema_runtime.values.errors import IoError, PermissionDenied, SemaError, SemaTypeError
from sema_runtime.values.printer import to_text


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


def failure(program: str) -> IoError:
    with pytest.raises(IoError) as caught:
        run(program)
    return caught.value


# Messages


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ('"hello é😀"', '{:text "re:hello é😀"}'),
        ('""', '{:text "re:"}'),
        ("(bytevector 1 255)", "{:binary #u8(1 255)}"),
        ('{:n 42 :a "x"}', r'{:text "re:{\"a\":\"x\",\"n\":42}"}'),
        ('{:json [1 "a" nil]}', r'{:text "re:[1,\"a\",null]"}'),
        ("{:json nil}", '{:text "re:null"}'),
        ('{:text "t"}', '{:text "re:t"}'),
        ("{:binary (bytevector 9)}", "{:binary #u8(9)}"),
    ],
)
def test_messages(message: str, answer: str) -> None:
    with talking(echo) as url:
        assert shown(url, f"(ws/send c {message}) (ws/recv c)") == answer


@pytest.mark.parametrize(
    ("message", "error", "hint"),
    [
        ("5", "expected string, bytevector, or map, got int", "ws/send takes"),
        ("'(1)", "expected string, bytevector, or map, got list", "ws/send takes"),
        ("{:text 5}", "expected string, got int", "{:text …}"),
        ('{:binary "x"}', "expected bytevector, got string", "{:binary …}"),
    ],
)
def test_what_cant_be_sent(message: str, error: str, hint: str) -> None:
    with talking(echo) as url, pytest.raises(SemaTypeError) as caught:
        shown(url, f"(ws/send c {message})")
    assert caught.value.message == error
    assert hint in str(caught.value.hint)


def test_receiving_with_a_limit() -> None:
    with talking(echo) as url:
        assert shown(url, "(list (ws/recv-timeout c 0) (ws/recv-timeout c 20) (ws/recv-timeout c -5))") == (
            "(:timeout :timeout :timeout)"
        )
        assert shown(url, '(ws/send c "a") (list (ws/recv-timeout c 10000) (ws/recv-timeout c 1))') == (
            '({:text "re:a"} :timeout)'
        )
        with pytest.raises(SemaTypeError, match="expected int, got float"):
            shown(url, "(ws/recv-timeout c 1.5)")


def test_what_has_come_is_received_however_short_the_time() -> None:
    with talking(echo) as url:
        assert shown(url, '(ws/send c "a") (ws/send c "b") (ws/recv c) (sleep 20) (ws/recv-timeout c 0)') == (
            '{:text "re:b"}'
        )


def test_pings() -> None:
    pings: list[bytes] = []

    async def conversation(socket: ServerConnection) -> None:
        answer = socket.protocol.recv_frame  # type: ignore[attr-defined]

        def seen(frame: Any) -> Any:
            if frame.opcode == 9:
                pings.append(bytes(frame.data))
            return answer(frame)

        socket.protocol.recv_frame = seen  # type: ignore[attr-defined]
        await echo(socket)

    with talking(conversation) as url:
        pinged = '(ws/ping c) (ws/ping c "é") (ws/ping c (bytevector 1)) (ws/ping c "é") (ws/send c "x") (ws/recv c)'
        assert shown(url, pinged) == '{:text "re:x"}'
        assert pings[:3] == [b"", "é".encode(), b"\x01"]
        with pytest.raises(SemaError, match="ws/ping: a payload has at most 125 bytes, got 126"):
            shown(url, '(ws/ping c (string/repeat "x" 126))')
        with pytest.raises(SemaTypeError, match="expected string or bytevector, got int"):
            shown(url, "(ws/ping c 1)")


def test_pings_of_the_server_are_answered_while_the_program_sleeps(tmp_path: Path) -> None:
    answered = tmp_path / "answered"

    async def conversation(socket: ServerConnection) -> None:
        await socket.recv()
        await asyncio.sleep(0.01)
        await (await socket.ping())
        answered.touch()

    with talking(conversation) as url:
        sleeps = (
            f'(let loop ((n 2000)) (when (and (> n 0) (not (file/exists? "{answered}"))) (sleep 5) (loop (- n 1))))'
        )
        assert shown(url, f'(ws/send c "now") {sleeps} (file/exists? "{answered}")') == "#t"


def test_more_than_fits_in_the_buffers_of_both_sides() -> None:
    with talking(echo) as url:
        body = """(define text (string/repeat "x" 100000))
            (for-each (fn (i) (ws/send c text)) (range 60))
            (foldl (fn (n i) (+ n (string-length (:text (ws/recv c))))) 0 (range 60))"""
        assert shown(url, body) == str(60 * 100_003)


# The end of a connection


def test_the_server_closes() -> None:
    with talking(goodbye) as url:
        body = "(list (ws/recv c) (ws/recv c) (ws/recv c) (ws/recv c) (ws/connected? c))"
        assert shown(url, body) == '({:text "a"} {:binary #u8(98)} {:close {:code 4001 :reason "bye"}} nil #f)'
        assert shown(url, "(sleep 20) (list (ws/connected? c) (ws/recv c))") == '(#f {:text "a"})'


def test_the_program_closes() -> None:
    closed = Happening()

    async def conversation(socket: ServerConnection) -> None:
        await echo(socket)
        if socket.close_code == 1000:
            closed.happens()

    with talking(conversation) as url:
        value = run(f"""
            (define c (ws/connect "{url}"))
            (define before (list (ws/connected? c) (stream/readable? c) (stream? c) (stream/type c)))
            (ws/close c)
            (ws/close c)
            (stream/close c)
            (list before c (ws/connected? c) (stream/writable? c) (ws/recv c) (ws/recv-timeout c 5)
                  (map (fn (f) (try (f) (catch e (:message e))))
                       (list (fn () (ws/send c "x")) (fn () (ws/ping c)))))""")
        assert closed.happened()
    assert to_text(value) == (
        '((#t #t #t "websocket") <stream:websocket> #f #f nil nil'
        ' ("ws/send: connection is closed" "ws/ping: connection is closed"))'
    )


def test_a_connection_is_closed_after_an_error() -> None:
    closed = Happening()

    async def conversation(socket: ServerConnection) -> None:
        await echo(socket)
        closed.happens()

    with talking(conversation) as url:
        with pytest.raises(SemaError, match="oops"):
            run(f'(with-open (c (ws/connect "{url}")) (error "oops"))')
        assert closed.happened()


def test_sending_to_a_server_that_has_closed() -> None:
    with talking(goodbye) as url, pytest.raises(SemaError) as caught:
        shown(url, '(sleep 20) (ws/recv c) (ws/recv c) (ws/recv c) (ws/send c "x")')
    assert caught.value.message == "ws/send: connection is closed"
    assert "server closed" in str(caught.value.hint)


def test_a_connection_that_breaks() -> None:
    async def conversation(socket: ServerConnection) -> None:
        await socket.send("a")
        socket.transport.abort()

    with talking(conversation) as url:
        body = "(list (ws/recv c) (try (ws/recv c) (catch e (list (:type e) (:message e)))) (ws/recv c))"
        assert shown(url, body) == (
            f'({{:text "a"}} (:io "ws/recv {url}: connection lost without a closing handshake") nil)'
        )


def test_messages_that_are_too_large() -> None:
    async def conversation(socket: ServerConnection) -> None:
        await socket.send("x" * 2000)
        await socket.wait_closed()

    with talking(conversation) as url:
        with pytest.raises(IoError) as caught:
            shown(url, "(ws/recv-timeout c 10000)", "{:max-bytes 1000}")
        assert caught.value.message == (f"ws/recv-timeout {url}: frame with 2000 bytes exceeds limit of 1000 bytes")


def test_text_that_is_none() -> None:
    async def conversation(socket: ServerConnection) -> None:
        await socket.send(b"\xff\xfe", text=True)
        await socket.wait_closed()

    with talking(conversation) as url:
        with pytest.raises(IoError) as caught:
            shown(url, "(ws/recv c)")
        assert caught.value.message == f"ws/recv {url}: invalid start byte at position 0"


def test_a_server_that_never_answers_the_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "CLOSE_SECONDS", 0.05)
    left = Happening()

    async def deaf(socket: ServerConnection) -> None:
        socket.transport.pause_reading()
        await asyncio.to_thread(left.happened)
        socket.transport.abort()

    with talking(deaf) as url:
        assert shown(url, "1") == "1"
        left.happens()


# Connecting


def test_headers_and_subprotocols() -> None:
    async def conversation(socket: ServerConnection) -> None:
        headers = socket.request.headers
        await socket.send(f"{headers['x-one']} {headers['authorization']} {headers['user-agent']} {socket.subprotocol}")

    with talking(conversation, subprotocols=["v2.chat"]) as url:
        options = '{:headers {:x-one 1 "Authorization" "Bearer t"} :subprotocols ["v1.chat" "v2.chat"]}'
        assert shown(url, "(:text (ws/recv c))", options) == '"1 Bearer t semac v2.chat"'


def test_headers_stay_at_their_origin() -> None:
    """A redirected handshake takes no key to another server, whatever its header is called."""

    async def conversation(socket: ServerConnection) -> None:
        names = ("x-api-key", "authorization", "x-of-my-own", "accept-language")
        await socket.send(" ".join(name for name in names if name in socket.request.headers))

    options = '{:headers {:x-api-key "k" :authorization "k" :x-of-my-own "k" :accept-language "en"}}'
    with talking(conversation) as target:
        with serving(answering(reply(status="302 Found", location=target))) as url:
            there = url.replace("http:", "ws:")
            assert shown(there, "(:text (ws/recv c))", options) == '"accept-language"'
        assert shown(target, "(:text (ws/recv c))", options) == '"x-api-key authorization x-of-my-own accept-language"'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("5", "expected string, got int"),
        ('"http://x/"', "ws/connect: not a websocket URL: http://x/"),
        ('"ws://"', "ws/connect ws://: invalid URL: hostname isn't provided"),
        ('"ws://x:99999/"', "ws/connect ws://x:99999/: Port out of range 0-65535"),
        ('"ws://x/#f"', "ws/connect ws://x/#f: invalid URL: fragment identifier is meaningless"),
        ('"ws://x" {:timeout 0}', "ws/connect ws://x: :timeout must be a positive number, got 0"),
        ('"ws://x" {:retries -1}', "ws/connect ws://x: :retries must be a non-negative integer, got -1"),
        ('"ws://x" {:subprotocols 1}', "ws/connect ws://x: :subprotocols must be a list of strings, got 1"),
        ('"ws://x" {:headers {:a "b\\nc"}}', "ws/connect ws://x: the header a holds characters that can't be sent"),
        ('"ws://no.such.host.invalid/"', "ws/connect ws://no.such.host.invalid/: could not connect (host not found: "),
    ],
)
def test_calls_that_cant_succeed(arguments: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        run(f"(ws/connect {arguments})")
    assert caught.value.message.startswith(message)


def test_nobody_listens() -> None:
    url = f"ws://me:secret@127.0.0.1:{closed_port()}/"
    message = failure(f'(ws/connect "{url}")').message
    assert message == f"ws/connect {url.replace('secret', '***')}: could not connect (Connection refused)"


async def _is_no_websocket_server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(reply("no", "404 Not Found"))


async def _hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)


async def _stalls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await stall(reader)


@pytest.mark.parametrize(
    ("server", "options", "reason"),
    [
        (_is_no_websocket_server, "", "server rejected WebSocket connection: HTTP 404"),
        (_hangs_up, "", "did not receive a valid HTTP response"),
        (_stalls, ":timeout 50", "handshake timed out after 50ms"),
    ],
)
def test_handshakes_that_fail(server: Any, options: str, reason: str) -> None:
    with serving(server) as url:
        target = url.replace("http:", "ws:")
        assert failure(f'(ws/connect "{target}" {{{options}}})').message == f"ws/connect {target}: {reason}"


def test_a_handshake_is_tried_again() -> None:
    asked = []

    async def conversation(socket: ServerConnection) -> None:
        await echo(socket)

    def refuse_twice(socket: ServerConnection, request: Any) -> Any:
        asked.append(request)
        return socket.respond(503, "not yet") if len(asked) < 3 else None

    with talking(conversation, process_request=refuse_twice) as url:
        assert shown(url, '(ws/send c "x") (ws/recv c)', "{:retries 2 :retry-backoff-ms 1}") == '{:text "re:x"}'
        assert len(asked) == 3
        asked.clear()
        assert failure(f'(ws/connect "{url}" {{:retries 1 :retry-backoff-ms 1}})').message.endswith("HTTP 503")
        assert len(asked) == 2


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("websockets"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SemaError) as caught:
        run('(ws/connect "ws://x/")')
    assert caught.value.message == "ws/connect needs the package websockets: pip install 'semac[web]'"


def test_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with certified(tmp_path, monkeypatch) as (context, trust), talking(echo, ssl=context) as plain:
        url = plain.replace("ws:", "wss:")
        message = failure(f'(ws/connect "{url}")').message
        assert message == f"ws/connect {url}: could not connect (TLS: self-signed certificate)"
        trust()
        assert shown(url, '(ws/send c "x") (ws/recv c)') == '{:text "re:x"}'


# What is no connection


@pytest.mark.parametrize(
    "call", ["ws/send x 1", "ws/recv x", "ws/recv-timeout x 1", "ws/ping x", "ws/close x", "ws/connected? x"]
)
def test_other_values(call: str) -> None:
    with pytest.raises(SemaTypeError, match="expected websocket, got int"):
        run(f"(define x 5) ({call})")
    with pytest.raises(SemaTypeError, match="expected websocket, got byte-buffer"):
        run(f"(define x (stream/byte-buffer)) ({call})")


def test_a_connection_is_no_byte_stream() -> None:
    with talking(echo) as url:
        for call in ("(stream/read c 1)", "(stream/read-all c)", "(stream/read-line c)"):
            with pytest.raises(SemaError, match="stream/read: not supported on a websocket"):
                shown(url, call)
        with pytest.raises(SemaError, match="stream/write: not supported on a websocket"):
            shown(url, '(stream/write-string c "x")')


def test_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", {"network"})
    with pytest.raises(PermissionDenied, match="ws/connect requires 'network' capability"):
        run('(ws/connect "ws://127.0.0.1:9/")')
