"""Proxies: from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, or what the system is set to."""

from __future__ import annotations

import asyncio
import os
import sys
from base64 import b64encode
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from sema_runtime.net.exchange import Exchanges, Headers
from sema_runtime.net.failures import Failure
from sema_runtime.net.link import Link, opened

VARIABLES = ("https_proxy", "http_proxy", "all_proxy", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
SYSTEMS = ("darwin", "win32")  # that have settings of their own for it


class Proxy(NamedTuple):
    """credentials: `user:password`, "" without."""

    scheme: str
    host: str
    port: int
    credentials: str

    def headers(self) -> Headers:
        """What a request to the proxy itself has besides."""
        if not self.credentials:
            return []
        return [(b"proxy-authorization", b"Basic " + b64encode(self.credentials.encode()))]


def proxy_for(scheme: str, host: str, port: int) -> Proxy | None:
    """The proxy for a host. Raises Failure for a setting that can't be used."""
    if sys.platform not in SYSTEMS and not any(name in os.environ for name in VARIABLES):
        return None
    from urllib.request import getproxies, proxy_bypass

    known = getproxies()
    setting = known.get(scheme) or known.get("all")
    if not setting or proxy_bypass(f"{host}:{port}"):
        return None
    return _parsed(setting)


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


async def tunnelled(proxy: Proxy, scheme: str, host: str, port: int, tls: Any, seconds: float) -> Link:
    """A connection to the proxy; for https to the host behind it. Raises OSError, TimeoutError, Failure."""
    from sema_runtime.net.client import tls_context

    link = await opened(proxy.host, proxy.port, tls_context() if proxy.scheme == "https" else None, seconds)
    if scheme == "http":
        return link
    try:
        async with asyncio.timeout(seconds):
            await _connect(link, proxy, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
            await link.encrypt(tls, host, seconds)
    except BaseException:
        link.close()
        raise
    return link


async def _connect(link: Link, proxy: Proxy, target: str) -> None:
    exchanges = Exchanges(link)
    headers = [(b"host", target.encode()), *proxy.headers()]
    await exchanges.send("CONNECT", target.encode(), headers, b"")
    status, _ = await exchanges.head()
    if not 200 <= status < 300:
        from http import HTTPStatus

        phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
        raise Failure("connect", f"{status} {phrase}".rstrip())
