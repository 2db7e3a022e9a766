"""Limits of one program in the box, and the host's ceiling of each.

A value above its ceiling is refused by name with both numbers, never lowered silently (sandbox.md, 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from sema_runtime.values.errors import SemaError

CEILINGS = {
    "wall_ms": 600_000,
    "cpu_ms": 600_000,
    "memory_mb": 4_096,
    "kept_mb": 4_096,
    "history_bytes": 256_000_000,
    "source_bytes": 1_000_000,
    "nesting": 1_024,
    "output_bytes": 16_000_000,
    "output_entries": 100_000,
    "result_bytes": 16_000_000,
    "data_bytes": 64_000_000,
    "integer_bits": 16_000_000,
    "regex_chars": 1_000_000,
    "tasks": 100_000,
    "tool_calls": 100_000,
    "tool_calls_each": 100_000,
    "tool_argument_bytes": 4_000_000,
    "tool_result_bytes": 16_000_000,
}


@dataclass(frozen=True)
class Limits:
    """Limits of one program in the box.

    wall_ms: from the moment a program is handed to its process, compilation included. cpu_ms: of the processor,
    which waiting for tools doesn't use. memory_mb: beyond what an idle process and its inputs use. kept_mb: of what the
    definitions of a session hold, about; history_bytes: of its programs and the replies of its tools. nesting: of
    brackets. output: what it prints. result_bytes: of the printed value. integer_bits: of what powers, shifts and
    products make; sums are bounded by time and memory. regex_chars: of a regular expression. tasks: unfinished ones at
    the same time. tool_calls: in total; tool_calls_each: of each tool that has no number of its own.
    tool_argument_bytes, tool_result_bytes: of one call, encoded."""

    wall_ms: int = 5_000
    cpu_ms: int = 600_000
    memory_mb: int = 256
    kept_mb: int = 64
    history_bytes: int = 16_000_000
    source_bytes: int = 262_144
    nesting: int = 1_024
    output_bytes: int = 65_536
    output_entries: int = 1_000
    result_bytes: int = 1_000_000
    data_bytes: int = 4_000_000
    integer_bits: int = 1_000_000
    regex_chars: int = 10_000
    tasks: int = 1_000
    tool_calls: int = 256
    tool_calls_each: int = 128
    tool_argument_bytes: int = 262_144
    tool_result_bytes: int = 1_000_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value, ceiling = getattr(self, field.name), CEILINGS[field.name]
            if type(value) is not int or value < 1:
                raise SemaError(f"box: limit {field.name} must be a positive integer, got {value!r}")
            if value > ceiling:
                raise SemaError(f"box: limit {field.name} is {value}, the host's ceiling is {ceiling}")


def too_many_bytes(what: str, size: int, name: str, most: int, instead: str) -> str:
    """The message of a call of a tool that takes or gives too much."""
    return f"{what} {size} bytes, limit {name} is {most}: {instead}, or have the host raise {name}"


def names() -> list[str]:
    return [field.name for field in fields(Limits)]


def parsed(texts: tuple[str, ...] | list[str]) -> Limits:
    """Limits from texts NAME=VALUE. Raises SemaError for an unknown name or a bad value."""
    known = names()
    values: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        name = name.strip().replace("-", "_")
        if name not in known:
            raise SemaError(f"box: unknown limit {name!r}; the limits are {', '.join(known)}")
        if not equals or not number.strip().isdecimal():
            raise SemaError(f"box: expected {name}=NUMBER, got {text!r}")
        values[name] = int(number)
    return Limits(**values)
