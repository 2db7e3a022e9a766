"""Searching in strings, the parts before and after a match, replacing, affixes."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import INT_LIMIT, count, is_int, named_strings, strings
from sema_runtime.values.errors import type_error
from sema_runtime.values.maps import MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("string/contains?", "includes?", type="str, str -> bool", pure=True, total=True)
def string_is_contains(text: Any, part: Any) -> bool:
    """Whether a string contains another one.

    (string/contains? "hello" "ell") => #t
    """
    if isinstance(text, str) and isinstance(part, str):
        return part in text
    named_strings("string/contains?", text, part)


@builtin("string/starts-with?", "starts-with?", type="str, str -> bool", pure=True, total=True)
def string_is_starts_with(text: Any, prefix: Any) -> bool:
    """Whether a string begins with prefix.

    (string/starts-with? "notes.txt" "notes") => #t
    """
    if isinstance(text, str) and isinstance(prefix, str):
        return text.startswith(prefix)
    named_strings("string/starts-with?", text, prefix)


@builtin("string/ends-with?", "ends-with?", type="str, str -> bool", pure=True, total=True)
def string_is_ends_with(text: Any, suffix: Any) -> bool:
    """Whether a string ends with suffix.

    (string/ends-with? "notes.txt" ".txt") => #t
    """
    if isinstance(text, str) and isinstance(suffix, str):
        return text.endswith(suffix)
    named_strings("string/ends-with?", text, suffix)


@builtin("string/index-of", type="str, str, int? -> nat|nil", pure=True)
def string_index_of(text: Any, part: Any, start: Any = 0) -> int | None:
    """The index of the first occurrence of part in a string, at or after start; nil when there is none.

    (string/index-of "hello" "l") => 2
    (string/index-of "hello" "l" 3) => 3
    (string/index-of "hello" "x") => nil
    """
    if type(text) is str and type(part) is str and type(start) is int and 0 <= start < INT_LIMIT:
        index = text.find(part, start)
        return None if index < 0 else index
    strings(text, part)
    if not is_int(start):
        type_error("int", start, "string/index-of: argument must be an integer")
    index = text.find(part, count("string/index-of", start))
    return None if index < 0 else index


@builtin("string/last-index-of", type="str, str -> nat|nil", pure=True, total=True)
def string_last_index_of(text: Any, part: Any) -> int | None:
    """The index of the last occurrence of part in a string; nil when there is none.

    (string/last-index-of "hello" "l") => 3
    """
    strings(text, part)
    index = text.rfind(part)
    return None if index < 0 else index


@builtin("string/replace", "replace", type="str, str, str -> str", pure=True, total=True)
def string_replace(text: Any, old: Any, new: Any) -> str:
    """Replaces every occurrence of old in a string; old is plain text, not a pattern.

    (string/replace "hello" "l" "L") => "heLLo"
    (string/replace "a.b" "." "-") => "a-b"
    """
    if isinstance(text, str) and isinstance(old, str) and isinstance(new, str):
        return text.replace(old, new)
    strings(text, old, new)
    raise AssertionError


@builtin("string/replace-first", type="str, str, str -> str", pure=True, total=True)
def string_replace_first(text: Any, old: Any, new: Any) -> str:
    """Replaces the first occurrence of old in a string.

    (string/replace-first "hello" "l" "L") => "heLlo"
    """
    strings(text, old, new)
    replaced: str = text.replace(old, new, 1)
    return replaced


@builtin("string/replace-last", type="str, str, str -> str", pure=True, total=True)
def string_replace_last(text: Any, old: Any, new: Any) -> str:
    """Replaces the last occurrence of old in a string.

    (string/replace-last "hello" "l" "L") => "helLo"
    """
    strings(text, old, new)
    before, separator, after = _last(text, old)
    return before + new + after if separator else str(text)


@builtin("string/remove", type="str, str -> str", pure=True, total=True)
def string_remove(text: Any, part: Any) -> str:
    """Removes every occurrence of part from a string.

    (string/remove "hello" "l") => "heo"
    """
    strings(text, part)
    return str(text.replace(part, "")) if part else str(text)


def _first(text: str, mark: str) -> tuple[str, bool, str]:
    """What is before the first mark, whether there is one, what is after it. The empty mark is found at the start."""
    at = text.find(mark)
    return (text, False, "") if at < 0 else (text[:at], True, text[at + len(mark) :])


def _last(text: str, mark: str) -> tuple[str, bool, str]:
    at = text.rfind(mark)
    return (text, False, "") if at < 0 else (text[:at], True, text[at + len(mark) :])


@builtin("string/before", type="str, str -> str", pure=True, total=True)
def string_before(text: Any, mark: Any) -> str:
    """The part of a string before the first occurrence of mark; all of it when there is none.

    (string/before "a/b/c" "/") => "a"
    """
    if not (isinstance(text, str) and isinstance(mark, str)):
        strings(text, mark)
    at = text.find(mark)
    before: str = text if at < 0 else text[:at]
    return before


@builtin("string/before-last", type="str, str -> str", pure=True, total=True)
def string_before_last(text: Any, mark: Any) -> str:
    """The part of a string before the last occurrence of mark; all of it when there is none.

    (string/before-last "a/b/c" "/") => "a/b"
    """
    if not (isinstance(text, str) and isinstance(mark, str)):
        strings(text, mark)
    at = text.rfind(mark)
    before: str = text if at < 0 else text[:at]
    return before


@builtin("string/after", type="str, str -> str", pure=True, total=True)
def string_after(text: Any, mark: Any) -> str:
    """The part of a string after the first occurrence of mark; all of it when there is none.

    (string/after "a/b/c" "/") => "b/c"
    (string/after "abc" "/") => "abc"
    """
    if not (isinstance(text, str) and isinstance(mark, str)):
        strings(text, mark)
    at = text.find(mark)
    after: str = text if at < 0 else text[at + len(mark) :]
    return after


@builtin("string/after-last", type="str, str -> str", pure=True, total=True)
def string_after_last(text: Any, mark: Any) -> str:
    """The part of a string after the last occurrence of mark; all of it when there is none.

    (string/after-last "a/b/c" "/") => "c"
    """
    if not (isinstance(text, str) and isinstance(mark, str)):
        strings(text, mark)
    at = text.rfind(mark)
    after: str = text if at < 0 else text[at + len(mark) :]
    return after


@builtin("string/between", type="str, str, str -> str", pure=True, total=True)
def string_between(text: Any, left: Any, right: Any) -> str:
    """The part of a string between the first left mark and the next right mark; "" without a left mark, the rest
    without a right mark.

    (string/between "a[b]c" "[" "]") => "b"
    (string/between "a[b" "[" "]") => "b"
    """
    strings(text, left, right)
    _, separator, rest = _first(text, left)
    return _first(rest, right)[0] if separator else ""


@builtin("string/chop-start", type="str, str -> str", pure=True, total=True)
def string_chop_start(text: Any, prefix: Any) -> str:
    """Removes prefix from the start of a string, where it begins with it.

    (string/chop-start "v1.2" "v") => "1.2"
    """
    strings(text, prefix)
    return str(text.removeprefix(prefix))


@builtin("string/chop-end", type="str, str -> str", pure=True, total=True)
def string_chop_end(text: Any, suffix: Any) -> str:
    """Removes suffix from the end of a string, where it ends with it.

    (string/chop-end "notes.txt" ".txt") => "notes"
    """
    strings(text, suffix)
    return str(text.removesuffix(suffix))


@builtin("string/ensure-start", type="str, str -> str", pure=True, total=True)
def string_ensure_start(text: Any, prefix: Any) -> str:
    """Adds prefix to the start of a string, unless it begins with it.

    (string/ensure-start "id" "#") => "#id"
    """
    strings(text, prefix)
    return str(text) if text.startswith(prefix) else f"{prefix}{text}"


@builtin("string/ensure-end", type="str, str -> str", pure=True, total=True)
def string_ensure_end(text: Any, suffix: Any) -> str:
    """Adds suffix to the end of a string, unless it ends with it.

    (string/ensure-end "dir" "/") => "dir/"
    (string/ensure-end "dir/" "/") => "dir/"
    """
    strings(text, suffix)
    return str(text) if text.endswith(suffix) else f"{text}{suffix}"


@builtin("string/wrap", type="str, str, str? -> str", pure=True)
def string_wrap(text: Any, left: Any, right: Any = MISSING) -> str:
    """Puts a string between left and right (default: left).

    (string/wrap "x" "(" ")") => "(x)"
    (string/wrap "x" "*") => "*x*"
    """
    strings(text, left)
    if right is MISSING:
        right = left
    strings(right)
    return f"{left}{text}{right}"


@builtin("string/unwrap", type="str, str, str? -> str", pure=True)
def string_unwrap(text: Any, left: Any, right: Any = MISSING) -> str:
    """Removes left and right (default: left) from the ends of a string that has both.

    (string/unwrap "(x)" "(" ")") => "x"
    (string/unwrap "(x" "(" ")") => "(x"
    """
    strings(text, left)
    if right is MISSING:
        right = left
    strings(right)
    if len(text) >= len(left) + len(right) and text.startswith(left) and text.endswith(right):
        return str(text[len(left) : len(text) - len(right)])
    return str(text)
