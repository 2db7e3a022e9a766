"""Bytevectors. What changes one returns a changed copy."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import count
from sema_runtime.values.digits import small
from sema_runtime.values.errors import OutOfBounds, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING
from sema_runtime.values.numbers import INT_LIMIT, is_int64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Bytes = bytes | bytearray

NEEDLE_HINT = "bytes/find: the needle is a byte (0-255), bytevector, or string"
ZERO = ord("0")
ESCAPED = {"\0": "\\0", "\t": "\\t", "\n": "\\n", "\r": "\\r", "'": "\\'", "\\": "\\\\"}


def _bytes(value: Any) -> Bytes:
    if isinstance(value, bytes | bytearray):
        return value
    type_error("bytevector", value)


def _int(value: Any) -> int:
    if is_int64(value):
        return int(value)
    type_error("int", value)


# Making


@builtin("bytevector", type="int... -> bytevector", pure=True)
def bytevector(*values: Any) -> bytes:
    """A bytevector of ints from 0 to 255.

    (bytevector 1 2 3) => #u8(1 2 3)
    (bytevector 256) ! bytevector: byte value 256 at index 0 out of range 0..255
    """
    for index, value in enumerate(values):
        if not 0 <= _int(value) <= 255:
            raise SemaError(f"bytevector: byte value {value} at index {index} out of range 0..255")
    return bytes(values)


@builtin("make-bytevector", "bytevector/new", "bytevector/make", type="int, int? -> bytevector", pure=True)
def make_bytevector(size: Any, fill: Any = 0) -> bytes:
    """A bytevector of size bytes, all of them fill (0).

    (make-bytevector 2 7) => #u8(7 7)
    """
    if _int(size) < 0:
        raise SemaError(f"make-bytevector: size must be non-negative, got {size}")
    if not 0 <= _int(fill) <= 255:
        raise SemaError(f"make-bytevector: fill value {fill} out of range 0..255")
    return bytes([fill]) * int(size)


@builtin("list->bytevector", "list/to-bytevector", "bytevector/from-list", type="list int -> bytevector", pure=True)
def list_to_bytevector(values: Any) -> bytes:
    """Converts a list of ints from 0 to 255 to a bytevector.

    (list->bytevector '(1 2)) => #u8(1 2)
    """
    if not isinstance(values, List | list):
        type_error("list", values)
    for value in values:
        if not 0 <= _int(value) <= 255:
            raise SemaError(f"list->bytevector: byte value {value} out of range 0..255")
    return bytes(values)


@builtin("bytevector->list", "bytevector/to-list", type="bytevector -> flat int fresh", total=True, pure=True)
def bytevector_to_list(data: Any) -> List:
    """Converts a bytevector to a list of ints.

    (bytevector->list #u8(1 2)) => (1 2)
    """
    return List(list(_bytes(data)))


# Reading and copying


@builtin("bytevector-length", "bytevector/length", type="bytevector -> nat", total=True, pure=True)
def bytevector_length(data: Any) -> int:
    """The number of bytes in a bytevector.

    (bytevector/length #u8(1 2 3)) => 3
    """
    return len(_bytes(data))


@builtin("bytevector-u8-ref", "bytevector/ref", "bytevector/u8-ref", type="bytevector, int -> nat", pure=True)
def bytevector_u8_ref(data: Any, index: Any) -> int:
    """The byte at index, counted from 0.

    (bytevector-u8-ref #u8(10 20) 1) => 20
    """
    if type(data) is bytes and type(index) is int and 0 <= index < len(data):
        return data[index]
    data = _bytes(data)
    _check_index("bytevector-u8-ref", data, _int(index))
    return int(data[index])


@builtin(
    "bytevector-u8-set!", "bytevector/set!", "bytevector/u8-set!", type="bytevector, int, int -> bytevector", pure=True
)
def bytevector_u8_set_mut(data: Any, index: Any, value: Any) -> bytes:
    """A copy of a bytevector with another byte at index; the bytevector itself stays as it is.

    (bytevector-u8-set! #u8(1 2) 0 9) => #u8(9 2)
    """
    if not (type(index) is int is type(value) and type(data) is bytes and 0 <= index < len(data) and 0 <= value <= 255):
        data = _bytes(data)
        index, value = _int(index), _int(value)
        _check_index("bytevector-u8-set!", data, index)
        if not 0 <= value <= 255:
            raise SemaError(f"bytevector-u8-set!: byte value {value} out of range 0..255")
    view = memoryview(data)
    return b"".join((view[:index], bytes((value,)), view[index + 1 :]))  # copies each byte once


def _check_index(function: str, data: Bytes, index: int) -> None:
    if not 0 <= index < len(data):
        raise SemaError(f"{function}: index {index} out of range for bytevector of length {len(data)}")


@builtin("bytevector-copy", "bytevector/copy", type="bytevector, int?, int? -> bytevector", pure=True)
def bytevector_copy(data: Any, start: Any = 0, end: Any = MISSING) -> bytes:
    """A copy of a bytevector, or of its bytes from start (0) up to end (all).

    (bytevector-copy #u8(1 2 3) 1) => #u8(2 3)
    """
    data = _bytes(data)
    start, end = _int(start), len(data) if end is MISSING else _int(end)
    if not 0 <= start <= end <= len(data):
        raise OutOfBounds(f"bytevector-copy: range {start}..{end} out of bounds for bytevector of length {len(data)}")
    return bytes(data[start:end])


@builtin("bytevector-append", "bytevector/append", type="bytevector... -> bytevector", total=True, pure=True)
def bytevector_append(*parts: Any) -> bytes:
    """Concatenates bytevectors.

    (bytevector-append #u8(1) #u8(2)) => #u8(1 2)
    """
    return b"".join(map(_bytes, parts))


# Text


@builtin("string->utf8", "string/to-utf8", "string->bytevector", type="str -> bytevector", pure=True)
def string_to_utf8(text: Any) -> bytes:
    """Encodes a string as UTF-8: the bytevector of its bytes.

    (string->utf8 "é") => #u8(195 169)
    """
    if isinstance(text, str):
        return text.encode()
    type_error("string", text)


@builtin("utf8->string", "utf8/to-string", "bytevector->string", type="bytevector -> str", pure=True)
def utf8_to_string(data: Any) -> str:
    """Decodes UTF-8 bytes to a string.

    (utf8->string #u8(195 169)) => "é"
    (utf8->string #u8(255)) ! utf8->string: invalid UTF-8: invalid utf-8 sequence of 1 bytes from index 0
    """
    return _decoded("utf8->string", _bytes(data))


def _decoded(function: str, data: Bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            problem = "incomplete utf-8 byte sequence"
        else:
            problem = f"invalid utf-8 sequence of {error.end - error.start} bytes"
        raise SemaError(f"{function}: invalid UTF-8: {problem} from index {error.start}") from None


# The bytes/* functions: for scanning files, with ranges


def _source(function: str, value: Any) -> Bytes:
    if isinstance(value, bytes | bytearray):
        return value
    type_error("bytevector", value, f"{function}: read one with file/read-bytes or string->utf8")


def _slice(function: str, data: Bytes, start: Any, end: Any) -> Bytes:
    """The part of data from start up to end (MISSING: all). Raises SemaError for a range that doesn't fit."""
    size = len(data)
    start, end = count(function, start), size if end is MISSING else count(function, end)
    if not start <= end <= size:
        raise OutOfBounds(f"{function}: range {start}..{end} out of bounds for {size} bytes")
    return data[start:end]


@builtin("bytes/length", type="bytevector -> nat", total=True, pure=True)
def bytes_length(data: Any) -> int:
    """The number of bytes in a bytevector.

    (bytes/length #u8(1 2 3)) => 3
    """
    return len(_source("bytes/length", data))


@builtin("bytes/ref", type="bytevector, int -> nat", pure=True)
def bytes_ref(data: Any, index: Any) -> int:
    """The byte at index, counted from 0.

    (bytes/ref #u8(1 2 3) 1) => 2
    (bytes/ref #u8(1) 5) ! bytes/ref: index 5 out of bounds (length 1)
    """
    data = _source("bytes/ref", data)
    index = count("bytes/ref", index)
    if index >= len(data):
        raise OutOfBounds(f"bytes/ref: index {index} out of bounds (length {len(data)})")
    return int(data[index])


@builtin("bytes/slice", type="bytevector, int, int? -> bytevector", pure=True)
def bytes_slice(data: Any, start: Any, end: Any = MISSING) -> bytes:
    """The bytes from start up to end (all).

    (bytes/slice #u8(1 2 3) 1 2) => #u8(2)
    (bytes/slice #u8(1 2 3) 1) => #u8(2 3)
    """
    return bytes(_slice("bytes/slice", _source("bytes/slice", data), start, end))


@builtin("bytes/->string", type="bytevector, int?, int? -> str", pure=True)
def bytes_to_string(data: Any, start: Any = 0, end: Any = MISSING) -> str:
    """Decodes the UTF-8 bytes from start (0) up to end (all) to a string.

    (bytes/->string #u8(97 98 99) 1) => "bc"
    (bytes/->string #u8(255)) ! bytes/->string: invalid UTF-8: invalid utf-8 sequence of 1 bytes from index 0
    """
    return _decoded("bytes/->string", _slice("bytes/->string", _source("bytes/->string", data), start, end))


@builtin("bytes/find", type="bytevector, any, int? -> int|nil", pure=True)
def bytes_find(data: Any, needle: Any, start: Any = 0) -> int | None:
    """Finds a byte, a bytevector or the UTF-8 bytes of a string, from start (0) on: its index; nil when there is none.

    (bytes/find #u8(1 2 3) 3) => 2
    (bytes/find (string->utf8 "a;b") ";") => 1
    """
    data = _source("bytes/find", data)
    if count("bytes/find", start) > len(data):
        return None
    index = data.find(_needle(needle), start)
    return None if index < 0 else index


def _needle(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if not is_int64(value):
        type_error("int, bytevector, or string", value, NEEDLE_HINT)
    if not 0 <= value <= 255:
        raise SemaError(f"bytes/find: byte value {value} out of range 0..255")
    return bytes([value])


@builtin("bytes/parse-int10", type="bytevector, int?, int? -> int", pure=True)
def bytes_parse_int10(data: Any, start: Any = 0, end: Any = MISSING) -> int:
    """Parses a number with at most one decimal in the bytes from start (0) up to end (all), and returns ten times that
    number.

    (bytes/parse-int10 (string->utf8 "-12.3")) => -123
    """
    digits = _slice("bytes/parse-int10", _source("bytes/parse-int10", data), start, end)
    negative = digits[:1] == b"-"
    if negative:
        digits = digits[1:]
    whole, point, decimal = digits.partition(b".")
    value = _digits(whole)
    if point and not (len(decimal) == 1 and decimal.isdigit()):
        raise SemaError("bytes/parse-int10: expected exactly one digit after '.'")
    value = _small(value * 10 + (decimal[0] - ZERO if decimal else 0))
    return -value if negative else value


def _digits(text: Bytes) -> int:
    """The number of decimal digits. Raises SemaError at the first other byte, or as soon as it exceeds 64 bits."""
    if not text:
        raise SemaError("bytes/parse-int10: expected at least one digit")
    if text.isdigit():
        return _small(small(text.decode(), INT_LIMIT))
    value = 0
    for index, byte in enumerate(text):
        if not 0 <= byte - ZERO <= 9:
            raise SemaError(f"bytes/parse-int10: invalid digit '{_escaped(chr(byte))}' at byte {index}")
        value = _small(value * 10 + byte - ZERO)
    return value


def _small(value: int) -> int:
    if value >= INT_LIMIT:
        raise SemaError("bytes/parse-int10: value overflows an int")
    return value


def _escaped(char: str) -> str:
    return ESCAPED.get(char) or (char if char.isprintable() else f"\\u{{{ord(char):x}}}")
