"""A server that answers with what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from net_support import PROXIES, run

from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import IoError
from sema_runtime.values.maps import Map


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
