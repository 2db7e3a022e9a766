"""Tables of the positions of code, with one entry for instructions that stand at the same place.

CPython 3.11 writes an entry for each instruction, where one can stand for eight code units (Objects/locations.md in its
source); a guard that has one place is a dozen of them. Later versions of Python merge entries themselves.
"""

from __future__ import annotations

import sys

WRITES_EACH = sys.version_info < (3, 12)
MOST = 8  # code units of an entry
START = 0x80  # set in the first byte of an entry alone; then four bits for its form, three for the units less one
FORM, UNITS = 0x78, 7
ONE_LINE, NO_COLUMNS, LONG, NOWHERE = 10, 13, 14, 15  # forms; those below ONE_LINE are short


MANY = 4096  # entries that are kept
FIRST = [bytes((byte,)) for byte in range(256)]

# Units; the entry without them; the same for instructions behind it, on its line; how many lines it is below the one
# before it; its columns, counted from 1, or 0 where it has none.
Entry = tuple[int, bytes, bytes, int, int, int]
Position = tuple[int, int, int]  # line, column, end column
KNOWN: dict[bytes, Entry] = {}


def merged(table: bytes, line: int) -> tuple[bytes, set[Position]]:
    """The table with fewer entries for the same positions, and these positions. line: the first one of the code."""
    from re import findall

    out = bytearray()
    positions: set[Position] = set()
    written = settled = b""
    units = 0
    for text in findall(rb"[\x80-\xff][\x00-\x7f]*", table):
        more, place, place_behind, below, col, end = KNOWN.get(text) or entry_of(text)
        if place == settled:
            units += more
            continue
        if units > MOST:
            write(out, written, settled, units)
        elif units:
            out.append(written[0] | units - 1)
            out += written[1:]
        units, written, settled = more, place, place_behind
        line += below
        if col and line:
            positions.add((line, col, end))
    write(out, written, settled, units)
    return bytes(out) if WRITES_EACH else table, positions


def write(out: bytearray, written: bytes, settled: bytes, units: int) -> None:
    """Writes an entry for so many units, and more at the same place where one doesn't reach."""
    while units > MOST:
        out.append(written[0] | UNITS)
        out += written[1:]
        written = settled
        units -= MOST
    if units:
        out.append(written[0] | units - 1)
        out += written[1:]


def entry_of(text: bytes) -> Entry:
    """An entry of a table, which is kept: most are those of many others."""
    if len(KNOWN) > MANY:
        KNOWN.clear()
    entry = KNOWN[text] = read_entry(text)
    return entry


def read_entry(text: bytes) -> Entry:
    first = text[0]
    form = (first & FORM) >> 3
    units = (first & UNITS) + 1
    written = text if units == 1 else FIRST[first & ~UNITS] + text[1:]
    if form == NOWHERE:
        return units, written, written, 0, 0, 0
    if form < ONE_LINE:
        col = form << 3 | text[1] >> 4
        return units, written, written, 0, col + 1, col + (text[1] & 15)
    if form < NO_COLUMNS:
        return units, written, on_same_line(text[1], text[2]), form - ONE_LINE, text[1] + 1, text[2]
    below, behind = number(text, 1)
    below = -(below >> 1) if below & 1 else below >> 1
    col = end = 0
    if form == LONG:
        _, at = number(text, behind)
        col, at = number(text, at)
        end, _ = number(text, at)
    return units, written, bytes((written[0], 0)) + text[behind:], below, col, max(end - 1, 0)


def number(text: bytes, at: int) -> tuple[int, int]:
    """The number that is written at a place, six bits a byte, and the place behind it."""
    value = shift = 0
    while text[at] & 0x40:
        value |= (text[at] & 0x3F) << shift
        shift += 6
        at += 1
    return value | text[at] << shift, at + 1


def on_same_line(col: int, end_col: int) -> bytes:
    """The entry of a place on the line of the one before."""
    if col < 80 and end_col - col < 16:
        return bytes((START | (col >> 3) << 3, (col & 7) << 4 | end_col - col))
    return bytes((START | ONE_LINE << 3, col, end_col))
