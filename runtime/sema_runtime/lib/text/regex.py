"""Regular expressions in the reference's (Rust) syntax; offsets are UTF-8 bytes, as there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sema_runtime.capabilities import restricted
from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import strings
from sema_runtime.values.atoms import keyword
from sema_runtime.values.digits import small
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

if TYPE_CHECKING:
    import re

    from sema_runtime.support.regex.linear import Found, Linear

    Match = re.Match[str] | Found

MOST_STEPS = 4000  # of a pattern in the linear engine, which takes memory for the square of their number
LONG = 500  # characters
MATCH, GROUPS, START, END = map(keyword, ("match", "groups", "start", "end"))


class Compiled:
    """A pattern, ready for ASCII texts or for all.

    `re` runs it unless that could take much longer than reading the text: then regex_linear does.
    """

    def __init__(self, pattern: str, ascii_text: bool) -> None:
        import re

        from sema_runtime.support.regex.classes import ASCII, UNICODE
        from sema_runtime.support.regex.syntax import Parser
        from sema_runtime.support.regex.tree import loops, rendered, repeats, shortest, size

        self.tree, self.names, self.groups = Parser(pattern, ASCII if ascii_text else UNICODE).parse()
        self.flags = re.ASCII if ascii_text and pattern.isascii() else re.NOFLAG
        self.regex = re.compile(rendered(self.tree), self.flags)
        self.can_be_empty = shortest(self.tree) == 0
        self.repeats = repeats(self.tree)
        self.size = size(self.tree)
        self.always_unsafe, self.unsafe_run = False, None
        found = loops(self.tree)
        if found is None:
            self.always_unsafe = True
        elif found > 1:
            from sema_runtime.support.regex.risk import risk

            self.always_unsafe, self.unsafe_run = risk(self.tree, pattern, self.flags)

    @cached_property
    def linear(self) -> Linear:
        from sema_runtime.support.regex.errors import too_large
        from sema_runtime.support.regex.linear import Linear

        if self.size > MOST_STEPS:
            raise too_large()
        return Linear(self.tree, self.groups, self.flags)

    def is_safe(self, text: str) -> bool:
        """Whether `re` can be left alone with that text.

        Long texts of a restricted program can't, as most loops can be made quadratic. Huge patterns are, anywhere else.
        """
        safe = not self.always_unsafe and (self.unsafe_run is None or self.unsafe_run.search(text) is None)
        if safe and len(text) <= LONG:
            return True
        if restricted():
            return safe and not self.repeats
        return safe or self.size > MOST_STEPS

    def search(self, text: str) -> Match | None:
        return self.regex.search(text) if self.is_safe(text) else self.linear.search(text)

    def matches(self, text: str) -> Iterator[Match]:
        """All matches; unlike Python's, an empty one doesn't follow a match immediately."""
        if not self.is_safe(text):
            return self.linear.matches(text)
        return self._with_empty(text) if self.can_be_empty else self.regex.finditer(text)

    def _with_empty(self, text: str) -> Iterator[Match]:
        last = empty = -1  # where the last match ended, the last empty one
        for match in self.regex.finditer(text):
            start, end = match.span()
            if start == empty != end:  # Python's second choice where the empty match is the first
                yield from self._one_by_one(text, start + 1, start)
                return
            if not start == end == last:
                yield match
            last, empty = end, end if start == end else -1

    def _one_by_one(self, text: str, at: int, last: int) -> Iterator[Match]:
        search = self.regex.search
        while at <= len(text) and (match := search(text, at)):
            if match.end() == match.start() == last:
                at = last + 1
                continue
            yield match
            at = last = match.end()


_compiled = lru_cache(1024)(Compiled)


def _find(pattern: Any, text: Any) -> Compiled:
    if not isinstance(pattern, str) or not isinstance(text, str):
        strings(pattern, text)
    return _compiled(pattern, text.isascii())


def _offset(text: str, index: int) -> int:
    return index if text.isascii() else len(text[:index].encode())


@builtin("regex/match?", returns="bool", pure=True)
def regex_is_match(pattern: Any, text: Any) -> bool:
    """Whether a pattern (regular expression) matches somewhere in a text.

    (regex/match? #"\\d+" "abc123") => #t
    (regex/match? #"^\\d+$" "abc123") => #f
    """
    return _find(pattern, text).search(text) is not None


@builtin("regex/match", returns="map|nil", pure=True)
def regex_match(pattern: Any, text: Any) -> Map | None:
    """The first match as a map: :match, :groups (nil for one that took no part), :start and :end in bytes; or nil.

    (regex/match #"(\\d+)-(\\d+)" "tel 12-34") => {:end 9 :groups ("12" "34") :match "12-34" :start 4}
    (regex/match #"x" "abc") => nil
    """
    match = _find(pattern, text).search(text)
    if match is None:
        return None
    start, end = _offset(text, match.start()), _offset(text, match.end())
    return Map({MATCH: match[0], GROUPS: List(match.groups()), START: start, END: end})


@builtin("regex/find-all", returns="list[string]", pure=True)
def regex_find_all(pattern: Any, text: Any) -> List:
    """Finds all matches of a pattern, as strings.

    (regex/find-all #"\\d+" "a1b22") => ("1" "22")
    (regex/find-all #"(\\w)=(\\w)" "a=1 b=2") => ("a=1" "b=2")
    """
    return List([match[0] for match in _find(pattern, text).matches(text)])


@builtin("regex/split", returns="list[string]", pure=True)
def regex_split(pattern: Any, text: Any) -> List:
    """Splits a text at every match of a pattern.

    (regex/split #"\\s*,\\s*" "a , b,c") => ("a" "b" "c")
    """
    pieces = []
    start = 0
    for match in _find(pattern, text).matches(text):
        pieces.append(text[start : match.start()])
        start = match.end()
    pieces.append(text[start:])
    return List(pieces)


@builtin("regex/replace", returns="string", pure=True)
def regex_replace(pattern: Any, replacement: Any, text: Any) -> str:
    """Replaces the first match of a pattern; `$1`, `$name` and `${name}` stand for groups, `$$` for `$`.

    (regex/replace #"(\\w+) (\\w+)" "$2 $1" "hello world") => "world hello"
    (regex/replace #"(a)" "$1b" "a") => ""
    """
    return _replaced(pattern, replacement, text, 1)


@builtin("regex/replace-all", returns="string", pure=True)
def regex_replace_all(pattern: Any, replacement: Any, text: Any) -> str:
    """Replaces every match of a pattern; `$1`, `$name` and `${name}` stand for groups, `$$` for `$`.

    (regex/replace-all #"\\d" "#" "a1b2") => "a#b#"
    """
    return _replaced(pattern, replacement, text, -1)


def _replaced(pattern: Any, replacement: Any, text: Any, limit: int) -> str:
    strings(pattern, replacement, text)
    pieces = _template(replacement) if "$" in replacement else [replacement]
    regex = _find(pattern, text)
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
