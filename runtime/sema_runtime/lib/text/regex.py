"""Regular expressions in the reference's (Rust) syntax; offsets are UTF-8 bytes, as there."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sema_runtime.catalogue import builtin
from sema_runtime.support.regex.compiled import Compiled, compiled
from sema_runtime.support.text_arguments import strings
from sema_runtime.values.atoms import keyword
from sema_runtime.values.digits import small
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

if TYPE_CHECKING:
    from sema_runtime.support.regex.compiled import Match

MATCH, GROUPS, START, END = map(keyword, ("match", "groups", "start", "end"))


def _find(pattern: Any, text: Any) -> Compiled:
    if not isinstance(pattern, str) or not isinstance(text, str):
        strings(pattern, text)
    return compiled(pattern, text.isascii())


@builtin("regex/match?", type="str, str -> bool", pure=True)
def regex_is_match(pattern: Any, text: Any) -> bool:
    """Whether a pattern (regular expression) matches somewhere in a text.

    (regex/match? #"\\d+" "abc123") => #t
    (regex/match? #"^\\d+$" "abc123") => #f
    """
    return _find(pattern, text).search(text) is not None


@builtin("regex/match", type="str, str -> map keyword (str|int|flat (str|nil))|nil fresh", pure=True)
def regex_match(pattern: Any, text: Any) -> Map | None:
    """The first match as a map of :match, :groups (nil for a group that took no part), :start and :end in bytes; nil
    when there is no match.

    (regex/match #"(\\d+)-(\\d+)" "tel 12-34") => {:end 9 :groups ("12" "34") :match "12-34" :start 4}
    (regex/match #"x" "abc") => nil
    """
    match = _find(pattern, text).search(text)
    if match is None:
        return None
    start, end = match.start(), match.end()
    if not text.isascii():
        start, end = len(text[:start].encode()), len(text[:end].encode())
    return Map({MATCH: match[0], GROUPS: List(match.groups()), START: start, END: end})


@builtin("regex/find-all", type="str, str -> flat str fresh", pure=True)
def regex_find_all(pattern: Any, text: Any) -> List:
    """Finds all matches of a pattern and returns them as a list of strings.

    (regex/find-all #"\\d+" "a1b22") => ("1" "22")
    (regex/find-all #"(\\w)=(\\w)" "a=1 b=2") => ("a=1" "b=2")
    """
    found = _find(pattern, text)
    regex = found.plain(text)
    if regex is not None and not regex.groups:
        return List(regex.findall(text))
    return List([match[0] for match in found.matches(text)])


@builtin("regex/split", type="str, str -> flat str fresh", pure=True)
def regex_split(pattern: Any, text: Any) -> List:
    """Splits a text at every match of a pattern.

    (regex/split #"\\s*,\\s*" "a , b,c") => ("a" "b" "c")
    """
    found = _find(pattern, text)
    regex = found.plain(text)
    if regex is not None and not regex.groups:
        return List(regex.split(text))
    pieces = []
    start = 0
    for match in found.matches(text):
        pieces.append(text[start : match.start()])
        start = match.end()
    pieces.append(text[start:])
    return List(pieces)


@builtin("regex/replace", type="str, str, str -> str", pure=True)
def regex_replace(pattern: Any, replacement: Any, text: Any) -> str:
    """Replaces the first match of a pattern; `$1`, `$name` and `${name}` stand for groups, `$$` for `$`.

    (regex/replace #"(\\w+) (\\w+)" "$2 $1" "hello world") => "world hello"
    (regex/replace #"(a)" "$1b" "a") => ""
    """
    return _replaced(pattern, replacement, text, 1)


@builtin("regex/replace-all", type="str, str, str -> str", pure=True)
def regex_replace_all(pattern: Any, replacement: Any, text: Any) -> str:
    """Replaces every match of a pattern; `$1`, `$name` and `${name}` stand for groups, `$$` for `$`.

    (regex/replace-all #"\\d" "#" "a1b2") => "a#b#"
    """
    return _replaced(pattern, replacement, text, -1)


def _replaced(pattern: Any, replacement: Any, text: Any, limit: int) -> str:
    strings(pattern, replacement, text)
    regex = _find(pattern, text)
    if "$" not in replacement:
        plain = regex.plain(text)
        if plain is not None:
            return plain.sub(replacement if "\\" not in replacement else lambda match: replacement, text, max(limit, 0))
    pieces = _template(replacement) if "$" in replacement else [replacement]
    names = regex.names
    out: list[str] = []
    start = 0
    for match in regex.matches(text):
        out.append(text[start : match.start()])
        out += [piece if isinstance(piece, str) else _group(match, names, piece.name) for piece in pieces]
        start = match.end()
        limit -= 1
        if not limit:
            break
    out.append(text[start:])
    return "".join(out)


MOST_GROUPS = 1 << 30  # more than any pattern has


class Reference(NamedTuple):
    """A group named in a replacement."""

    name: str


def _group(match: Match, names: dict[str, int], name: str) -> str:
    index = small(name, MOST_GROUPS) if name.isdecimal() else names.get(name, -1)
    return (match[index] or "") if 0 <= index <= len(match.groups()) else ""


@lru_cache(256)
def _template(text: str) -> list[str | Reference]:
    """The pieces of a replacement text: literals and group references."""
    pieces: list[str | Reference] = []
    at = 0
    while (dollar := text.find("$", at)) >= 0:
        pieces.append(text[at:dollar])
        at = dollar + 1
        if text.startswith("$", at):
            pieces.append("$")
            at += 1
        elif text.startswith("{", at) and "}" in text[at:]:
            end = text.index("}", at)
            pieces.append(Reference(text[at + 1 : end]))
            at = end + 1
        else:
            end = at
            while end < len(text) and text[end].isascii() and (text[end].isalnum() or text[end] == "_"):
                end += 1
            pieces.append(Reference(text[at:end]) if end > at else "$")
            at = end
    pieces.append(text[at:])
    return pieces
