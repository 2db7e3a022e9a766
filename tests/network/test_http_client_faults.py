"""http/get and its family: bad addresses, bad servers, TLS, the sandbox, idle connections, tasks."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from http_client_support import failure
from http_client_support import no_proxy as no_proxy
from net_support import Happening, answering, certified, closed_port, received, reply, run, serving, stall

from sema_runtime import capabilities
from sema_runtime.net import client
from sema_runtime.values.errors import IoError, PermissionDenied, SemaError, SemaTypeError
from sema_runtime.values.printer import to_text

# What goes wrong


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("nonsense", "invalid URL: it must start with http:// or https:// and a host"),
        ("", "invalid URL: it must start with http:// or https:// and a host"),
        ("ftp://x/", "invalid URL: it must start with http:// or https:// and a host"),
        ("http://", "invalid URL: it must start with http:// or https:// and a host"),
        ("http://x:99999/", "invalid URL: there is no port 99999"),
        ("http://no.such.host.invalid/", "could not connect (host not found: "),
    ],
)
def test_urls_that_lead_nowhere(url: str, reason: str) -> None:
    assert failure(f'(http/get "{url}")').message.startswith(f"http GET {url}: {reason}")


def test_passwords_are_not_shown() -> None:
    port = closed_port()
    error = failure(f'(http/post "http://me:secret@127.0.0.1:{port}/a@b" "x")')
    assert error.message == f"http POST http://me:***@127.0.0.1:{port}/a@b: could not connect (Connection refused)"
    assert error.display().startswith("I/O error: http POST ")


@pytest.mark.parametrize("header", ['{"a b" "x"}', '{"" "x"}', '{:a "x\\r\\nb: y"}', '{:a "é"}'])
def test_headers_that_cant_be_sent(header: str) -> None:
    message = failure(f'(http/get "http://127.0.0.1:9/" {{:headers {header}}})').message
    assert message.startswith("http GET http://127.0.0.1:9/: ") and "header" in message and "y" not in message[-1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("(http/get 5)", "expected string, got int"),
        ("(http/post :a nil)", "expected string, got keyword"),
        ("(http/request 1 2)", "expected string, got int"),
        ('(http/request "GET" nil)', "expected string, got nil"),
        ('(http/events "http://x" 5)', "expected function, got int"),
    ],
)
def test_wrong_types(call: str, message: str) -> None:
    with pytest.raises(SemaTypeError) as caught:
        run(call)
    assert caught.value.message == message


@pytest.mark.parametrize("option", [":timeout 0", ":timeout -1", ':timeout "5s"', ":max-bytes 0", ":timeout #t"])
def test_options_out_of_range(option: str) -> None:
    name, value = option.split(" ")
    with pytest.raises(SemaError) as caught:
        run(f'(http/get "http://127.0.0.1:9/" {{{option}}})')
    assert caught.value.message == f"http GET http://127.0.0.1:9/: {name} must be a positive number, got {value}"


async def _resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    import socket
    import struct

    await received(reader)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)


async def _cuts_short(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort")


async def _talks_nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")


async def _talks_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example.com ESMTP\r\n")
    await stall(reader)


async def _has_a_huge_header(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nx: " + b"x" * 1_000_000)
    await stall(reader)


async def _stalls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await stall(reader)


async def _stalls_in_the_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await received(reader)
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort")
    await stall(reader)


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (_resets, "Connection reset by peer"),
        (_hangs_up, "Server disconnected without sending a response."),
        (_cuts_short, "peer closed connection without sending complete message body (received 5 bytes, expected 100)"),
        (_talks_nonsense, "illegal status line: bytearray(b'SSH-2.0-OpenSSH_9.9')"),
        (_has_a_huge_header, "Receive buffer too long"),
        (_stalls, "timed out after 100 ms"),
        (_stalls_in_the_body, "timed out after 100 ms"),
    ],
)
def test_bad_servers(server: Any, reason: str) -> None:
    limit = "100" if "timed" in reason else "10000"
    with serving(server) as url:
        assert failure(f'(http/get "{url}/x" {{:timeout {limit}}})').message == f"http GET {url}/x: {reason}"


def test_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with certified(tmp_path, monkeypatch) as (context, trust), serving(answering(reply("secret")), context) as url:
        message = failure(f'(http/get "{url}")').message
        assert message == f"http GET {url}: could not connect (TLS: self-signed certificate)"
        trust()
        assert run(f'(:body (http/get "{url}"))') == "secret"
    with serving(_talks_first) as url:
        message = failure(f'(http/get "{url.replace("http:", "https:")}")').message
        assert "could not connect (TLS: " in message


def test_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", {"network"})
    for call in (
        'http/get "x"',
        'http/request "GET" "x"',
        'http/post "x" 1',
        'http/query "x" 1',
        'http/events "x" car',
    ):
        with pytest.raises(PermissionDenied, match="requires 'network' capability"):
            run(f"({call})")


# Connections


def test_a_server_that_hangs_up_on_an_idle_connection() -> None:
    asked: list[str] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await received(reader)).method)
        writer.write(reply(str(len(asked))))
        asked.append((await received(reader)).method)  # hangs up without an answer

    with serving(handler) as url:
        assert [run(f'(:body (http/get "{url}"))') for _ in range(2)] == ["1", "3"]
        assert asked[:3] == ["GET", "GET", "GET"]
        with pytest.raises(IoError, match=f"http POST {url}: "):
            run(f'(http/post "{url}" "twice?")')
        assert asked[3:] == ["POST"]


def test_what_is_idle_for_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "IDLE_SECONDS", 0.0)
    ended = Happening()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(reply("ok"))
        await reader.read()
        ended.happens()

    with serving(handler) as first, serving(handler) as second:
        run(f'(http/get "{first}")')
        run(f'(http/get "{second}")')
        assert ended.happened()


# Tasks


def test_many_requests_wait_side_by_side() -> None:
    count = 100
    waiting: list[asyncio.StreamWriter] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        waiting.append(writer)
        if len(waiting) == count:  # nobody is answered before all have asked
            for one in waiting:
                one.write(reply("ok"))
        await stall(reader)

    with serving(handler) as url:
        program = f'(async/all (map (fn (i) (async (:body (http/get "{url}" {{:timeout 20000}})))) (range {count})))'
        assert list(run(program)) == ["ok"] * count


def test_other_tasks_run_meanwhile() -> None:
    with serving(_stalls) as url:
        assert (
            to_text(
                run(f"""
            (define seen '())
            (define waits (async (http/get "{url}")))
            (define counts (async (for-each (fn (i) (async/sleep 1) (set! seen (cons i seen))) (range 3))))
            (await counts)
            (async/cancel waits)
            seen""")
            )
            == "(2 1 0)"
        )


def test_a_cancelled_task_gives_its_request_up() -> None:
    asked, hung_up = Happening(), Happening()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await received(reader)).target == "/asked":
            await asyncio.to_thread(asked.happened)
            writer.write(reply())
        else:
            asked.happens()
            await stall(reader)
            hung_up.happens()

    with serving(handler) as url:
        program = f"""
            (define p (async (http/get "{url}/slow")))
            (http/get "{url}/asked")
            (list (async/cancel p) (try (await p) (catch e (:type e))))"""
        assert to_text(run(program)) == "(#t :cancelled)"
        run("(sleep 1)")
        assert hung_up.happened()


def test_a_timeout_around_a_request() -> None:
    hung_up = Happening()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stall(reader)
        hung_up.happens()

    with serving(handler) as url:
        program = f'(try (async/with-timeout 50 (fn () (http/get "{url}"))) (catch e (:message e)))'
        assert run(program) == "operation exceeded 50 ms"
        assert hung_up.happened()


def test_ctrl_c_ends_a_request() -> None:
    asked = Happening()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        asked.happens()
        await stall(reader)

    with serving(handler) as url:
        command = [sys.executable, "-m", "semac.cli.entry", "-e", f'(http/get "{url}")']
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert asked.happened()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (1, "Error: interrupted\n")
