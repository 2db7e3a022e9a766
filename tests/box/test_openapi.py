"""Tools of an OpenAPI document, against a real server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sema_runtime.box import Pool, openapi_tools
from sema_runtime.values.errors import SemaError

SECRET = "s3cret-token-1"
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "paths": {
        "/users/{user-id}": {
            "parameters": [{"name": "user-id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {
                "operationId": "getUser",
                "summary": "One user.",
                "parameters": [{"name": "full", "in": "query", "schema": {"type": "boolean"}}],
                "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/U"}}}}},
            },
        },
        "/users": {
            "post": {
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/U"}}},
                },
                "responses": {},
            }
        },
        "/upload": {"post": {"operationId": "upload", "requestBody": {"content": {"image/png": {}}}}},
    },
    "components": {
        "schemas": {
            "U": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                "required": ["name"],
            }
        }
    },
}


class Handler(BaseHTTPRequestHandler):
    seen: ClassVar[list[tuple[str, str, str, Any]]] = []

    def answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.seen.append((self.command, self.path, self.headers.get("authorization", ""), body))
        status = {"/users/missing": 404, "/users/moved": 302}.get(self.path, 200)
        said = json.dumps(
            {"name": "Bo", "path": self.path, "you-sent": self.headers.get("authorization"), "body": body}
        ).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("location", "http://127.0.0.1:9/")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = answer

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def url() -> Iterator[str]:
    Handler.seen.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_operations_are_called_with_the_credentials_of_the_host(pool: Pool, url: str) -> None:
    tools = openapi_tools(DOCUMENT, url, {"Authorization": f"Bearer {SECRET}"})
    assert sorted(tools) == ["getUser", "post-users"]
    assert tools["getUser"].line() == (
        "tool/getUser(user_id string, full bool?) -> {name string, age int?} ; One user."
    )
    assert (tools["getUser"].effect, tools["post-users"].effect) == ("read", "write")
    outcome = pool.run(
        '(list (tool/getUser {:user-id "a/../b?x=1" :full #t}) (tool/post-users {:name "Bo" :age 3}))', tools=tools
    )
    assert outcome.ok, outcome
    wrong = pool.run('(tool/post-users {:name "Bo" :age "x"})', tools=tools)
    assert wrong.reason == "validation_error" and 'age: expected int, got string "x"' in (wrong.message or "")
    (method, path, auth, _), posted = Handler.seen
    assert (method, path, auth) == ("GET", "/users/a%2F..%2Fb%3Fx%3D1?full=true", f"Bearer {SECRET}")
    assert posted[0] == "POST" and posted[3] == {"name": "Bo", "age": 3}
    assert SECRET not in repr(outcome) and "[redacted]" in repr(outcome)


@pytest.mark.parametrize(
    ("source", "reason", "words"),
    [
        ('(tool/getUser {:user-id ".."})', "validation_error", "part of a path"),
        ("(tool/getUser {:user-id 5})", "validation_error", "user_id"),
        ('(tool/getUser {:user-id "a" :ful #t})', "validation_error", "did you mean full?"),
        ("(tool/post-users {:age 3})", "validation_error", "name"),
        ('(tool/getUser {:user-id "missing"})', "tool_error", "status 404"),
        ('(tool/getUser {:user-id "moved"})', "tool_error", "status 302"),
    ],
)
def test_what_goes_wrong_is_said(pool: Pool, url: str, source: str, reason: str, words: str) -> None:
    outcome = pool.run(source, tools=openapi_tools(DOCUMENT, url, {"Authorization": SECRET}))
    assert outcome.reason == reason and words in (outcome.message or "")
    assert SECRET not in repr(outcome)
    assert bool(Handler.seen) == (reason == "tool_error")


def test_a_server_that_is_gone_is_an_error_of_the_tool(pool: Pool) -> None:
    outcome = pool.run('(tool/getUser {:user-id "a"})', tools=openapi_tools(DOCUMENT, "http://127.0.0.1:9"))
    assert outcome.reason == "tool_error" and "gave no answer" in (outcome.message or "")


def test_documents_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "api.json"
    path.write_text("openapi: 3.1.0")
    for arguments, words in (
        ((path,), "isn't JSON"),
        ((tmp_path / "none.json",), "No such file"),
        (({"paths": {}}, "http://x"), "no operation"),
        (({}, "http://x"), "no paths"),
        ((DOCUMENT,), "no URL"),
        ((DOCUMENT, "file:///etc"), "no URL"),
        ((DOCUMENT, "http://x", None, ["upload"]), "no operation upload"),
    ):
        with pytest.raises(SemaError, match=words):
            openapi_tools(*arguments)
    path.write_text(json.dumps(DOCUMENT))
    assert list(openapi_tools(path, "http://x", only=["getUser"])) == ["getUser"]
