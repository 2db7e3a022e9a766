"""Whether values fit a JSON schema that a client sends.

The schema is a stranger's: what could fetch something, match a pattern or take more than linear time is refused.
"""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator, SchemaError

from sema_runtime.values.errors import SemaError

REFUSED = frozenset((
    "$ref", "$dynamicRef", "$recursiveRef", "pattern", "patternProperties", "uniqueItems", "unevaluatedProperties",
    "unevaluatedItems", "dependentSchemas",
))  # fmt: skip
BY_NAME = frozenset(("properties", "$defs", "definitions"))  # whose keys are names
MOST_PARTS = 2_000
MOST_CHECKS = 2_000_000  # parts of the schema by parts of the value
MOST_WORDS = 300  # characters of a message


def check_schema(schema: dict[str, Any]) -> int:
    """How many parts a schema has. Raises SemaError for one that is none, or that isn't served."""
    waiting: list[Any] = [schema]
    count = 0
    while waiting:
        part = waiting.pop()
        count += 1
        if count > MOST_PARTS:
            raise SemaError(f"output_schema has more than {MOST_PARTS} parts")
        if isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            refused = sorted(REFUSED & part.keys())
            if refused:
                raise SemaError(f"output_schema: {', '.join(refused)} can't be used here", "write the schema out")
            for key, inner in part.items():
                waiting.extend(inner.values() if key in BY_NAME and isinstance(inner, dict) else [inner])
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as problem:
        raise SemaError(f"output_schema is no JSON schema: {problem.message[:MOST_WORDS]}") from None
    return count


def misfit(schema: dict[str, Any], value: Any) -> str | None:
    """Where and why a value doesn't fit; None where it does."""
    parts, size = check_schema(schema), size_of(value)
    if parts * size > MOST_CHECKS:
        return f"a value of {size:,} parts is too large for a schema of {parts:,}"
    error = next(Draft202012Validator(schema).iter_errors(value), None)
    if error is None:
        return None
    place = ".".join(str(part) for part in error.absolute_path) or "the value"
    return f"{place}: {error.message[:MOST_WORDS]}"


def size_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(size_of, inner))
