"""The text of an input in pieces with styles."""

from __future__ import annotations

import re
from functools import lru_cache

from semac.docs.special_forms import FORMS

Pieces = list[tuple[str, str]]

TOKEN = re.compile(
    r"""(?P<comment>;[^\n]*|\#\|.*?(?:\|\#|$))
    |(?P<string>"(?:[^"\\]|\\.)*(?:"|$))
    |(?P<char>\#\\(?:[a-zA-Z]+|.))
    |(?P<keyword>:[^\s()\[\]{}'`",@;]+)
    |(?P<number>[-+]?\d[\w./+-]*(?=[\s()\[\]{}]|$))
    |(?P<bracket>[()\[\]{}])
    |(?P<name>[^\s()\[\]{}'`",@;]+)""",
    re.VERBOSE | re.DOTALL,
)
STYLES = {"char": "class:string"}


@lru_cache(8)
def coloured_lines(text: str) -> list[Pieces]:
    """The pieces of each line, as (style, text)."""
    lines: list[Pieces] = [[]]
    at = 0
    for token in TOKEN.finditer(text):
        _add(lines, "", text[at : token.start()])
        _add(lines, _style(token, text), token.group())
        at = token.end()
    _add(lines, "", text[at:])
    return lines


def _style(token: re.Match[str], text: str) -> str:
    kind = token.lastgroup or ""
    if kind == "name":
        is_head = text.startswith("(", token.start() - 1)
        return "class:form" if is_head and token.group() in FORMS else ""
    return STYLES.get(kind, f"class:{kind}")


def _add(lines: list[Pieces], style: str, text: str) -> None:
    first, *others = text.split("\n")
    lines[-1].append((style, first))
    lines += [[(style, line)] for line in others]
