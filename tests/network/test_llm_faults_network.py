"""Faults on the way to a provider: names, certificates, proxies; and calls that are given up."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import ssl
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from fault_support import CALL, HEARD, STREAM, asked, charged, check, fault, journal
from fault_wires import STALL, WIRES, Scripted, streamed, whole
from llm_support import SLEPT, chat_reply, run
from llm_support import llm as llm
from net_support import certified, closed_port, received, reply, serving, stall

from sema_runtime.net import tls
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")
OPENAI = WIRES["openai"]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")


def check_both(url: str, message: str, hint: str) -> None:
    """The same error for a call, after four attempts, and for a stream."""
    for program, attempts in (CALL, 4), (STREAM, 1):
        SLEPT.clear()
        seen = asked(OPENAI, url, program)
        check(seen, OPENAI, message, attempts)
        assert seen.error is not None
        assert hint in str(seen.error.hint)


# Names and certificates


def test_a_host_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_name(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_name)
    url = "http://no.such.host.invalid"
    check_both(url, f"HTTP error: could not connect to {url} (host not found: Name or service not known)", url)


def test_a_certificate_nobody_trusts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with certified(tmp_path, monkeypatch) as (context, trust), serving(Scripted([whole("")]), context) as url:
        check_both(url, f"HTTP error: could not connect to {url} (TLS: self-signed certificate)", "certificate")
        trust()
        assert asked(OPENAI, url, CALL).message.startswith("Parse error: reply is not JSON")


def test_an_expired_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = _expired(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "expired.pem"))
    tls.tls_context.cache_clear()
    with serving(Scripted([whole("")]), context) as url:
        check_both(url, f"HTTP error: could not connect to {url} (TLS: certificate has expired)", "certificate")
    tls.tls_context.cache_clear()


def _expired(folder: Path) -> ssl.SSLContext:
    """TLS of a server whose certificate ended yesterday."""
    x509 = pytest.importorskip("cryptography.x509", reason="needs cryptography for a certificate")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(days=9)).not_valid_after(now - timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
    certificate = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "expired.pem").write_bytes(certificate)
    (folder / "both.pem").write_bytes(private + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context


def test_something_else_where_tls_should_be() -> None:
    async def mail(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.com ESMTP\r\n")
        await stall(reader)

    with serving(mail) as url:
        secure = url.replace("http:", "https:")
        check_both(secure, f"HTTP error: could not connect to {secure} (TLS: ", "certificate")


def test_an_address_that_is_none() -> None:
    seen = asked(OPENAI, "htp:/x", CALL)
    check(seen, OPENAI, "Config error: invalid URL 'htp:/x/chat/completions': ", 1)


# Proxies


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A proxy that connects."""
    request = await received(reader)
    assert request.method == "CONNECT"
    host, _, port = request.target.partition(":")
    there = await asyncio.open_connection(host, int(port))
    writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
    await asyncio.gather(_forward(reader, there[1]), _forward(there[0], writer))


def test_a_proxy_that_forwards(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Scripted([whole(OPENAI.whole)], [streamed(OPENAI.events)])
    with serving(proxy) as url:
        monkeypatch.setenv("http_proxy", url)
        assert asked(OPENAI, "http://api.invalid/v1", CALL).value == "Hello world"
        assert asked(OPENAI, "http://api.invalid/v1", STREAM).heard == ["Hello ", "world"]
    assert [request.target for request in proxy.requests] == ["http://api.invalid/v1/chat/completions"] * 2
    assert charged() == 10


def test_a_proxy_that_connects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with certified(tmp_path, monkeypatch) as (context, trust), serving(tunnel) as proxy:
        trust()
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        with serving(Scripted([whole(OPENAI.whole)], [streamed(OPENAI.events)]), context) as url:
            assert asked(OPENAI, url, CALL).value == "Hello world"
            assert asked(OPENAI, url, STREAM).heard == ["Hello ", "world"]


def test_a_host_that_needs_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with fault(OPENAI, [whole(OPENAI.whole)]) as (url, _):
        assert asked(OPENAI, url, CALL).value == "Hello world"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_not_there(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{closed_port()}")
    url = f"{scheme}://api.invalid"
    check_both(url, f"HTTP error: could not connect to {url} (Connection refused)", "the proxy in ALL_PROXY")


def test_a_proxy_that_wants_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = reply("who?", "407 Proxy Authentication Required", proxy_authenticate="Basic")
    with serving(Scripted([refusal])) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        seen = asked(OPENAI, "http://api.invalid", CALL)
        check(seen, OPENAI, "API error: 407 - who?", 1)
        assert seen.error is not None
        assert "HTTP_PROXY" in str(seen.error.hint)
        check_both("https://api.invalid", "HTTP error: could not connect to https://api.invalid (407 ", "HTTPS_PROXY")


# Calls that are given up

GIVEN_UP = {
    "complete": ('(llm/complete "hi")', [STALL]),
    "batch": ('(llm/batch ["hi"])', [STALL]),
    "stream before": (STREAM, [STALL]),
    "stream": (STREAM, [streamed(OPENAI.events[:1], ends=False), STALL]),
    "agent": ('(agent/run (agent {}) "hi")', [STALL]),
    "agent with text": (
        '(agent/run (agent {}) "hi" {:on-text (fn (piece) (set! heard (append heard (list piece))))})',
        [streamed(OPENAI.events[:1], ends=False), STALL],
    ),
    "body": ('(llm/complete "hi")', [whole("{", length=99), STALL]),
}


def _estimated(name: str) -> bool:
    """Whether something had been used when it was given up."""
    return name in ("stream", "agent with text")


@pytest.mark.parametrize("name", GIVEN_UP)
def test_a_cancelled_task(name: str) -> None:
    """The request is aborted: the server sees it; what a stream had brought is charged."""
    program, script = GIVEN_UP[name]
    server = Scripted(script)

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        await asyncio.to_thread(server.asked.happened)
        writer.write(reply())

    with serving(server) as url, serving(ask) as other:
        done = run(
            f"""{HEARD} {OPENAI.configure(url)} (define pieces (channel/new 9))
            (define p (async {program.replace("(set! heard", "(channel/send pieces piece) (set! heard")}))
            {"(channel/recv pieces)" if _estimated(name) else f'(http/get "{other}")'}
            (list (async/cancel p) (try (await p) (catch e (:type e))) (length heard))"""
        )
        assert to_text(done) == f"(#t :cancelled {1 if _estimated(name) else 0})"
        run("(sleep 1)")
        assert server.hung_up.happened()
    assert (charged() > 0) is _estimated(name)


@pytest.mark.parametrize("name", GIVEN_UP)
def test_a_timeout_around_a_call(name: str) -> None:
    program, script = GIVEN_UP[name]
    with fault(OPENAI, script) as (url, server):
        seen = asked(OPENAI, url, f"(try (async/with-timeout 250 (fn () {program})) (catch e (:message e)))")
        assert seen.value == "operation exceeded 250 ms"
        assert server.hung_up.happened()
    assert (charged() > 0) is _estimated(name)


@pytest.mark.parametrize("name", ["complete", "batch", "stream", "agent"])
def test_ctrl_c(name: str, tmp_path: Path) -> None:
    program, script = GIVEN_UP[name]
    with fault(OPENAI, script) as (url, server):
        text = f"{HEARD} {OPENAI.configure(url)} {program}"
        command = [sys.executable, "-m", "semac.cli.entry", "--no-llm", "-e", text]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert server.asked.happened()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=20)
        assert server.hung_up.happened()
    assert (process.returncode, errors) == (1, "Error: interrupted\n")


def test_siblings_go_on() -> None:
    """A call that fails or is given up doesn't touch those beside it."""

    async def by_text(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await received(reader)
        if b"slow" in request.body:
            await reader.read(1)
        elif b"bad" in request.body:
            writer.write(whole({"error": "no"}, 400))
        else:
            writer.write(whole(OPENAI.whole))

    with serving(by_text) as url:
        program = f"""{OPENAI.configure(url)}
        (define slow (async (llm/complete "slow")))
        (define all (map (fn (text) (async (try (llm/complete text) (catch e (:message e))))) ["a" "bad" "b"]))
        (define answers (map (fn (p) (await p)) all))
        (async/cancel slow)
        (list answers (try (await slow) (catch e (:type e))) (:total-tokens (llm/session-usage)))"""
        assert to_text(run(program)) == '(("Hello world" "API error: 400 - no" "Hello world") :cancelled 10)'


def test_errors_in_callbacks_end_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    with fault(OPENAI, [streamed(OPENAI.events[:2], ends=False), STALL]) as (url, server):
        seen = asked(OPENAI, url, '(try (llm/stream "hi" (fn (s) (error "enough"))) (catch e (:message e)))')
        assert server.hung_up.happened()
    assert seen.value == "enough"
    assert charged() > 0
    assert len(journal()) == 1


def test_more_streams_than_files_may_be_open(tmp_path: Path) -> None:
    """They wait for their turn instead of failing."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for word in (b"one ", b"two"):
            writer.write(b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % word)
            await writer.drain()
            await asyncio.sleep(0.02)
        writer.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')

    with serving(handler) as url:
        program = tmp_path / "many.sema"
        program.write_text(
            f'(llm/configure :many {{:api-key "k" :base-url "{url}"}})'
            '(define (ask i) (llm/stream "x" (fn (piece) nil)))'
            "(println (frequencies (async/map ask (range 150))))"
        )
        command = ["sh", "-c", 'ulimit -n 96; exec "$0" -m semac "$1"', sys.executable, str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == '{"one two" 150}\n', done.stderr[-500:]


def test_a_server_that_hangs_up_behind_each_answer() -> None:
    """It doesn't say so: the next request may meet the closed connection, and is sent again at once."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(reply(json.dumps(chat_reply("x"))))
        await writer.drain()

    with serving(handler) as url:
        program = f'''(llm/configure :brief {{:api-key "k" :base-url "{url}"}})
          (frequencies (map (fn (i) (llm/complete "a")) (range 30)))'''
        assert to_text(run(program)) == '{"x" 30}'
    assert SLEPT == []
