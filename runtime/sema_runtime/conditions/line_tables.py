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

Entry = tuple[int, bytes, bytes]  # units; the entry without them; the same for instructions behind it, on its line
KNOWN: dict[bytes, Entry] = {}


def merged(table: bytes) -> bytes:
    """The table with fewer entries for the same positions."""
    if not WRITES_EACH:
        return table
    from re import findall

    out = bytearray()
    written = settled = b""
    units = 0
    for text in findall(rb"[\x80-\xff][\x00-\x7f]*", table):
        more, place, place_behind = KNOWN.get(text) or entry_of(text)
        if place == settled:
            units += more
        else:
            write(out, written, settled, units)
            units, written, settled = more, place, place_behind
    write(out, written, settled, units)
    return bytes(out)


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
    form = (text[0] & FORM) >> 3
    written = bytes((text[0] & ~UNITS,)) + text[1:]
    units = (text[0] & UNITS) + 1
    if form < ONE_LINE or form == NOWHERE:
        return units, written, written
    if form < NO_COLUMNS:
        return units, written, on_same_line(text[1], text[2])
    behind = next(index for index in range(1, len(text)) if not text[index] & 0x40) + 1  # the line is a varint
    return units, written, bytes((written[0], 0)) + text[behind:]


def on_same_line(col: int, end_col: int) -> bytes:
    """The entry of a place on the line of the one before."""
    if col < 80 and end_col - col < 16:
        return bytes((START | (col >> 3) << 3, (col & 7) << 4 | end_col - col))
    return bytes((START | ONE_LINE << 3, col, end_col))
