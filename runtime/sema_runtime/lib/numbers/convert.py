"""Numbers from text, text from numbers, ints from floats and back."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values import digits
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.numbers import COMPLEX, INT_LIMIT, NUMBERS, REALS, is_int64, shortest_text, to_float
from sema_runtime.values.printer import to_text
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 10**18  # numbers below need no care with the time that digits take
LONGEST = 4000  # digits, zeros in front included, that Python converts at once
FEW = 20  # digits that are read faster than looked up
MEMO_SIZE, MEMO_LENGTH = 4096, 32  # columns of data repeat their values: short texts are parsed once
STARTS = frozenset("0123456789+-#.iInN; \t\n\r")  # first characters of texts that may be numbers
_recent: dict[str, Any] = {}
DIGITS = {2: "b", 8: "o", 16: "x"}


@builtin("string->number", "string/to-number", type="str, int? -> number|bool", pure=True)
def string_to_number(text: Any, radix: Any = 10) -> Any:
    """Parses (converts) a string that denotes a number in the language; #f for other strings. Blanks around the number
    are ignored. radix: 2, 8, 10 or 16. Raises an error for more than 20000 decimal digits, whose conversion would take
    long.

    (string->number "42") => 42
    (string->number "ff" 16) => 255
    (string->number "4 2") => #f
    """
    if radix == 10 and type(text) is str:
        if len(text) < FEW and text.isdecimal() and text.isascii():
            return int(text)
        if text and text[0] not in STARTS:
            return False
        try:
            return _recent[text]
        except KeyError:
            pass
    if not isinstance(text, str):
        type_error("string", text)
    number = _decimal(text) if radix == 10 else None
    if number is None:
        from sema_runtime.lib.numbers.number_text import parse_number, parse_radix

        number = parse_number(text) if _radix("string->number", radix) == 10 else parse_radix(text, radix)
        number = False if number is None else number
    if radix == 10 and len(text) <= MEMO_LENGTH:
        if len(_recent) >= MEMO_SIZE:
            _recent.clear()
        _recent[text] = number
    return number


def _decimal(text: str) -> int | float | None:
    """The number in digits with an optional sign and an optional point, which nearly all texts are; None for others."""
    whole, point, fraction = text.removeprefix("-").partition(".")
    if not (text.isascii() and whole.isdecimal()):
        return None
    if not point:
        return int(text) if len(text) < digits.DIGITS_AT_ONCE else digits.whole(text)
    return float(text) if fraction.isdecimal() else None


@builtin("string/number?", type="str -> bool", pure=True, total=True)
def string_is_number(text: Any) -> bool:
    """Whether `string->number` can parse a string.

    (string/number? "1/2") => #t
    (string/number? "1.") => #f
    """
    if not isinstance(text, str):
        type_error("string", text)
    if len(text) < FEW and text.isdecimal() and text.isascii():
        return True
    from sema_runtime.lib.numbers.number_text import parse_number

    try:
        return parse_number(text) is not None
    except digits.TooManyDigits:
        return False


@builtin("number->string", "number/to-string", type="number, int? -> str", pure=True)
def number_to_string(number: Any, radix: Any = 10) -> str:
    """Converts a number to a string of its digits. radix: 2, 8, 10 or 16; a radix other than 10 takes ints only.

    (number->string 255 16) => "ff"
    (number->string 1.0) => "1.0"
    """
    if type(number) is int and radix == 10 and type(radix) is int:
        return str(number) if -LARGEST < number < LARGEST else to_text(number)
    if _radix("number->string", radix) == 10:
        if not NUMBERS[type(number)]:
            type_error("number", number)
        return to_text(number)
    if type(number) is not int:
        type_error("exact integer", number)
    return format(number, DIGITS[radix])


def _radix(function: str, radix: Any) -> int:
    if not is_int64(radix):
        type_error("integer", radix)
    if radix not in (2, 8, 10, 16):
        raise SemaError(f"{function}: unsupported radix {radix} (expected 2, 8, 10, or 16)")
    return int(radix)


def is_foreign(value: Any, method: str) -> bool:
    """Whether a value is a number of a Python library, which says itself how it is converted."""
    return hasattr(type(value), method) and type_name(value).startswith("python:")


@builtin("int", type="int|float|rational|str|other -> int", pure=True)
def int_(value: Any) -> int:
    """Converts a number, or the int written in a string, to an int; the fraction of a number is cut off.

    (int 3.7) => 3
    (int "42") => 42
    (int "3.7") ! cannot convert '3.7' to int
    """
    kind = type(value)
    if kind is int:
        return int(value)
    if kind is float:
        if -INT_LIMIT <= value < INT_LIMIT:
            return int(value)
        raise SemaError(f"int: cannot convert {shortest_text(value)} to an integer (not finite or out of i64 range)")
    if isinstance(value, str):
        number = parse_int(value)
        if number is None:
            raise SemaError(f"cannot convert '{value}' to int")
        return number
    if REALS[kind] or is_foreign(value, "__int__"):
        return int(value)
    type_error("number or string", value)


@builtin("float", type="int|float|rational|str|other -> float", pure=True)
def float_(value: Any) -> float:
    """Converts a real number, or the number written in a string, to a float.

    (float "1.5") => 1.5
    (float 1/4) => 0.25
    """
    if isinstance(value, str):
        number = parse_float(value)
        if number is None:
            raise SemaError(f"cannot convert '{value}' to float")
        return number
    if is_foreign(value, "__float__"):
        return float(value)
    if not NUMBERS[type(value)]:
        type_error("number or string", value)
    if type(value) in COMPLEX:
        type_error("real number", value, "float: complex has no real projection")
    return to_float(value)


@builtin("string->float", "string/to-float", type="str|int|float -> float", pure=True)
def string_to_float(value: Any) -> float:
    """Parses the float written in a string; an int or float as a float.

    (string->float "2.5") => 2.5
    """
    if isinstance(value, str):
        number = parse_float(value)
        if number is None:
            raise SemaError(f"cannot parse '{value}' as float")
        return number
    if type(value) is float or is_int64(value):
        return float(value)
    type_error("string or number", value)


def parse_int(text: str) -> int | None:
    """The 64-bit int of an optional sign and digits, nothing else; None for other text."""
    bare = text[1:] if text[:1] in ("+", "-") else text
    if not (bare.isascii() and bare.isdigit()) or len(bare) > LONGEST:
        return None
    value = int(text)
    return value if -INT_LIMIT <= value < INT_LIMIT else None


def parse_float(text: str) -> float | None:
    """The float of decimal notation, or of inf, infinity, nan in any case; None for other text."""
    if not text.isascii() or "_" in text or text.strip() != text:  # Python allows these
        return None
    try:
        return float(text)
    except ValueError:
        return None
