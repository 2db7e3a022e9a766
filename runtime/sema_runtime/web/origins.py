"""The pages that may open WebSockets. Browsers let a page of any site connect to any server, with its user's cookies,
and name the site in the Origin header; so the server must check that."""

from __future__ import annotations

from urllib.parse import urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
ANY = "*"


def origin_allowed(headers: Iterable[tuple[bytes, bytes]], origins: frozenset[str]) -> bool:
    """Whether a request comes from no browser, from a page of the server's own host and port, or from one of the
    origins. Names of headers are in lower case."""
    claimed = {value for name, value in headers if name == b"origin"}
    if not claimed or ANY in origins:
        return True
    hosts = {value for name, value in headers if name == b"host"}
    if len(claimed) > 1 or len(hosts) > 1:
        return False
    origin = normal(claimed.pop().decode("latin-1"))
    if origin in origins:
        return True
    scheme, _, place = origin.partition("://")
    if scheme not in PORTS or not hosts:
        return False
    return place == _place(scheme, hosts.pop().decode("latin-1"))


def normal(origin: str) -> str:
    """Returns an origin in normal form: `https://example.com:443`; others, such as `null`, in lower case."""
    text = origin.strip().lower()
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in PORTS:
        return text
    return f"{scheme}://{_place(scheme, rest.rstrip('/'))}"


def _place(scheme: str, host: str) -> str:
    """Returns host and port of `host` or `host:port`; "" for anything else."""
    try:
        parts = urlsplit(f"//{host.strip().lower()}")
        port = parts.port or PORTS[scheme]
    except ValueError:
        return ""
    if not parts.hostname or parts.path or parts.query or parts.username is not None:
        return ""
    return f"{parts.hostname}:{port}"
