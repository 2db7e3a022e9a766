"""Layout of strings: repetition, padding, width on a terminal, wrapping."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import count, strings
from sema_runtime.support.visible import clusters, columns
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 1 << 31
WIDE = 1 << 16


def _is_simple(text: str) -> bool:
    """Whether each character of a text takes one column."""
    return text.isascii() and text.isprintable()


@builtin("string/repeat", "make-string", type="str, int -> str", pure=True)
def string_repeat(text: Any, times: Any) -> str:
    """A string repeated a number of times.

    (string/repeat "ab" 3) => "ababab"
    """
    if type(text) is str and type(times) is int and 0 <= len(text) * times <= LONGEST and times >= 0:
        return text * times
    strings(text)
    if len(text) * count("string/repeat", times) > LONGEST:
        raise SemaError(f"string/repeat: the result would have {len(text) * times} characters")
    return str(text * times)


def _padding(text: Any, width: Any, fill: Any) -> str:
    filler: str = " "
    strings(text)
    missing = count("string/pad", width) - columns(text)
    if fill is not MISSING:
        strings(fill)
        filler = str(fill[:1]) or " "
    if missing > LONGEST:
        raise SemaError(f"string/pad: the result would have {width} characters")
    return filler * (missing // max(1, columns(filler)))


@builtin("string/pad-left", type="str, int, str? -> str", pure=True)
def string_pad_left(text: Any, width: Any, fill: Any = MISSING) -> str:
    """Pads a string at the left, up to a width in columns, with the first character of fill (default: a space).

    (string/pad-left "42" 5 "0") => "00042"
    (string/pad-left "123456" 5) => "123456"
    """
    if type(text) is str and type(width) is int and 0 <= width < WIDE and _is_simple(text):
        if fill is MISSING:
            return text.rjust(width)
        if type(fill) is str and len(fill) == 1 and _is_simple(fill):
            return text.rjust(width, fill)
    return f"{_padding(text, width, fill)}{text}"


@builtin("string/pad-right", type="str, int, str? -> str", pure=True)
def string_pad_right(text: Any, width: Any, fill: Any = MISSING) -> str:
    """Pads a string at the right, up to a width in columns, with the first character of fill (default: a space).

    (string/pad-right "ab" 4 ".") => "ab.."
    """
    if type(text) is str and type(width) is int and 0 <= width < WIDE and _is_simple(text):
        if fill is MISSING:
            return text.ljust(width)
        if type(fill) is str and len(fill) == 1 and _is_simple(fill):
            return text.ljust(width, fill)
    padding = _padding(text, width, fill)
    return str(text) + padding


@builtin("string/width", type="str -> nat", pure=True, total=True)
def string_width(text: Any) -> int:
    """The number of columns that a string takes on a terminal: 2 for wide characters and emoji, 0 for marks and escape
    sequences.

    (string/width "日本") => 4
    (string/width "a\\tb") => 3
    """
    strings(text)
    return columns(text)


@builtin("string/truncate-width", type="str, int, str? -> str", pure=True)
def string_truncate_width(text: Any, width: Any, ellipsis: Any = MISSING) -> str:
    """Cuts a string to a number of terminal columns; if anything is cut, ellipsis (default: none) ends the result.

    (string/truncate-width "hello world" 6 "…") => "hello…"
    """
    strings(text)
    limit = count("string/truncate-width", width)
    mark = "" if ellipsis is MISSING else ellipsis
    strings(mark)
    if columns(text) <= limit:
        return str(text)
    room = columns(mark)
    if room >= limit:
        return _head(mark, limit)
    return _head(text, limit - room) + str(mark)


def _head(text: str, limit: int) -> str:
    out = []
    for cluster, width in clusters(text):
        if width > limit:
            break
        limit -= width
        out.append(cluster)
    return "".join(out)


@builtin("string/word-wrap", type="str, int -> flat str fresh", pure=True)
def string_word_wrap(text: Any, width: Any) -> List:
    """The lines of a text wrapped between words at a number of columns; longer words are broken.

    (string/word-wrap "the quick brown fox" 10) => ("the quick" "brown fox")
    """
    strings(text)
    limit = count("string/word-wrap", width)
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += [""] if paragraph.isspace() else _wrapped(paragraph, limit)
    return List(lines)


def _wrapped(paragraph: str, limit: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in paragraph.split(" "):
        if not word:
            continue
        if line and columns(line) + 1 + columns(word) <= limit:
            line += " " + word
            continue
        if line:
            lines.append(line)
        *full, line = _pieces(word, limit)
        lines += full
    return [*lines, line]


def _pieces(word: str, limit: int) -> list[str]:
    """A word in pieces of at most limit columns, one cluster at least each."""
    if columns(word) <= limit:
        return [word]
    pieces: list[str] = []
    piece, room = "", limit
    for cluster, width in clusters(word):
        if piece and width > room:
            pieces.append(piece)
            piece, room = "", limit
        piece += cluster
        room -= width
    return [*pieces, piece]
