"""The automaton of a regular expression, built from its syntax tree as the reference builds it."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache

from sema_runtime.support.regex.errors import too_large
from sema_runtime.support.regex.tree import Choice, Group, One, Place, Repeat, Sequence, is_empty, shortest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.support.regex.tree import Node

    Path = tuple[int, tuple[int, ...]]  # a way that reads nothing: the step it leads to or MATCH, and the slots it sets

MATCH = -1  # where the automaton ends, in place of a step
MOST_PASSED = 300_000  # points on all paths: those of `(a*){1000}` are half a million
END = -(1 << 60)  # the same, in place of a point

compiled_piece = lru_cache(2048)(re.compile)


class Program:
    """The automaton. A *step* reads one character; between steps are *points*.

    jumps[point] = (piece, slots, targets): the piece that has to match there ("" for none), the slots (beginnings and
    ends of groups) that are set, and where one can go, best first: points, or a step as ~step, or END.
    """

    def __init__(self, tree: Node) -> None:
        self.jumps: list[tuple[str, tuple[int, ...], list[int]]] = []
        self.pieces: list[str] = []  # of the steps
        self.after: list[int] = []  # the point behind each step
        self.passed = 0  # points, on the search for paths
        self.start = self.built(tree, END)

    def point(self, targets: list[int], piece: str = "", slots: tuple[int, ...] = ()) -> int:
        self.jumps.append((piece, slots, targets))
        return len(self.jumps) - 1

    def built(self, node: Node, end: int) -> int:
        """The point where a node starts that `end` follows."""
        if isinstance(node, One):
            self.pieces.append(node.piece)
            self.after.append(end)
            return ~(len(self.after) - 1)
        if isinstance(node, Place):
            return self.point([end], node.piece)
        if isinstance(node, Sequence):
            for item in reversed(node.items):
                end = self.built(item, end)
            return end
        if isinstance(node, Choice):
            return self.point([self.built(branch, end) for branch in node.branches])
        if isinstance(node, Group):
            if not node.number:
                return self.built(node.inner, end)
            closing = self.point([end], slots=(2 * node.number + 1,))
            return self.point([self.built(node.inner, closing)], slots=(2 * node.number,))
        return self.repeated(node, end)

    def repeated(self, node: Repeat, end: int) -> int:
        """The start of a repetition, built as in the reference: that decides the groups after rounds without a
        match."""
        inner, least, most, greedy = node.inner, node.least, node.most, node.greedy
        if is_empty(inner):
            least, most = min(least, 1), 1 if most is None else min(most, 1)
        leave = end
        if most is None:
            fork = self.point([])
            begin = self.built(inner, fork)
            self.jumps[fork][2].extend([begin, leave] if greedy else [leave, begin])
            if least:
                end = begin
            elif shortest(inner):
                end = fork
            else:
                end = self.point([begin, leave] if greedy else [leave, begin])
            least -= 1
        else:
            for _ in range(most - least):
                begin = self.built(inner, end)
                end = self.point([begin, leave] if greedy else [leave, begin])
        for _ in range(least):
            end = self.built(inner, end)
        return end

    def paths(self, point: int, blocked: set[str]) -> list[Path]:
        """The paths from a point to steps or the end, best first, one to each. blocked: pieces that don't match
        here."""
        found_paths: list[Path] = []
        seen: set[int] = set()
        waiting: list[tuple[int, tuple[int, ...]]] = [(point, ())]
        while waiting:
            current, slots = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            if current < 0:
                found_paths.append((MATCH if current == END else ~current, slots))
                if current == END:
                    break  # what comes later is never preferred
            else:
                piece, more, targets = self.jumps[current]
                if piece not in blocked:
                    waiting += [(target, slots + more) for target in reversed(targets)]
        self.passed += len(seen)
        if self.passed > MOST_PASSED:
            raise too_large()
        return found_paths


class Readers(dict[str, int]):
    """Maps a character to the steps that read it, as bits."""

    def __init__(self, pieces: list[str], flags: int) -> None:
        steps: dict[str, int] = defaultdict(int)
        for number, piece in enumerate(pieces):
            steps[piece] |= 1 << number
        self.steps = [(compiled_piece(piece, flags).fullmatch, bits) for piece, bits in steps.items()]

    def __missing__(self, character: str) -> int:
        targets = self[character] = sum(bits for reads, bits in self.steps if reads(character))
        return targets
