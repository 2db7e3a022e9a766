"""Outcomes as clients read them: slim (text alone), structured, or with everything for debugging.

A value is exact or absent, never cut: what is larger than the profile allows is left out, and the answer says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from sema_runtime.box.codec import LONG_BITS
from sema_runtime.box.outcome import Outcome

CAPS = {"slim": 32 << 10, "structured": 96 << 10, "debug": 512 << 10}  # bytes of an answer


@dataclass(frozen=True)
class Record:
    """One program that was run. session: its id, None for a program by itself."""

    id: str
    session: str | None
    program: str
    outcome: Outcome


class Answer(NamedTuple):
    """text: for models. fields: for programs, None in the slim profile."""

    text: str
    fields: dict[str, Any] | None
    is_error: bool


def answer(record: Record, profile: str) -> Answer:
    outcome = record.outcome
    cap = CAPS[profile]
    text = valid(words(outcome, cap))
    if profile == "slim":
        return Answer(text, None, not outcome.ok)
    fields = structured(outcome)
    if profile == "debug":
        fields |= {"id": record.id, "session": record.session, "program": record.program,
                   "duration_ms": outcome.duration_ms, "tool_calls": outcome.tool_calls}  # fmt: skip
    return Answer(text if profile == "debug" else outcome.status, fitting(fields, cap), not outcome.ok)


def brief(record: Record) -> dict[str, Any]:
    """A program that was run, in a few words."""
    outcome = record.outcome
    return {"id": record.id, "session": record.session, "status": outcome.status, "reason": outcome.reason,
            "duration_ms": outcome.duration_ms, "program": record.program[:200]}  # fmt: skip


def words(outcome: Outcome, cap: int) -> str:
    """An outcome as text: what was printed, then the value or the error."""
    if outcome.status == "error":
        place = f" at {outcome.line}:{outcome.column}" if outcome.line else ""
        hint = f"hint: {outcome.hint}" if outcome.hint else None
        ending = "\n".join(filter(None, (f"{outcome.reason}{place}: {outcome.message}", outcome.excerpt, hint)))
    else:
        ending = ("failed: " if outcome.status == "fail" else "") + (outcome.text or "nil")
        if size(ending) > cap:
            ending = f"(the value takes {size(ending)} bytes, more than {cap}: return a part or a summary)"
    prints = "\n".join([*outcome.prints, *(f"warning: {text}" for text in outcome.warnings)])
    if size(prints) + size(ending) > cap:
        prints = f"({len(outcome.prints)} prints take {size(prints)} bytes, more than there is room for: print less)"
    return f"{prints}\n{ending}" if prints else ending


def structured(outcome: Outcome) -> dict[str, Any]:
    fields = {
        "status": outcome.status,
        "value": outcome.value,
        "text": outcome.text,
        "reason": outcome.reason,
        "message": outcome.message,
        "hint": outcome.hint,
        "line": outcome.line,
        "column": outcome.column,
        "prints": outcome.prints,
    }
    return {name: value for name, value in fields.items() if value is not None and value != []}


def fitting(fields: dict[str, Any], cap: int) -> dict[str, Any]:
    """The fields that fit: the largest go first, and are named."""
    sizes = {name: encoded_size(value) for name, value in fields.items()}
    left_out: list[str] = []
    while sum(size for size in sizes.values() if size is not None) > cap or None in sizes.values():
        name = max(sizes, key=lambda key: float("inf") if sizes[key] is None else float(sizes[key] or 0))
        left_out.append(name)
        del sizes[name]
    kept = {name: cleaned(fields[name]) for name in sizes}
    return {**kept, "left_out": left_out} if left_out else kept


def encoded_size(value: Any) -> int | None:
    """The bytes of a value as JSON; None for what JSON can't say, such as infinity, or few clients read, such as an
    integer of thousands of digits."""
    try:
        return None if has_long_integer(value) else len(json.dumps(value, allow_nan=False))
    except (ValueError, TypeError, RecursionError):
        return None


def has_long_integer(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(has_long_integer, value.values()))
    if isinstance(value, list):
        return any(map(has_long_integer, value))
    return isinstance(value, int) and value.bit_length() > LONG_BITS


def cleaned(value: Any) -> Any:
    """A value whose texts can be written in UTF-8."""
    if isinstance(value, str):
        return valid(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {valid(str(key)): cleaned(item) for key, item in value.items()}
    return value


def valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
