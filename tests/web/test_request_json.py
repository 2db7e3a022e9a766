"""The :json of a request: it is parsed when a handler asks, and the map is an ordinary one all the same."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sema_runtime.lib.data.json import json_encode
from sema_runtime.lib.network.http_responses import http_ok, http_text
from sema_runtime.lib.network.http_routes import http_router
from sema_runtime.support import json as support_json
from sema_runtime.values.atoms import keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from sema_runtime.web import asgi_app
from sema_runtime.web.messages import with_body

JSON, BODY, PATH, HEADERS = keyword("json"), keyword("body"), keyword("path"), keyword("headers")
LONG = json.dumps([1] * 100_000).encode()


@pytest.fixture
def parsed_in(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads in which JSON was parsed, in order."""
    threads: list[int] = []
    real = support_json.decode

    def decode(text: Any) -> Any:
        threads.append(threading.get_ident())
        return real(text)

    monkeypatch.setattr(support_json, "decode", decode)
    return threads


def request(body: bytes) -> Map:
    return with_body(Map({PATH: "/", HEADERS: Map({"content-type": "application/json"})}), body)


def answered(handler: Callable[[Any], Any], body: bytes) -> str:
    app = asgi_app(http_router([(keyword("post"), "/:id", handler)]))

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
            return await client.post("/7", content=body, headers={"content-type": "application/json"})

    return asyncio.run(ask()).text


def test_a_body_that_nobody_asks_for_is_not_parsed(parsed_in: list[int]) -> None:
    assert answered(lambda r: http_text(to_text(r.lookup(keyword("params")))), LONG) == '{:id "7"}'
    assert answered(lambda r: http_text(str(len(r.lookup(BODY)))), LONG) == str(len(LONG))
    assert parsed_in == []


def test_a_long_body_is_parsed_in_another_thread(parsed_in: list[int]) -> None:
    assert answered(lambda r: http_ok(len(r.lookup(JSON))), LONG) == "100000"
    assert len(parsed_in) == 1 and parsed_in[0] != threading.get_ident()
    assert answered(lambda r: http_ok(r.lookup(JSON)), b"[1]") == "[1]"
    assert len(parsed_in) == 2 and parsed_in[1] == threading.get_ident()


def test_others_are_served_while_a_body_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser waits for something that only another request brings."""
    brought = threading.Event()
    real = support_json.decode

    def decode(text: Any) -> Any:
        assert brought.wait(10)
        return real(text)

    monkeypatch.setattr(support_json, "decode", decode)

    def bring(_: Any) -> Any:
        brought.set()
        return "brought"

    app = asgi_app(
        http_router(
            [(keyword("post"), "/", lambda r: http_ok(len(r.lookup(JSON)))), (keyword("get"), "/bring", bring)],
        )
    )

    async def both() -> list[str]:
        headers = {"content-type": "application/json"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
            long = asyncio.create_task(client.post("/", content=LONG, headers=headers))
            return [(await client.get("/bring")).text, (await long).text]

    assert asyncio.run(both()) == ['"brought"', "100000"]


@pytest.mark.parametrize(("body", "value"), [(b"[1, 2]", List([1, 2])), (b"null", None), (b"{", "absent")])
def test_the_map_is_an_ordinary_one(body: bytes, value: Any) -> None:
    entries = {PATH: "/", HEADERS: Map({"content-type": "application/json"}), BODY: body.decode()}
    if value != "absent":
        entries[JSON] = value
    plain = Map(entries)
    views: list[Callable[[Map], Any]] = [
        lambda m: m.lookup(JSON, "none"),
        lambda m: m.has(JSON),
        lambda m: len(m),
        lambda m: m.keys(),
        lambda m: list(m.values()),
        lambda m: m.items(),
        lambda m: {**m.d},
        lambda m: dict(m.d),
        lambda m: m.d | {},
        lambda m: {} | m.d,
        lambda m: list(reversed(list(m.d))),
        lambda m: m == plain and plain == m,
        hash,
        to_text,
        json_encode,
        lambda m: m.assoc(keyword("user"), 1),
        lambda m: m.assoc(JSON, 5),
        lambda m: m.assoc(JSON, 5).lookup(JSON),
        lambda m: m.without(JSON),
        lambda m: m.without(PATH).lookup(JSON, "none"),
        lambda m: m.merged(Map({PATH: "x"})),
        lambda m: Map({PATH: "x"}).merged(m),
        lambda m: m["body"],
        lambda m: "json" in m,
        lambda m: m.d.get(JSON, "none"),
    ]
    for view in views:
        assert view(request(body)) == view(plain)


def test_a_value_is_parsed_once(parsed_in: list[int]) -> None:
    first = request(b'{"a": [1]}')
    second = first.assoc(PATH, "/elsewhere")
    assert first.lookup(JSON) is second.lookup(JSON) is first.lookup(JSON)
    assert len(parsed_in) == 1
