"""Redirects: methods, bodies, and what of a request stays at its origin."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from net_support import PROXIES, Received, certified, received, reply, run, serving

from sema_runtime.values.errors import SemaError

KEYS = '{:authorization "s3cret" :cookie "a=s3cret" "X-Api-Key" "s3cret" :x-of-my-own "s3cret" :accept "text/plain"}'


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


class Site:
    """A server that redirects `/` and notes all that it is asked."""

    def __init__(self, status: int = 302, location: str = "/there") -> None:
        self.status = status
        self.location = location
        self.asked: list[Received] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await received(reader):
            self.asked.append(request)
            moved = request.target == "/"
            writer.write(reply("", f"{self.status} Moved", location=self.location) if moved else reply("there"))

    def last(self) -> Received:
        return self.asked[-1]


@pytest.mark.parametrize(
    ("status", "method", "expected"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (303, "PUT", "GET"),
        (303, "DELETE", "GET"),
        (307, "PATCH", "PATCH"),
        (302, "GET", "GET"),
        (303, "HEAD", "HEAD"),
        (303, "QUERY", "GET"),
    ],
)
def test_the_method_and_the_body(status: int, method: str, expected: str) -> None:
    site = Site(status)
    body = "nil" if method in ("GET", "HEAD") else '"text"'
    with serving(site) as url:
        run(f'(http/request "{method}" "{url}/" {{:headers {{:content-type "text/x" :x-a "1"}}}} {body})')
    request = site.last()
    kept = expected == method
    assert (request.method, request.target) == (expected, "/there")
    assert request.body == (b"text" if kept and body != "nil" else b"")
    assert ("content-type" in request.headers) is kept
    assert request.headers["x-a"] == "1"  # of the same origin


def test_a_form_is_sent_again() -> None:
    site = Site(307)
    with serving(site) as url:
        run(f'(http/post "{url}/" nil {{:multipart [{{:name "a" :content "xyz"}}]}})')
    first, second = site.asked
    assert first.body == second.body and b"xyz" in second.body
    assert first.headers["content-type"] == second.headers["content-type"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("target", ["{}/there", "//{}/there", "http://me:pw@{}/there"])
def test_what_the_caller_gave_stays_at_its_origin(status: int, target: str) -> None:
    other = Site()
    with serving(other) as elsewhere:
        place = elsewhere if target.startswith("{") else elsewhere.removeprefix("http://")
        site = Site(status, target.format(place))
        with serving(site) as url:
            user = url.replace("http://", "http://ada:s3cret@")
            run(f'(http/get "{user}/" {{:headers {KEYS}}})')
            run(f'(http/post "{url}/" "b" {{:headers {KEYS}}})')
    assert len(other.asked) == 2
    for request in other.asked:
        assert request.headers["accept"] == "text/plain"
        assert not {"authorization", "cookie", "x-api-key", "x-of-my-own"} & request.headers.keys()
        assert f"http://{request.headers['host']}" == elsewhere


def test_what_was_dropped_does_not_come_back() -> None:
    """From one origin to another and back: the way back is the other's word."""
    site = Site()
    with serving(site) as url, serving(Site(302, f"{url}/back")) as elsewhere:
        site.location = f"{elsewhere}/"
        run(f'(http/get "{url}/" {{:headers {KEYS}}})')
    assert site.asked[0].headers["x-api-key"] == "s3cret"
    assert site.last().target == "/back" and "x-api-key" not in site.last().headers


def test_at_the_same_origin_everything_stays() -> None:
    site = Site(302, "/there?x=1#part")
    with serving(site) as url:
        run(f'(http/get "{url.replace("http://", "http://ada:pw@")}/" {{:headers {{:x-api-key "k" :host "shop"}}}})')
    request = site.last()
    assert request.target == "/there?x=1"
    assert (request.headers["x-api-key"], request.headers["host"]) == ("k", "shop")
    assert request.headers["authorization"] == "Basic YWRhOnB3"


def test_nothing_leads_from_https_to_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Site()
    with certified(tmp_path, monkeypatch) as (context, trust), serving(plain) as open_url:
        trust()
        moved = serving(Site(302, f"{open_url}/there"), context)
        with moved as url, pytest.raises(SemaError, match="from https to http, where others can read along"):
            run(f'(http/get "{url}/")')
    assert not plain.asked


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("file:///etc/passwd", "invalid URL: it leads to file:, not http or https"),
        ("http://127.0.0.1:99999/", "invalid URL: there is no port 99999"),
        ("http://[::1/", "it is redirected to what is no URL"),
    ],
)
def test_places_that_are_none(location: str, reason: str) -> None:
    with serving(Site(302, location)) as url, pytest.raises(SemaError) as caught:
        run(f'(http/get "{url}/")')
    assert reason in caught.value.message


def test_a_redirect_without_a_place_is_a_reply() -> None:
    async def moved(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(reply("where to?", "302 Found"))

    with serving(moved) as url:
        assert run(f'(:body (http/get "{url}"))') == "where to?"
