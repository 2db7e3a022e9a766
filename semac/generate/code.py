"""The code object of an emitted module, with what is known of the places of its calls."""

from __future__ import annotations

from types import CodeType

from sema_runtime.conditions import places as places_table
from sema_runtime.conditions import sites as sites_table
from sema_runtime.conditions.tracebacks import PRIVATE
from semac.ir.places import Place, Places, Position
from semac.ir.sites import Sites


def with_places(code: CodeType, places: Places, sites: Sites) -> CodeType:
    """The code with what the tables say of its calls in constants of each function."""
    return _placed(code, places.table(), sites)


def _placed(code: CodeType, table: dict[Position, Place], sites: Sites) -> CodeType:
    constants = tuple(_placed(value, table, sites) if type(value) is CodeType else value for value in code.co_consts)
    positions = {(line, col + 1, end or 0) for line, _, col, end in code.co_positions() if line and col is not None}
    starts: set[Position] = {(line, col) for line, col, end in positions if end < sites_table.MARK}
    if sites.calls:
        own = sites.table({end // sites_table.MARK for _, _, end in positions})
        starts |= {(site.line, site.col) for site in own.values() if not site.outer}
        constants = (*constants, sites_table.encoded(own)) if own else constants
    starts &= table.keys()
    for entry in [table[start] for start in starts]:
        while entry[6] and entry[6:8] in table and entry[6:8] not in starts:  # loops around it stand in the same code
            starts.add(entry[6:8])
            entry = table[entry[6:8]]
    entries = [table[start] for start in sorted(starts & table.keys())]
    if entries:
        constants = (*constants, places_table.encoded(entries))
    shown = code.co_name.removeprefix(PRIVATE)  # debuggers show one function; the qualified name tells copies apart
    return code.replace(co_name=shown, co_consts=constants)
