"""Lines of a journal as events: the fields of each, as JSON has them."""

from __future__ import annotations

from json import JSONDecoder

from sema_runtime.support.json_input import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BLANKS = " \t\r\v\f"  # as `bytes.isspace` has them
MOST_AT_ONCE = 1 << 18  # characters that are parsed as one JSON text: an integer in it takes no more than 0.2 s
_decode = JSONDecoder().decode


def events_of(piece: bytes) -> list[dict[str, Any] | None]:
    """The events of a piece of whole lines, None for a damaged line. A blank line is no event.

    Lines that are all JSON are parsed together, as one array, which takes half the time that each of them takes alone.
    """
    text = piece.decode("utf-8", "replace")
    if len(text) <= MOST_AT_ONCE:
        try:
            events: list[dict[str, Any] | None] = _decode("[" + text[:-1].replace("\n", ",") + "]")
        except (ValueError, RecursionError):
            events = []
        if len(events) == text.count("\n") and all(map(_is_event, events)):
            return events
    return [fields_of(line) for line in text.split("\n") if line.strip(BLANKS)]


def _is_event(fields: Any) -> bool:
    return type(fields) is dict and type(fields.get("event")) is str


def fields_of(line: bytes | str) -> dict[str, Any] | None:
    """The event of a line; None when it is damaged. Bytes that are not UTF-8 become replacement characters."""
    try:
        fields = loads(line if isinstance(line, str) else line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return fields if _is_event(fields) else None
