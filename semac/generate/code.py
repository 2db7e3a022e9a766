"""The code object of an emitted module, with what is known of the places of its calls."""

from __future__ import annotations

from types import CodeType

from sema_runtime.conditions.places import encoded
from sema_runtime.conditions.tracebacks import PRIVATE
from semac.ir.places import Place, Places, Position


def with_places(code: CodeType, places: Places) -> CodeType:
    """The code with what the table says of its calls in a constant of each function."""
    return _placed(code, places.table())


def _placed(code: CodeType, table: dict[Position, Place]) -> CodeType:
    constants = tuple(_placed(value, table) if type(value) is CodeType else value for value in code.co_consts)
    starts = {(line, col + 1) for line, _, col, _ in code.co_positions() if line is not None and col is not None}
    starts &= table.keys()
    for entry in [table[start] for start in starts]:
        while entry[6] and entry[6:] in table and entry[6:] not in starts:  # loops around it stand in the same code
            starts.add(entry[6:])
            entry = table[entry[6:]]
    entries = [table[start] for start in sorted(starts & table.keys())]
    shown = code.co_name.removeprefix(PRIVATE)  # debuggers show one function; the qualified name tells copies apart
    return code.replace(co_name=shown, co_consts=(*constants, encoded(entries)) if entries else constants)
