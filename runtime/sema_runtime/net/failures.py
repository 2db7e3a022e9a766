"""The failures of HTTP requests."""

from __future__ import annotations

import os
import re

CONNECT_MS = 30_000  # the longest wait for a connection
IDLE_MS = 120_000  # the longest wait for the next piece of a reply


class Failure(Exception):
    """A request that got no usable reply.

    kind: url, header, connect, address, timeout, size, encoding, redirect, broken. reason: in words, without the URL.
    ms: the limit that passed, of a timeout.
    """

    def __init__(self, kind: str, reason: str, ms: float = 0) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.ms = ms


def timed_out(ms: float) -> Failure:
    """The failure of a wait that took longer than ms milliseconds."""
    return Failure("timeout", f"timed out after {ms:g} ms", ms)


def cause_of(error: BaseException) -> str:
    """The reason that the operating system or TLS gives behind an error, "" when there is none."""
    from socket import gaierror
    from ssl import SSLError

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, SSLError):
            reason = (cause.reason or str(cause)).replace("_", " ").lower()
            return f"TLS: {getattr(cause, 'verify_message', '') or reason}"
        if isinstance(cause, gaierror):
            return f"host not found: {cause.strerror}"
        if isinstance(cause, OSError) and (number := cause.errno or _first_number(str(cause))):
            return os.strerror(number)
        cause = cause.__cause__ or cause.__context__
    return ""


def _first_number(text: str) -> int:
    """The error number in asyncio's message about a host none of whose addresses answers; 0 without one."""
    match = re.search(r"\[Errno (\d+)\]", text)
    return int(match[1]) if match else 0
