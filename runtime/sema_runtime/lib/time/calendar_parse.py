"""Reads dates and times by a `%` format, as the reference's library (chrono) does: fields are collected, then resolved.

Fields may repeat and complement one another; contradictions raise errors. Offsets and zone names are read and ignored.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NoReturn

from sema_runtime.lib.time.calendar import (
    DAY,
    MONTHS,
    WEEKDAYS,
    BadFormat,
    day_number,
    days_in_month,
    instant,
    is_leap,
    iso_week,
    parts,
    week_of_year,
    weeks_in,
)
from sema_runtime.values.digits import small

LARGEST = 1 << 64  # beyond every field
TOO_SHORT = "premature end of input"
INVALID = "input contains invalid characters"
OUT_OF_RANGE = "input is out of range"
IMPOSSIBLE = "no possible date and time matching input"
NOT_ENOUGH = "input is not enough for unique date and time"
TRAILING = "trailing input"
BAD_FORMAT = "bad or unsupported format string"

NUMBERS = {  # field: width, signed, least, most
    "Y": (4, True, -262143, 262142), "G": (4, True, -262143, 262142), "C": (2, False, 0, 99), "y": (2, False, 0, 99),
    "g": (2, False, 0, 99), "q": (1, False, 1, 4), "m": (2, False, 1, 12), "d": (2, False, 1, 31),
    "U": (2, False, 0, 53),
    "W": (2, False, 0, 53), "V": (2, False, 1, 53), "w": (1, False, 0, 6), "u": (1, False, 1, 7),
    "j": (3, False, 1, 366),
    "H": (2, False, 0, 23), "I": (2, False, 1, 12), "M": (2, False, 0, 59), "S": (2, False, 0, 60),
    "f": (9, False, 0, 999999999),
    "s": (20, False, 0, 1 << 63),
}  # fmt: skip
SAME = {"e": "d", "k": "H", "l": "I"}


class ParseError(Exception):
    """Why the text can't be read, in the reference's words."""


def fail(reason: str) -> NoReturn:
    raise ParseError(reason)


def parse(text: str, template: str) -> int:
    """Seconds since 1970-01-01T00:00:00Z. Raises ParseError."""
    try:
        pieces, plain, names = _pieces(template)
    except BadFormat:
        fail(BAD_FORMAT)
    if plain is not None and (found := plain.fullmatch(text)):
        seconds = _seconds(dict(zip(names, map(int, found.groups()), strict=True)))
        if seconds is not None:
            return seconds
    reader = _Reader(text)
    for _, piece in pieces:
        if piece[:1] == "%":
            reader.field(piece[1:])
        else:
            reader.literal(piece)
    if reader.rest:
        fail(TRAILING)
    return _resolved(reader.fields)


@lru_cache(maxsize=256)
def _pieces(template: str) -> tuple[list[tuple[str, str]], re.Pattern[str] | None, list[str]]:
    """The pieces of a format, and a pattern with the names of its groups, which have all digits that fields may have.

    There is one for formats of numbers alone that say a date and a time once. Raises BadFormat.
    """
    pieces = parts(template)
    names = [SAME.get(piece[1:], piece[1:]) for _, piece in pieces if piece[:1] == "%"]
    if not {"Y", "m", "d", "H", "M"} <= set(names) <= set("YmdHMS") or len(set(names)) < len(names):
        return pieces, None, []
    groups = (
        "([0-9]{4})" if piece == "%Y" else "([0-9]{2})" if piece[:1] == "%" else re.escape(piece) for _, piece in pieces
    )
    return pieces, re.compile("".join(groups)), names


def _seconds(fields: dict[str, int]) -> int | None:
    """The seconds of a date and a time of day; None where a field is out of range."""
    year, month, day, hour, minute, second = map(fields.get, "YmdHMS", (0,) * 6)
    if not (1 <= month <= 12 and 1 <= day <= days_in_month(year, month) and hour < 24 and minute < 60 and second <= 60):
        return None
    return day_number(year, month, day) * DAY + hour * 3600 + minute * 60 + min(second, 59)


class _Reader:
    def __init__(self, text: str) -> None:
        self.rest = text
        self.fields: dict[str, int] = {}

    def put(self, name: str, value: int) -> None:
        if self.fields.setdefault(name, value) != value:
            fail(IMPOSSIBLE)

    def literal(self, piece: str) -> None:
        for character in piece:
            if character.isspace():
                self.rest = self.rest.lstrip()
            elif not self.rest:
                fail(TOO_SHORT)
            elif self.rest[0] != character:
                fail(INVALID)
            else:
                self.rest = self.rest[1:]

    def field(self, name: str) -> None:
        name = SAME.get(name, name)
        if name in NUMBERS:
            width, signed, least, most = NUMBERS[name]
            value = self.number(width, signed)
            if not least <= value <= most:
                fail(OUT_OF_RANGE)
            self.number_field(name, value)
        elif name in "aA":
            self.put("weekday", self.name(WEEKDAYS, name == "A"))
        elif name in "bhB":
            self.put("m", self.name(MONTHS, name == "B") + 1)
        elif name in "pP":
            self.put("half", self.name(("AM", "PM"), False, 2))
        elif name[-1] == "f":
            self.fraction(name)
        elif name[-1] == "z":
            self.offset()
        elif name == "Z":
            while self.rest and not self.rest[0].isspace():
                self.rest = self.rest[1:]
        else:
            self.literal("%" if name == "%" else " ")

    def number_field(self, name: str, value: int) -> None:
        if name == "H":
            self.put("half", value // 12)
            self.put("of-half", value % 12)
        elif name == "I":
            self.put("of-half", value % 12)
        elif name == "w":
            self.put("weekday", (value + 6) % 7)
        elif name == "u":
            self.put("weekday", value - 1)
        else:
            self.put(name, value)

    def number(self, width: int, signed: bool) -> int:
        self.rest = self.rest.lstrip()
        sign = self.rest[:1] if signed and self.rest[:1] in ("+", "-") else ""
        start = len(sign)
        end = start
        while end < len(self.rest) and self.rest[end] in "0123456789" and (sign or end < width):
            end += 1
        if end == start:
            fail(INVALID if end < len(self.rest) else TOO_SHORT)
        value = small(self.rest[start:end], LARGEST)
        self.rest = self.rest[end:]
        return -value if sign == "-" else value

    def name(self, names: tuple[str, ...], long: bool, length: int = 3) -> int:
        """The index of a name, told by its first letters; long: the whole of it may follow."""
        if len(self.rest) < length:
            fail(TOO_SHORT)
        start = self.rest[:length].lower()
        for index, name in enumerate(names):
            if name[:length].lower() == start:
                whole = long and self.rest[: len(name)].lower() == name.lower()
                self.rest = self.rest[len(name) if whole else length :]
                return index
        fail(INVALID)

    def fraction(self, name: str) -> None:
        if name[0] == "." and not self.rest.startswith("."):
            return
        self.rest = self.rest[name[0] == "." :]
        digits = len(self.rest) - len(self.rest.lstrip("0123456789"))
        wanted = digits if name[0] == "." else int(name[0])
        if digits < max(wanted, 1):
            fail(INVALID if self.rest else TOO_SHORT)
        self.rest = self.rest[wanted:]

    def offset(self) -> None:
        self.rest = self.rest.lstrip()
        text = self.rest
        if not text:
            fail(TOO_SHORT)
        if text[0] not in "+-\u2212" or not text[1:3].isdecimal():
            fail(INVALID)
        if len(text) < 3:
            fail(TOO_SHORT)
        text = text[3:].lstrip(": ")
        if len(text) < 2:
            fail(TOO_SHORT)
        if not text[:2].isdecimal():
            fail(INVALID)
        if text[0] > "5":
            fail(OUT_OF_RANGE)
        self.rest = text[2:]


def _resolved(fields: dict[str, int]) -> int:
    try:
        date = _date(fields)
        time = _time(fields)
    except ParseError:
        if "s" in fields:
            return fields["s"]
        raise
    seconds = date * DAY + time
    if fields.get("s", seconds) != seconds:
        fail(IMPOSSIBLE)
    return seconds


def _time(fields: dict[str, int]) -> int:
    if "half" not in fields or "of-half" not in fields or "M" not in fields:
        fail(NOT_ENOUGH)
    second = fields.get("S", 0)
    return (fields["half"] * 12 + fields["of-half"]) * 3600 + fields["M"] * 60 + min(second, 59)


def _year(fields: dict[str, int], whole: str, century: str, short: str) -> int | None:
    if whole in fields:
        return fields[whole]
    if short not in fields:
        return None
    if century in fields:
        return fields[century] * 100 + fields[short]
    return fields[short] + (2000 if fields[short] < 70 else 1900)


def _date(fields: dict[str, int]) -> int:
    """The day number, from whichever fields suffice; all others have to agree."""
    year = _year(fields, "Y", "C", "y")
    iso_year = _year(fields, "G", "", "g")
    weekday = fields.get("weekday")
    if year is not None and "m" in fields and "d" in fields:
        if fields["d"] > days_in_month(year, fields["m"]):
            fail(OUT_OF_RANGE)
        days = day_number(year, fields["m"], fields["d"])
    elif year is not None and "j" in fields:
        if fields["j"] > 365 + is_leap(year):
            fail(OUT_OF_RANGE)
        days = day_number(year, 1, 1) + fields["j"] - 1
    elif year is not None and weekday is not None and ("U" in fields or "W" in fields):
        days = _by_week(year, weekday, fields)
    elif iso_year is not None and weekday is not None and "V" in fields:
        if fields["V"] > weeks_in(iso_year):
            fail(OUT_OF_RANGE)
        fourth = day_number(iso_year, 1, 4)
        days = fourth - (fourth + 3) % 7 + (fields["V"] - 1) * 7 + weekday
    else:
        fail(NOT_ENOUGH)
    _agree(days, fields, iso_year)
    return days


def _by_week(year: int, weekday: int, fields: dict[str, int]) -> int:
    first_weekday = 6 if "U" in fields else 0
    week = fields["U"] if "U" in fields else fields["W"]
    new_year = day_number(year, 1, 1)
    first = new_year + (first_weekday - (new_year + 3)) % 7
    days = first + (week - 1) * 7 + (weekday - first_weekday) % 7
    if instant(days * DAY).year != year:
        fail(OUT_OF_RANGE)
    return days


def _agree(days: int, fields: dict[str, int], iso_year: int | None) -> None:
    """Raises ParseError when a field says something else than the date found."""
    moment = instant(days * DAY)
    year, week = iso_week(moment.year, moment.ordinal, moment.weekday)
    actual = {
        "Y": moment.year, "C": moment.year // 100, "y": moment.year % 100, "m": moment.month, "d": moment.day,
        "j": moment.ordinal, "weekday": moment.weekday, "V": week, "q": (moment.month + 2) // 3,
        "U": week_of_year(moment.ordinal, moment.weekday, 6), "W": week_of_year(moment.ordinal, moment.weekday, 0),
    }  # fmt: skip
    if any(fields.get(name, value) != value for name, value in actual.items()) or iso_year not in (None, year):
        fail(IMPOSSIBLE)
