"""Reading numbers from strings. Each function returns None for text that isn't such a number, and raises TooManyDigits
for an integer that would take long to convert.

They follow the notation of the language itself.
"""

from __future__ import annotations

import re

from sema_runtime.values.digits import whole
from sema_runtime.values.numbers import INFINITY, NAN, Complex, ratio, rational, rectangular, to_float

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BLANK = " \t\n\r"
NAMED = {
    "inf": INFINITY, "Inf": INFINITY, "+inf": INFINITY, "Infinity": INFINITY,
    "-inf": -INFINITY, "-Infinity": -INFINITY,
    "nan": NAN, "NaN": NAN, "NAN": NAN, "+nan": NAN, "-nan": NAN,
}  # fmt: skip
REAL = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?"
PART = rf"(?:[0-9]+/[0-9]+|{REAL}|\.[0-9]+(?:[eE][+\-]?[0-9]+)?)"
WHOLE = re.compile(r"-?[0-9]+")
FLOAT = re.compile(r"-?[0-9]+(?:\.[0-9]+(?:[eE][+\-]?[0-9]+)?|[eE][+\-]?[0-9]+)")
RATIO = re.compile(r"(-?[0-9]+)/([0-9]+)")
COMPLEX = re.compile(rf"(?:(-?{REAL})([+\-]{PART}?)|(-?{REAL}|\+{PART}?|-))i")
BARE_FRACTION = re.compile(r"\.[0-9]+(?:[eE][+\-]?[0-9]+)?")  # allowed after a prefix only
PREFIX = re.compile(r"#([xXbBoOdDeEiI])(?:#([xXbBoOdDeEiI]))?(.*)", re.DOTALL)
RADIXES = {"x": 16, "b": 2, "o": 8, "d": 10}


def parse_number(text: str) -> Any:
    """The number that text denotes in a program; blanks and comments around it are ignored."""
    if ";" in text:
        text = "\n".join(line.partition(";")[0] for line in text.split("\n"))
    token = text.strip(BLANK)
    if token in NAMED:
        return NAMED[token]
    return _prefixed(token) if token[:1] == "#" else _decimal(token)


def _decimal(token: str) -> Any:
    if WHOLE.fullmatch(token):
        return whole(token)
    if FLOAT.fullmatch(token):
        return float(token)
    if RATIO.fullmatch(token):
        return _ratio(token)
    match = COMPLEX.fullmatch(token)
    if match is None:
        return None
    real, plus, imaginary = match.groups()
    return rectangular(_part(real) if real else 0, _part(plus or imaginary))


def _ratio(token: str) -> Any:
    over, _, under = token.partition("/")
    below = whole(under)
    return rational(ratio(whole(over), below)) if below else None


def _part(token: str) -> Any:
    """One part of a complex literal; a lone sign means 1."""
    if token in ("+", "-"):
        return int(token + "1")
    if "/" in token:
        return _ratio(token)
    return whole(token) if token.lstrip("+-").isdigit() else float(token)


def _prefixed(token: str) -> Any:
    """`#xff`, `#e1.5`, `#i1/2`, or a radix and an exactness prefix together."""
    match = PREFIX.fullmatch(token)
    if match is None:
        return None
    first, second, digits = match.groups()
    prefixes = [prefix.lower() for prefix in (first, second) if prefix]
    exactness = [prefix for prefix in prefixes if prefix in "ei"]
    radix = [RADIXES[prefix] for prefix in prefixes if prefix in RADIXES]
    if len(exactness) > 1 or len(radix) > 1:
        return None
    value: Any
    if radix and radix[0] != 10:
        value = _in_radix(digits, radix[0])
    else:
        value = float(digits) if BARE_FRACTION.fullmatch(digits) else _decimal(digits)
    if value is None or not exactness:
        return value
    return _inexact(value) if exactness[0] == "i" else _exact(value)


def _inexact(value: Any) -> Any:
    return rectangular(to_float(value.re), to_float(value.im)) if type(value) is Complex else to_float(value)


def _exact(value: Any) -> Any:
    if type(value) is Complex:
        return rectangular(_exact(value.re), _exact(value.im))
    return rational(ratio(value)) if type(value) is float and value - value == 0 else value


def _in_radix(text: str, radix: int) -> int | None:
    """Digits of a base, with an optional sign."""
    bare = (text[1:] if text[:1] in ("+", "-") else text).lower()
    if not bare or bare.strip("0123456789abcdef"[:radix]):
        return None
    return int(text, radix)


def parse_radix(text: str, radix: int) -> int | None:
    """An int in base 2, 8 or 16: a sign, then digits; `_` may stand anywhere after the first digit."""
    return None if text.lstrip("+-")[:1] == "_" else _in_radix(text.replace("_", ""), radix)
