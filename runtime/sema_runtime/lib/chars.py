"""Characters: classes, case, comparison, conversion."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.strings import WHITESPACE, is_scalar
from sema_runtime.lib.text_args import is_int, strings
from sema_runtime.values.atoms import Char, char
from sema_runtime.values.errors import SemaError, type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _text(value: Any) -> str:
    """The one-character string of a character. Raises a type error for anything else."""
    if type(value) is Char:
        return value.value
    type_error("char", value)


def _folded(value: Any) -> str:
    return _text(value).lower()[0]


@builtin("char->integer", "char/to-integer", returns="int", pure=True)
def char_to_integer(value: Any) -> int:
    """The code point of a character."""
    return ord(_text(value))


@builtin("integer->char", "integer/to-char", returns="char", pure=True)
def integer_to_char(codepoint: Any) -> Char:
    """The character of a code point."""
    if not is_int(codepoint):
        type_error("int", codepoint)
    if not is_scalar(codepoint):
        raise SemaError(f"integer->char: invalid codepoint {codepoint}")
    return char(chr(codepoint))


@builtin("char->string", "char/to-string", returns="string", pure=True)
def char_to_string(value: Any) -> str:
    """The string of one character. (`str` shows characters with their `#\\` prefix.)"""
    return _text(value)


@builtin("string->char", "string/to-char", returns="char", pure=True)
def string_to_char(text: Any) -> Char:
    """The character of a string of length 1."""
    strings(text)
    if not text:
        raise SemaError("string->char: empty string")
    if len(text) > 1:
        raise SemaError("string->char: string must have exactly one character")
    return char(text)


@builtin("char-alphabetic?", "char/alphabetic?", returns="bool", pure=True)
def is_char_alphabetic(value: Any) -> bool:
    """Whether a character is a letter (Unicode Alphabetic)."""
    text = _text(value)
    if text.isascii() or text.isalpha():
        return text.isalpha()
    from unicodedata import category

    return category(text) in ("Nl", "Mc") or "\u24b6" <= text <= "\u24e9" or text == "\u0345"


@builtin("char-numeric?", "char/numeric?", returns="bool", pure=True)
def is_char_numeric(value: Any) -> bool:
    """Whether a character is a number of any kind (Unicode Nd, Nl, No)."""
    text = _text(value)
    if text.isascii():
        return text.isdigit()
    from unicodedata import category

    return category(text)[0] == "N"


@builtin("char-whitespace?", "char/whitespace?", returns="bool", pure=True)
def is_char_whitespace(value: Any) -> bool:
    """Whether a character is white space."""
    return _text(value) in WHITESPACE


@builtin("char-upper-case?", "char/upper-case?", returns="bool", pure=True)
def is_char_upper_case(value: Any) -> bool:
    """Whether a character is an upper case letter."""
    return _text(value).isupper()


@builtin("char-lower-case?", "char/lower-case?", returns="bool", pure=True)
def is_char_lower_case(value: Any) -> bool:
    """Whether a character is a lower case letter."""
    return _text(value).islower()


@builtin("char-upcase", "char/upcase", returns="char", pure=True)
def char_upcase(value: Any) -> Char:
    """The upper case form; the first character of it, where it has several."""
    return char(_text(value).upper()[0])


@builtin("char-downcase", "char/downcase", returns="char", pure=True)
def char_downcase(value: Any) -> Char:
    """The lower case form; the first character of it, where it has several."""
    return char(_text(value).lower()[0])


@builtin("char=?", returns="bool", pure=True)
def is_char_eq(first: Any, second: Any) -> bool:
    """Whether two characters are the same."""
    return _text(first) == _text(second)


@builtin("char<?", returns="bool", pure=True)
def is_char_lt(first: Any, second: Any) -> bool:
    """Whether the first character comes before the second."""
    return _text(first) < _text(second)


@builtin("char>?", returns="bool", pure=True)
def is_char_gt(first: Any, second: Any) -> bool:
    """Whether the first character comes after the second."""
    return _text(first) > _text(second)


@builtin("char<=?", returns="bool", pure=True)
def is_char_lt_eq(first: Any, second: Any) -> bool:
    """Whether the first character doesn't come after the second."""
    return _text(first) <= _text(second)


@builtin("char>=?", returns="bool", pure=True)
def is_char_gt_eq(first: Any, second: Any) -> bool:
    """Whether the first character doesn't come before the second."""
    return _text(first) >= _text(second)


@builtin("char-ci=?", returns="bool", pure=True)
def is_char_ci_eq(first: Any, second: Any) -> bool:
    """Whether two characters are the same, ignoring case."""
    return _folded(first) == _folded(second)


@builtin("char-ci<?", returns="bool", pure=True)
def is_char_ci_lt(first: Any, second: Any) -> bool:
    """Whether the first character comes before the second, ignoring case."""
    return _folded(first) < _folded(second)


@builtin("char-ci>?", returns="bool", pure=True)
def is_char_ci_gt(first: Any, second: Any) -> bool:
    """Whether the first character comes after the second, ignoring case."""
    return _folded(first) > _folded(second)


@builtin("char-ci<=?", returns="bool", pure=True)
def is_char_ci_lt_eq(first: Any, second: Any) -> bool:
    """Whether the first character doesn't come after the second, ignoring case."""
    return _folded(first) <= _folded(second)


@builtin("char-ci>=?", returns="bool", pure=True)
def is_char_ci_gt_eq(first: Any, second: Any) -> bool:
    """Whether the first character doesn't come before the second, ignoring case."""
    return _folded(first) >= _folded(second)
