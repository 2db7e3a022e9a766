"""Text at a terminal: text from outside with visible control characters, text without escape sequences, its columns."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TextIO

JOINERS = "\u200c\u200d"  # zero-width joiners, used between letters and in emoji; harmless
OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls; formats, those of direction among them; half characters; ends
ESCAPE = (  # a control sequence, an operating system command, any other escape; each may be cut off by the end
    "\x1b(?:"
    r"\[[^@-~]*[@-~]?"
    "|\\][^\x07\x1b]*(?:\x07|\x1b\\\\?)?"
    "|.?)"
)


def visible(text: str, kept: str = "\n\t") -> str:
    """The text with control characters as `\\x1b`, `\\u202e`: it can't move the cursor, change colours, the title or
    the clipboard, nor show itself in another order. kept: characters that stay."""
    if text.isprintable():
        return text
    return "".join(_escape(char) if char not in kept and _is_obeyed(char) else char for char in text)


def _is_obeyed(char: str) -> bool:
    from unicodedata import category

    return category(char) in OBEYED and char not in JOINERS


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


class Escaped:
    """A stream to a terminal that escapes control characters. unescaped: the stream itself."""

    def __init__(self, stream: TextIO, escape: Callable[[str], str] = visible) -> None:
        self.unescaped = stream
        self.escape = escape

    def write(self, text: str) -> int:
        self.unescaped.write(self.escape(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


def escape_terminal(as_json: bool = False) -> None:
    """Escapes stdout and stderr where they are terminals: for commands that don't run programs.
    as_json: stdout gets JSON and stays valid JSON."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream.isatty():
            setattr(sys, name, Escaped(stream, visible_json if as_json and name == "stdout" else visible))


def at_terminal(text: str) -> str:
    """The text for stdout: unchanged for a file or a pipe, visible at a terminal."""
    return visible(text) if sys.stdout.isatty() else text


def at_error_terminal(text: str) -> str:
    """The text for stderr, as `at_terminal`."""
    return visible(text) if sys.stderr is not None and sys.stderr.isatty() else text


def json_at_terminal(text: str) -> str:
    """A JSON text for stdout, as `at_terminal`."""
    return visible_json(text) if sys.stdout.isatty() else text


def visible_json(text: str) -> str:
    """As `visible`, for a JSON text: with JSON's own escapes, so that its value stays the same."""
    if text.isprintable():
        return text
    return "".join(_json_escape(char) if char not in "\n\t" and _is_obeyed(char) else char for char in text)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def tell(text: str) -> None:
    """Writes a line to stderr."""
    print(visible(text), file=sys.stderr, flush=True)


# Columns


def without_escapes(text: str) -> str:
    """The text without escape sequences."""
    if "\x1b" not in text:
        return text
    import re

    return re.sub(ESCAPE, "", text, flags=re.DOTALL)


def _columns(character: str) -> int:
    """The columns of a single code point."""
    from unicodedata import category, east_asian_width

    if "\u1160" <= character <= "\u11ff" or character in "\n\0":
        return 0
    kind = category(character)
    if kind in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def _joins(before: str, character: str) -> bool:
    """Whether a code point belongs to the cluster before it."""
    from unicodedata import category

    if before.endswith("\u200d") or "\U0001f3fb" <= character <= "\U0001f3ff" or "\u1160" <= character <= "\u11ff":
        return True
    if "\U0001f1e6" <= character <= "\U0001f1ff":
        return len(before) == 1 and "\U0001f1e6" <= before <= "\U0001f1ff"
    return character == "\u200d" or category(character) in ("Mn", "Me") or before + character == "\r\n"


def clusters(text: str) -> Iterator[tuple[str, int]]:
    """(what is seen as one character, its columns), in order."""
    if text.isascii() and "\r" not in text:
        for character in text:
            yield character, 0 if character in "\n\0" else 1
        return
    cluster = ""
    for character in text:
        if cluster and _joins(cluster, character):
            cluster += character
        else:
            if cluster:
                yield cluster, _cluster_columns(cluster)
            cluster = character
    yield cluster, _cluster_columns(cluster)


def _cluster_columns(cluster: str) -> int:
    if len(cluster) == 1:
        return _columns(cluster)
    if cluster == "\r\n":
        return 0
    if "\ufe0f" in cluster or "\U0001f1e6" <= cluster[0] <= "\U0001f1ff":
        return 2
    return max(map(_columns, cluster))


def columns(text: str) -> int:
    """The columns of a text, escape sequences left out."""
    text = without_escapes(text)
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(width for _, width in clusters(text)) if text else 0
