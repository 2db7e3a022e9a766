"""`http/serve`: requests, responses, many at a time, events, clients that stall; real clients on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_server_support import ROUTES, Program, serving
from http_server_support import shared as shared

CONNECTIONS = 200


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
