"""`http/serve`: programs that serve, as processes, and real clients on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from net_support import run
from paths import ROOT
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from sema_runtime.conditions.describe import describe
from sema_runtime.lib.network.http_responses import http_ok
from sema_runtime.lib.network.http_routes import http_router
from sema_runtime.lib.network.http_server import http_serve
from sema_runtime.tasks import sleep
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import Map
from sema_runtime.web import asgi_app

CONNECTIONS = 200


class Program:
    """A program that serves at a port."""

    def __init__(self, source: str, folder: Path) -> None:
        (folder / "server.sema").write_text(source)
        self.errors = folder / "stderr"
        command = [sys.executable, "-m", "semac.cli.entry", "server.sema"]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        line = self.output.readline()
        assert line, self.stderr()
        self.port = int(line)

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def get(self, path: str, **options: Any) -> httpx.Response:
        return httpx.get(self.url(path), timeout=30, **options)

    def stderr(self) -> str:
        return self.errors.read_text()

    def says(self, text: str) -> bool:
        """Waits until stderr holds a text; False when it doesn't in half a minute."""
        deadline = time.monotonic() + 30
        while text not in self.stderr():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def ask(self, data: bytes) -> bytes:
        """What comes back for these bytes until the connection is closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as client:
            client.sendall(data)
            return b"".join(iter(lambda: client.recv(65536), b""))

    def connect(self, data: bytes = b"") -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        client.sendall(data)
        return client

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.output.close()


@contextmanager
def serving(folder: Path, handler: str, options: str = "", before: str = "", after: str = "") -> Iterator[Program]:
    listen = '{:port 0 :host "127.0.0.1" :on-listen (fn (info) (println (:port info)))' + f" {options}}}"
    program = Program(f"{before} (http/serve {handler} {listen}) {after}", folder)
    try:
        yield program
    finally:
        program.close()


ROUTES = """
(define gate (channel/new 1000))
(define news (channel/new 1000))
(define arrived 0)
(define limit (make-parameter "outside"))
(define (meet request)  ; waits until all clients are there
  (set! arrived (+ arrived 1))
  (let wait () (when (< arrived 200) (async/sleep 1) (wait)))
  (let ((n (string->number (:n (:query request)))))
    (cond ((= (mod n 10) 3) (error "three"))
          ((= (mod n 10) 4) (async/sleep 1) (error "four"))
          (else (http/ok {:n n})))))
(define (hang request)
  (try (channel/send news "entered") (channel/recv (channel/new 1))
       (catch e (channel/send news (str (:type e))))))
(define (echo conn)
  (let ((message ((:recv conn))))
    (if message
      (begin ((:send conn) message) (echo conn))
      (channel/send news "closed"))))
(define app (http/router
  [[:get "/map" (fn (r) (http/ok r))]
   [:post "/map" (fn (r) (http/ok r))]
   [:get "/text" (fn (r) "plain")]
   [:any "/empty" (fn (r) (http/no-content))]
   [:get "/cookies" (fn (r) {:status 201 :headers {"Set-Cookie" ["a=1" "b=2"] :x-number 5} :body (bytevector 0 255)})]
   [:get "/error" (fn (r) (car 5))]
   [:get "/late-error" (fn (r) (async/sleep 1) (throw {:secret "password"}))]
   [:get "/bad-body" (fn (r) {:body {:a 1}})]
   [:get "/bad-status" (fn (r) {:status 42})]
   [:get "/bad-header" (fn (r) {:headers {"x" "a\\r\\nset-cookie: evil"}})]
   [:get "/wait" (fn (r) (http/text (channel/recv gate)))]
   [:get "/release" (fn (r) (channel/send gate "released") (http/text "ok"))]
   [:get "/meet" meet]
   [:get "/hang" hang]
   [:get "/news" (fn (r) (http/text (channel/recv news)))]
   [:get "/limit" (fn (r) (async/sleep 1) (http/text (limit)))]
   [:get "/stream-hang" (fn (r) (http/stream (fn (send) (send "first") (hang r))))]
   [:get "/events" (fn (r) (http/stream (fn (send) (send "one\\ntwo") (channel/recv gate) (send "") (send "é"))))]
   [:get "/broken-events" (fn (r) (http/stream (fn (send) (send "one") (error "in the stream"))))]
   [:get "/flood" (fn (r) (http/stream (fn (send) (try (let go () (send (string/repeat "x" 50000)) (go))
                                                    (catch e (channel/send news "flood ended"))))))]
   [:get "/big" (fn (r) (http/text (string/repeat "x" 3000000)))]
   [:get "/file" (fn (r) (http/file "big.bin"))]
   [:get "/page" (fn (r) (assoc (http/file "big.bin" "text/html") :headers {"Cache-Control" "no-store"}))]
   [:get "/bad-type" (fn (r) (http/file "big.bin" "a\\nb"))]
   [:get "/gone" (fn (r) (assoc (http/file "big.bin") :__file_path "/nowhere"))]
   [:ws "/echo/:room" echo]
   [:get "/dynamic" (fn (r) (http/websocket (fn (conn) ((:send conn) (:path (:request conn))))))]
   [:ws "/close" (fn (conn) ((:send conn) "bye") ((:close conn)) (channel/recv gate)
                   (channel/send news (try ((:send conn) "more") (catch e (:message e)))))]
   [:ws "/push" (fn (conn) (for-each (fn (i) ((:send conn) (number->string i))) (range 1000)))]
   [:ws "/fails" (fn (conn) (error "in the socket"))]]))
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """One server for all tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "big.bin").write_bytes(bytes(range(256)) * 5000)
    with serving(
        folder, "app", ":max-body 100000 :grace 5000", ROUTES + '(parameterize ((limit "inside"))', ")"
    ) as one:
        yield one


# Requests


def test_the_request_map(shared: Program) -> None:
    headers = {"X-One": "a", "user-agent": "test"}
    found = shared.get("/map?a=1&b=x+y%21&a=2&empty=&%C3%A9=%F0%9F%98%80", headers=headers).json()
    assert found["query"] == {"a": "2", "b": "x y!", "empty": "", "é": "😀"}
    assert (found["method"], found["path"], found["body"], found["params"]) == ("get", "/map", "", {})
    assert (found["headers"]["x-one"], found["remote"]) == ("a", "127.0.0.1")
    assert "json" not in found


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/json", b'{"a": [1, null]}', {"body": '{"a": [1, null]}', "json": {"a": [1, None]}}),
        ("application/problem+json; charset=utf-8", b"5", {"body": "5", "json": 5}),
        ("application/json", b'{"a": ', {"body": '{"a": '}),
        ("application/json", b"[" * 3000, {"body": "[" * 3000}),
        ("text/plain", "é".encode(), {"body": "é"}),
        ("application/octet-stream", b"\xff\x00", {"body": "\ufffd\x00", "bytes": "#u8(255 0)"}),
    ],
)
def test_bodies(shared: Program, content_type: str, body: bytes, expected: dict[str, Any]) -> None:
    found = httpx.post(shared.url("/map"), content=body, headers={"content-type": content_type}).json()
    assert {key: found[key] for key in ("body", "json", "bytes") if key in found} == expected


def test_a_body_in_chunks(shared: Program) -> None:
    found = httpx.post(shared.url("/map"), content=iter([b"ab", b"cd"])).json()
    assert found["body"] == "abcd"


def test_bodies_over_the_limit(shared: Program) -> None:
    assert httpx.post(shared.url("/map"), content=b"x" * 100_000).status_code == 200
    for content in (b"x" * 100_001, iter([b"x" * 60_000, b"x" * 60_000])):
        refused = httpx.post(shared.url("/map"), content=content)
        assert refused.status_code == 413
        assert "max 100000 bytes" in refused.text


def test_what_is_no_http_is_refused(shared: Program) -> None:
    assert shared.ask(b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert shared.ask(b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 70_000).startswith(b"HTTP/1.1 431 ")
    assert shared.ask(b"GET /map?" + b"a&" * 1001 + b" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").startswith(
        b"HTTP/1.1 400 "
    )
    assert shared.get("/text").text == '"plain"'


def test_requests_in_a_row_on_one_connection(shared: Program) -> None:
    one = b"GET /limit HTTP/1.1\r\nhost: x\r\n\r\n"
    two = b"GET /text HTTP/1.1\r\nhost: x\r\n\r\n"
    last = b"GET /empty HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    answers = shared.ask(one + two + two + last)
    assert answers.count(b"HTTP/1.1 200 ") == 3
    assert answers.index(b"inside") < answers.index(b'"plain"')
    assert b"HTTP/1.1 204 " in answers.rpartition(b'"plain"')[2]


# Responses


def test_responses(shared: Program) -> None:
    cookies = shared.get("/cookies")
    assert (cookies.status_code, cookies.content) == (201, b"\x00\xff")
    assert cookies.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert (cookies.headers["x-number"], cookies.headers["content-length"]) == ("5", "2")
    assert shared.get("/nowhere").text == '"Not Found"'
    empty = httpx.head(shared.url("/empty"))
    assert (empty.status_code, empty.content, "content-length" in empty.headers) == (204, b"", False)
    big = shared.get("/big")
    assert (len(big.content), big.headers["content-length"]) == (3_000_000, "3000000")
    file = shared.get("/file")
    assert file.content == bytes(range(256)) * 5000
    assert (file.headers["content-type"], file.headers["cache-control"]) == (
        "application/octet-stream",
        "public, max-age=3600",
    )
    page = httpx.head(shared.url("/file"))
    assert (page.status_code, page.content, page.headers["content-length"]) == (404, b"", "11")
    page = shared.get("/page")
    assert (page.headers["content-type"], page.headers.get_list("cache-control")) == ("text/html", ["no-store"])
    assert shared.get("/gone").status_code == 404


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/error", "GET /error: expected list or vector, got int"),
        ("/late-error", "password"),
        ("/bad-body", "response :body must be a string or bytevector, got map"),
        ("/bad-status", "response :status must be an integer from 200 to 599, got 42"),
        ("/bad-header", "header x must be one line"),
        ("/bad-type", "header content-type must be one line"),
    ],
)
def test_a_failing_handler_tells_the_client_nothing(shared: Program, path: str, said: str) -> None:
    answer = shared.get(path)
    assert (answer.status_code, answer.text) == (500, "Handler did not respond")
    assert said in shared.stderr()


def test_handlers_see_the_dynamic_scope_of_the_server(shared: Program) -> None:
    assert shared.get("/limit").text == "inside"


# Many at a time


def test_a_waiting_handler_holds_nobody_up(shared: Program) -> None:
    answers: list[str] = []
    waiting = threading.Thread(target=lambda: answers.append(shared.get("/wait").text))
    waiting.start()
    assert shared.get("/text").text == '"plain"'
    assert shared.get("/release").text == "ok"
    waiting.join()
    assert answers == ["released"]


def test_many_connections_lose_nothing(shared: Program) -> None:
    """200 requests that are all going on at the same time; some handlers raise, some clients go away."""

    async def request(client: httpx.AsyncClient, n: int) -> tuple[int, Any]:
        if n % 10 == 5:
            _, writer = await asyncio.open_connection("127.0.0.1", shared.port)
            writer.write(f"GET /meet?n={n} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            await writer.drain()
            await asyncio.sleep(0.01)
            writer.close()
            return 0, None
        answer = await client.get(shared.url(f"/meet?n={n}"))
        return answer.status_code, answer.text

    async def everybody() -> list[tuple[int, Any]]:
        limits = httpx.Limits(max_connections=CONNECTIONS)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:
            return await asyncio.gather(*(request(client, n) for n in range(CONNECTIONS)))

    for n, (status, text) in enumerate(asyncio.run(everybody())):
        assert status == {3: 500, 4: 500, 5: 0}.get(n % 10, 200)
        assert status != 200 or json.loads(text) == {"n": n}


def test_a_client_that_goes_away_cancels_its_handler(shared: Program) -> None:
    for path in ("/hang", "/stream-hang"):
        client = shared.connect(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        assert shared.get("/news").text == "entered"
        client.close()
        assert shared.get("/news").text == ":cancelled"


# Events


def test_events_arrive_when_they_are_sent(shared: Program) -> None:
    with httpx.stream("GET", shared.url("/events"), timeout=30) as events:
        assert events.headers["content-type"] == "text/event-stream"
        lines = events.iter_lines()
        assert [next(lines) for _ in range(3)] == ["data: one", "data: two", ""]
        shared.get("/release")
        assert list(lines) == ["data: ", "", "data: é", ""]


def test_an_event_is_sent_before_the_handler_computes_on(tmp_path: Path) -> None:
    handler = """(fn (r) (http/stream (fn (send)
      (send "one")
      (let compute () (unless (file/exists? "seen") (compute)))
      (send "two"))))"""
    with serving(tmp_path, handler) as program, httpx.stream("GET", program.url(), timeout=30) as events:
        lines = events.iter_lines()
        assert next(lines) == "data: one"
        (tmp_path / "seen").touch()
        assert list(lines) == ["", "data: two", ""]


def test_a_stream_that_fails_ends(shared: Program) -> None:
    assert shared.get("/broken-events").text == "data: one\n\n"
    assert "in the stream" in shared.stderr()


# WebSockets


def socket_url(program: Program, path: str) -> str:
    return program.url(path).replace("http", "ws")


def test_a_websocket_echo(shared: Program) -> None:
    with connect(socket_url(shared, "/echo/7")) as client:
        for message in ("hello", "é" * 40_000, b"\x00\xff"):
            client.send(message)
            assert client.recv(timeout=30) == message
    assert shared.get("/news").text == "closed"
    with connect(socket_url(shared, "/dynamic")) as client:
        assert client.recv(timeout=30) == "/dynamic"
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=30)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1000


def test_many_messages_without_an_answer(shared: Program) -> None:
    with connect(socket_url(shared, "/push")) as client:
        assert list(client) == [str(n) for n in range(1000)]
    with connect(socket_url(shared, "/echo/1")) as client:
        for n in range(1000):
            client.send(str(n))
        assert [client.recv(timeout=30) for _ in range(1000)] == [str(n) for n in range(1000)]
    assert shared.get("/news").text == "closed"


def test_closing_takes_effect_while_the_handler_goes_on(shared: Program) -> None:
    with connect(socket_url(shared, "/close")) as client:
        assert list(client) == ["bye"]
    shared.get("/release")
    assert shared.get("/news").text == "WebSocket closed"


def test_websockets_that_are_none(shared: Program) -> None:
    assert shared.get("/close").status_code == 400
    for path, status in (("/text", 200), ("/nowhere", 404), ("/error", 500), ("/events", 404)):
        with pytest.raises(InvalidStatus) as refused:
            connect(socket_url(shared, path))
        assert refused.value.response.status_code == status
    with connect(socket_url(shared, "/fails")) as client, pytest.raises(ConnectionClosed) as closed:
        client.recv(timeout=30)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1011
    assert "in the socket" in shared.stderr()


def upgraded(program: Program, path: str, **headers: str) -> int:
    """The status of a WebSocket handshake with such headers."""
    with program.connect() as client:
        lines = [f"{name}: {value}" for name, value in {"host": f"127.0.0.1:{program.port}", **headers}.items()]
        lines += ["upgrade: websocket", "connection: upgrade", "sec-websocket-version: 13"]
        lines += ["sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="]
        client.sendall("\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode())
        return int(client.recv(65536).split(b" ")[1])


def test_pages_of_other_sites_open_no_websocket(shared: Program) -> None:
    own = f"http://127.0.0.1:{shared.port}"
    for origin in ("http://evil.example", "null", "http://127.0.0.1", f"{own}.evil.example", f"file://{own[7:]}", ""):
        assert upgraded(shared, "/dynamic", origin=origin) == 403
    for origin in (own, own.upper(), own.replace("http:", "https:")):
        assert upgraded(shared, "/dynamic", origin=origin) == 101
    assert upgraded(shared, "/dynamic") == 101  # no browser
    assert upgraded(shared, "/dynamic", host="Shop.example", origin="https://shop.example:443") == 101
    assert upgraded(shared, "/dynamic", host="shop.example:80", origin="https://shop.example") == 403
    twice = f"{own}\r\norigin: http://evil.example"
    assert upgraded(shared, "/dynamic", origin=twice) == 400


def test_origins_that_may_open_websockets(tmp_path: Path) -> None:
    listed = ':origins ["https://App.example" "http://localhost:5173"]'
    with serving(tmp_path, "app", listed, ROUTES) as program:
        for origin in ("https://app.example", "https://app.example:443", "http://localhost:5173"):
            assert upgraded(program, "/dynamic", origin=origin) == 101
        assert upgraded(program, "/dynamic", origin=f"http://127.0.0.1:{program.port}") == 101
        for origin in ("http://app.example", "http://localhost:5174", "null", "https://x.app.example"):
            assert upgraded(program, "/dynamic", origin=origin) == 403
    (tmp_path / "any").mkdir()
    with serving(tmp_path / "any", "app", ':origins "*"', ROUTES) as program:
        assert upgraded(program, "/dynamic", origin="http://evil.example") == 101


def test_bad_frames_close_only_their_connection(shared: Program) -> None:
    upgrade = (
        b"GET /echo/1 HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with shared.connect(upgrade) as client:
        assert client.recv(65536).startswith(b"HTTP/1.1 101 ")
        client.sendall(b"\x81\x05hello")  # a client must mask
        assert b"\x03\xea" in client.recv(65536)  # 1002, protocol error
    assert shared.get("/news").text == "closed"
    with connect(socket_url(shared, "/echo/2"), max_size=None) as client, pytest.raises(ConnectionClosed) as closed:
        client.send("x" * 200_000)
        client.recv(timeout=30)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
    assert shared.get("/news").text == "closed"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure memory")
def test_trailers_for_ever_take_no_memory(tmp_path: Path) -> None:
    def held(program: Program) -> int:
        lines = Path(f"/proc/{program.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))

    begin = b"POST /map HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    with serving(tmp_path, "app", "", ROUTES) as program:
        program.get("/text")
        before = held(program)
        with program.connect(begin + b"x: y\r\n" * 1_000_000 + b"x-last: 1\r\n\r\n") as client:
            answer = client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200 ") and b"x-last" not in answer
        assert held(program) - before < 40_000  # KB; they were 100,000


@pytest.mark.parametrize("fragment", [b"\x00\x80abcd", b"\x00\x81abcd\0"])
def test_fragments_for_ever_close_a_websocket(shared: Program, fragment: bytes) -> None:
    upgrade = (
        b"GET /echo/1 HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with shared.connect(upgrade) as client:
        assert client.recv(65536).startswith(b"HTTP/1.1 101 ")
        with suppress(ConnectionError):
            client.sendall(b"\x01\x80abcd" + fragment * 20_000)
        with suppress(ConnectionError):
            assert b"\x03\xf1" in client.recv(65536)  # 1009
    assert shared.get("/news").text == "closed"


# Clients that stall


def test_clients_that_stall_are_closed(tmp_path: Path) -> None:
    with serving(tmp_path, "app", ":read-timeout 400", ROUTES) as program:
        head = program.connect(b"GET /text HTTP/1.1\r\nhost:")
        silent = program.connect()
        body = program.connect(b"POST /map HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab")
        deaf = program.connect(b"GET /flood HTTP/1.1\r\nhost: x\r\n\r\n")
        for client in (head, body):
            assert client.recv(100).startswith(b"HTTP/1.1 408 ")
        assert silent.recv(100) == b""
        assert program.get("/news").text == "flood ended"
        assert program.get("/text").status_code == 200
        for client in (head, silent, body, deaf):
            client.close()


@pytest.mark.parametrize(
    ("framing", "piece"), [("content-length: 99999", b"x"), ("transfer-encoding: chunked", b"1\r\nx\r\n")]
)
def test_a_body_that_drips_is_refused(tmp_path: Path, framing: str, piece: bytes) -> None:
    """A client that sends a byte again and again never stalls, and never ends."""
    with serving(tmp_path, "app", ":read-timeout 400", ROUTES) as program:
        with program.connect(f"POST /map HTTP/1.1\r\nhost: x\r\n{framing}\r\n\r\n".encode()) as client:
            client.settimeout(0.05)
            answer = b""
            for _ in range(200):
                client.sendall(piece)
                try:
                    answer = client.recv(100)
                    break
                except TimeoutError:
                    continue
        assert answer.startswith(b"HTTP/1.1 408 ")


# Starting and stopping


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_let_requests_finish(tmp_path: Path, number: int) -> None:
    handler = '(fn (r) (println "entered") (async/sleep 200) (http/text "finished"))'
    with serving(tmp_path, handler, after='(println "program goes on")') as program:
        answers: list[str] = []
        asking = threading.Thread(target=lambda: answers.append(program.get("/").text))
        asking.start()
        assert program.output.readline() == "entered\n"
        program.process.send_signal(number)
        asking.join()
        assert answers == ["finished"]
        assert program.output.read() == "program goes on\n"
        assert program.process.wait() == 0
        assert program.stderr().startswith("Stopping")


def test_the_grace_of_requests_is_limited(tmp_path: Path) -> None:
    handler = '(fn (r) (println "entered") (try (async/sleep 60000) (catch e (println "ended"))))'
    with serving(tmp_path, handler, ":grace 100", after='(println "program goes on")') as program:
        client = program.connect(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert program.output.readline() == "entered\n"
        program.process.send_signal(signal.SIGINT)
        assert sorted(program.output.read().split("\n")) == ["", "ended", "program goes on"]
        assert program.process.wait() == 0
        client.close()


def test_a_second_ctrl_c_ends_the_program(tmp_path: Path) -> None:
    with serving(tmp_path, '(fn (r) (println "entered") (async/sleep 60000))') as program:
        client = program.connect(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert program.output.readline() == "entered\n"
        program.process.send_signal(signal.SIGINT)
        assert program.says("Stopping")
        program.process.send_signal(signal.SIGINT)
        assert program.process.wait(30) == 1
        assert program.stderr().endswith("Error: interrupted\n")
        client.close()


TWICE = "(raise_signal 2) (raise_signal 2)"


@pytest.mark.parametrize(
    "handler",
    [
        f"(fn (r) {TWICE} (async/sleep 60000))",
        f"(fn (r) (async/sleep 1) {TWICE} (async/sleep 60000))",
        f'(fn (r) (http/stream (fn (send) (send "one") {TWICE} (async/sleep 60000))))',
    ],
)
def test_a_second_ctrl_c_in_a_handler(tmp_path: Path, handler: str) -> None:
    with serving(tmp_path, handler, before='(py/from "signal" raise_signal)') as program:
        program.ask(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert program.process.wait(30) == 1
        assert program.stderr().endswith("Error: interrupted\n")


def test_a_second_ctrl_c_in_the_servers_own_work(tmp_path: Path) -> None:
    """Where uvicorn and its parser would catch what is raised."""
    (tmp_path / "often.py").write_text(
        "from signal import SIGINT, raise_signal\n"
        "from sema_runtime.web.protocol import Exchange\n"
        "def begin(self, begin=Exchange.begin):\n"
        "    begin(self)\n"
        "    raise_signal(SIGINT)\n"
        "    raise_signal(SIGINT)\n"
        "Exchange.begin = begin\n"
    )
    with serving(tmp_path, "(fn (r) (async/sleep 60000))", before='(py/import "often")') as program:
        program.ask(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert program.process.wait(30) == 1
        assert program.stderr().endswith("Error: interrupted\n")


def test_a_second_ctrl_c_in_a_websocket(tmp_path: Path) -> None:
    handler = f"(fn (r) (http/websocket (fn (c) ((:recv c)) {TWICE} (async/sleep 60000))))"
    with serving(tmp_path, handler, before='(py/from "signal" raise_signal)') as program:
        with connect(program.url().replace("http", "ws")) as client, suppress(ConnectionClosed):
            client.send("now")
            client.recv()
        assert program.process.wait(30) == 1
        assert program.stderr().endswith("Error: interrupted\n")


def test_exit_in_a_handler_ends_the_program(tmp_path: Path) -> None:
    for handler in ("(fn (r) (exit 7))", "(fn (r) (async/sleep 1) (exit 7))"):
        with serving(tmp_path, handler) as program:
            program.ask(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert program.process.wait(30) == 7


def test_server_and_client_in_one_program(tmp_path: Path) -> None:
    """Cancelling the server's task frees the port at once and cancels what is going on."""
    source = """
    (define bound (channel/new 1))
    (define (start port)
      (let ((server (async (http/serve (fn (r) (if (= (:path r) "/hang")
                                                 (try (async/sleep 60000) (catch e (println "cancelled")))
                                                 (http/ok {:path (:path r)})))
                                       {:port port :host "127.0.0.1" :on-listen (fn (i) (channel/send bound i))}))))
        (list server (channel/recv bound))))
    (define first-one (start 0))
    (define info (nth first-one 1))
    (println (:port info))
    (println (:path (json/decode (:body (http/get (string-append (:url info) "/hello"))))))
    (define hanging (async (try (http/get (string-append (:url info) "/hang")) (catch e (println "client failed")))))
    (async/sleep 50)
    (async/cancel (nth first-one 0))
    (await hanging)
    (println (try (await (nth first-one 0)) (catch e (:type e))))
    (define second-one (start (:port info)))
    (println (:status (http/get (:url info))))
    ((:stop (nth second-one 1)))
    (println (await (nth second-one 0)))
    """
    program = Program(source, tmp_path)
    try:
        lines = program.output.read().splitlines()
        assert (lines, program.stderr()) == (
            ["/hello", "cancelled", "client failed", ":cancelled", "200", "nil"],
            "",
        )
        assert program.process.wait() == 0
    finally:
        program.close()


def test_ports(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        options = Map({keyword("port"): port, keyword("host"): "127.0.0.1"})
        with pytest.raises(SemaError, match=f"http/serve: bind 127.0.0.1:{port}: Address already in use") as failed:
            http_serve(lambda request: request, options)
        assert describe(failed.value).message.startswith("I/O error: ")
        source = f"""
        (http/serve (fn (r) (http/text "here"))
          {{:port {port} :host "127.0.0.1" :port-fallback #t :on-listen (fn (info) (println (:port info)))}})
        """
        program = Program(source, tmp_path)
        try:
            assert program.port > port
            assert program.get("/").text == "here"
        finally:
            program.close()


def test_what_the_server_says_on_stderr(tmp_path: Path) -> None:
    """Where it listens, unless the program says it; that the function for that has failed."""
    source = '(async (http/serve car {:port 0 :host "127.0.0.1"})) (async/sleep 1) (println 0) (exit 0)'
    program = Program(source, tmp_path)
    assert program.process.wait() == 0
    assert program.stderr().startswith("Listening on 127.0.0.1:")
    program.close()
    with serving(tmp_path, '(fn (r) (http/text "on"))') as program:
        assert program.stderr() == ""
    source = """
    (define (told info) (println (:port info)) (error "not told"))
    (http/serve (fn (r) (http/text "on")) {:port 0 :host "127.0.0.1" :on-listen told})
    """
    program = Program(source, tmp_path)
    assert program.get("/").text == "on"
    assert program.stderr().startswith("http/serve on-listen handler error: not told\n")
    program.close()


def test_connections_over_the_limit(tmp_path: Path) -> None:
    with serving(tmp_path, '(fn (r) (http/text "on"))', ":max-connections 1") as program, httpx.Client() as client:
        assert client.get(program.url()).text == "on"
        assert program.get("/").status_code == 503
        assert client.get(program.url()).text == "on"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port": 70000}, "http/serve: port must be in 0..=65535, got 70000"),
        ({"port": "80"}, "expected int, got string"),
        ({"host": 5}, "expected string, got int"),
        ({"host": "no such host"}, "http/serve: bind no such host:3000: "),
        ({"on-listen": 5}, "expected function, got int"),
        ({"grace": -1}, "http/serve: :grace must not be negative, got -1"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SemaError) as failed:
        http_serve(lambda request: request, Map({keyword(key): value for key, value in options.items()}))
    assert failed.value.message.startswith(message)


@pytest.mark.parametrize("origins", ["5", "[1]", '["example.com"]', "{:a 1}"])
def test_origins_that_are_none(origins: str) -> None:
    with pytest.raises(SemaError, match="http/serve: :origins "):
        run(f"(http/serve (fn (r) r) {{:origins {origins}}})")


def test_bad_arguments() -> None:
    with pytest.raises(SemaError, match="expected function, got int"):
        http_serve(5)
    with pytest.raises(SemaError, match="expected map, got int"):
        http_serve(lambda request: request, 8080)


def test_without_the_packages_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sema_runtime.web.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(SemaError, match=r"http/serve needs the package uvicorn: pip install 'semac\[web\]'"):
        http_serve(lambda request: request, Map({keyword("port"): 0}))


# The ASGI application


def slow(request: Map) -> Any:
    sleep(5)
    return http_ok(request)


def broken(request: Map) -> Any:
    sleep(1)
    raise SemaError("broken")


APP = asgi_app(
    http_router(
        [(keyword("get"), "/slow", slow), (keyword("get"), "/broken", broken), (keyword("post"), "/", http_ok)],
    ),
    max_body=10,
)


def test_python_mounts_a_handler() -> None:
    async def requests() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=APP, root_path="/mounted")
        async with httpx.AsyncClient(transport=transport, base_url="http://test/mounted") as client:
            return list(
                await asyncio.gather(
                    *[client.get("/slow?a=1") for _ in range(20)],
                    client.get("/broken"),
                    client.get("/nowhere"),
                    client.post("/", content=b"x" * 11),
                )
            )

    *good, failed, missing, refused = asyncio.run(requests())
    assert [(one.status_code, one.json()["path"], one.json()["query"]) for one in good] == [
        (200, "/slow", {"a": "1"})
    ] * 20
    assert (failed.status_code, missing.status_code, refused.status_code) == (500, 404, 413)


def test_another_server_runs_a_handler() -> None:
    """uvicorn as its users start it, with its slower HTTP protocol, in their own asyncio program."""

    async def program() -> tuple[int, int]:
        server = uvicorn.Server(uvicorn.Config(APP, port=0, http="h11", ws="none", log_level="critical"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            good, bad = await asyncio.gather(client.get("/slow"), client.get("/broken"))
        server.should_exit = True
        await serving
        return good.status_code, bad.status_code

    assert asyncio.run(program()) == (200, 500)
