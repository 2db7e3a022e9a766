"""Texts in units that are read each by itself: a keystroke costs the reading of one of them.

A line that begins with `(` may begin a unit. It does unless it stands in a string or in a form that an earlier line
has opened and a later one closes; a form that nothing closes ends with its unit. What the units of a text are depends
on the text alone, so a server that was told of each keystroke knows the same as one that has just read the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from sema_runtime.values.errors import ReaderError
from semac.lsp.names import Names
from semac.lsp.tree import Node, parse
from semac.syntax.lexer import Comment, Token, lex
from semac.syntax.literals import CLOSE, OPEN

BREAK = "\n("
MOST_CHARACTERS = 300_000  # of a piece that is read: reading a larger one at each keystroke would hold up the editor
MOST_STRINGS = 50  # that are open at the end of a piece, and are followed through the pieces after it
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+("|\Z)|;[^\n]*|#\\.', re.DOTALL)


class Piece:
    """Text up to the next line that begins with `(`. net: brackets that it leaves open; low: the least on the way."""

    __slots__ = ("comments", "is_open", "low", "net", "text", "tokens")

    def __init__(self, text: str) -> None:
        errors: list[ReaderError] = []
        self.text = text
        self.comments: list[Comment] = []
        is_read = len(text) <= MOST_CHARACTERS
        self.tokens: list[Token] = lex(text, comments=self.comments, errors=errors) if is_read else []
        self.is_open = any(error.message.startswith("unterminated") for error in errors)  # a string, at its end
        depth = low = 0
        for kind, _, _ in self.tokens:
            if kind == OPEN:
                depth += 1
            elif kind == CLOSE:
                depth -= 1
                low = min(low, depth)
        self.net, self.low = depth, low


class Unit:
    """One or more top-level forms. above: the lines of the text before it, which the text's Layout sets."""

    def __init__(self, text: str, piece: Piece | None) -> None:
        self.text = text
        self.above = 0
        self.lines = text.count("\n") + 1
        self._piece = piece

    @cached_property
    def piece(self) -> Piece:
        """The tokens and comments of the unit."""
        return self._piece or Piece(self.text)

    @cached_property
    def root(self) -> Node:
        return parse(self.piece.tokens, self)

    @cached_property
    def names(self) -> Names:
        return Names(self.root)

    @cached_property
    def kept(self) -> dict[str, object]:
        """What other modules have computed of this unit."""
        return {}


class Layout:
    """The units of a text. before: those of an earlier version, of which the same ones are taken over."""

    def __init__(self, text: str, before: Layout | None = None) -> None:
        self.pieces: dict[str, Piece] = {}
        known = before.pieces if before is not None else {}
        pieces = self._pieces(text, known)
        spare: dict[str, list[Unit]] = {}
        for unit in reversed(before.units) if before is not None else ():
            spare.setdefault(unit.text, []).append(unit)
        self.units: list[Unit] = [self._unit(part, spare) for part in _grouped(pieces)]
        self.starts: list[int] = []
        above = 0
        for unit in self.units:
            unit.above = above
            self.starts.append(above)
            above += unit.lines

    def _pieces(self, text: str, known: dict[str, Piece]) -> list[Piece]:
        """The pieces of a text; those are one between which a string that ends stands."""
        first, *rest = text.split(BREAK)
        texts = [first, *("(" + part for part in rest)]
        pieces: list[Piece] = []
        at = followed = 0
        while at < len(texts):
            piece = self._piece(texts[at], known)
            at += 1
            if piece.is_open and at < len(texts) and followed < MOST_STRINGS:
                followed += 1
                count = _closed(texts, at - 1)
                if count:
                    piece = self._piece("\n".join(texts[at - 1 : at + count]), known)
                    at += count
            pieces.append(piece)
        return pieces

    def _piece(self, text: str, known: dict[str, Piece]) -> Piece:
        piece = self.pieces.get(text) or known.get(text) or Piece(text)
        self.pieces[text] = piece
        return piece

    def _unit(self, pieces: list[Piece], spare: dict[str, list[Unit]]) -> Unit:
        text = pieces[0].text if len(pieces) == 1 else "\n".join(piece.text for piece in pieces)
        same = spare.get(text)
        return same.pop() if same else Unit(text, pieces[0] if len(pieces) == 1 else None)

    def at(self, line: int) -> Unit:
        """The unit of a line, from 1."""
        return self.units[self.index(line)]

    def index(self, line: int) -> int:
        return max(bisect_right(self.starts, line - 1) - 1, 0)


def _closed(texts: list[str], start: int) -> int:
    """How many pieces after one belong to the string that is open at its end; 0 where nothing closes that."""
    joined = "\n".join(texts[start:])
    end, at = len(texts[start]), start  # the place of the break after a piece
    for match in STRINGS.finditer(joined):
        if match.start() > end:  # it stands outside of strings
            break
        if match.end() > end and match[1] is not None:
            if not match[1]:
                return 0
            while end < match.end() and at + 1 < len(texts):
                at += 1
                end += 1 + len(texts[at])
    return at - start


def _grouped(pieces: list[Piece]) -> list[list[Piece]]:
    """The pieces of each unit: up to the one that closes what the first has opened, else the first alone."""
    ends = _ends(pieces)
    groups = []
    at = 0
    while at < len(pieces):
        end = ends[at]
        groups.append(pieces[at : end + 1])
        at = end + 1
    return groups


def _ends(pieces: list[Piece]) -> list[int]:
    """For each piece, the last one of the unit that would begin with it."""
    depths = [0]
    for piece in pieces:
        depths.append(depths[-1] + piece.net)
    ends = [*range(len(pieces))]
    values: list[int] = []  # depths behind pieces that end at their lowest, smallest first; nearer ones are larger
    places: list[int] = []
    for at in range(len(pieces) - 1, -1, -1):
        piece = pieces[at]
        if piece.net == piece.low:
            while values and values[-1] >= depths[at + 1]:
                values.pop()
                places.pop()
            values.append(depths[at + 1])
            places.append(at)
        nearest = bisect_right(values, depths[at]) - 1
        if nearest >= 0:
            ends[at] = places[nearest]
    return ends
