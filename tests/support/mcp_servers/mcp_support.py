"""What the tests of the MCP client share: servers that others wrote, and one over HTTP that does as it is told."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from llm_support import CACHE, installed
from paths import DATA

from sema_runtime.llm.recordings import cassette
from sema_runtime.mcp import servers
from sema_runtime.tasks import suspend
from semac.session import Session

SERVERS = DATA / "mcp"
FASTMCP = "fastmcp==4.1.2"
EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"
INSPECTOR = "@modelcontextprotocol/inspector@0.15.0"


@pytest.fixture
def mcp(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No tape, an empty token store in a file, no browser; what the test leaves connected is closed."""
    for handle in list(servers._servers):  # of tests in this process that have no loop any more
        servers.forget(handle)
    for name in ("SEMA_LLM_CASSETTE", "SEMA_LLM_CASSETTE_MODE", "BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SEMA_MCP_TOKEN_STORE", "file")
    cassette.reset()
    yield
    cassette.reset()
    for handle, server in list(servers._servers.items()):
        servers.forget(handle)
        suspend(server.close())


def run(program: str, **names: Any) -> Any:
    """The value of a program. names: values that it finds under these names."""
    session = Session()
    for name, value in names.items():
        session.run(f"(define {name.replace('_', '-')} {literal(value)})")
    return session.run(program)


def literal(value: Any) -> str:
    """JSON data as Sema text."""
    if isinstance(value, dict):
        return "{" + " ".join(f"{literal(key)} {literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + " ".join(map(literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def program(name: str, *arguments: str) -> dict[str, Any]:
    """The map that connects to one of our servers over stdio, with strings as keys."""
    return {"command": sys.executable, "args": [str(SERVERS / name), *arguments]}


@contextmanager
def started(name: str, *arguments: str, ports: int = 1) -> Iterator[list[str]]:
    """The URLs of a server that prints its ports."""
    process = subprocess.Popen([sys.executable, str(SERVERS / name), *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield [f"http://127.0.0.1:{int(process.stdout.readline())}" for _ in range(ports)]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def fastmcp_python() -> str:
    """A Python with fastmcp, in the tests' cache: its dependencies would slow ours down. Skips where there is none."""
    folder = CACHE / FASTMCP.replace("==", "-")
    python = str(folder / "bin" / "python")
    installed(
        "fastmcp",
        folder,
        [sys.executable, "-m", "venv", str(folder)],
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", FASTMCP],
    )
    return python


def everything() -> list[str]:
    """The command of the protocol's own example server, from npm. Skips where there is no node."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("the example server needs node and npm")
    modules = node_modules("the example server", CACHE / "mcp-everything", EVERYTHING)
    return ["node", str(modules / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js")]


def inspector() -> list[str]:
    """The command of the protocol's inspector without its page, from npm. Skips where there is no node."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("the inspector needs node and npm")
    modules = node_modules("the inspector", CACHE / "mcp-inspector", INSPECTOR)
    return [str(modules / ".bin" / "mcp-inspector"), "--cli"]


def node_modules(what: str, folder: Path, package: str) -> Path:
    """The modules of a package of npm, in the tests' cache."""
    options = ("--no-save", "--no-audit", "--no-fund", "--prefix", str(folder))
    installed(what, folder, ["npm", "install", *options, package])
    return folder / "node_modules"


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"nothing listens on port {port}")


def alive(pid: int) -> bool:
    """Whether a process runs (one that waits for its parent to take note of its end doesn't)."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


# A server over HTTP that does as it is told


@dataclass
class Asked:
    """A request that came. body: decoded JSON, else text. port: the client's end of the connection."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    port: int = 0


@dataclass
class Told:
    """What is answered. body: a dict or list is sent as JSON. events: an event stream instead; each is (id, data)."""

    status: int = 200
    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)
    events: list[tuple[str, Any]] | None = None


Behaviour = Callable[[Asked], Told]


class HttpServer:
    """Answers every request as `behave` says; keeps what came."""

    def __init__(self, behave: Behaviour) -> None:
        self.behave = behave
        self.asked: list[Asked] = []
        handler = type("Handler", (_Handler,), {"owner": self})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()


class _Handler(BaseHTTPRequestHandler):
    owner: HttpServer
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, body, self.client_address[1])
        self.owner.asked.append(asked)
        told = self.owner.behave(asked)
        if told.events is not None:
            kind = "text/event-stream"
            text = "".join(f"id: {number}\ndata: {_json(data)}\n\n" for number, data in told.events)
        else:
            kind = "text/plain" if isinstance(told.body, str) else "application/json"
            text = _json(told.body)
        data = text.encode()
        self.send_response(told.status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **told.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        pass


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@contextmanager
def http_server(behave: Behaviour) -> Iterator[HttpServer]:
    server = HttpServer(behave)
    try:
        yield server
    finally:
        server.stop()


def result(asked: Asked, value: Any) -> dict[str, Any]:
    """A JSON-RPC answer to what was asked."""
    return {"jsonrpc": "2.0", "id": asked.body["id"], "result": value}


def greeting(asked: Asked, session: str = "") -> Told:
    """The answer to `initialize`."""
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "told", "version": "1"}}
    return Told(body=result(asked, info), headers={"mcp-session-id": session} if session else {})


def said(text: str) -> dict[str, Any]:
    """The result of a tool."""
    return {"content": [{"type": "text", "text": text}]}


def peaceful(asked: Asked) -> Told:
    """A server with one tool, which says what it was told."""
    method = asked.body.get("method") if isinstance(asked.body, dict) else None
    if asked.method != "POST":
        return Told(405)
    if method == "initialize":
        return greeting(asked)
    if method == "tools/call":
        return Told(body=result(asked, said(json.dumps(asked.body["params"]["arguments"]))))
    return Told(202)


def environment(**more: str) -> dict[str, str]:
    """The environment for `sema` as a process of its own."""
    return {**os.environ, **more}
