"""Parses JSON from outside: replies of servers and models, request bodies, tapes, journals."""

from __future__ import annotations

from functools import cache

from sema_runtime.values.digits import may_exceed, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


MOST_LEVELS = 127  # the limit of `json/decode`, and of the reference everywhere


class TooDeep(ValueError):
    """JSON with more than MOST_LEVELS nested arrays and objects."""

    def __init__(self) -> None:
        super().__init__(f"it is nested deeper than {MOST_LEVELS} levels")


def loads(text: str | bytes, **options: Any) -> Any:
    """As `json.loads`, except that an integer with too many digits raises TooManyDigits, a ValueError, before it takes
    time. Raises RecursionError for a text that is nested too deeply."""
    import json

    if not may_exceed(text):
        try:
            return json.loads(text, **options)
        except ValueError as error:
            if type(error) is not ValueError:
                raise
    return json.loads(text, **{"parse_int": whole, **options})  # for Python's own limit may be lower


def reply(text: str) -> Any:
    """The value of a JSON text from the network. NaN and infinities, which aren't JSON, become None. Lone surrogates
    stay: the other half may be in the next piece of a stream. Raises as `loads` does."""
    if not may_exceed(text):
        try:
            return _decode()(text)
        except ValueError as error:
            if type(error) is not ValueError:
                raise
    return loads(text, parse_constant=_none, parse_int=whole)


@cache
def _decode() -> Callable[[str], Any]:
    from json import JSONDecoder

    return JSONDecoder(parse_constant=_none).decode


def received(text: str | bytes) -> Any:
    """As `reply`, for a whole message. Bytes that aren't UTF-8 and lone surrogates become U+FFFD, which every output
    can encode. Raises ValueErrors: TooManyDigits, TooDeep, JSONDecodeError."""
    shown = text if isinstance(text, str) else text.decode("utf-8", "replace")
    try:
        value = reply(shown.removeprefix("\ufeff"))
    except RecursionError:
        raise TooDeep from None
    if shown.count("[") + shown.count("{") > MOST_LEVELS:
        _check_levels(value)
    return mended_json(value) if "\\ud" in shown or "\\uD" in shown else value


def _none(_: str) -> None:
    return None


def _check_levels(value: Any) -> None:
    """Raises TooDeep for a value with too many levels."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        inner = [value.values() if type(value) is dict else value for value in level if type(value) in (dict, list)]
        if not inner:
            return
        level = [item for items in inner for item in items if type(item) in (dict, list)]
    raise TooDeep


def mended_json(value: Any) -> Any:
    """Decoded JSON with `mended` strings and keys."""
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, dict):
        return {mended(key): mended_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [mended_json(inner) for inner in value]
    return value


def mended(text: str) -> str:
    """The text with surrogate pairs joined and U+FFFD for lone surrogates: JSON can hold them, no output can."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
