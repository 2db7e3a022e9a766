"""http/get and its family against real servers on loopback, good ones and bad ones."""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from net_support import PROXIES, Happening, answering, certified, closed_port, received, reply, run, serving, stall

from sema_runtime import capabilities
from sema_runtime.lib.network import http_client
from sema_runtime.net import client, http
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import IoError, PermissionDenied, SemaError, SemaTypeError
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


class _Echo(BaseHTTPRequestHandler):
    """Says what it received, as JSON; /status/N answers with that status, /moved/N redirects N times."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        _, kind, *rest = [*urlsplit(self.path).path.split("/"), ""]
        if kind == "status":
            self.send(int(rest[0]), b"")
        elif kind == "moved":
            left = int(rest[0])
            self.send(307, b"", location=f"/moved/{left - 1}" if left else "/echo")
        elif kind == "cookie":
            self.send(200, b"set", set_cookie="a=1")
        else:
            said = {
                "method": self.command,
                "path": self.path,
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "body": body.decode("latin-1"),
            }
            self.send(200, b"" if self.command == "HEAD" else json.dumps(said).encode())

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content_type": "application/json", "content_length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_QUERY = do_OPTIONS = answer

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def said(reply_map: Map) -> Any:
    """What the echo server received."""
    return json.loads(reply_map.lookup(keyword("body")))


def failure(program: str) -> IoError:
    with pytest.raises(IoError) as caught:
        run(program)
    return caught.value


# Requests and replies


def test_the_shape_of_a_reply() -> None:
    with serving(answering(reply("hi", content_type="text/plain", X_Twice="1"))) as url:
        assert to_text(run(f'(http/get "{url}/x")')) == (
            '{:body "hi" :headers {:content-length "2" :content-type "text/plain" :x-twice "1"} :status 200}'
        )


@pytest.mark.parametrize("method", ["get", "post", "put", "delete", "query"])
def test_methods(echo: str, method: str) -> None:
    body = "" if method in ("get", "delete") else '"text"'
    received = said(run(f'(http/{method} "{echo}/a?b=c" {body})'))
    assert (received["method"], received["path"]) == (method.upper(), "/a?b=c")
    assert received["body"] == ("text" if body else "")
    assert "content-type" not in received["headers"]
    assert received["headers"]["user-agent"] == "semac"


def test_any_method(echo: str) -> None:
    assert said(run(f'(http/request "patch" "{echo}" {{}} "data")'))["body"] == "data"
    assert said(run(f'(http/request "OPTIONS" "{echo}")'))["method"] == "OPTIONS"
    head = run(f'(http/request "HEAD" "{echo}/x")')
    assert to_text(head.lookup(keyword("body"))) == '""'
    for method in ("G E T", "", "GET\\r\\nX: y"):
        with pytest.raises(SemaError, match="http: invalid method"):
            run(f'(http/request "{method}" "{echo}")')


@pytest.mark.parametrize("status", [204, 404, 500])
def test_a_status_is_no_error(echo: str, status: int) -> None:
    assert run(f'(:status (http/get "{echo}/status/{status}"))') == status


def test_a_map_is_sent_as_json(echo: str) -> None:
    received = said(run(f'(http/post "{echo}" {{:name "Grüße 世界" :n [1 2.5 nil] :f (fn (x) x)}})'))
    assert received["headers"]["content-type"] == "application/json"
    sent = json.loads(received["body"].encode("latin-1"))
    assert sent == {"f": "<native-fn <vm-closure>>", "n": [1, 2.5, None], "name": "Grüße 世界"}
    own = said(run(f'(http/post "{echo}" {{:a 1}} {{:headers {{:Content-Type "application/vnd.x+json"}}}})'))
    assert own["headers"]["content-type"] == "application/vnd.x+json"


def test_other_bodies(echo: str) -> None:
    assert said(run(f'(http/post "{echo}" 42)'))["body"] == "42"
    assert said(run(f'(http/post "{echo}" \'(1 "a"))'))["body"] == '(1 "a")'
    assert said(run(f'(http/post "{echo}" (bytevector 0 255))'))["body"] == "\x00\xff"
    nothing = said(run(f'(http/post "{echo}" nil)'))
    assert (nothing["body"], nothing["headers"]["content-length"]) == ("", "0")


def test_headers(echo: str) -> None:
    sent = said(run(f'(http/get "{echo}" {{:headers {{"X-One" "1" :x-two 2 :x-three :kw :user-agent "me"}}}})'))[
        "headers"
    ]
    assert [sent[name] for name in ("x-one", "x-two", "x-three", "user-agent")] == ["1", "2", ":kw", "me"]


def test_options_that_are_no_map_count_as_none(echo: str) -> None:
    assert run(f'(:status (http/get "{echo}" "not-a-map"))') == 200
    assert http_client.http_get(f"{echo}/x", {"timeout": 5000}).lookup(keyword("status")) == 200


def test_a_form(echo: str) -> None:
    received = said(
        run(f"""(http/post "{echo}" nil {{:headers {{:content-type "text/plain"}} :multipart (list
            {{:name "purpose" :content "test"}}
            {{:name "file" :filename "a\\"b.bin" :content (bytevector 1 2) :content-type "application/x-z"}})}})""")
    )
    kind, _, boundary = received["headers"]["content-type"].partition("; boundary=")
    assert kind == "multipart/form-data"
    first, second = received["body"].split(f"--{boundary}")[1:3]
    assert first == '\r\nContent-Disposition: form-data; name="purpose"\r\n\r\ntest\r\n'
    assert 'name="file"; filename="a%22b.bin"\r\nContent-Type: application/x-z\r\n\r\n\x01\x02' in second


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("5", "http: :multipart must be a list of part maps"),
        ("[5]", "http: each :multipart part must be a map"),
        ('[{:content "x"}]', "http: a :multipart part is missing :name"),
        ('[{:name "a"}]', "http: :multipart part 'a' is missing :content"),
        ('[{:name "a" :content 1}]', "http: :multipart part 'a' :content must be a string or bytevector"),
        (
            '[{:name "a" :content "" :content-type "x/y\\r\\nz"}]',
            "http: invalid :content-type 'x/y\r\nz': expected type/subtype",
        ),
    ],
)
def test_a_form_that_is_none(parts: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        run(f'(http/post "http://127.0.0.1:9" nil {{:multipart {parts}}})')
    assert caught.value.message == message


# Bodies


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        ("text/plain", "é😀".encode(), "é😀"),
        ("text/plain", b"\xef\xbb\xbfx\xff", "x\ufffd"),
        ("text/html; charset=iso-8859-1", b"\xe9\x80", "é€"),
        ('text/html; x=1; Charset="UTF-16LE"', "é".encode("utf-16-le"), "é"),
        ("text/plain; charset=shift_jis", "日本".encode("shift_jis"), "日本"),
        ("text/plain; charset=nonsense", "é".encode(), "é"),
        ("text/plain; charset=zlib", "é".encode(), "é"),
        ("text/plain; charset=\0", "é".encode(), "é"),
    ],
)
def test_charsets(kind: str, data: bytes, text: str) -> None:
    assert http.decoded(data, kind) == text


def test_a_body_as_bytes() -> None:
    with serving(answering(reply(bytes(range(256)), content_type="text/plain; charset=latin-1"))) as url:
        assert run(f'(:body (http/get "{url}" {{:as :bytes}}))') == bytes(range(256))
        with pytest.raises(SemaError, match="http: :as must be :text or :bytes, got :json"):
            run(f'(http/get "{url}" {{:as :json}})')


def test_compressed_bodies() -> None:
    with serving(answering(reply(gzip.compress(b"abc" * 1000), content_encoding="gzip"))) as url:
        assert run(f'(:body (http/get "{url}"))') == "abc" * 1000
        assert failure(f'(http/get "{url}" {{:max-bytes 2999}})').message == (
            f"http GET {url}: the body is larger than 2999 bytes"
        )
    with serving(answering(reply(b"not gzip", content_encoding="gzip"))) as url:
        assert failure(f'(http/get "{url}")').message == (
            f"http GET {url}: the body is not valid gzip data (incorrect header check)"
        )


def test_the_limit_of_a_body() -> None:
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"5\r\nabcde\r\n" * 3 + b"0\r\n\r\n"
    for data in (reply("x" * 15), chunked):
        with serving(answering(data)) as url:
            assert len(run(f'(:body (http/get "{url}" {{:max-bytes 15}}))')) == 15
            error = failure(f'(http/get "{url}" {{:max-bytes 14}})')
            assert error.message == f"http GET {url}: the body is larger than 14 bytes"
            assert error.hint == "raise the limit with {:max-bytes n}"


# Redirects, connections


def test_redirects(echo: str) -> None:
    received = said(run(f'(http/post "{echo}/moved/8" "again")'))
    assert (received["method"], received["path"], received["body"]) == ("POST", "/echo", "again")
    assert failure(f'(http/get "{echo}/moved/10")').message == f"http GET {echo}/moved/10: more than 10 redirects"
    with serving(answering(reply(status="302 Found", location=f"{echo}/x"))) as url:
        received = said(run(f'(http/post "{url}" "b" {{:headers {{:authorization "secret" :x-a "1"}}}})'))
        assert (received["method"], received["body"]) == ("GET", "")
        assert not {"authorization", "x-a"} & received["headers"].keys()
    with serving(answering(reply(status="302 Found", location="file:///etc/passwd"))) as url:
        assert failure(f'(http/get "{url}")').message.startswith(f"http GET {url}: invalid URL: ")


def test_cookies_are_not_kept(echo: str) -> None:
    run(f'(http/get "{echo}/cookie")')
    assert "cookie" not in said(run(f'(http/get "{echo}")'))["headers"]


def test_connections_are_reused_and_stale_ones_replaced() -> None:
    connections = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        for _ in range(2):  # requests, then it hangs up
            await received(reader)
            writer.write(reply(str(len(connections))))

    with serving(handler) as url:
        assert [run(f'(:body (http/get "{url}"))') for _ in range(4)] == ["1", "1", "2", "2"]


def test_a_connection_that_ended_while_nobody_looked_is_not_used() -> None:
    """The server hangs up while the program computes; a POST can't be tried twice, so it must not be sent there."""
    answered, closed = Happening(), Happening()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(reply((await received(reader)).body))
        await asyncio.to_thread(answered.happened)
        writer.close()
        await writer.wait_closed()
        closed.happens()

    with serving(handler) as url:
        assert run(f'(:body (http/post "{url}" "first"))') == "first"
        answered.happens()
        assert closed.happened()
        assert run(f'(:body (http/post "{url}" "second"))') == "second"


def test_a_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch, echo: str) -> None:
    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(reply("via proxy: " + (await received(reader)).target))

    with serving(proxy) as url:
        monkeypatch.setenv("HTTP_PROXY", url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert run('(:body (http/get "http://somewhere.invalid/x"))') == "via proxy: http://somewhere.invalid/x"
        assert run(f'(:status (http/get "{echo}"))') == 200
    monkeypatch.setenv("HTTP_PROXY", "gopher://x")
    message = failure('(http/get "http://elsewhere.invalid/")').message
    assert message.startswith("http GET http://elsewhere.invalid/: could not connect (the proxy of the environment")


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
