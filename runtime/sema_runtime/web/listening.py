"""Where servers listen."""

from __future__ import annotations

import socket


def listening(host: str, port: int, backlog: int) -> socket.socket:
    """A socket that listens at a host, by IPv4 where it has both.

    Raises OSError, OverflowError for a port that is none, UnicodeError for a name that can be none.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(backlog)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made
