"""Programs that serve: starting, signals, Ctrl-C, wrong options; their handlers under another ASGI server."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from http_server_support import Program, serving
from net_support import run
from websockets.exceptions import ConnectionClosed
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
