"""Time: the clock, instants as seconds since 1970 (floats), `%` formats."""

from __future__ import annotations

from time import time
from typing import Any

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import INT_LIMIT, is_int, strings
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.maps import Map

KW_YEAR, KW_MONTH, KW_DAY = keyword("year"), keyword("month"), keyword("day")
KW_HOUR, KW_MINUTE, KW_SECOND = keyword("hour"), keyword("minute"), keyword("second")
KW_WEEKDAY = keyword("weekday")
HINT = (
    "uses chrono format specifiers like %Y-%m-%d %H:%M:%S "
    "(see https://docs.rs/chrono/latest/chrono/format/strftime/index.html)"
)


def _number(value: Any) -> float:
    """A timestamp: an int of 64 bits or a float."""
    if type(value) is float or (type(value) is int and -INT_LIMIT <= value < INT_LIMIT):
        return value
    type_error("number", value)


def _instant(value: Any) -> Any:
    from sema_runtime.lib.time.calendar import LEAST_SECONDS, MOST_SECONDS, instant

    stamp = _number(value)
    if stamp - stamp != 0 or not LEAST_SECONDS <= stamp < MOST_SECONDS + 1:
        raise SemaError("time: invalid timestamp")
    seconds = int(stamp // 1)
    return instant(seconds, int((stamp - seconds) * 1e9))


@builtin("time/now", type="-> float")
def time_now() -> float:
    """The current time in seconds since 1970-01-01T00:00:00Z, with their fraction.

    (> (time/now) 1700000000) => #t
    """
    return time()


@builtin("time-ms", "time/now-ms", type="-> int")
def time_now_ms() -> int:
    """The current time in milliseconds since 1970-01-01T00:00:00Z, as an int.

    (> (time-ms) 1700000000000) => #t
    """
    return int(time() * 1000)


@builtin("sleep", type="int -> nil")
def sleep(milliseconds: Any) -> None:
    """Sleeps (waits) a number of milliseconds; other tasks run meanwhile.

    (sleep 1) => nil
    """
    from sema_runtime.tasks import sleep as pause

    if not is_int(milliseconds):
        type_error("int", milliseconds)
    if milliseconds > 0:
        pause(milliseconds)


@builtin("time/add", type="int|float, int|float -> float", pure=True)
def time_add(timestamp: Any, seconds: Any) -> float:
    """Adds seconds to a timestamp.

    (time/add 0 90) => 90.0
    """
    return float(_number(timestamp) + _number(seconds))


@builtin("time/diff", type="int|float, int|float -> float", pure=True)
def time_diff(later: Any, earlier: Any) -> float:
    """The difference of two timestamps (dates): the seconds from the second to the first.

    (time/diff 100 40) => 60.0
    """
    return float(_number(later) - _number(earlier))


@builtin("time/format", type="int|float, str -> str", pure=True)
def time_format(timestamp: Any, template: Any) -> str:
    """Formats a timestamp as a date or time in UTC, by a template of `%` fields (those of chrono's strftime).

    (time/format 0 "%Y-%m-%d %H:%M") => "1970-01-01 00:00"
    (time/format (time/now) "%Q") ! time/format: invalid format string: "%Q"
    """
    from sema_runtime.lib.time.calendar import BadFormat, formatted

    _number(timestamp)
    strings(template)
    try:
        return formatted(_instant(timestamp), template)
    except BadFormat:
        from sema_runtime.values.printer import quoted

        raise SemaError(f"time/format: invalid format string: {quoted(template)}", f"time/format {HINT}") from None


@builtin("time/parse", type="str, str -> float", pure=True)
def time_parse(text: Any, template: Any) -> float:
    """Parses a date and time in UTC by a template of `%` fields into a timestamp. A date alone is not enough.

    (time/parse "2025-01-15 12:10:00" "%F %T") => 1736943000.0
    (time/parse "2025-01-15" "%F") ! time/parse: parse error: input is not enough for unique date and time
    """
    from sema_runtime.lib.time.calendar_parse import ParseError, parse

    strings(text, template)
    try:
        return float(parse(text, template))
    except ParseError as error:
        raise SemaError(f"time/parse: parse error: {error}", f"time/parse {HINT}") from None


@builtin("time/date-parts", type="int|float -> map keyword (int|str) fresh", pure=True)
def time_date_parts(timestamp: Any) -> Map:
    """The parts of a timestamp (date) in UTC as a map: :year :month :day :hour :minute :second, and :weekday, its
    English name.

    (time/date-parts 1736943000) => {:day 15 :hour 12 :minute 10 :month 1 :second 0 :weekday "Wednesday" :year 2025}
    """
    from sema_runtime.lib.time.calendar import DAY, WEEKDAYS

    moment = _instant(timestamp)
    clock = moment.seconds % DAY
    return Map(
        {
            KW_YEAR: moment.year,
            KW_MONTH: moment.month,
            KW_DAY: moment.day,
            KW_HOUR: clock // 3600,
            KW_MINUTE: clock % 3600 // 60,
            KW_SECOND: clock % 60,
            KW_WEEKDAY: WEEKDAYS[moment.weekday],
        }
    )
