"""Tells addresses of this machine and its private network from public ones.

The text of a URL is only the first check: any domain name may resolve to 127.0.0.1, and to something else a moment
later. So requests say which addresses they may reach, and `allowed` returns the addresses to connect to.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any
from urllib.parse import urlsplit

from sema_runtime.net.failures import Failure

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PUBLIC = "public"  # nothing of this machine or its private network
LOOPBACK = "loopback"  # nothing but this machine
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
LOOK_UP_SECONDS = 3.0  # for a check before anything is sent


def is_internal(url: str) -> bool:
    """Whether the text of a URL names localhost, no host, or an internal address.

    IPv4 addresses count in every form that the system's resolver takes (`127.1`, `0x7f000001`, `2130706433`).
    """
    host = _host_of(url)
    if not host or host == "localhost" or host.endswith(".localhost"):
        return True
    address = address_of(host)
    return address is not None and is_internal_address(address)


async def resolves_inside(url: str) -> bool:
    """Whether `is_internal`, or one of the addresses that the host's name resolves to is internal. A name that can't be
    resolved now leads nowhere; requests look again."""
    if is_internal(url):
        return True
    host = _host_of(url)
    if address_of(host) is not None:
        return False
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            entries = await _looked_up(host, 0)
    except (OSError, UnicodeError, TimeoutError):
        return False
    return any(is_internal_address(ipaddress.ip_address(_figures(entry))) for entry in entries)


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url if "://" in url else "//" + url).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def address_of(host: str) -> Address | None:
    """The address that a host is written as; None for a name."""
    try:
        if ":" in host:
            return ipaddress.IPv6Address(host.strip("[]").partition("%")[0])
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError, UnicodeError):
        return None


def embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for (mapped, 6to4, NAT64); the address itself where it is none."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64 or (int(address) >> 32 == 0 and int(address) > 1):  # ::127.0.0.1 is the old form
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def is_internal_address(address: Address) -> bool:
    """Whether an address is loopback, private, link-local, unspecified, shared, reserved or multicast."""
    own = embedded(address)
    return own.is_private or own.is_multicast or own.is_loopback or own.is_link_local or not own.is_global


def is_loopback_address(address: Address) -> bool:
    return embedded(address).is_loopback


async def allowed(host: str, port: int, reach: str) -> list[str]:
    """The addresses of a host, in figures, when all of them may be reached. reach: PUBLIC or LOOPBACK.

    Raises Failure (kind `address`) when one may not, OSError for a name that can't be resolved.
    """
    addresses = [_figures(entry) for entry in await _looked_up(host, port)]
    for text in addresses:
        address = ipaddress.ip_address(text)
        if reach == PUBLIC and is_internal_address(address):
            raise Failure("address", f"{host} leads to {text}, an address of this machine or its private network")
        if reach == LOOPBACK and not is_loopback_address(address):
            raise Failure("address", f"{host} leads to {text}, which is not this machine")
    return list(dict.fromkeys(addresses))


async def _looked_up(host: str, port: int) -> list[Any]:
    try:
        return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that is too long, or empty
        raise socket.gaierror(socket.EAI_NONAME, str(error)) from None


def _figures(entry: Any) -> str:
    return str(entry[4][0]).partition("%")[0]
