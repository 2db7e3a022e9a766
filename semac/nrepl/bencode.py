"""bencode, the encoding of nREPL messages: byte strings, integers, lists, and maps with strings as keys."""

from __future__ import annotations

from typing import IO, Any

MOST_BYTES = 64 * 1024 * 1024  # of one message
MOST_DIGITS = 19  # of an integer or a length
DEEPEST = 32  # levels of lists and maps
ENDS = b"e"


class BencodeError(ValueError):
    """Bytes that are no bencoded message."""


def encode(value: Any) -> bytes:
    """The bytes for strings, integers, lists and maps. Raises TypeError for anything else."""
    parts: list[bytes] = []
    _encode(value, parts.append)
    return b"".join(parts)


def _encode(value: Any, put: Any) -> None:
    if isinstance(value, str):
        value = value.encode(errors="replace")
    if isinstance(value, bytes):
        put(b"%d:" % len(value))
        put(value)
    elif isinstance(value, int):
        put(b"i%de" % value)
    elif isinstance(value, dict):
        put(b"d")
        for key in sorted(value, key=str.encode):
            _encode(key, put)
            _encode(value[key], put)
        put(b"e")
    elif isinstance(value, list | tuple):
        put(b"l")
        for item in value:
            _encode(item, put)
        put(b"e")
    else:
        raise TypeError(f"bencode has no {type(value).__name__}")


class Decoder:
    """Reads messages from a buffered binary file."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.left = MOST_BYTES

    def message(self) -> Any:
        """The next value, byte strings as text. Raises EOFError at the end, BencodeError, OSError."""
        self.left = MOST_BYTES
        first = self.file.read(1)
        if not first:
            raise EOFError
        return self._value(first, 0)

    def _value(self, first: bytes, depth: int) -> Any:
        if depth > DEEPEST:
            raise BencodeError(f"nested more than {DEEPEST} levels deep")
        if first == b"i":
            return self._number(b"", ENDS)
        if first.isdigit():
            return self._bytes(self._number(first, b":")).decode(errors="replace")
        if first == b"l":
            return list(iter(lambda: self._item(depth), _END))
        if first == b"d":
            return self._map(depth)
        raise BencodeError(f"unexpected byte {first!r}")

    def _item(self, depth: int) -> Any:
        first = self._bytes(1)
        return _END if first == ENDS else self._value(first, depth + 1)

    def _map(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while (key := self._item(depth)) is not _END:
            if not isinstance(key, str):
                raise BencodeError("a key is not a string")
            value = self._item(depth)
            if value is _END:
                raise BencodeError(f"no value for the key {key!r}")
            result[key] = value
        return result

    def _number(self, digits: bytes, end: bytes) -> int:
        """The number whose digits follow, up to the byte `end`."""
        while (byte := self._bytes(1)) != end:
            if not (byte.isdigit() or (byte == b"-" and not digits)) or len(digits) >= MOST_DIGITS:
                raise BencodeError("malformed number")
            digits += byte
        if digits in (b"", b"-"):
            raise BencodeError("malformed number")
        return int(digits)

    def _bytes(self, count: int) -> bytes:
        self.left -= count
        if count < 0 or self.left < 0:
            raise BencodeError(f"a message is longer than {MOST_BYTES} bytes")
        data = self.file.read(count)
        if len(data) < count:
            raise BencodeError("the message ends in the middle")
        return data


_END = object()
