"""Which addresses are internal, what a checked request connects to, and what NO_PROXY takes out."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from pathlib import Path
from typing import Any

import pytest
from net_support import PROXIES, answering, background, certified, received, reply, run, serving

from sema_runtime import capabilities
from sema_runtime.llm import http as llm_http
from sema_runtime.net.addresses import LOOPBACK, PUBLIC, is_internal, is_internal_address, resolves_inside
from sema_runtime.net.failures import Failure
from sema_runtime.net.http import Reply, Request, fetch
from sema_runtime.net.proxies import is_excepted, proxy_for
from sema_runtime.values.errors import SemaError


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


INSIDE = (
    "localhost localhost. x.LOCALHOST 127.1 0x7f000001 2130706433 0177.0.0.1 [::1] 0.0.0.0 [::ffff:127.0.0.1]"
    " [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] [::] 10.1.2.3 172.16.0.1 192.168.0.1"
    " 169.254.169.254 100.100.100.200 [fe80::1%25eth0] [fd00::1]"
)


@pytest.mark.parametrize("host", INSIDE.split())
def test_hosts_that_say_that_they_are_internal(host: str) -> None:
    assert is_internal(f"http://{host}:8080/x")


@pytest.mark.parametrize(
    "host", ["example.com", "8.8.8.8", "[2606:4700::1111]", "localhost.example.com", "127.example"]
)
def test_hosts_that_do_not(host: str) -> None:
    assert not is_internal(f"http://{host}/")


@pytest.mark.parametrize("address", ["224.0.0.1", "255.255.255.255", "240.0.0.1", "ff02::1"])
def test_addresses_that_are_nobodys(address: str) -> None:
    assert is_internal_address(ipaddress.ip_address(address))


class Names:
    """A resolver whose answers change: each look-up of a name gives the next of its addresses, then the last one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **names: list[str]) -> None:
        self.names = {name.replace("_", "."): addresses for name, addresses in names.items()}
        real = asyncio.BaseEventLoop.getaddrinfo

        async def look_up(loop: Any, host: str, port: int, **options: Any) -> Any:
            addresses = self.names.get(host)
            if addresses is None:
                return await real(loop, host, port, **options)
            address = addresses.pop(0) if len(addresses) > 1 else addresses[0]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", look_up)


def fetched(url: str, reach: str) -> Reply:
    reply: Reply = background.run(fetch(Request("GET", url, reach=reach)))
    return reply


def test_a_name_that_resolves_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    Names(monkeypatch, evil_test=["127.0.0.1"])
    with serving(answering(reply("inside"))) as url:
        there = url.replace("127.0.0.1", "evil.test")
        assert background.run(resolves_inside(there))
        assert fetched(there, "").body == b"inside"
        with pytest.raises(Failure, match=r"evil\.test leads to 127\.0\.0\.1, an address of this machine"):
            fetched(there, PUBLIC)
        assert fetched(url.replace("127.0.0.1", "localhost"), LOOPBACK).body == b"inside"


def test_a_name_that_leads_away_is_not_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    Names(monkeypatch, localhost=["203.0.113.9"])
    with pytest.raises(Failure, match=r"leads to 203\.0\.113\.9, which is not this machine"):
        fetched("http://localhost:9/", LOOPBACK)


def test_the_address_that_was_checked_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name resolves to a public address when it is checked, and inside right after that (DNS rebinding)."""
    Names(monkeypatch, evil_test=["8.8.8.8", "127.0.0.1"])
    tried: list[str] = []

    async def connect(_: Any, __: Any, host: str, *___: Any, **____: Any) -> Any:
        tried.append(host)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", connect)
    with pytest.raises(Failure, match="Connection refused"):
        fetched("http://evil.test/", PUBLIC)
    assert tried == ["8.8.8.8"]


def test_a_sandboxed_provider_is_checked_when_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", {"shell"})
    monkeypatch.setattr(llm_http, "_public", set())
    names = Names(monkeypatch, evil_test=["127.0.0.1"])
    configure = '(llm/configure :mine {:api-key "k" :base-url "http://evil.test:9/v1"})'
    with pytest.raises(SemaError, match="targets an internal/loopback host"):
        run(configure)
    names.names["evil.test"] = ["8.8.8.8", "127.0.0.1"]
    with pytest.raises(SemaError, match=r"evil\.test leads to 127\.0\.0\.1, .* sandbox forbids"):
        run(f'(begin {configure} (llm/complete "hi" {{:max-retries 0}}))')


# NO_PROXY


@pytest.mark.parametrize(
    ("exceptions", "direct", "proxied"),
    [
        ("*", ["a.b", "10.0.0.1"], []),
        ("", [], ["a.b"]),
        ("example.com", ["example.com", "EXAMPLE.com.", "api.example.com", "a.b.example.com"], ["notexample.com"]),
        (".example.com", ["example.com", "api.example.com"], ["badexample.com", "example.com.evil.org"]),
        ("*.example.com", ["api.example.com", "example.com"], ["badexample.com"]),
        ("a.org, b.org c.org", ["a.org", "b.org", "x.c.org"], ["d.org"]),
        ("example.com:8080", ["example.com:8080", "api.example.com:8080"], ["example.com:80"]),
        ("10.0.0.0/8,192.168.1.7", ["10.255.0.1", "192.168.1.7"], ["11.0.0.1", "192.168.1.70", "10.example.com"]),
        ("10.0.0.1/8", ["10.9.9.9"], ["1.10.0.0"]),
        ("127.0.0.1", ["127.0.0.1", "127.1", "0x7f000001", "[::ffff:127.0.0.1]"], ["localhost", "127.0.0.2"]),
        ("127.0.0.1:80", ["127.0.0.1:80"], ["127.0.0.1:81"]),
        ("::1,[fd00::1]:80,fe80::/10", ["[::1]", "[fd00::1]:80", "[fe80::9]"], ["[fd00::1]:81", "[2001::1]"]),
        ("1,com:,:80,/8,10.0.0.0/99,[", [], ["10.0.0.1", "127.0.0.1:80", "x.org"]),
        ("LOCALHOST", ["localhost:5000"], ["localhost.evil.org"]),
    ],
)
def test_hosts_without_a_proxy(exceptions: str, direct: list[str], proxied: list[str]) -> None:
    for place in [*direct, *proxied]:
        host, _, port = place.rpartition(":") if place.rpartition(":")[2].isdecimal() else (place, "", "443")
        assert is_excepted(host, int(port), exceptions) is (place in direct), place


def test_a_proxy_and_its_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", ".corp.test,10.0.0.0/8")
    found = proxy_for("https", "example.com", 443)
    assert found is not None and (found.host, found.port) == ("proxy.test", 3128)
    assert proxy_for("https", "git.corp.test", 443) is None
    assert proxy_for("https", "10.1.1.1", 8443) is None
    assert proxy_for("http", "example.com", 80) is None


@pytest.mark.parametrize("extra", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nextra"])
def test_a_tunnel_through_a_proxy(extra: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a proxy sends behind its own reply is not taken for the server's."""

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await received(reader)
        assert request.method == "CONNECT"
        host, _, port = request.target.rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n" + extra)

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                target.write(data)
            target.close()

        await asyncio.gather(copy(reader, back), copy(there, writer))

    with (
        certified(tmp_path, monkeypatch) as (context, trust),
        serving(answering(reply("secret")), context) as url,
        serving(tunnel) as proxy,
    ):
        trust()
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        if extra:
            with pytest.raises(SemaError, match="the proxy sent more than its reply"):
                run(f'(http/get "{url}")')
        else:
            assert run(f'(:body (http/get "{url}"))') == "secret"
