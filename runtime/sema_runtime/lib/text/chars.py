"""Characters: classes, case, comparison, conversion."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.text.strings import WHITESPACE, is_scalar
from sema_runtime.support.text_arguments import is_int, strings
from sema_runtime.values.atoms import CHARS, Char, char
from sema_runtime.values.errors import SemaError, type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _text(value: Any) -> str:
    """The one-character string of a character. Raises a type error for anything else."""
    if type(value) is Char:
        return value.value
    type_error("char", value)


def _folded(value: Any) -> str:
    return _text(value).lower()[0]


@builtin("char->integer", "char/to-integer", type="char -> nat", pure=True, total=True)
def char_to_integer(value: Any) -> int:
    """The Unicode code point of a character.

    (char->integer #\\A) => 65
    """
    return ord(_text(value))


@builtin("integer->char", "integer/to-char", type="int -> char", pure=True)
def integer_to_char(codepoint: Any) -> Char:
    """The character of a Unicode code point.

    (integer->char 233) => #\\é
    (integer->char 55296) ! integer->char: invalid codepoint 55296
    """
    if type(codepoint) is int and 0 <= codepoint < 0xD800:
        return CHARS[chr(codepoint)]
    if not is_int(codepoint):
        type_error("int", codepoint)
    if not is_scalar(codepoint):
        raise SemaError(f"integer->char: invalid codepoint {codepoint}")
    return char(chr(codepoint))


@builtin("char->string", "char/to-string", type="char -> str", pure=True, total=True)
def char_to_string(value: Any) -> str:
    """The string of one character. (`str` shows characters with their `#\\` prefix.)

    (char->string #\\a) => "a"
    (str #\\a) => "#\\\\a"
    """
    return _text(value)


@builtin("string->char", "string/to-char", type="str -> char", pure=True)
def string_to_char(text: Any) -> Char:
    """The character of a string of length 1.

    (string->char "a") => #\\a
    (string->char "ab") ! string->char: string must have exactly one character
    """
    strings(text)
    if not text:
        raise SemaError("string->char: empty string")
    if len(text) > 1:
        raise SemaError("string->char: string must have exactly one character")
    return char(text)


@builtin("char-alphabetic?", "char/alphabetic?", type="char -> bool", pure=True, total=True)
def is_char_alphabetic(value: Any) -> bool:
    """Whether a character is a letter.

    (char-alphabetic? #\\é) => #t
    (char-alphabetic? #\\1) => #f
    """
    text = _text(value)
    if text.isascii() or text.isalpha():
        return text.isalpha()
    from unicodedata import category

    return category(text) in ("Nl", "Mc") or "\u24b6" <= text <= "\u24e9" or text == "\u0345"


@builtin("char-numeric?", "char/numeric?", type="char -> bool", pure=True, total=True)
def is_char_numeric(value: Any) -> bool:
    """Whether a character is a digit or another number (Unicode Nd, Nl, No).

    (char-numeric? #\\7) => #t
    (char-numeric? #\\½) => #t
    """
    text = _text(value)
    if text.isascii():
        return text.isdigit()
    from unicodedata import category

    return category(text)[0] == "N"


@builtin("char-whitespace?", "char/whitespace?", type="char -> bool", pure=True, total=True)
def is_char_whitespace(value: Any) -> bool:
    """Whether a character is white space.

    (char-whitespace? #\\newline) => #t
    """
    return _text(value) in WHITESPACE


@builtin("char-upper-case?", "char/upper-case?", type="char -> bool", pure=True, total=True)
def is_char_upper_case(value: Any) -> bool:
    """Whether a character is an upper case letter.

    (char-upper-case? #\\a) => #f
    """
    return _text(value).isupper()


@builtin("char-lower-case?", "char/lower-case?", type="char -> bool", pure=True, total=True)
def is_char_lower_case(value: Any) -> bool:
    """Whether a character is a lower case letter.

    (char-lower-case? #\\a) => #t
    """
    return _text(value).islower()


@builtin("char-upcase", "char/upcase", type="char -> char", pure=True, total=True)
def char_upcase(value: Any) -> Char:
    """Converts a character to upper case; when the upper case form has several characters, returns the first.

    (char-upcase #\\a) => #\\A
    (char-upcase #\\ß) => #\\S
    """
    return char(_text(value).upper()[0])


@builtin("char-downcase", "char/downcase", type="char -> char", pure=True, total=True)
def char_downcase(value: Any) -> Char:
    """Converts a character to lower case; when the lower case form has several characters, returns the first.

    (char-downcase #\\A) => #\\a
    (char-downcase #\\İ) => #\\i
    """
    return char(_text(value).lower()[0])


@builtin("char=?", type="char, char -> bool", pure=True, total=True)
def is_char_eq(first: Any, second: Any) -> bool:
    """Whether two characters are the same.

    (char=? #\\a #\\a) => #t
    """
    return _text(first) == _text(second)


@builtin("char<?", type="char, char -> bool", pure=True, total=True)
def is_char_lt(first: Any, second: Any) -> bool:
    """Whether the first character comes before the second.

    (char<? #\\a #\\b) => #t
    (char<? #\\a #\\B) => #f
    """
    return _text(first) < _text(second)


@builtin("char>?", type="char, char -> bool", pure=True, total=True)
def is_char_gt(first: Any, second: Any) -> bool:
    """Whether the first character comes after the second.

    (char>? #\\b #\\a) => #t
    """
    return _text(first) > _text(second)


@builtin("char<=?", type="char, char -> bool", pure=True, total=True)
def is_char_lt_eq(first: Any, second: Any) -> bool:
    """Whether the first character doesn't come after the second.

    (char<=? #\\a #\\a) => #t
    """
    return _text(first) <= _text(second)


@builtin("char>=?", type="char, char -> bool", pure=True, total=True)
def is_char_gt_eq(first: Any, second: Any) -> bool:
    """Whether the first character doesn't come before the second.

    (char>=? #\\a #\\b) => #f
    """
    return _text(first) >= _text(second)


@builtin("char-ci=?", type="char, char -> bool", pure=True, total=True)
def is_char_ci_eq(first: Any, second: Any) -> bool:
    """Whether two characters are the same, ignoring case.

    (char-ci=? #\\a #\\A) => #t
    (char-ci=? #\\σ #\\ς) => #f
    """
    return _folded(first) == _folded(second)


@builtin("char-ci<?", type="char, char -> bool", pure=True, total=True)
def is_char_ci_lt(first: Any, second: Any) -> bool:
    """Whether the first character comes before the second, ignoring case.

    (char-ci<? #\\a #\\B) => #t
    """
    return _folded(first) < _folded(second)


@builtin("char-ci>?", type="char, char -> bool", pure=True, total=True)
def is_char_ci_gt(first: Any, second: Any) -> bool:
    """Whether the first character comes after the second, ignoring case.

    (char-ci>? #\\B #\\a) => #t
    """
    return _folded(first) > _folded(second)


@builtin("char-ci<=?", type="char, char -> bool", pure=True, total=True)
def is_char_ci_lt_eq(first: Any, second: Any) -> bool:
    """Whether the first character doesn't come after the second, ignoring case.

    (char-ci<=? #\\a #\\A) => #t
    """
    return _folded(first) <= _folded(second)


@builtin("char-ci>=?", type="char, char -> bool", pure=True, total=True)
def is_char_ci_gt_eq(first: Any, second: Any) -> bool:
    """Whether the first character doesn't come before the second, ignoring case.

    (char-ci>=? #\\B #\\a) => #t
    """
    return _folded(first) >= _folded(second)


class CharTable(dict["Char | str", "Any"]):
    """What a function says of characters, each asked about once: for code that knows that it has a character."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Char], Any]) -> None:
        self.function = function

    def __missing__(self, value: Char | str) -> Any:
        if isinstance(value, str):  # a character that compiled code holds as text: what is said of it is a text, too
            result = self[char(value)]
            result = result.value if type(result) is Char else result
        else:
            result = self.function(value)
        if len(self) < MOST_CHARS:
            self[value] = result
        return result


MOST_CHARS = 10_000
ALPHABETIC, NUMERIC, WHITE = map(CharTable, (is_char_alphabetic, is_char_numeric, is_char_whitespace))
UPPER_CASE, LOWER_CASE = CharTable(is_char_upper_case), CharTable(is_char_lower_case)
UPCASED, DOWNCASED = CharTable(char_upcase), CharTable(char_downcase)
