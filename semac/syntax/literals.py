"""The rare tokens: numbers that are not plain integers, strings with escapes, f-strings, and everything behind `#`."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import Any, NoReturn

from sema_runtime.values.atoms import char, keyword, symbol
from sema_runtime.values.digits import TooManyDigits, whole
from sema_runtime.values.numbers import Complex, parts, rational, rectangular

ATOM, OPEN, CLOSE, PREFIX, DOT, FSTRING, PLACEHOLDER = range(7)
CONTINUES = r"A-Za-z0-9_+\-*/!?<>=&%^~.#\x80-\U0010ffff"
CONSTANTS: dict[str, Any] = {
    "true": True, "false": False, "nil": None, "inf": float("inf"), "+inf": float("inf"), "-inf": float("-inf"),
    "Inf": float("inf"), "Infinity": float("inf"), "-Infinity": float("-inf"),
    "nan": float("nan"), "+nan": float("nan"), "-nan": float("nan"), "NaN": float("nan"), "NAN": float("nan"),
}  # fmt: skip
WORD = re.compile(rf"[{CONTINUES}]*")
REAL = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?"
ENDS = rf"(?![{CONTINUES}])"
NUMBER = re.compile(
    rf"""(?P<real>-?{REAL})(?P<plus>[+\-](?:[0-9]+/[0-9]+|{REAL})?)i{ENDS}
    |(?P<imaginary>-?{REAL}|\+(?:[0-9]+/[0-9]+|{REAL})?|-)i{ENDS}
    |(?P<rational>-?[0-9]+/[0-9]+)
    |(?P<float>-?[0-9]+(?:\.[0-9]+(?:[eE][+\-]?[0-9]+)?|[eE][+\-]?[0-9]+))
    |(?P<int>-?[0-9]+)""",
    re.VERBOSE,
)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)(")?', re.DOTALL)
REGEX = re.compile(r'#"((?:[^"\\]|\\.)*)(")?', re.DOTALL)
FSTRING_TEXT = re.compile(r'(?:[^"\\$]|\\.|\$(?!\{))*', re.DOTALL)
BRACE = re.compile(r"[{}]")
ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]*;?|u[0-9A-Fa-f]{0,4}|U[0-9A-Fa-f]{0,8}|.)", re.DOTALL)
SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "0": "\0", "$": "$"}
CHARACTERS = {"space": " ", "newline": "\n", "tab": "\t", "return": "\r", "nul": "\0"}
RADIX = {"x": 16, "b": 2, "o": 8, "d": 10}
PREFIX_DIGITS = re.compile(r"([+\-]?)([0-9A-Za-z]*)")
AFTER_HASH = "# starts a special form: #t, #f, #\\char, #u8(...)"

Found = tuple[int, Any, int]


KEYWORDS = "the colon stands in front of a keyword: {:a 1}; a lambda is (fn (x) (+ x 1))"
KEY_ARGUMENTS = "keyword arguments are for functions of Python, (f :key 1); functions of Sema take a map, (f {:key 1})"


class LexError(Exception):
    """An error inside a token: message, hint, and the offset in the text where it is reported."""

    def __init__(self, message: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


def unexpected(text: str, offset: int) -> NoReturn:
    raise LexError(f"unexpected character: '{text[offset]}'", offset)


def rare_token(text: str, start: int) -> Found:
    """(kind, value, end) of the token at start. Raises LexError."""
    try:
        return _rare_token(text, start)
    except TooManyDigits as error:
        raise LexError(error.message, start, "write it to the base 16, as #xff, or compute it") from None


def _rare_token(text: str, start: int) -> Found:
    first = text[start]
    if first == '"':
        return _string(text, start)
    if first == "f" and text.startswith('f"', start):
        return _fstring(text, start)
    if first == "#":
        return _hash(text, start)
    if first in "0123456789+-":
        number = NUMBER.match(text, start)
        if number is not None:
            return ATOM, number_value(number, start), number.end()
    if first == ":":
        name, end = _word(text, start + 1)
        if not name:
            raise LexError("expected keyword name after ':'", start, KEYWORDS)
        return ATOM, keyword(name), end
    if first in "+-._*/!?<>=&%^~" or first.isalpha() or not first.isascii():
        name, end = _word(text, start)
        if name == ".":
            return DOT, symbol("."), end
        if name:
            return ATOM, CONSTANTS[name] if name in CONSTANTS else symbol(name), end
    unexpected(text, start)


def is_letter(character: str) -> bool:
    """Whether a character beyond ASCII may stand in a name: letters, letter numbers and vowel signs."""
    if character.isalpha():
        return True
    category = unicodedata.category(character)
    return category in ("Nl", "Mc") or (category == "Mn" and unicodedata.combining(character) == 0)


def _word(text: str, start: int) -> tuple[str, int]:
    """The longest name at start, and its end."""
    word = WORD.match(text, start)
    name = word[0] if word else ""
    if not name.isascii():
        for index, character in enumerate(name):
            if not character.isascii() and not is_letter(character):
                name = name[:index]
                break
    return name, start + len(name)


# Numbers


def number_value(number: re.Match[str], start: int) -> Any:
    """The number that NUMBER matched; start is where an error is reported."""
    if number["int"] is not None:
        return whole(number["int"])
    if number["float"] is not None:
        return float(number["float"])
    if number["rational"] is not None:
        return _rational(number["rational"], start)
    if number["imaginary"] is not None:
        real: int | float = 0
        imaginary = _imaginary(number["imaginary"], start)
    else:
        real, imaginary = _real(number["real"]), _imaginary(number["plus"], start)
    return rectangular(real, imaginary)


def _real(digits: str) -> int | float:
    plain = digits.lstrip("+-").isdigit()
    return whole(digits) if plain else float(digits)


def _imaginary(digits: str, start: int) -> Any:
    if digits in ("+", "-"):
        return int(digits + "1")
    return _rational(digits, start) if "/" in digits else _real(digits)


def _rational(digits: str, start: int) -> Any:
    over, _, under = digits.partition("/")
    denominator = whole(under)
    if denominator == 0:
        raise LexError("rational literal has zero denominator", start)
    value = Fraction(whole(over), denominator)
    return value.numerator if value.denominator == 1 else value


def _prefixed_number(text: str, start: int) -> Found:
    """`#xff`, `#b101`, `#e1.5`, `#i1/2`; a radix and an exactness prefix may be combined."""
    value: Any
    radix = exactness = ""
    end = start
    while text[end : end + 1] == "#" and text[end + 1 : end + 2].lower() in ("x", "b", "o", "d", "e", "i"):
        letter = text[end + 1].lower()
        if letter in "ei":
            if exactness:
                raise LexError("duplicate exactness prefix", start)
            exactness = letter
        else:
            if radix:
                raise LexError("duplicate radix prefix", start)
            radix = letter
        end += 2
    if end >= len(text):
        raise LexError("expected a number after the `#` prefix", start)
    if radix in ("x", "b", "o"):
        value, end = _radix_digits(text, start, end, RADIX[radix])
    else:
        value, end = _decimal(text, start, end)
    if exactness:
        convert = _inexact if exactness == "i" else _exact
        value = rectangular(*map(convert, parts(value))) if type(value) is Complex else convert(value)
    return ATOM, value, end


def _exact(value: Any) -> Any:
    return rational(Fraction(value)) if type(value) is float and value - value == 0 else value


def _inexact(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _radix_digits(text: str, start: int, position: int, radix: int) -> tuple[int, int]:
    match = PREFIX_DIGITS.match(text, position)
    sign, digits = match.groups() if match else ("", "")
    if not digits:
        raise LexError(f"expected digits after radix-{radix} prefix", start)
    try:
        return int(sign + digits, radix), position + len(sign) + len(digits)
    except ValueError:
        raise LexError(f"invalid radix-{radix} literal: {sign}{digits}", start) from None


def _decimal(text: str, start: int, position: int) -> tuple[Any, int]:
    number = NUMBER.match(text, position)
    if number is not None:
        return number_value(number, start), number.end()
    fraction = re.compile(r"[+\-]?\.?[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?").match(text, position)
    if fraction is not None:
        return _real(fraction[0]), fraction.end()
    raise LexError("invalid integer: " + ("-" if text[position] == "-" else ""), start)


# Strings


def _string(text: str, start: int) -> Found:
    match = STRING.match(text, start)
    assert match is not None
    value = unescape(match[1], start)
    if match[2] is None:
        raise LexError("unterminated string", start, 'the string that begins here has no closing `"`')
    return ATOM, value, match.end()


def unescape(body: str, start: int) -> str:
    """The text that the inside of a string literal stands for. Raises LexError at start for a bad escape."""
    if "\\" not in body:
        return body
    return ESCAPE.sub(lambda match: _escape(match[1], start), body)


def _escape(code: str, start: int) -> str:
    """What backslash + code stands for; an unknown escape keeps its backslash."""
    kind = code[0]
    if kind in SIMPLE_ESCAPES:
        return SIMPLE_ESCAPES[kind]
    if kind not in "xuU":
        return "\\" + code
    digits = code[1:].rstrip(";")
    if kind == "x":
        if not digits:
            raise LexError("empty hex escape \\x;", start)
        if not code.endswith(";"):
            raise LexError("hex escape \\x missing terminating semicolon", start)
        if int(digits, 16) > 0xFFFFFFFF:
            raise LexError(f"invalid hex escape \\{code}", start)
    else:
        wanted = 4 if kind == "u" else 8
        if len(digits) < wanted:
            raise LexError(f"\\{kind} escape requires exactly {wanted} hex digits", start)
    value = int(digits, 16)
    if value > 0x10FFFF or 0xD800 <= value < 0xE000:
        raise LexError(f"invalid unicode scalar value \\{code}", start)
    return chr(value)


def _fstring(text: str, start: int) -> Found:
    """The value is a list of parts (is_code, text, start, end); code is the source text of an interpolation."""
    parts: list[tuple[bool, str, int, int]] = []
    position = start + 2
    while True:
        match = FSTRING_TEXT.match(text, position)
        assert match is not None
        if match[0]:
            parts.append((False, unescape(match[0], start), position, match.end()))
        position = match.end()
        if text.startswith('"', position):
            return FSTRING, parts, position + 1
        if not text.startswith("${", position):
            raise LexError("unterminated f-string", start, 'add a closing `"` to end the f-string')
        end = _interpolation_end(text, position + 2, start)
        code = text[position + 2 : end]
        if not code.strip(" \t\r\n"):
            raise LexError("empty interpolation in f-string", start, "${} must contain an expression, e.g. ${name}")
        parts.append((True, code, position + 2, end))
        position = end + 1


def _interpolation_end(text: str, position: int, start: int) -> int:
    """The offset of the brace that ends an interpolation. Braces count wherever they stand, as in the reference."""
    depth = 1
    for brace in BRACE.finditer(text, position):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    raise LexError("unterminated interpolation in f-string", start, "add a closing `}` to end the ${...} interpolation")


# Behind the hash sign


def _hash(text: str, start: int) -> Found:
    follows = text[start + 1 : start + 2]
    if follows == "(":
        return OPEN, "#(", start + 2
    if follows == "\\":
        return _character(text, start)
    if follows == "t" or follows == "f":
        return ATOM, follows == "t", start + 2
    if follows == '"':
        match = REGEX.match(text, start)
        assert match is not None
        if match[2] is None:
            raise LexError("unterminated regex literal", start, 'add a closing `"` to end the #"..." regex literal')
        return ATOM, match[1].replace('\\"', '"'), match.end()
    if text.startswith("u8(", start + 1):
        return OPEN, "#u8(", start + 4
    if follows and follows.lower() in "xbodei":
        return _prefixed_number(text, start)
    if not follows:
        raise LexError("unexpected end of input after `#`", start, AFTER_HASH)
    raise LexError(f"unexpected character after #: '{follows}'", start, KEY_ARGUMENTS if follows == ":" else None)


def _character(text: str, start: int) -> Found:
    first = text[start + 2 : start + 3]
    if not first:
        raise LexError("unexpected end of input after #\\", start)
    name, end = first, start + 3
    if first.isalpha() or (not first.isascii() and is_letter(first)):
        name, end = _word(text, start + 2)
    if len(name) == 1:
        return ATOM, char(name), end
    if name not in CHARACTERS:
        raise LexError(f"unknown character name: {name}", start)
    return ATOM, char(CHARACTERS[name]), end
