"""JSON texts to Sema values and back: maps with keyword keys, lists, exact integers.

Error messages name the builtins `json/decode`, `json/encode` and `json/encode-pretty`, whichever code calls.
"""

from __future__ import annotations

from functools import cache

from sema_runtime.support.json_input import MOST_LEVELS
from sema_runtime.values.atoms import Keyword, Symbol, keyword
from sema_runtime.values.digits import TooManyDigits, may_exceed, whole
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lazy_dicts import LazyDict
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.printer import display
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from json import JSONDecoder
    from typing import Any

DECODE_HINT = "json/decode expects a JSON string (note: single quotes and trailing commas are not valid JSON)"
PYTHONS_LIMIT = "Exceeds the limit"  # on digits, which a Python program may keep lower than ours
CHECKED_FOR_DEPTH = 4096  # characters; longer texts are rejected only where Python's own limit is


# JSON objects: Python's scanner makes dicts and lists; what a program reads of them becomes maps and lists

_keywords: dict[str, Keyword] = {}  # by name; one C lookup a key
_FINAL = frozenset((str, int, bool, type(None)))  # types of the scanner's values that are Sema values already
_OBJECTS = {dict}
_new: Any = Map.__new__


class JsonDict(LazyDict):
    """The entries of a JSON object: keywords as keys, lists for arrays. source: Python's dict of it."""

    __slots__ = ()

    def load(self) -> None:
        dict.update(self, _json_entries(self.source))


def json_map(raw: dict[str, Any]) -> Map:
    """The map of a JSON object. Its entries are converted when it is read."""
    new: Map = _new(Map)
    new._order = new._face = None
    new.d = entries = JsonDict()
    entries.source = raw
    return new


def json_value(value: Any) -> Any:
    """The Sema value of decoded JSON. A float out of range is nil, as in the reference."""
    kind = type(value)
    if kind is dict:
        return json_map(value)
    if kind is list:
        kinds = set(map(type, value))
        if kinds <= _FINAL:
            return List(value)
        return List(list(map(json_map if kinds == _OBJECTS else json_value, value)))
    return None if kind is float and value - value != 0 else value


def _json_entries(raw: dict[str, Any]) -> dict[Any, Any]:
    """The entries of the map of a JSON object."""
    keywords = _keywords
    try:
        return {keywords[name]: value if type(value) in _FINAL else json_value(value) for name, value in raw.items()}
    except KeyError:
        keywords.update((name, keyword(name)) for name in raw)
        return _json_entries(raw)


# Decoding


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


@cache
def _decoder() -> JSONDecoder:
    from json import JSONDecoder

    return JSONDecoder(parse_constant=_no_constant)


@cache
def _counting_decoder() -> JSONDecoder:
    """As `_decoder`, for texts that may hold integers of too many digits: `whole` converts each integer."""
    from json import JSONDecoder

    return JSONDecoder(parse_constant=_no_constant, parse_int=whole)


def decode(text: str) -> Any:
    """The value of a JSON text: objects are maps with keyword keys, arrays are lists, null is nil. Raises SemaError."""
    if _suspicious(text):
        _check(text)
    try:
        return json_value(_raw(text))
    except TooManyDigits as error:
        raise SemaError(f"json/decode: {error.message}", error.hint) from None
    except (ValueError, RecursionError) as error:
        _check(text)
        raise SemaError(f"json/decode: {error}", DECODE_HINT) from None


def _raw(text: str) -> Any:
    """Plain Python data for a JSON text. Raises ValueError, RecursionError."""
    if not may_exceed(text):
        try:
            return _decoder().decode(text)
        except ValueError as error:
            if not str(error).startswith(PYTHONS_LIMIT):
                raise
    return _counting_decoder().decode(text)


def _suspicious(text: str) -> bool:
    """Whether the text may hold lone surrogates or deep nesting, which Python accepts and the reference doesn't."""
    if "\\" in text and ("\\ud" in text or "\\uD" in text):
        return True
    return len(text) <= CHECKED_FOR_DEPTH and text.count("[") + text.count("{") > MOST_LEVELS


def _check(text: str) -> None:
    """Raises the reference's error for a text that isn't JSON."""
    from sema_runtime.support.json_errors import first_error

    error = first_error(text)
    if error is not None:
        message, place = error
        raise SemaError(f"json/decode: parse error {place}: {message} {place}", DECODE_HINT)


# Encoding: Python's C encoder writes; it calls `_plain` for values it doesn't know


def _plain(value: Any) -> Any:
    """A value for which Python has a JSON form. Raises ValueError when there is none."""
    kind = type(value)
    if kind is List:
        items = value.items
        return items if type(items) is list else list(items)
    if kind is Map or kind is HashMap:
        entries = value.d
        raw = entries.source if type(entries) is JsonDict else None
        return _object(value) if raw is None else raw  # read from JSON and not used since
    if kind is Keyword or kind is Symbol:
        return value.name
    if kind.__name__ in ("Fraction", "Complex", "complex"):
        return display(value)
    if isinstance(value, BaseException):
        return str(value)  # in the map of a caught error
    raise ValueError(f"cannot encode {type_name(value)} as JSON")


def _object(value: Map) -> dict[str, Any]:
    """The entries by key text. Of keys with equal texts the last in map order wins."""
    entries = value.stable()
    try:
        texts = {key.name: item for key, item in entries.items()}
    except AttributeError:
        texts = {}
    return texts if len(texts) == len(entries) else {_key_text(key): item for key, item in value.pairs()}


def _key_text(key: Any) -> str:
    return key.name if isinstance(key, (Keyword, Symbol)) else display(key)


@cache
def _encoder() -> Callable[[Any], str]:
    """The function that writes a value on one line. `JSONEncoder.encode` would make a C encoder for each call."""
    from json import encoder

    make: Any = getattr(encoder, "c_make_encoder", None)
    make = getattr(make, "untaught", make)
    if make is None:  # a Python without it
        return encoder.JSONEncoder(
            default=_plain,
            ensure_ascii=False,
            check_circular=False,
            allow_nan=False,
            sort_keys=True,
            separators=(",", ":"),
        ).encode
    pieces = make(None, _plain, encoder.encode_basestring, None, ":", ",", True, False, False)
    return lambda value: "".join(pieces(value, 0))


def encode(value: Any) -> str:
    """The JSON of a value on one line, keys sorted by their text. Raises SemaError for what JSON can't say."""
    try:
        text = _encoder()(value)
    except (ValueError, TypeError) as error:
        if _OUT_OF_RANGE not in str(error):  # else it may come from an unused JSON object, where it means nil
            raise _not_encodable("json/encode", error, value) from None
        text = ""
    if not text or ("e-" in text and _has_small_float(text)):
        return _text(value, "json/encode", "")
    return text


_OUT_OF_RANGE = "Out of range float"  # how the message of Python's encoder about infinity begins


def _text(value: Any, function: str, indent: str) -> str:
    try:
        return "".join(_written(value, indent, "\n"))
    except (ValueError, TypeError) as error:
        raise _not_encodable(function, error, value) from None


def _has_small_float(text: str) -> bool:
    from re import search

    return search(r"\de-\d", text) is not None


def _not_encodable(function: str, error: Exception, value: Any) -> SemaError:
    reason = str(error)
    if not reason.startswith("Exceeds the limit"):
        reason = _refused(value) or "cannot encode NaN/Infinity as JSON"
    return SemaError(f"{function}: Eval error: {reason}")


def _refused(value: Any) -> str:
    """Why a value can't be encoded: the first reason in the order of its maps, "" where it can."""
    kind = type(value)
    parts: Any
    if kind is Map or kind is HashMap:
        parts = [item for _, item in value.pairs()]
    elif kind is List or kind is tuple:
        parts = value
    elif kind is float:
        from math import isfinite

        return "" if isfinite(value) else "cannot encode NaN/Infinity as JSON"
    elif value is None or kind in (str, int, bool):
        return ""
    else:
        try:
            _plain(value)
        except ValueError as error:
            return str(error)
        return ""
    return next((reason for part in parts if (reason := _refused(part))), "")


def encode_pretty(value: Any) -> str:
    """The JSON of a value over several lines, indented by two spaces. Raises SemaError for what JSON can't say."""
    return _text(value, "json/encode-pretty", "  ")


def _written(value: Any, indent: str, newline: str) -> list[str]:
    """The pieces of a JSON text. newline: a line break and the indentation reached; indent: "" for a single line."""
    kind = type(value)
    if kind is float:
        return [_float_text(value)]
    if kind is not tuple and kind is not list and kind is not dict:
        if value is None or kind in (str, int, bool):
            return [_encoder()(value)]
        return _written(_object(value) if kind is Map else _plain(value), indent, newline)
    inner = newline + indent
    if not value:
        return ["{}" if kind is dict else "[]"]
    before = inner if indent else ""
    out = []
    if kind is dict:
        colon = ": " if indent else ":"
        for key, item in sorted(value.items()):
            out += [",", before, _encoder()(key), colon, *_written(item, indent, inner)]
    else:
        for item in value:
            out += [",", before, *_written(item, indent, inner)]
    out[0] = "{" if kind is dict else "["
    return [*out, newline if indent else "", "}" if kind is dict else "]"]


def _float_text(value: float) -> str:
    """A float as the reference writes it: exponents from 1e16 up and below 1e-5, without leading zeros."""
    if value - value != 0:
        raise ValueError("cannot encode NaN/Infinity as JSON")
    text = repr(value)
    digits, exponential, exponent = text.partition("e-")
    if not exponential:
        return text
    if int(exponent) > 5:
        return f"{digits}e-{int(exponent)}"
    sign = "-" if value < 0 else ""
    return f"{sign}0.0000{digits.lstrip('-').replace('.', '')}"
