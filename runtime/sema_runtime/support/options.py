"""Reads options maps. A value of the wrong type counts as absent; integer options ignore floats."""

from __future__ import annotations

from sema_runtime.support.text_arguments import INT_LIMIT
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import display, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def options_map(value: Any) -> Map:
    """The options argument of a builtin as a map; nil means no options. Raises a type error for other values."""
    if isinstance(value, Map):
        return value
    if value is None:
        return Map()
    if isinstance(value, dict):
        return Map.of((keyword(key) if isinstance(key, str) else key, inner) for key, inner in value.items())
    type_error("map", value)


def text(options: Map, name: str) -> str | None:
    value = options.lookup(keyword(name))
    return value if isinstance(value, str) else None


def name_or_text(options: Map, name: str) -> str | None:
    """A keyword's name or a string."""
    value = options.lookup(keyword(name))
    if isinstance(value, Keyword):
        return value.name
    return value if isinstance(value, str) else None


def number(options: Map, name: str) -> float | None:
    """A number as a float; an integer that is too large for one is infinite. NaN counts as absent."""
    value = options.lookup(keyword(name))
    if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def finite(options: Map, name: str) -> float | None:
    """As `number`; an infinite one counts as absent."""
    value = number(options, name)
    return value if value is not None and abs(value) != float("inf") else None


def integer(options: Map, name: str) -> int | None:
    value = options.lookup(keyword(name))
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def function(options: Map, name: str) -> Any:
    value = options.lookup(keyword(name))
    return value if is_function(value) else None


def is_function(value: Any) -> bool:
    """Whether the value is a function. Keywords can be called too, but only for lookups."""
    return callable(value) and not isinstance(value, Keyword)


def names(options: Map, name: str) -> tuple[str, ...]:
    """The strings and keywords of a list as strings; a single one counts as a list of one."""
    value = options.lookup(keyword(name))
    items = value if isinstance(value, tuple | List | list) else (value,)
    return tuple(item if isinstance(item, str) else item.name for item in items if isinstance(item, str | Keyword))


def texts(options: Map, name: str) -> dict[str, str]:
    """A map with keys and values as text: names and strings unchanged, other values as they print."""
    value = options.lookup(keyword(name))
    if not isinstance(value, Map | dict):
        return {}
    pairs = value.pairs() if isinstance(value, Map) else list(value.items())
    return {key.name if isinstance(key, Keyword) else display(key): display(inner) for key, inner in pairs}


def truthy(options: Map, name: str, default: bool) -> bool:
    value = options.lookup(keyword(name), default)
    return value is not None and value is not False


def is_native(function: str, options: Map) -> bool:
    """Whether the options say `:mode :native`. Raises SemaError for an unknown mode."""
    mode = name_or_text(options, "mode")
    if mode not in (None, "native", "prompt"):
        raise SemaError(f"{function}: unknown :mode {mode}", "the modes are :prompt (the default) and :native")
    return mode == "native"


def options_or_empty(options: Any) -> Map:
    """The options of a function. Anything that isn't a map counts as no options, as in the reference."""
    from sema_runtime.values.sequences import mapping

    return mapping(options) if isinstance(options, (Map, dict)) else Map()


def header_list(headers: Any) -> list[tuple[str, str]]:
    """Names and values of a map of headers; values that aren't strings as they print."""
    pairs = options_or_empty(headers).pairs()
    return [(_header_name(key), value if isinstance(value, str) else to_text(value)) for key, value in pairs]


def _header_name(key: Any) -> str:
    return key.name if isinstance(key, Keyword) else key if isinstance(key, str) else to_text(key)


def positive(where: str, options: Map, name: str) -> float | None:
    """A number among the options, None without it."""
    value = options.lookup(keyword(name))
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 < value < INT_LIMIT:
        raise SemaError(f"{where}: :{name} must be a positive number, got {to_text(value)}")
    return float(value)
