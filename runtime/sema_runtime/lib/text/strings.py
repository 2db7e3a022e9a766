"""Strings: building, splitting, converting. See also search, padding, case."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.conditions.call_form import used_as_value
from sema_runtime.support.text_arguments import argument_error, is_int, named_strings, strings
from sema_runtime.values.atoms import CHARS, TEXTS, Char, Keyword, Symbol, char, keyword, symbol
from sema_runtime.values.errors import OutOfBounds, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING
from sema_runtime.values.printer import display, float_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

text_of = TEXTS.__getitem__
WHITESPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


@builtin("string-append", "str", "string/append", type="any... -> str", pure=True)
def string_append(*values: Any) -> str:
    """Joins strings, or the display forms of any values, into one string.

    (string-append "a" "b") => "ab"
    (str "n = " 42 ", " :key) => "n = 42, :key"
    (str "a" nil '("b")) => "anil(\\"b\\")"
    """
    for value in values:
        if type(value) is not str:
            break
    else:
        return "".join(values)
    shown: list[str] = []
    for value in values:
        if type(value) is str:
            shown.append(value)
        elif type(value) is int:
            shown.append(str(value))
        elif type(value) is float:
            shown.append(float_text(value))
        else:
            shown.append(display(value))
    return "".join(shown)


@builtin("string-length", type="str -> nat", pure=True, total=True)
def string_length(text: Any) -> int:
    """The length of a string: the number of its code points.

    (string-length "naïve") => 5
    """
    if isinstance(text, str):
        return len(text)
    if used_as_value():
        named_strings("string-length", text)
    type_error("string", text)


@builtin("string/length", type="str -> nat", pure=True, total=True)
def string_slash_length(text: Any) -> int:
    """The length of a string: the number of its code points.

    (string/length "naïve") => 5
    (string/length "👨‍👩‍👦") => 5
    """
    if isinstance(text, str):
        return len(text)
    named_strings("string-length", text)


@builtin("string-ref", type="str, int -> char", pure=True)
def string_ref(text: Any, index: Any) -> Char:
    """The character at a 0-based index.

    (string-ref "abc" 1) => #\\b
    (string-ref "abc" 3) ! string-ref: index 3 out of bounds (string length 3)
    """
    if isinstance(text, str) and type(index) is int and 0 <= index < len(text):
        return CHARS[text[index]]
    if not used_as_value():
        strings(text)
        if not is_int(index):
            type_error("int", index)
        raise _bad_index(text, index)
    return string_slash_ref(text, index)


@builtin("string/ref", type="str, int -> char", pure=True)
def string_slash_ref(text: Any, index: Any) -> Char:
    """The character at a 0-based index.

    (string/ref "abc" 0) => #\\a
    """
    if isinstance(text, str) and type(index) is int and 0 <= index < len(text):
        return CHARS[text[index]]
    if not isinstance(text, str):
        named_strings("string-ref", text)
    if not is_int(index):
        argument_error("string-ref", 2, "int", index)
    raise _bad_index(text, index)


# what they are called in messages
string_slash_length.__sema_name__ = "string-length"  # type: ignore[attr-defined]
string_slash_ref.__sema_name__ = "string-ref"  # type: ignore[attr-defined]


def _bad_index(text: str, index: int) -> SemaError:
    if index < 0:
        return SemaError(f"string-ref: index {index} must be non-negative")
    message = f"string-ref: index {index} out of bounds (string length {len(text)})"
    return OutOfBounds(message, "indices are 0-based")


@builtin("substring", "string/slice", type="str, int, int? -> str", pure=True)
def substring(text: Any, start: Any, end: Any = MISSING) -> str:
    """The part of a string from index start up to, not including, end (default: the rest). Raises an error for indices
    outside.

    (substring "hello" 1 3) => "el"
    (substring "hello" 3) => "lo"
    (substring "hello" 3 9) ! substring: index out of bounds
    """
    if isinstance(text, str) and type(start) is int:
        if type(end) is int and 0 <= start <= end <= len(text):
            return text[start:end]
        if end is MISSING and 0 <= start <= len(text):
            return text[start:]
    if not isinstance(text, str):
        named_strings("substring", text)
    for position, (bound, value) in enumerate((("start", start), ("end", end)), 2):
        if value is not MISSING:
            if not is_int(value):
                argument_error("substring", position, "int", value)
            if value < 0:
                raise SemaError(f"substring: {bound} index {value} must be non-negative")
    raise OutOfBounds("substring: index out of bounds")


@builtin("string/take", type="str, int -> str", pure=True)
def string_take(text: Any, count: Any) -> str:
    """The first count characters of a string, or for a negative count the last -count ones; fewer when it is shorter.

    (string/take "hello" 2) => "he"
    (string/take "hello" -2) => "lo"
    (string/take "hello" 99) => "hello"
    """
    strings(text)
    if not is_int(count):
        type_error("int", count)
    taken: str = text[:count] if count >= 0 else text[count:]
    return taken


@builtin("string/split", "string-split", type="str, str -> flat str fresh", pure=True, total=True)
def string_split(text: Any, separator: Any) -> List:
    """Splits a string at each occurrence of a separator, into the list of the pieces between them.

    (string/split "a,b,,c" ",") => ("a" "b" "" "c")
    (string/split "abc" "") => ("" "a" "b" "c" "")
    """
    if isinstance(text, str) and isinstance(separator, str):
        return List(text.split(separator) if separator else ["", *text, ""])
    named_strings("string/split", text, separator)


@builtin("string/join", "string-join", type="seq, str -> str", pure=True)
def string_join(items: Any, separator: Any) -> str:
    """Joins the items of a list or vector into one string, with separator between them. Items that aren't strings are
    shown as `str` shows them.

    (string/join '("a" "b") "-") => "a-b"
    (string/join [1 nil :k] ", ") => "1, nil, :k"
    """
    kind = type(items)
    values = items.flat or items.items if kind is List else items
    if (kind is List or kind is tuple or kind is list) and isinstance(separator, str):
        try:
            return separator.join(values)
        except TypeError:
            return separator.join(map(display, values))
    if not isinstance(separator, str):
        type_error("string", separator)
    from sema_runtime.values.sequences import seq

    return separator.join(map(display, seq(items)))


@builtin("string/lines", "split-lines", type="str -> flat str fresh", pure=True, total=True)
def string_lines(text: Any) -> List:
    """Splits a text into lines, which end in LF or CRLF.

    (string/lines "a\\nb\\r\\n\\nc") => ("a" "b" "" "c")
    """
    if not isinstance(text, str):
        named_strings("string/lines", text)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
        last = len(lines)
    else:
        last = len(lines) - 1
    if "\r" in text:
        lines[:last] = [line[:-1] if line.endswith("\r") else line for line in lines[:last]]
    return List(lines)


@builtin("string/chars", type="str -> flat char fresh", pure=True, total=True)
def string_chars(text: Any) -> List:
    """The characters of a string, as a list.

    (string/chars "ab") => (#\\a #\\b)
    """
    if isinstance(text, str):
        return List(list(map(CHARS.__getitem__, text)))
    type_error("string", text)


@builtin("string->list", "string/to-list", type="str -> flat char fresh", pure=True, total=True)
def string_to_list(text: Any) -> List:
    """A string as a list of its characters.

    (string->list "ab") => (#\\a #\\b)
    """
    return string_chars(text)


def checked_text(text: Any) -> str:
    """A text whose characters compiled code goes through without a list of them. Raises as `string->list` does."""
    return text if isinstance(text, str) else type_error("string", text)


@builtin("list->string", type="list char -> str", pure=True, total=True)
def list_to_string(chars: Any) -> str:
    """Converts a list of characters to a string.

    (list->string '(#\\a #\\b)) => "ab"
    (list->string '("a" "b")) ! expected char, got string
    """
    items: Any
    if isinstance(chars, List):
        items = chars.flat or chars.items
    elif isinstance(chars, list):
        items = chars
    else:
        type_error("list", chars)
    try:
        return "".join(map(text_of, items))
    except (KeyError, TypeError):
        type_error("char", next(item for item in items if type(item) is not Char))


@builtin("string/codepoints", type="str -> flat int fresh", pure=True, total=True)
def string_codepoints(text: Any) -> List:
    """The Unicode code points of a string, as ints.

    (string/codepoints "hé") => (104 233)
    """
    strings(text)
    return List(list(map(ord, text)))


@builtin("string/from-codepoints", type="seq int -> str", pure=True)
def string_from_codepoints(codepoints: Any) -> str:
    """Converts a list or vector of Unicode code points to a string.

    (string/from-codepoints '(104 233)) => "hé"
    """
    if not isinstance(codepoints, (List, tuple, list)):
        type_error("list or vector", codepoints)
    for codepoint in codepoints:
        if not is_int(codepoint):
            type_error("integer", codepoint)
        if not is_scalar(codepoint):
            raise SemaError(f"string/from-codepoints: invalid codepoint {codepoint}")
    return "".join(map(chr, codepoints))


def is_scalar(codepoint: int) -> bool:
    """Whether an int is the number of a character (surrogates are not)."""
    return 0 <= codepoint < 0xD800 or 0xDFFF < codepoint <= 0x10FFFF


@builtin("string/map", type="now (char -> char|str), str -> str", pure=False)
def string_map(function: Any, text: Any) -> str:
    """Calls function with each character of a string and joins the results: characters or strings.

    (string/map char/upcase "hello") => "HELLO"
    """
    strings(text)
    if text and not callable(function):
        type_error("callable", function)
    out = []
    for character in text:
        mapped = function(char(character))
        if type(mapped) is Char:
            out.append(mapped.value)
        elif isinstance(mapped, str):
            out.append(mapped)
        else:
            type_error("char or string", mapped)
    return "".join(out)


@builtin("string/reverse", type="str -> str", pure=True, total=True)
def string_reverse(text: Any) -> str:
    """A string with its code points in reverse order.

    (string/reverse "abc") => "cba"
    """
    strings(text)
    turned: str = text[::-1]
    return turned


@builtin("string/byte-length", type="str -> nat", pure=True, total=True)
def string_byte_length(text: Any) -> int:
    """The number of bytes of a string in UTF-8.

    (string/byte-length "naïve") => 6
    """
    strings(text)
    return len(text) if text.isascii() else len(text.encode())


@builtin("string/empty?", type="str -> bool", pure=True, total=True)
def string_is_empty(text: Any) -> bool:
    """Whether a string has no characters.

    (string/empty? "") => #t
    (string/empty? " ") => #f
    """
    strings(text)
    return not text


@builtin("string/intern", type="str -> str", pure=True, total=True)
def string_intern(text: Any) -> str:
    """Returns the same string, stored only once in memory.

    (string/intern "name") => "name"
    """
    from sys import intern

    strings(text)
    return intern(text)


@builtin("string/trim", "string-trim", "trim", type="str -> str", pure=True, total=True)
def string_trim(text: Any) -> str:
    """A string without the white space at both ends.

    (string/trim "  hi\\n") => "hi"
    """
    if isinstance(text, str):
        return text.strip(WHITESPACE)
    named_strings("string/trim", text)


@builtin("string/trim-left", type="str -> str", pure=True, total=True)
def string_trim_left(text: Any) -> str:
    """A string without the white space at its start.

    (string/trim-left "  hi ") => "hi "
    """
    strings(text)
    trimmed: str = text.lstrip(WHITESPACE)
    return trimmed


@builtin("string/trim-right", type="str -> str", pure=True, total=True)
def string_trim_right(text: Any) -> str:
    """A string without the white space at its end.

    (string/trim-right " hi\\n") => " hi"
    """
    strings(text)
    trimmed: str = text.rstrip(WHITESPACE)
    return trimmed


def split_words(text: str) -> list[str]:
    """The pieces between runs of Unicode white space. Python's own split also breaks at U+001C to U+001F."""
    if text.isprintable() or not any(mark in text for mark in "\x1c\x1d\x1e\x1f"):
        return text.split()
    for mark in WHITESPACE[1:]:
        text = text.replace(mark, "\t")
    return [piece for piece in text.split("\t") if piece]


@builtin("string->symbol", "string/to-symbol", type="str -> symbol", pure=True, total=True)
def string_to_symbol(text: Any) -> Symbol:
    """Converts a string to the symbol with that name.

    (string->symbol "x") => x
    """
    if isinstance(text, str):
        return symbol(text)
    type_error("string", text)


@builtin("symbol->string", "symbol/to-string", type="symbol -> str", pure=True, total=True)
def symbol_to_string(value: Any) -> str:
    """The name of a symbol.

    (symbol->string 'x) => "x"
    """
    if type(value) is Symbol:
        return value.name
    type_error("symbol", value)


@builtin("string->keyword", "string/to-keyword", type="str -> keyword", pure=True, total=True)
def string_to_keyword(text: Any) -> Keyword:
    """Converts a string to the keyword with that name, without the colon.

    (string->keyword "name") => :name
    """
    if isinstance(text, str):
        return keyword(text)
    type_error("string", text)


@builtin("keyword->string", "keyword/to-string", type="keyword -> str", pure=True, total=True)
def keyword_to_string(value: Any) -> str:
    """The name of a keyword, without the colon.

    (keyword->string :name) => "name"
    """
    if type(value) is Keyword:
        return value.name
    type_error("keyword", value)
