"""Sums over the usage ledger (sema_runtime/llm/budgets/ledger.py), for `sema usage`, in constant memory."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from sema_runtime.support.json_input import loads

GROUPS = ("model", "provider", "script", "day", "operation")
TOKENS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_creation_tokens")
TEXTS = ("model", "provider", "script", "operation")
NUMBERS = (int, float)
SHAPES = {  # of a line: the types of what it needs
    (at, cost, bool, bool, *[str] * len(TEXTS), *[int] * len(TOKENS))
    for at in NUMBERS
    for cost in (*NUMBERS, type(None))
}
_needed = itemgetter("at", "cost_usd", "cached", "replayed", *TEXTS, *TOKENS)
_tokens = itemgetter(*TOKENS)
LAST_MOMENT = 1e11  # seconds since 1970; a line with a later time is damaged
MOST_USD = 1e9  # of one call
BLOCK = 1 << 20  # bytes that are read at once
LONGEST_LINE = 1 << 20
DAMAGED = b"!"  # stands for the beginning of a line that is too long
QUARTER = 900  # seconds; clocks are set by multiples of that, so all of it is on one day
FILE = re.compile(r"\d{4}-\d{2}\.jsonl")
SPAN = re.compile(r"(\d{1,5})([hdw])")
HOURS = {"h": 1, "d": 24, "w": 168}


@dataclass(slots=True)
class Sums:
    """One row. calls and the tokens: of calls that went to a provider; cached and replayed calls are only counted.
    cost_usd: of the calls whose price is known (`priced`); unpriced: the number of calls with tokens at an unknown
    price. estimated: the number of calls whose tokens are an estimate, because their stream broke."""

    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    cost_usd: float = 0.0
    priced: int = 0
    unpriced: int = 0
    cached: int = 0
    replayed: int = 0
    estimated: int = 0

    def add(self, line: dict[str, Any]) -> None:
        """Counts a line that `is_sound`."""
        if line["cached"]:
            self.cached += 1
            return
        if line["replayed"]:
            self.replayed += 1
            return
        self.calls += 1
        prompt, completion = line["prompt_tokens"], line["completion_tokens"]
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.cache_read_tokens += line["cache_read_tokens"]
        self.cache_creation_tokens += line["cache_creation_tokens"]
        failed = line.get("error") is not None
        self.failed += failed
        self.estimated += line.get("estimated") is True
        cost = line["cost_usd"]
        if cost is not None:
            self.cost_usd += cost
            self.priced += 1
        elif prompt or completion or not failed:
            self.unpriced += 1

    def merge(self, other: Sums) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_json(self) -> dict[str, Any]:
        """cost_usd is null where no price is known."""
        named = {name: getattr(self, name) for name in ("calls", "failed", *TOKENS)}
        cost = round(self.cost_usd, 9) if self.priced or not self.unpriced else None
        apart = {"unpriced_calls": self.unpriced, "cached_calls": self.cached, "replayed_calls": self.replayed}
        return {**named, "cost_usd": cost, **apart, "estimated_calls": self.estimated}


class Usage:
    """rows: sums by the values of the groups. damaged: lines that were skipped, by file."""

    def __init__(self, by: Sequence[str]) -> None:
        self.by = tuple(by)
        self.rows: dict[tuple[str, ...], Sums] = {}
        self.damaged: dict[str, int] = {}

    def total(self) -> Sums:
        total = Sums()
        for row in self.rows.values():
            total.merge(row)
        return total

    def sorted_rows(self) -> list[tuple[tuple[str, ...], Sums]]:
        """The rows by day where that is a group, else the most expensive first."""
        if "day" in self.by:
            at = self.by.index("day")
            return sorted(self.rows.items(), key=lambda row: (row[0][at], -row[1].cost_usd, row[0]))
        return sorted(self.rows.items(), key=lambda row: (-row[1].cost_usd, -row[1].calls, row[0]))


def summed(folder: str, by: Sequence[str], since: float, until: float) -> Usage:
    """The sums over all calls that began in [since, until), in seconds since 1970. Raises OSError."""
    usage = Usage(by)
    days = Days()
    for path in _files(folder, since, until):
        for line in _lines(path, usage):
            at = line["at"]
            if since <= at < until:
                key = tuple(days.of(at) if name == "day" else line[name] for name in usage.by)
                row = usage.rows.get(key)
                if row is None:
                    row = usage.rows[key] = Sums()
                row.add(line)
    return usage


class Days:
    """The local date of a time, computed once for every quarter of an hour."""

    def __init__(self) -> None:
        self.known: dict[int, str] = {}

    def of(self, at: float) -> str:
        quarter = int(at // QUARTER)
        day = self.known.get(quarter)
        if day is None:
            day = self.known[quarter] = time.strftime("%Y-%m-%d", time.localtime(at))
        return day


def _files(folder: str, since: float, until: float) -> list[str]:
    """The files that may hold calls of a time. A call is in the file of the month in which it ended."""
    if not os.path.isdir(folder):
        return []
    first = time.strftime("%Y-%m.jsonl", time.localtime(since - 86400)) if since > 86400 else ""
    last = time.strftime("%Y-%m.jsonl", time.localtime(until + 32 * 86400)) if until < LAST_MOMENT else "~"
    names = sorted(name for name in os.listdir(folder) if FILE.fullmatch(name) and first <= name <= last)
    return [os.path.join(folder, name) for name in names]


def _lines(path: str, usage: Usage) -> Iterator[dict[str, Any]]:
    """The valid lines of a file; the others are counted."""
    bad = 0
    for lines in _blocks(path):
        for value in _decoded(lines):
            if is_sound(value):
                yield value
            else:
                bad += 1
    if bad:
        usage.damaged[path] = bad


def _blocks(path: str) -> Iterator[list[bytes]]:
    """The lines of a file in blocks, without an unfinished last line, which a program may be writing. Raises
    OSError."""
    from sema_runtime.support.file_access import opened

    rest = b""
    try:
        with open(opened(path), "rb", buffering=0) as file:
            while block := file.read(BLOCK):
                lines = (rest + block).split(b"\n")
                rest = lines.pop()
                if len(rest) > LONGEST_LINE:
                    rest = DAMAGED
                yield lines
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def _decoded(lines: list[bytes]) -> list[Any]:
    """The values of lines, None for lines that aren't JSON. When all are JSON they are parsed at once, which is
    faster."""
    try:
        values: list[Any] = loads(b"[%b]" % b",".join(lines))
        if len(values) == len(lines):
            return values
    except (ValueError, RecursionError):
        pass
    return [_value(line) for line in lines if line and not line.isspace()]


def _value(line: bytes) -> Any:
    try:
        return loads(line)
    except (ValueError, RecursionError):
        return None


def is_sound(line: Any) -> bool:
    """Whether a line has all counted fields in the right types."""
    try:
        return (
            tuple(map(type, _needed(line))) in SHAPES
            and 0 <= (line["cost_usd"] or 0) < MOST_USD
            and min(_tokens(line)) >= 0
            and 0 <= line["at"] < LAST_MOMENT
        )
    except (KeyError, TypeError):
        return False


# Times


def start_of(text: str, now: float) -> float:
    """The start of a time given by the user: `7d`, `12h`, `2w` ago, `today`, `2026-11`, `2026-11-01`, `all`. Raises
    ValueError."""
    if text == "all":
        return 0.0
    if match := SPAN.fullmatch(text):
        return now - 3600.0 * int(match[1]) * HOURS[match[2]]
    return _date(text, now)[0].timestamp()


def end_of(text: str, now: float) -> float:
    """The end of a time given as for `start_of`: a date includes its whole day or month."""
    if SPAN.fullmatch(text):
        return start_of(text, now)
    return _date(text, now)[1].timestamp()


def _date(text: str, now: float) -> tuple[datetime, datetime]:
    """The local midnights around a day or a month."""
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    if text in ("today", "yesterday"):
        day = today - timedelta(days=text == "yesterday")
        return day, day + timedelta(days=1)
    try:
        if len(text) == len("2026-11"):
            first = datetime.strptime(text, "%Y-%m")
            return first, (first + timedelta(days=31)).replace(day=1)
        day = datetime.strptime(text, "%Y-%m-%d")
        return day, day + timedelta(days=1)
    except ValueError:
        raise ValueError(f"'{text}' is no time: give 7d, 12h, 2w, today, yesterday, 2026-11 or 2026-11-01") from None
