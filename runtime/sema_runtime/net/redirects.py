"""The request that a redirect asks for (RFC 9110, 15.4; methods as in the Fetch standard).

A request's headers are meant for the origin that it names: scheme, host and port. A redirect to another origin keeps
only headers that reveal nothing about the caller, so no key leaks. A redirect from https to http is refused.
"""

from __future__ import annotations

import httpx

from sema_runtime.net.failures import Failure

REDIRECTS = frozenset((301, 302, 303, 307, 308))
HARMLESS = frozenset(("accept", "accept-encoding", "accept-language", "connection", "user-agent"))
OF_THE_BODY = frozenset(("content-type", "content-language", "content-encoding", "content-length", "transfer-encoding"))
PORTS = {"http": 80, "https": 443}


def checked_url(text: str) -> httpx.URL:
    """The URL of a request. Raises Failure for one that no request can be sent to."""
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError) as error:
        raise Failure("url", str(error)) from None
    if url.scheme not in PORTS or not url.host:
        raise Failure("url", "it must start with http:// or https:// and a host")
    if url.port is not None and not 0 < url.port < 65536:
        raise Failure("url", f"there is no port {url.port}")
    return url


def origin(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, url.host.rstrip("."), url.port or PORTS[url.scheme]


def following(request: httpx.Request, status: int, headers: list[tuple[str, str]]) -> httpx.Request | None:
    """The request that a reply redirects to, None when it is no redirect. Raises Failure for a target that is none."""
    locations = {value for name, value in headers if name == "location"}
    if status not in REDIRECTS or not locations:
        return None
    if len(locations) > 1:
        raise Failure("redirect", "it is redirected to several places at once")
    target = _target(request.url, locations.pop())
    if request.url.scheme == "https" and target.scheme == "http":
        raise Failure("redirect", "it is redirected from https to http, where others can read along")
    method = _method(request.method, status)
    same_body, same_origin = method == request.method, origin(target) == origin(request.url)
    headers_kept = [
        (name, value)
        for name, value in request.headers.multi_items()
        if _stays(name.lower(), same_origin=same_origin, same_body=same_body)
    ]
    if "host" not in (name for name, _ in headers_kept):
        headers_kept.insert(0, ("host", target.netloc.decode("ascii")))
    stream = request.stream if same_body else None
    return httpx.Request(method, target, headers=headers_kept, stream=stream, extensions=request.extensions)


def _target(base: httpx.URL, location: str) -> httpx.URL:
    """The URL of a redirect, without a user and a password: those are not the caller's."""
    try:
        joined = base.join(location)
    except (httpx.InvalidURL, ValueError) as error:
        raise Failure("redirect", f"it is redirected to what is no URL: {error}") from None
    if joined.scheme not in PORTS:
        raise Failure("url", f"it leads to {joined.scheme}:, not http or https")
    return checked_url(str(joined.copy_with(userinfo=b"", fragment=None)))


def _method(method: str, status: int) -> str:
    if status == 303 and method != "HEAD":
        return "GET"
    return "GET" if status in (301, 302) and method == "POST" else method


def _stays(name: str, *, same_origin: bool, same_body: bool) -> bool:
    if name in OF_THE_BODY:
        return same_body
    return same_origin or name in HARMLESS
