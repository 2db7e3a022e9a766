"""Proxies: from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, or what the system is set to."""

from __future__ import annotations

import asyncio
import os
import sys
from base64 import b64encode
from contextlib import suppress
from functools import cache
from ipaddress import ip_network
from socket import gaierror
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from sema_runtime.net.addresses import Address, address_of, allowed, embedded
from sema_runtime.net.connection import Connection, connect
from sema_runtime.net.failures import Failure
from sema_runtime.net.http1 import Headers, Http1
from sema_runtime.net.tls import tls_context

VARIABLES = ("https_proxy", "http_proxy", "all_proxy", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
SYSTEMS = ("darwin", "win32")  # that have settings of their own for it


class Proxy(NamedTuple):
    """credentials: `user:password`, "" without."""

    scheme: str
    host: str
    port: int
    credentials: str

    def headers(self) -> Headers:
        """The additional headers of a request to the proxy itself."""
        if not self.credentials:
            return []
        return [(b"proxy-authorization", b"Basic " + b64encode(self.credentials.encode()))]


def proxy_for(scheme: str, host: str, port: int) -> Proxy | None:
    """The proxy for a host. Raises Failure for a setting that can't be used."""
    if sys.platform not in SYSTEMS and not any(name in os.environ for name in VARIABLES):
        return None
    from urllib.request import getproxies

    settings = getproxies()
    setting = settings.get(scheme) or settings.get("all")
    return None if not setting or is_direct(host, port) else _parsed(setting)


def is_direct(host: str, port: int) -> bool:
    """Whether a host is reached without a proxy, even if there is one."""
    from urllib.request import getproxies

    exceptions = getproxies().get("no")
    if exceptions is not None:
        return is_excepted(host, port, exceptions)
    if sys.platform not in SYSTEMS:
        return False
    from urllib.request import proxy_bypass

    return bool(proxy_bypass(f"{host}:{port}"))


def is_excepted(host: str, port: int, exceptions: str) -> bool:
    """Whether NO_PROXY names a host. Its entries, between commas or spaces: `*` for all hosts; `example.com`,
    `.example.com` or `*.example.com` for the domain and all below it; an IP address, or a network (`10.0.0.0/8`);
    each but a network may have a port (`example.com:8080`, `[::1]:80`). Names are compared, not resolved.
    """
    name = host.strip("[]").rstrip(".").lower()
    address = address_of(name)
    if address is not None:
        address = embedded(address)
    return any(_matches(entry, name, address, port) for entry in exceptions.replace(",", " ").lower().split())


def _matches(entry: str, name: str, address: Address | None, port: int) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ip_network(entry, strict=False)
        except ValueError:
            return False
    pattern, wanted = _split(entry)
    if wanted and wanted != str(port):
        return False
    pattern = pattern.rstrip(".")
    if address is not None:
        excepted = address_of(pattern)
        return excepted is not None and embedded(excepted) == address
    domain = pattern.removeprefix("*").removeprefix(".")
    return bool(domain) and (name == domain or name.endswith(f".{domain}"))


def _split(entry: str) -> tuple[str, str]:
    """(host, port) of an entry; the port is "" without one."""
    if entry.startswith("["):
        host, _, port = entry[1:].partition("]")
        return host, port.removeprefix(":")
    host, colon, port = entry.rpartition(":")
    return (host, port) if colon and ":" not in host and port.isdecimal() else (entry, "")


@cache
def _parsed(setting: str) -> Proxy:
    unusable = "the proxy of the environment can't be used"
    try:
        parts = urlsplit(setting if "://" in setting else f"http://{setting}")
        port = parts.port
    except ValueError as error:
        raise Failure("connect", f"{unusable}: {error}") from None
    if parts.scheme not in ("http", "https"):
        raise Failure("connect", f"{unusable}: it is a {parts.scheme} proxy, not one for http or https")
    if not parts.hostname:
        raise Failure("connect", f"{unusable}: it names no host")
    credentials = ""
    if parts.username:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Proxy(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), credentials)


async def connect_through(
    proxy: Proxy, scheme: str, host: str, port: int, tls: Any, seconds: float, reach: str = ""
) -> Connection:
    """A new connection to the proxy; for https, to the host behind it.

    reach: what the host's addresses must be, if this machine can resolve the name; the proxy resolves it itself. Raises
    OSError, TimeoutError, Failure.
    """
    if reach:
        with suppress(gaierror):  # only the proxy knows the name
            async with asyncio.timeout(seconds):
                await allowed(host, port, reach)
    connection = await connect(proxy.host, proxy.port, tls_context() if proxy.scheme == "https" else None, seconds)
    if scheme == "http":
        return connection
    try:
        async with asyncio.timeout(seconds):
            await _request_tunnel(connection, proxy, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
            await connection.encrypt(tls, host, seconds)
    except BaseException:
        connection.close()
        raise
    return connection


async def _request_tunnel(connection: Connection, proxy: Proxy, target: str) -> None:
    http1 = Http1(connection)
    headers = [(b"host", target.encode()), *proxy.headers()]
    await http1.send("CONNECT", target.encode(), headers, b"")
    status, _ = await http1.head()
    if not 200 <= status < 300:
        from http import HTTPStatus

        phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
        raise Failure("connect", f"{status} {phrase}".rstrip())
    if http1.has_more():  # it would be taken for the server's
        raise Failure("connect", "the proxy sent more than its reply")
