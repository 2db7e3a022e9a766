"""The table of places of a code object: where the reference shows calls, and in what they stand (semac/ir/places.py).

It is a constant of the code, bytes for `Place`s: (line, column, shown line or 0, shown column, kind, loop, line of the
loop, its column, line and column that are shown while the called function runs, or 0). kind: "tail" for a call that
hides its caller, "calls back" for a builtin whose function may be compiled into the caller, "callback" for a call in
such a function. loop: the name of the named let around the call that is a loop of the same code; line 0: in tail
position. Of a callback the position is that of the builtin's call.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any

    Place = tuple[int, int, int, int, str, str, int, int, int, int]

PLACES = b"\xff@"  # what the constant begins with; no text of UTF-8 has such a byte
KINDS = ("", "tail", "calls back", "callback")
KIND, IS_SHOWN, IS_HERE, IN_LOOP, SAME_LOOP, IS_LATER = 3, 4, 8, 16, 32, 64  # what the first number of a place says
AS_BEFORE = IS_SHOWN | IS_HERE  # shown where the place before is shown
_tables: dict[tuple[bytes, int], dict[tuple[int, int], Place]] = {}


def place_of(code: CodeType, line: int, col: int) -> Place | None:
    """What the table of code says of the call at a line and column."""
    for constant in reversed(code.co_consts):
        if type(constant) is bytes and constant.startswith(PLACES):
            return table(constant, code.co_firstlineno).get((line, col))
    return None


def table(constant: bytes, start: int) -> dict[tuple[int, int], Place]:
    """The places that a constant holds, by position. start: the first line of the code that has it."""
    known = _tables.get((constant, start))
    if known is None:
        if len(_tables) > 256:
            _tables.clear()
        known = _tables[constant, start] = {place[:2]: place for place in decoded(constant, start)}
    return known


def inlined_in(code: CodeType, line: int, col: int) -> tuple[int, int] | None:
    """The call of a builtin, in the same code, whose function argument holds the call at a line and column.

    None where the argument has code of its own, or there is none.
    """
    place = place_of(code, line, col)
    while place is not None and place[4] != "callback" and place[6]:
        place = place_of(code, place[6], place[7])  # the named let around it
    if place is None or place[4] != "callback" or not place[6]:
        return None
    starts = ((start, column) for start, _, column, _ in code.co_positions())
    return (place[6], place[7]) if (place[6], place[7] - 1) in starts else None


def encoded(places: list[Place], start: int) -> bytes:
    """The constant of a code object that has places, which are in order.

    Behind what it begins with, the names of loops, then about five bytes for each place: which parts it has, and the
    numbers of these. Lines count from that of the place, which counts from the one before, the first from `start`, that
    of the code: equal functions have the same constant.
    """
    names = sorted({place[5] for place in places})
    numbers: list[int] = []
    before = start
    around: tuple[str, int, int] = ("", 0, 0)
    shown_before = (0, 0)
    for line, col, shown, shown_col, kind, *loop, later, later_col in places:
        own_loop: Any = tuple(loop)
        is_here = (shown, shown_col) == (line, col)
        parts = KINDS.index(kind) | IS_LATER * bool(later) | (SAME_LOOP if own_loop == around else IN_LOOP)
        is_same = (shown, shown_col) == shown_before and bool(shown)
        parts |= IS_HERE if is_here else AS_BEFORE if is_same else IS_SHOWN * bool(shown)
        numbers += (parts, signed(line - before), col)
        if parts & AS_BEFORE == IS_SHOWN:
            numbers += (signed(shown - line), shown_col)
        shown_before = (shown, shown_col)
        if parts & IN_LOOP:
            loop_name, loop_line, loop_col = around = own_loop
            numbers += (names.index(loop_name), signed(loop_line - line if loop_col else loop_line), loop_col)
        if parts & IS_LATER:
            numbers += (signed(later - line), later_col)
        before = line
    text = "\0".join(names).encode("utf-8", "surrogatepass")
    return PLACES + _packed([len(text)]) + text + _packed(numbers)


def decoded(constant: bytes, start: int) -> list[Place]:
    """The places that a constant holds."""
    size, behind = next(_unpacked(constant, len(PLACES)))
    names = constant[behind : behind + size].decode("utf-8", "surrogatepass").split("\0")
    places: list[Place] = []
    values = (value for value, _ in _unpacked(constant, behind + size))
    line = start
    loop: tuple[str, int, int] = ("", 0, 0)
    shown = (0, 0)
    for parts in values:
        line, col = line + unsigned(next(values)), next(values)
        how = parts & AS_BEFORE
        if how == IS_SHOWN:
            shown = line + unsigned(next(values)), next(values)
        elif how != AS_BEFORE:
            shown = (line, col) if how else (0, 0)
        if parts & IN_LOOP:
            loop_name, loop_line, loop_col = names[next(values)], unsigned(next(values)), next(values)
            loop = (loop_name, line + loop_line if loop_col else loop_line, loop_col)
        later = (line + unsigned(next(values)), next(values)) if parts & IS_LATER else (0, 0)
        places.append((line, col, *shown, KINDS[parts & KIND], *loop, *later))
    return places


def signed(number: int) -> int:
    """A number that may be negative as one that isn't: the lowest bit is the sign."""
    return number << 1 if number >= 0 else (-number << 1) | 1


def unsigned(number: int) -> int:
    """The number that `signed` was asked for."""
    return -(number >> 1) if number & 1 else number >> 1


def _packed(numbers: list[int]) -> bytes:
    """Numbers, small ones in a byte: seven bits each, the lowest first."""
    if max(numbers, default=0) < 128:
        return bytes(numbers)
    text = bytearray()
    for number in numbers:
        rest = number
        while rest > 127:
            text.append(rest & 127 | 128)
            rest >>= 7
        text.append(rest)
    return bytes(text)


def _unpacked(text: bytes, start: int) -> Iterator[tuple[int, int]]:
    """The numbers in a text from an index on, each with the index behind it."""
    number = shift = 0
    for index in range(start, len(text)):
        number |= (text[index] & 127) << shift
        shift += 7
        if text[index] < 128:
            yield number, index + 1
            number = shift = 0
