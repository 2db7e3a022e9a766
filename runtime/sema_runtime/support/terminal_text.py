"""Text as a terminal shows it: the columns it takes, and text without escape sequences."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ESCAPE = (  # a control sequence, an operating system command, any other escape; each may be cut off by the end
    "\x1b(?:"
    r"\[[^@-~]*[@-~]?"
    "|\\][^\x07\x1b]*(?:\x07|\x1b\\\\?)?"
    "|.?)"
)


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
