"""WebSockets of `http/serve`: messages, closing, origins, bad frames, fragments without end."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from http_server_support import ROUTES, Program, serving
from http_server_support import shared as shared
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

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
