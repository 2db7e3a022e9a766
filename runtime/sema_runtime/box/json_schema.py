"""Whether values fit a JSON schema, in words for those who write programs: `rows.0.amount: expected int, got string`.

Patterns and formats are left out: a pattern of a stranger could take forever. What isn't known isn't checked.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

MOST = 16  # violations of a value
MOST_DEPTH = 40
MOST_SHOWN = 60  # characters of a value
WORDS = {"string": "string", "integer": "int", "number": "float", "boolean": "bool", "object": "map", "array": "list",
         "null": "nil"}  # fmt: skip
TYPES: dict[Any, Any] = {
    "string": str | bytes, "number": int | float, "object": Mapping, "array": list, "null": type(None),
}  # fmt: skip
BOUNDS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("minimum", "at least", operator.ge),
    ("maximum", "at most", operator.le),
    ("exclusiveMinimum", "more than", operator.gt),
    ("exclusiveMaximum", "less than", operator.lt),
)


def misfits(value: Any, schema: Mapping[str, Any], path: str = "") -> list[str]:
    """What of a value of Python (lists, dicts, texts, numbers) doesn't fit; [] for one that does."""
    return list(islice(Checker(schema).check(value, schema, path, MOST_DEPTH), MOST))


class Checker:
    """root: where references lead."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root

    def check(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[str]:
        if not isinstance(schema, Mapping) or depth == 0:
            if schema is False:
                yield said(path, "no value is allowed")
            return
        if "$ref" in schema:
            yield from self.check(value, self.resolved(schema["$ref"]), path, depth - 1)
        yield from self.check_choices(value, schema, path, depth)
        kinds = schema.get("type")
        kinds = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
        if kinds and not any(is_of(value, kind) for kind in kinds):
            words = " or ".join(WORDS.get(kind, str(kind)) for kind in kinds)
            yield said(path, f"expected {words}, got {kind_of(value)}{example(value)}")
            return
        if isinstance(value, Mapping):
            yield from self.check_map(value, schema, path, depth)
        elif isinstance(value, list):
            yield from self.check_list(value, schema, path, depth)
        else:
            yield from check_atom(value, schema, path)

    def resolved(self, reference: Any) -> Any:
        """What a reference within the schema leads to; {}, which fits all, for another one."""
        found: Any = self.root
        for part in str(reference).removeprefix("#").strip("/").split("/"):
            found = found.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, Mapping) else {}
        return found if str(reference).startswith("#") else {}

    def check_choices(self, value: Any, schema: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
        for part in schema.get("allOf") or ():
            yield from self.check(value, part, path, depth - 1)
        choices = schema.get("anyOf") or schema.get("oneOf")
        if not isinstance(choices, list):
            return
        problems = [list(islice(self.check(value, choice, path, depth - 1), MOST)) for choice in choices]
        if all(problems):  # those of the choice that comes nearest: the one whose type fits
            inner = [found for found in problems if not found[0].startswith(said(path, "expected "))]
            yield from inner[0] if inner else one_of(problems, path, value)

    def check_map(self, value: Mapping[Any, Any], schema: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
        fields = schema.get("properties") or {}
        for name in schema.get("required") or ():
            if name not in value:
                yield said(joined(path, name), "missing")
        more = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in fields:
                yield from self.check(item, fields[name], joined(path, name), depth - 1)
            elif more is False:
                yield said(joined(path, name), f"isn't known; the keys are {', '.join(map(str, fields)) or 'none'}")
            else:
                yield from self.check(item, more, joined(path, name), depth - 1)

    def check_list(self, value: list[Any], schema: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
        yield from check_length(value, schema, path, "minItems", "maxItems", "items")
        first = schema.get("prefixItems") or []
        for number, item in enumerate(value):
            part = first[number] if number < len(first) else schema.get("items", {})
            yield from self.check(item, part, joined(path, number), depth - 1)


def one_of(problems: list[list[str]], path: str, value: Any) -> Iterator[str]:
    """One line for a value that is of no type that is allowed."""
    start = said(path, "expected ")
    wanted = dict.fromkeys(found[0].removeprefix(start).partition(", got ")[0] for found in problems)
    yield said(path, f"expected {' or '.join(wanted)}, got {kind_of(value)}{example(value)}")


def check_atom(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(allowed, list) and not any(value == other and type(value) is type(other) for other in allowed):
        yield said(path, f"expected {' or '.join(map(shown, allowed[:MOST]))}, got {shown(value)}")
    if isinstance(value, str):
        yield from check_length(value, schema, path, "minLength", "maxLength", "characters")
    elif is_of(value, "number"):
        for key, words, fits in BOUNDS:
            bound = schema.get(key)
            if isinstance(bound, int | float) and not isinstance(bound, bool) and not fits(value, bound):
                yield said(path, f"expected {words} {bound}, got {shown(value)}")


def check_length(value: Any, schema: Mapping[str, Any], path: str, least: str, most: str, of: str) -> Iterator[str]:
    if isinstance(schema.get(least), int) and len(value) < schema[least]:
        yield said(path, f"expected at least {schema[least]} {of}, got {len(value)}")
    if isinstance(schema.get(most), int) and len(value) > schema[most]:
        yield said(path, f"expected at most {schema[most]} {of}, got {len(value)}")


def is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a type of JSON. An int is a number, and 2.0 an integer."""
    if isinstance(value, bool) or kind == "boolean":
        return isinstance(value, bool) and kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value) and value.is_integer())
    return kind not in TYPES or isinstance(value, TYPES[kind])


def kind_of(value: Any) -> str:
    return next(WORDS[kind] for kind in ("null", "boolean", "string", "object", "array", "integer", "number", "string")
                if is_of(value, kind))  # fmt: skip


def example(value: Any) -> str:
    return f" {shown(value)}" if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def shown(value: Any) -> str:
    try:
        text = json.dumps(value, default=str)
    except ValueError:  # an integer of too many digits
        text = "a large integer"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def joined(path: str, part: Any) -> str:
    name = str(part)[:MOST_SHOWN]
    return f"{path}.{name}" if path else name


def said(path: str, words: str) -> str:
    return f"{path}: {words}" if path else words
