"""A registry of Sema packages on loopback, which can be told to misbehave."""

from __future__ import annotations

import email
import email.policy
import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "sema_pat_secret"


def archive(files: dict[str, str], change: Callable[[tarfile.TarFile], None] = lambda tar: None) -> bytes:
    """An archive of files; change may add entries that no honest one has."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
        change(tar)
    return gzip.compress(output.getvalue())


class RegistryServer:
    """packages: name → version → archive. yanked: pairs of name and version. seen: (method, path, token) of requests.

    misbehave: called with the handler before an answer; true when it has answered in its own way.
    """

    def __init__(self) -> None:
        self.packages: dict[str, dict[str, bytes]] = {}
        self.descriptions: dict[str, str] = {}
        self.metadata: dict[tuple[str, str], Any] = {}
        self.yanked: set[tuple[str, str]] = set()
        self.seen: list[tuple[str, str, str]] = []
        self.misbehave: Callable[[Any], bool] = lambda handler: False
        self.checksums: dict[tuple[str, str], str] = {}
        self.url = ""

    def put(self, name: str, version: str, files: dict[str, str]) -> None:
        self.packages.setdefault(name, {})[version] = archive(files)

    def info(self, name: str) -> dict[str, Any]:
        versions = [
            {
                "version": version,
                "checksum_sha256": self.checksums.get((name, version), hashlib.sha256(data).hexdigest()),
                "yanked": (name, version) in self.yanked,
            }
            for version, data in self.packages[name].items()
        ]
        package = {"name": name, "description": self.descriptions.get(name, "")}
        return {"package": package, "versions": versions, "owners": ["ann"]}


class Handler(BaseHTTPRequestHandler):
    registry: RegistryServer

    def answer(self, status: int, data: Any) -> None:
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_request(self) -> None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        self.registry.seen.append((self.command, self.path, token))
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if self.registry.misbehave(self):
            return
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.removeprefix("/api/v1/").split("/")]
        if self.command != "GET" and token != TOKEN:
            self.answer(401, {"error": "Invalid token"})
        elif parts == ["search"]:
            text = parse_qs(url.query).get("q", [""])[0]
            found = [name for name in self.registry.packages if text in name]
            described = [{"name": name, "description": self.registry.descriptions.get(name, "")} for name in found]
            self.answer(200, {"packages": described, "total": len(found)})
        elif self.command == "PUT" and len(parts) == 3:
            self.publish(parts[1], parts[2], body)
        elif parts[0] != "packages" or parts[1] not in self.registry.packages:
            self.answer(404, {"error": "Package not found"})
        elif len(parts) == 2:
            self.answer(200, self.registry.info(parts[1]))
        elif parts[2] not in self.registry.packages[parts[1]]:
            self.answer(404, {"error": "Version not found"})
        elif parts[3] == "download":
            self.answer(200, self.registry.packages[parts[1]][parts[2]])
        else:
            self.registry.yanked.add((parts[1], parts[2]))
            self.answer(200, {"ok": True})

    def publish(self, name: str, version: str, body: bytes) -> None:
        if version in self.registry.packages.get(name, {}):
            self.answer(409, {"error": "Version already exists"})
            return
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        message = email.message_from_bytes(head + body, policy=email.policy.HTTP)
        parts = {part.get_param("name", header="content-disposition"): part for part in message.iter_parts()}
        data = parts["tarball"].get_payload(decode=True)
        self.registry.packages.setdefault(name, {})[version] = data
        self.registry.metadata[name, version] = json.loads(parts["metadata"].get_payload(decode=True))
        self.answer(201, {"ok": True, "checksum": hashlib.sha256(data).hexdigest(), "size": len(data)})

    do_GET = do_PUT = do_POST = handle_request

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@contextmanager
def registry() -> Iterator[RegistryServer]:
    """A server while it runs."""
    state = RegistryServer()
    handler = type("OwnHandler", (Handler,), {"registry": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
