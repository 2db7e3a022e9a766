"""Hashes, base64, random identifiers."""

from __future__ import annotations

from typing import Any, NoReturn

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import strings
from sema_runtime.values.errors import SemaError, type_error

ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@builtin("hash/sha256", type="str -> str", pure=True)
def hash_sha256(text: Any) -> str:
    """The SHA-256 digest (hash) of a string, in hexadecimal.

    (string/take (hash/sha256 "hello") 16) => "2cf24dba5fb0a30e"
    """
    from hashlib import sha256

    strings(text)
    return sha256(text.encode()).hexdigest()


@builtin("hash/digest", type="str -> str", pure=True)
def hash_digest(text: Any) -> str:
    """The SHA-256 digest (hash) of a string, in hexadecimal.

    (= (hash/digest "a") (hash/sha256 "a")) => #t
    """
    return hash_sha256(text)


@builtin("hash/md5", type="str -> str", pure=True)
def hash_md5(text: Any) -> str:
    """The MD5 digest (hash) of a string, in hexadecimal. Not for security.

    (hash/md5 "hello") => "5d41402abc4b2a76b9719d911017c592"
    """
    from hashlib import md5

    strings(text)
    return md5(text.encode(), usedforsecurity=False).hexdigest()


@builtin("hash/hmac-sha256", type="str, str -> str", pure=True)
def hash_hmac_sha256(key: Any, message: Any) -> str:
    """The HMAC-SHA-256 of a message under a key, in hexadecimal: it proves that the sender knows the key.

    (string/take (hash/hmac-sha256 "key" "message") 16) => "6e9ef29b75fffc5b"
    """
    from hmac import digest

    strings(key, message)
    return digest(key.encode(), message.encode(), "sha256").hex()


@builtin("uuid/v4", type="-> str")
def uuid_v4() -> str:
    """A random UUID (version 4), as a string.

    (string/length (uuid/v4)) => 36
    """
    from uuid import uuid4

    return str(uuid4())


@builtin("base64/encode", type="str -> str", pure=True)
def base64_encode(text: Any) -> str:
    """Encodes a string, as UTF-8, in base64.

    (base64/encode "hello") => "aGVsbG8="
    """
    from binascii import b2a_base64

    strings(text)
    return b2a_base64(text.encode(), newline=False).decode()


@builtin("base64/decode", type="str -> str", pure=True)
def base64_decode(text: Any) -> str:
    """Decodes base64 to a string. Strict: padding is required, white space is refused, and the result must be UTF-8.

    (base64/decode "aGVsbG8=") => "hello"
    (base64/decode "aGVsbG8") ! base64/decode: Invalid padding
    """
    from sema_runtime.lib.text.bytes import _decoded as utf8_text

    return utf8_text("base64/decode", _decoded("base64/decode", text))


@builtin("base64/encode-bytes", type="bytevector -> str", total=True, pure=True)
def base64_encode_bytes(data: Any) -> str:
    """Encodes a bytevector in base64.

    (base64/encode-bytes #u8(1 2 255)) => "AQL/"
    """
    from binascii import b2a_base64

    if not isinstance(data, (bytes, bytearray)):
        type_error("bytevector", data)
    return b2a_base64(data, newline=False).decode()


@builtin("base64/decode-bytes", type="str -> bytevector", pure=True)
def base64_decode_bytes(text: Any) -> bytes:
    """Decodes base64 to a bytevector. Strict: padding is required, and white space is refused.

    (base64/decode-bytes "AQL/") => #u8(1 2 255)
    """
    return _decoded("base64/decode-bytes", text)


def _decoded(function: str, text: Any) -> bytes:
    from binascii import Error, a2b_base64, b2a_base64

    strings(text)
    data = text.encode()
    try:
        decoded = a2b_base64(data)
    except Error:
        _refuse(function, data)
    if b2a_base64(decoded, newline=False) != data:  # Python is lenient: what doesn't come back was not strict
        _refuse(function, data)
    return decoded


def _refuse(function: str, data: bytes) -> NoReturn:
    """Raises the reference's error for the first flaw."""
    body = data.rstrip(b"=")
    padding = len(data) - len(body)
    symbols = len(body) % 4
    bad = next((index for index, byte in enumerate(body) if byte not in ALPHABET), -1)
    if bad >= 0 and len(data) % 4 == 1 and data[-1] not in ALPHABET + b"=":
        bad = len(data) - 1  # a single last symbol is checked first
    if bad >= 0:
        reason = f"Invalid symbol {body[bad]}, offset {bad}."
    elif padding and (symbols < 2 or symbols + padding > 4):
        reason = f"Invalid symbol 61, offset {len(body)}."
    elif symbols == 1:
        reason = f"Invalid input length: {len(data)}"
    elif symbols and _has_rest(body[-1], symbols) and (symbols + padding == 4):
        reason = f"Invalid last symbol {body[-1]}, offset {len(body) - 1}."
    else:
        reason = "Invalid padding"
    raise SemaError(f"{function}: {reason}")


def _has_rest(symbol: int, symbols: int) -> bool:
    """Whether the last symbol has bits that stand for nothing."""
    return ALPHABET.index(symbol) & (15 if symbols == 2 else 3) != 0
