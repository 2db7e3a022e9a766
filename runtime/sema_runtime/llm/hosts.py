"""Which URLs lead back into the machine or its private network; a sandboxed program may not send requests there."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit


def is_internal(url: str) -> bool:
    """Whether the host is localhost, empty, or a loopback, private, link-local, unspecified or broadcast address.

    IPv4 addresses count in every form that the system's resolver takes (`127.1`, `0x7f000001`, `2130706433`).
    """
    try:
        host = (urlsplit(url if "://" in url else "//" + url).hostname or "").rstrip(".").lower()
    except ValueError:
        return True
    if not host or host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    if address is None:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    found = mapped or address
    return bool(
        found.is_loopback
        or found.is_private
        or found.is_link_local
        or found.is_unspecified
        or str(found) == "255.255.255.255"
    )


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        if ":" in host:
            return ipaddress.IPv6Address(host.partition("%")[0])
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None
