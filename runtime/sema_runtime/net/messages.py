"""Requests and replies of HTTP: what is sent, what comes back, headers and charsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sema_runtime.net.failures import Failure

MAX_BYTES = 256 << 20  # of a body, after decompression
MAX_REDIRECTS = 10
METHOD_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~")
NAME_CHARACTERS = METHOD_CHARACTERS | frozenset("abcdefghijklmnopqrstuvwxyz")


class Part(NamedTuple):
    """One field of a form. filename: None for a plain field."""

    name: str
    content: bytes
    filename: str | None = None
    content_type: str | None = None


class Request(NamedTuple):
    """body: the bytes to send, or the parts of a form (multipart/form-data).

    timeout_ms: for the request as a whole, from its turn on; None for IDLE_MS between two pieces of the reply.
    repeatable: may be sent again, when a connection that was used before turns out to have ended; else its method says.
    reach: PUBLIC or LOOPBACK of addresses.py for what the host must resolve to, "" for anything.
    """

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | list[Part] | None = None
    timeout_ms: float | None = None
    redirects: int = MAX_REDIRECTS
    max_bytes: int = MAX_BYTES
    repeatable: bool = False
    reach: str = ""


class Reply(NamedTuple):
    """headers: (name in lower case, value) as they came."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return next((value for header, value in self.headers if header == name), None)

    def text(self) -> str:
        """The body in the charset that its type names, UTF-8 without one; bytes that don't fit become U+FFFD."""
        return decoded(self.body, self.header("content-type") or "")


def checked_header(name: str, value: str) -> tuple[str, str]:
    """The header as it is sent. Raises Failure for one that can't be; the message doesn't show its value."""
    if not name or not NAME_CHARACTERS.issuperset(name):
        raise Failure("header", f"{name!r} can't be the name of a header")
    stripped = value.strip(" \t")
    if not (stripped.isascii() and stripped.replace("\t", " ").isprintable()):
        raise Failure("header", f"the header {name} holds characters that can't be sent")
    return name, stripped


def decoded(body: bytes, content_type: str) -> str:
    """A body as text, in the charset that its content type names."""
    name = charset_of(content_type)
    if name == "utf-8":
        return body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return body.decode(name, "replace")


def charset_of(content_type: str) -> str:
    """The Python codec for the charset of a content type; `utf-8` without one, or for one that isn't known."""
    import codecs

    for parameter in content_type.split(";")[1:]:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "charset":
            try:
                codec = codecs.lookup(value.strip().strip("\"'"))
            except (LookupError, ValueError):
                break
            if not getattr(codec, "_is_text_encoding", True):
                break
            return "cp1252" if codec.name in ("iso8859-1", "ascii") else codec.name
    return "utf-8"
