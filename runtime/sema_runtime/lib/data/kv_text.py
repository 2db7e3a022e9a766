"""The JSON text of a key-value store, which is kept value by value: what isn't changed is written as it was read."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import Map
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BLANK = " \t\n\r"
INDENT = "  "


def members(text: str) -> dict[str, str]:
    """The JSON text of each member of an object. Raises ValueError saying where the text is wrong."""
    from sema_runtime.lib.data.json import json_decode
    from sema_runtime.support.json_errors import first_error

    try:
        value = json_decode(text)
    except SemaError:
        found = first_error(text)
        raise ValueError(" ".join(found) if found else "unreadable") from None
    if not isinstance(value, Map):
        raise ValueError(f"expected an object, got {type_name(value)}")
    return _split(text)


def _split(text: str) -> dict[str, str]:
    """The members of a text that is known to be an object."""
    from json import JSONDecoder

    scan = JSONDecoder(parse_int=str).raw_decode  # only where a value ends is wanted
    found: dict[str, str] = {}
    at = _behind_blanks(text, _behind_blanks(text, 0) + 1)
    while text[at] != "}":
        key, at = scan(text, at)
        start = _behind_blanks(text, _behind_blanks(text, at) + 1)
        _, end = scan(text, start)
        found[key] = text[start:end]
        at = _behind_blanks(text, end)
        if text[at] == ",":
            at = _behind_blanks(text, at + 1)
    return found


def _behind_blanks(text: str, at: int) -> int:
    while text[at] in BLANK:
        at += 1
    return at


def joined(members: dict[str, str]) -> str:
    """The object that has those members, by key, over several lines."""
    from json import dumps

    if not members:
        return "{}"
    lines = [f"{INDENT}{dumps(key, ensure_ascii=False)}: {members[key]}" for key in sorted(members)]
    return "{\n" + ",\n".join(lines) + "\n}"


def encoded(key: str, value: Any) -> str:
    """The JSON text of a value, as a member of an object is written. Raises a condition when it can't be read again."""
    from json import dumps

    from sema_runtime.lib.data.json import json_decode
    from sema_runtime.llm.jsonable import to_json

    try:
        text = dumps(to_json(value), ensure_ascii=False, allow_nan=False, indent=len(INDENT), sort_keys=True)
        text = text.replace("\n", "\n" + INDENT)
        f"{key}{text}".encode()
        json_decode(text)  # what is too deep for that would be lost
    except (RecursionError, SemaError):
        raise SemaError(f"kv/set: the value for key '{key}' is nested too deeply") from None
    except UnicodeEncodeError:
        raise SemaError(f"kv/set: key {key!a} or its value holds text that is not Unicode") from None
    return text
