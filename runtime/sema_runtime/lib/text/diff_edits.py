"""The edits that make one list of lines from another, as the reference finds them: Myers' algorithm in linear space;
then insertions are moved to meet others, and stay as far down as they can.
"""

from __future__ import annotations

MOST_STEPS = 4_000_000  # of the search; beyond it the rest is replaced as a whole
EQUAL, DELETE, INSERT = "equal", "delete", "insert"

Opcode = tuple[
    str, int, int, int, int
]  # as in difflib: what, from and to in the old lines, from and to in the new ones


class Edit:
    """A run of lines that stay (equal), go or come. old, new: where it begins."""

    __slots__ = ("kind", "length", "new", "old")

    def __init__(self, kind: str, old: int, new: int, length: int) -> None:
        self.kind = kind
        self.old = old
        self.new = new
        self.length = length

    def move(self, count: int) -> None:
        """Moves the run down."""
        self.old += count
        self.new += count


def opcodes(before: list[str], after: list[str]) -> list[Opcode]:
    """The edits found here in the form of `difflib.SequenceMatcher.get_opcodes`."""
    numbers: dict[str, int] = {}
    old = [numbers.setdefault(line, len(numbers)) for line in before]
    new = [numbers.setdefault(line, len(numbers)) for line in after]
    edits = _Search(old, new).edits
    _move_insertions(edits, new)
    return _merged(edits, len(old), len(new))


def _merged(edits: list[Edit], old_end: int, new_end: int) -> list[Opcode]:
    """The runs, with all changes between two equal runs merged into one."""
    opcodes: list[Opcode] = []
    old = new = 0
    for edit in [edit for edit in edits if edit.kind == EQUAL and edit.length] + [Edit(EQUAL, old_end, new_end, 0)]:
        if edit.old > old or edit.new > new:
            kind = "replace" if edit.old > old and edit.new > new else DELETE if edit.old > old else INSERT
            opcodes.append((kind, old, edit.old, new, edit.new))
        elif edit.length and opcodes:
            _, start, _, new_start, _ = opcodes.pop()
            edit = Edit(EQUAL, start, new_start, edit.length + edit.old - start)
        if edit.length:
            opcodes.append((EQUAL, edit.old, edit.old + edit.length, edit.new, edit.new + edit.length))
        old, new = edit.old + edit.length, edit.new + edit.length
    return opcodes


class _Search:
    """One search. forward, backward: for each diagonal, how far one has come from the beginning, from the end."""

    def __init__(self, old: list[int], new: list[int]) -> None:
        self.old = old
        self.new = new
        room = [0] * (len(old) + len(new) + 5)  # from both ends: negative diagonals count from the back
        self.forward, self.backward = room, room[:]
        self.steps = 0
        self.edits: list[Edit] = []
        waiting: list[Edit | tuple[int, int, int, int]] = [(0, len(old), 0, len(new))]
        while waiting:
            stretch = waiting.pop()
            if isinstance(stretch, Edit):
                self.edits.append(stretch)
            else:
                waiting += reversed(self.divided(*stretch))

    def divided(self, start: int, end: int, new_start: int, new_end: int) -> list[Edit | tuple[int, int, int, int]]:
        """The edits of a part of the lines, or smaller parts."""
        old, new = self.old, self.new
        stretches: list[Edit | tuple[int, int, int, int]] = []
        same = _prefix(old, start, end, new, new_start, new_end)
        if same:
            stretches.append(Edit(EQUAL, start, new_start, same))
            start, new_start = start + same, new_start + same
        same = _suffix(old, start, end, new, new_start, new_end)
        end, new_end = end - same, new_end - same
        split = self.middle(start, end, new_start, new_end) if start < end and new_start < new_end else None
        if split is not None:
            stretches += [(start, split[0], new_start, split[1]), (split[0], end, split[1], new_end)]
        else:
            if start < end:
                stretches.append(Edit(DELETE, start, new_start, end - start))
            if new_start < new_end:
                stretches.append(Edit(INSERT, end, new_start, new_end - new_start))
        if same:
            stretches.append(Edit(EQUAL, end, new_end, same))
        return stretches

    def middle(self, start: int, end: int, new_start: int, new_end: int) -> tuple[int, int] | None:
        """Where the paths from both ends meet on a shortest way; None when that takes too long to find."""
        old, new, forward, backward = self.old, self.new, self.forward, self.backward
        size, new_size = end - start, new_end - new_start
        delta = size - new_size
        odd = delta & 1
        forward[1] = backward[1] = 0
        for distance in range((size + new_size + 1) // 2 + 1):
            self.steps += distance
            if self.steps > MOST_STEPS:
                return None
            for k in range(distance, -distance - 1, -2):
                if k == -distance or (k != distance and forward[k - 1] < forward[k + 1]):
                    x = forward[k + 1]
                else:
                    x = forward[k - 1] + 1
                begin, new_begin = start + x, new_start + x - k
                if begin < end and new_begin < new_end and old[begin] == new[new_begin]:
                    x += _prefix(old, begin, end, new, new_begin, new_end)
                forward[k] = x
                if odd and -distance < k - delta < distance and x + backward[delta - k] >= size:
                    return begin, new_begin
            for k in range(distance, -distance - 1, -2):
                if k == -distance or (k != distance and backward[k - 1] < backward[k + 1]):
                    x = backward[k + 1]
                else:
                    x = backward[k - 1] + 1
                last, new_last = end - x, new_end - x + k
                if last > start and new_last > new_start and old[last - 1] == new[new_last - 1]:
                    x += _suffix(old, start, last, new, new_start, new_last)
                backward[k] = x
                if not odd and -distance <= k - delta <= distance and x + forward[delta - k] >= size:
                    return end - x, new_end - x + k
        return None


def _prefix(old: list[int], start: int, end: int, new: list[int], new_start: int, new_end: int) -> int:
    """How many lines two parts have in common at their beginning."""
    most = min(end - start, new_end - new_start)
    count = 0
    while count < most and old[start + count] == new[new_start + count]:
        count += 1
    return count


def _suffix(old: list[int], start: int, end: int, new: list[int], new_start: int, new_end: int) -> int:
    """How many lines two parts have in common at their end."""
    most = min(end - start, new_end - new_start)
    count = 0
    while count < most and old[end - 1 - count] == new[new_end - 1 - count]:
        count += 1
    return count


def _move_insertions(edits: list[Edit], new: list[int]) -> None:
    """Moves each insertion up and then down, over lines that stay and look the same from its other side."""
    at = 0
    while at < len(edits):
        if edits[at].kind == INSERT:
            at = _moved_down(edits, _moved_up(edits, at, new), new)
        at += 1


def _moved_up(edits: list[Edit], at: int, new: list[int]) -> int:
    """The index of the insertion when it can't be moved up any more."""
    while at:
        edit, above = edits[at], edits[at - 1]
        if above.kind == DELETE:
            edits[at - 1], edits[at] = edit, above
            at -= 1
        elif above.kind == INSERT:
            above.length += edit.length
            del edits[at]
            at -= 1
        else:
            same = _suffix(new, above.new, above.new + above.length, new, edit.new, edit.new + edit.length)
            if not same and above.length:
                break
            if same:
                if at + 1 < len(edits) and edits[at + 1].kind == EQUAL:
                    edits[at + 1].move(-same)
                    edits[at + 1].length += same
                else:
                    old = above.old + above.length - same
                    edits.insert(at + 1, Edit(EQUAL, old, edit.new + edit.length - same, same))
                edit.move(-same)
                above.length -= same
            if not above.length:
                del edits[at - 1]
                at -= 1
    return at


def _moved_down(edits: list[Edit], at: int, new: list[int]) -> int:
    """The index of the insertion when it can't be moved down any more."""
    while at + 1 < len(edits):
        edit, below = edits[at], edits[at + 1]
        if below.kind == DELETE:
            edits[at], edits[at + 1] = below, edit
            at += 1
        elif below.kind == INSERT:
            edit.length += below.length
            del edits[at + 1]
        else:
            same = _prefix(new, below.new, below.new + below.length, new, edit.new, edit.new + edit.length)
            if not same and below.length:
                break
            if same:
                if at and edits[at - 1].kind == EQUAL:
                    edits[at - 1].length += same
                else:
                    edits.insert(at, Edit(EQUAL, below.old, edit.new, same))
                    at += 1
                edit.move(same)
                below.move(same)
                below.length -= same
            if not below.length:
                del edits[at + 1]
    return at
