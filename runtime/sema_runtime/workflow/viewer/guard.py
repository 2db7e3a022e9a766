"""Which requests the viewer answers, and the security headers of its answers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"connection", b"close"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Whether an address to listen at is one of this machine alone."""
    from ipaddress import ip_address

    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def host_allowed(host: str, listening: str) -> bool:
    """Whether a Host header names this server: a page of another name that resolves to us (DNS rebinding) may not read
    runs. Loopback names always do, and the address that the server was told to listen at; when that is a wildcard, any
    address in figures."""
    name = host_name(host)
    if is_loopback(name) or name == listening.lower():
        return True
    return listening in ("0.0.0.0", "::", "") and is_address(name)


def host_name(host: str) -> str:
    """`[::1]:8899` -> `::1`, in lower case."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def is_address(name: str) -> bool:
    from ipaddress import ip_address

    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def from_elsewhere(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a browser says that a page of another site asks."""
    return any(name == b"sec-fetch-site" and value in (b"cross-site", b"same-site") for name, value in headers)


def safe_segment(text: str) -> bool:
    """Whether an id names one folder right inside another."""
    return bool(text) and not any(part in text for part in ("/", "\\", "..", "\0")) and text != "."
