"""Finds the patterns on which `re`, which tries one path after another, can take far too long.

A pattern is ambiguous when one text can take two paths through it. In a loop (`(a+)+`, `(a|a)*`) the number of paths
doubles with each character. Two successive loops that take the same characters (`a+a+$`) have as many paths as there
are places to split the text. A pattern of the first kind is always unsafe; one of the second only on a text with a long
run of those characters. Assertions are assumed to hold everywhere, so the result may be too pessimistic.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from sema_runtime.support.regex.automaton import END, MATCH, Program, compiled_piece
from sema_runtime.support.regex.tree import Choice, Group, One, Place, Repeat, Sequence, is_fixed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.support.regex.tree import Node

    Risk = tuple[bool, re.Pattern[str] | None]  # whether no text is safe; else what finds an unsafe part in a text

LONG_RUN = 24  # characters two loops may share before the linear engine is better
SHORT_RUN = 8  # the same where more than two loops do
MOST_STEPS = 300  # of a pattern that is looked at
MOST_WAYS = 2000  # looked at before a pattern is taken to be ambiguous
SAMPLE = "".join(map(chr, range(128))) + "\x85\xa0éßẞıſK²½ªλΩжאع٣कกა日あアー가₂€©→∑😀\u2028\u200b\u0301\ufeff"

SAFE = (False, None)
UNSAFE = (True, None)


def risk(tree: Node, pattern: str, flags: int) -> Risk:
    """The risk of running a pattern with loops in `re`: (always unsafe, pattern of runs that make a text unsafe)."""
    program = Program(_simpler(tree))
    return UNSAFE if len(program.after) > MOST_STEPS else Ways(program, pattern, flags).risk()


def _simpler(node: Node) -> Node:
    """The node with repetitions that are `?`, `*`, `+` or none, which is what ambiguity depends on."""
    if isinstance(node, (One, Place)):
        return node
    if isinstance(node, Sequence):
        return Sequence(list(map(_simpler, node.items)))
    if isinstance(node, Choice):
        return Choice(list(map(_simpler, node.branches)))
    inner = _simpler(node.inner)
    if isinstance(node, Group):
        return Group(inner, 0)
    if node.most == 0:
        return Sequence([])
    if is_fixed(node):
        return inner
    return Repeat(inner, min(node.least, 1), None if node.most is None or node.most > 1 else 1, node.greedy)


@lru_cache(512)
def _sign(piece: str, flags: int, sample: str) -> int:
    return sum(1 << match.start() for match in compiled_piece(piece, flags).finditer(sample))


class Ways:
    """The steps of an automaton as a graph. signs: for each step the characters of a sample that it reads, as bits."""

    def __init__(self, program: Program, pattern: str, flags: int) -> None:
        self.program = program
        self.flags = flags
        sample = SAMPLE + "".join(char for char in pattern if not char.isascii())
        self.signs = [_sign(piece, flags, sample) for piece in program.pieces]
        self.next: list[Counter[int]] = [self.ways_from(point) for point in program.after]
        self.places = any(piece for piece, _, _ in program.jumps)

    def ways_from(self, point: int) -> Counter[int]:
        """The number of paths from a point to each step (or MATCH) that read nothing."""
        ways: Counter[int] = Counter()
        waiting: list[tuple[int, frozenset[int]]] = [(point, frozenset())]
        while waiting:
            here, passed = waiting.pop()
            if here < 0:
                ways[MATCH if here == END else ~here] += 1
                if ways.total() > MOST_WAYS:
                    break
            elif here not in passed:
                waiting += [(target, passed | {here}) for target in self.program.jumps[here][2]]
        return ways

    def risk(self) -> Risk:
        components = self.components()
        if any(self.doubles(component) for component in components):
            return UNSAFE
        loops = [component for component in components if self.is_loop(component)]
        pairs = [(a, b) for a in loops for b in loops if a != b and self.shares(a, b)]
        if not pairs:
            return SAFE
        if any(len(a) > 1 and len(b) > 1 for a, b in pairs):
            return UNSAFE
        runs = {self.program.pieces[self.narrower(a, b)] for a, b in pairs}
        length = LONG_RUN if len(pairs) == 1 else SHORT_RUN
        return False, re.compile("|".join(f"{piece}{{{length}}}" for piece in sorted(runs)), self.flags)

    def narrower(self, first: tuple[int, ...], second: tuple[int, ...]) -> int:
        """The step that reads the fewest characters, of two loops one of which has a single step."""
        single = [loop[0] for loop in (first, second) if len(loop) == 1]
        return min(single, key=lambda step: self.signs[step].bit_count())

    def is_loop(self, component: tuple[int, ...]) -> bool:
        return len(component) > 1 or component[0] in self.next[component[0]]

    def components(self) -> list[tuple[int, ...]]:
        """The sets of steps that can be reached from one another."""
        reached = [self.reachable(step) for step in range(len(self.next))]
        components = {
            tuple(sorted({step, *(other for other in reached[step] if step in reached[other])}))
            for step in range(len(self.next))
        }
        return sorted(components)

    def reachable(self, step: int) -> set[int]:
        steps: set[int] = set()
        waiting = [step]
        while waiting:
            for other in self.next[waiting.pop()]:
                if other != MATCH and other not in steps:
                    steps.add(other)
                    waiting.append(other)
        return steps

    def doubles(self, component: tuple[int, ...]) -> bool:
        """Whether one text can take two paths through a loop back to its start."""
        inside = {step: [second for second in self.next[step] if second in component] for step in component}
        if any(self.next[step][second] > 1 for step in component for second in inside[step]):
            return True
        seen: set[tuple[int, int]] = set()
        waiting = [(step, step) for step in component]
        while waiting:
            first, second = waiting.pop()
            for left in inside[first]:
                for right in inside[second]:
                    if not self.signs[left] & self.signs[right] or (left == right and first == second):
                        continue
                    if left == right:
                        return True
                    if (left, right) not in seen:
                        seen.add((left, right))
                        waiting.append((left, right))
            if len(seen) > MOST_WAYS:
                return True
        return False

    def shares(self, first: tuple[int, ...], second: tuple[int, ...]) -> bool:
        """Whether characters that the first loop reads lead into the second, which reads them too and can then fail."""
        common = self.sign(first) & self.sign(second)
        if not common or (not self.places and all(self.next[step][MATCH] for step in second)):
            return False
        seen = set(first)
        waiting = list(first)
        while waiting:
            for step in self.next[waiting.pop()]:
                if step in second:
                    return True
                if step != MATCH and step not in seen and self.signs[step] & common:
                    seen.add(step)
                    waiting.append(step)
        return False

    def sign(self, component: tuple[int, ...]) -> int:
        signs = 0
        for step in component:
            signs |= self.signs[step]
        return signs
