"""Calendar arithmetic for any year (Python's datetime ends at 9999), and `%` formats of instants in UTC."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DAY = 86400
LEAST_SECONDS, MOST_SECONDS = -8334601228800, 8210266876799

COMPOSED = {
    "D": "%m/%d/%y", "x": "%m/%d/%y", "F": "%Y-%m-%d", "v": "%e-%b-%Y", "R": "%H:%M", "T": "%H:%M:%S", "X": "%H:%M:%S",
    "r": "%I:%M:%S %p", "c": "%a %b %e %H:%M:%S %Y", "+": "%Y-%m-%dT%H:%M:%S%.f%:z",
}  # fmt: skip
FRACTIONS = (".3f", ".6f", ".9f", "3f", "6f", "9f", ".f")
OFFSETS = {"z": "+0000", ":z": "+00:00", "::z": "+00:00:00", ":::z": "+00"}
WIDTHS = {  # of the numeric fields: width, usual padding
    "Y": (4, "0"), "C": (2, "0"), "y": (2, "0"), "G": (4, "0"), "g": (2, "0"), "q": (1, "0"), "m": (2, "0"),
    "d": (2, "0"),
    "e": (2, " "), "w": (1, "0"), "u": (1, "0"), "U": (2, "0"), "W": (2, "0"), "V": (2, "0"), "j": (3, "0"),
    "H": (2, "0"),
    "k": (2, " "), "I": (2, "0"), "l": (2, " "), "M": (2, "0"), "S": (2, "0"), "f": (9, "0"), "s": (1, "0"),
}  # fmt: skip


class BadFormat(Exception):
    """The text isn't a format."""


class Instant(NamedTuple):
    """A moment in UTC. weekday: 0 is Monday; ordinal: day of the year, from 1; nanosecond: of the second."""

    seconds: int
    nanosecond: int
    year: int
    month: int
    day: int
    ordinal: int
    weekday: int

    @property
    def hour(self) -> int:
        return self.seconds % DAY // 3600

    @property
    def minute(self) -> int:
        return self.seconds % 3600 // 60

    @property
    def second(self) -> int:
        return self.seconds % 60


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    return (31, 29 if is_leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01."""
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def date_of(days: int) -> tuple[int, int, int]:
    """(year, month, day) of a day number."""
    era, of_era = divmod(days + 719468, 146097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


@lru_cache(maxsize=1024)
def _of_day(days: int) -> tuple[int, int, int, int, int]:
    """Year, month, day, ordinal and weekday of a day number."""
    year, month, day = date_of(days)
    return year, month, day, days - day_number(year, 1, 1) + 1, (days + 3) % 7


def instant(seconds: int, nanosecond: int = 0) -> Instant:
    """The moment a number of seconds after 1970-01-01T00:00:00Z."""
    return Instant(seconds, nanosecond, *_of_day(seconds // DAY))


def iso_week(year: int, ordinal: int, weekday: int) -> tuple[int, int]:
    """(year, week) of ISO 8601."""
    week = (ordinal - weekday + 9) // 7
    if week < 1:
        return year - 1, weeks_in(year - 1)
    return (year + 1, 1) if week > weeks_in(year) else (year, week)


def weeks_in(year: int) -> int:
    """ISO weeks of a year: 52 or 53."""
    first = (day_number(year, 1, 1) + 3) % 7
    return 53 if first == 3 or (first == 2 and is_leap(year)) else 52


def week_of_year(ordinal: int, weekday: int, first_weekday: int) -> int:
    """The week counted from the first Monday (0) or Sunday (6) of the year."""
    return (ordinal - 1 + 7 - (weekday - first_weekday) % 7) // 7


def parts(template: str) -> list[tuple[str, str]]:
    """A format as (padding, field) and ("", literal text starting with a non-%) pieces: a field has a leading %.

    Composed fields (`%F`) are expanded. Raises BadFormat.
    """
    pieces: list[tuple[str, str]] = []
    at = 0
    while at < len(template):
        end = template.find("%", at)
        if end != at:
            end = len(template) if end < 0 else end
            pieces.append(("", template[at:end]))
            at = end
            continue
        at += 1
        padding = template[at : at + 1] if template[at : at + 1] in ("-", "_", "0") else ""
        at += len(padding)
        name = _field_name(template, at)
        at += len(name)
        if padding and name not in WIDTHS:
            raise BadFormat(template)
        if name in COMPOSED:
            pieces += parts(COMPOSED[name])
        else:
            pieces.append((padding, "%" + name))
    return pieces


def _field_name(template: str, at: int) -> str:
    letter = template[at : at + 1]
    for name in (*FRACTIONS, ":::z", "::z", ":z"):
        if template.startswith(name, at):
            return name
    if letter and (letter in WIDTHS or letter in COMPOSED or letter in "aAbBhpPzZnt%"):
        return letter
    raise BadFormat(template)


def formatted(moment: Instant, template: str) -> str:
    """The moment in a format. Raises BadFormat."""
    text, values = _as_python(template)
    return text % tuple([value(moment) for value in values])


@lru_cache(maxsize=256)
def _as_python(template: str) -> tuple[str, tuple[Callable[[Instant], Any], ...]]:
    """A format as one of Python, and what gives the values for it. Raises BadFormat."""
    texts, values = [], []
    for padding, piece in parts(template):
        if piece[:1] != "%":
            texts.append(piece)
            continue
        text, value = _field(padding, piece[1:])
        texts.append(text)
        if value is not None:
            values.append(value)
    return "".join(texts), tuple(values)


def _field(padding: str, name: str) -> tuple[str, Callable[[Instant], Any] | None]:
    if name in WIDTHS:
        return _numeric(padding, name)
    if name in FRACTIONS:
        return "%s", lambda moment: _fraction(moment.nanosecond, name)
    if name in TEXTS:
        return "%s", TEXTS[name]
    return OFFSETS.get(name) or {"Z": "UTC", "n": "\n", "t": "\t", "%": "%%"}[name], None


def _numeric(padding: str, name: str) -> tuple[str, Callable[[Instant], Any]]:
    width, usual = WIDTHS[name]
    value = VALUES[name]
    pad = {"": usual, "-": "", "_": " ", "0": "0"}[padding]
    if name in "YG":
        return "%s", lambda moment: _year(value(moment), pad)
    return f"%{pad.strip()}{width if pad else ''}d", value


def _year(value: int, pad: str) -> str:
    if not 0 <= value <= 9999:
        return f"{value:+05d}" if pad == "0" else f"{value:+d}".rjust(5 if pad else 0)
    text = str(value)
    return text.rjust(4, pad) if pad else text


def _iso(moment: Instant) -> tuple[int, int]:
    return iso_week(moment.year, moment.ordinal, moment.weekday)


def _of_half(moment: Instant) -> int:
    return (moment.hour + 11) % 12 + 1


TEXTS: dict[str, Callable[[Instant], str]] = {
    "a": lambda moment: WEEKDAYS[moment.weekday][:3],
    "A": lambda moment: WEEKDAYS[moment.weekday],
    "b": lambda moment: MONTHS[moment.month - 1][:3],
    "h": lambda moment: MONTHS[moment.month - 1][:3],
    "B": lambda moment: MONTHS[moment.month - 1],
    "p": lambda moment: "PM" if moment.hour >= 12 else "AM",
    "P": lambda moment: "pm" if moment.hour >= 12 else "am",
}
VALUES: dict[str, Callable[[Instant], int]] = {
    "Y": attrgetter("year"),
    "C": lambda moment: moment.year // 100,
    "y": lambda moment: moment.year % 100,
    "G": lambda moment: _iso(moment)[0],
    "g": lambda moment: _iso(moment)[0] % 100,
    "V": lambda moment: _iso(moment)[1],
    "q": lambda moment: (moment.month + 2) // 3,
    "m": attrgetter("month"),
    "d": attrgetter("day"),
    "e": attrgetter("day"),
    "w": lambda moment: (moment.weekday + 1) % 7,
    "u": lambda moment: moment.weekday + 1,
    "U": lambda moment: week_of_year(moment.ordinal, moment.weekday, 6),
    "W": lambda moment: week_of_year(moment.ordinal, moment.weekday, 0),
    "j": attrgetter("ordinal"),
    "H": attrgetter("hour"),
    "k": attrgetter("hour"),
    "I": _of_half,
    "l": _of_half,
    "M": attrgetter("minute"),
    "S": attrgetter("second"),
    "f": attrgetter("nanosecond"),
    "s": attrgetter("seconds"),
}


def _fraction(nanosecond: int, name: str) -> str:
    dot = "." if name[0] == "." else ""
    if name == ".f":
        if not nanosecond:
            return ""
        digits = 3 if nanosecond % 1_000_000 == 0 else 6 if nanosecond % 1000 == 0 else 9
    else:
        digits = int(name[-2])
    return f"{dot}{nanosecond:09d}"[: digits + len(dot)]
