"""Matching in time linear in the text, for patterns on which `re` can take exponential time: `(a+)+$`.

The tree becomes an automaton. One pass from the end of the text to its beginning finds out, for every position, which
of the automaton's steps can still lead to a match. Going forwards, the first step in order of preference that can lead
to one is then the right one: there is nothing to try and to take back. Sets of steps are numbers, one bit a step; what
follows from a set and a character is computed once and kept.
"""

from __future__ import annotations

from sema_runtime.support.regex.automaton import MATCH, Program, Readers, compiled_piece

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sema_runtime.support.regex.automaton import Path
    from sema_runtime.support.regex.tree import Node

WINDOW = 1 << 16  # positions whose sets are in memory at a time
MOST_SETS = 20_000  # kept before all are forgotten


class Steps(dict[str, "Steps"]):
    """The steps that can lead to a match from one position: a bit each. Maps the character before to the set there.

    right: the character behind the position, "" at the end or where the pattern doesn't look at it.
    """

    __slots__ = ("bits", "chosen", "machine", "right")

    def __init__(self, machine: Linear, bits: int, right: str) -> None:
        self.machine = machine
        self.bits = bits
        self.right = right
        self.chosen: dict[tuple[int, str], Path | None] = {}

    def __missing__(self, left: str) -> Steps:
        machine = self.machine
        sources, bits = machine.sources(machine.context(left, self.right))
        rest = self.bits
        while rest:
            lowest = rest & -rest
            bits |= sources[lowest.bit_length() - 1]
            rest ^= lowest
        bits &= machine.readers[left]
        steps = self[left] = machine.steps(bits, left if machine.places else "")
        return steps

    def choice(self, point: int, left: str) -> Path | None:
        """The best path from a point that can lead to a match; None without one."""
        key = (point, left)
        try:
            return self.chosen[key]
        except KeyError:
            paths = self.machine.paths(point, self.machine.context(left, self.right))
            fit = (path for path in paths if path[0] == MATCH or self.bits >> path[0] & 1)
            best = self.chosen[key] = next(fit, None)
            return best


class Linear:
    """A compiled pattern with the methods of `re.Pattern` that are needed here."""

    def __init__(self, tree: Node, groups: int, flags: int) -> None:
        self.program = Program(tree)
        self.groups = groups
        self.flags = flags
        self.readers = Readers(self.program.pieces, flags)
        self.places = sorted({piece for piece, _, _ in self.program.jumps if piece})
        self.contexts: dict[tuple[str, str], int] = {}
        self.known_paths: dict[tuple[int, int], list[Path]] = {}
        self.known_sources: dict[int, tuple[list[int], int]] = {}
        self.sets: dict[tuple[int, str], Steps] = {}

    def context(self, left: str, right: str) -> int:
        """The places that match between two characters, as bits."""
        if not self.places:
            return 0
        matching = self.contexts.get((left, right))
        if matching is None:
            matches = (compiled_piece(place, self.flags).match(left + right, len(left)) for place in self.places)
            matching = self.contexts[left, right] = sum(1 << number for number, match in enumerate(matches) if match)
        return matching

    def paths(self, point: int, context: int) -> list[Path]:
        paths = self.known_paths.get((point, context))
        if paths is None:
            blocked = {place for number, place in enumerate(self.places) if not context >> number & 1}
            paths = self.known_paths[point, context] = self.program.paths(point, blocked)
        return paths

    def sources(self, context: int) -> tuple[list[int], int]:
        """(for every step, the steps that it can follow; the steps that the end can follow)."""
        sources = self.known_sources.get(context)
        if sources is None:
            before = [0] * (len(self.program.after) + 1)  # the last one is for MATCH
            for number, point in enumerate(self.program.after):
                for target, _ in self.paths(point, context):
                    before[target] |= 1 << number
            sources = self.known_sources[context] = (before, before[MATCH])
        return sources

    def steps(self, bits: int, right: str) -> Steps:
        known_steps = self.sets.get((bits, right))
        if known_steps is None:
            if len(self.sets) >= MOST_SETS:
                for steps_by_character in self.sets.values():
                    steps_by_character.clear()
                self.sets.clear()
            known_steps = self.sets[bits, right] = Steps(self, bits, right)
        return known_steps

    def search(self, text: str) -> Found | None:
        return next(self.matches(text), None)

    def matches(self, text: str) -> Iterator[Found]:
        """All matches from left to right; no empty match directly follows another one."""
        positions = Positions(self, text)
        at, last = 0, -1
        while at <= len(text):
            start = positions.next_start(at)
            if start < 0:
                return
            match = positions.match(start)
            if match.end() == start == last:
                at = start + 1
                continue
            yield match
            at = last = match.end()


class Positions:
    """The sets of all positions of a text, a window of them at a time."""

    def __init__(self, machine: Linear, text: str) -> None:
        self.machine = machine
        self.text = text
        self.window: list[Steps] = []
        self.base = -1
        self.ends: list[Steps] = []  # the set behind each window
        state = machine.steps(0, "")
        for base in range(len(text) // WINDOW * WINDOW, -1, -WINDOW):
            self.ends.append(state)
            if base:
                for character in reversed(text[base : base + WINDOW]):
                    state = state[character]
        self.ends.reverse()

    def enter(self, position: int) -> list[Steps]:
        """The window that holds a position."""
        base = position - position % WINDOW
        if base != self.base:
            state = self.ends[base // WINDOW]
            window = [state]
            for character in reversed(self.text[base : base + WINDOW]):
                state = state[character]
                window.append(state)
            window.reverse()
            self.window, self.base = window, base
        return self.window

    def next_start(self, position: int) -> int:
        """The first position at or after that one where a match begins; -1 without one."""
        start = self.machine.program.start
        looks = bool(self.machine.places)
        before = self.text[position - 1 : position] if position and looks else ""
        while position <= len(self.text):
            window = self.enter(position)
            for index in range(position - self.base, min(WINDOW, len(window))):
                state = window[index]
                if state.choice(start, before) is not None:
                    return self.base + index
                before = state.right
            position = self.base + WINDOW
        return -1

    def match(self, start: int) -> Found:
        """The match that begins at a position."""
        text = self.text
        after = self.machine.program.after
        looks = bool(self.machine.places)
        slots = [-1] * (2 * self.machine.groups + 2)
        point, position = self.machine.program.start, start
        while True:
            state = self.enter(position)[position - self.base]
            before = text[position - 1] if looks and position else ""
            path = state.choice(point, before)
            assert path is not None
            step, passed = path
            for slot in passed:
                slots[slot] = position
            if step == MATCH:
                slots[:2] = start, position
                return Found(text, slots)
            point = after[step]
            position += 1


class Found:
    """A match with the methods of `re.Match` that are needed here."""

    __slots__ = ("slots", "text")

    def __init__(self, text: str, slots: list[int]) -> None:
        self.text = text
        self.slots = slots

    def start(self) -> int:
        return self.slots[0]

    def end(self) -> int:
        return self.slots[1]

    def __getitem__(self, group: int) -> Any:
        start, end = self.slots[2 * group : 2 * group + 2]
        return None if end < 0 else self.text[start:end]

    def groups(self) -> tuple[Any, ...]:
        return tuple(self[group] for group in range(1, len(self.slots) // 2))
