"""Code objects with what is known of the places of their calls, in constants of each function."""

from __future__ import annotations

from sema_runtime.conditions import places as places_table
from sema_runtime.conditions import sites as sites_table
from sema_runtime.conditions.line_tables import merged
from sema_runtime.values.naming import PRIVATE, SILENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from sema_runtime.conditions.places import Place

    Position = tuple[int, int]
    Function = tuple[int, str, tuple[str, ...]]
    Call = tuple[str, int, int, int]  # Python name of the called function, line, column, number of the outer site


def with_places(
    code: CodeType,
    places: dict[Position, Place],
    calls: list[Call],
    texts: dict[bytes, bytes] | None = None,
    silent: dict[Function, tuple[str, ...] | None] | None = None,
) -> CodeType:
    """The code with constants that hold the places and sites of its calls.

    places: by position. calls: those that stand for sites (conditions/sites.py), the first one is number 1. texts:
    constants that other code of the module has: copies of a function share them. silent: what silent functions read,
    by line, name and parameters (`tasks/still.py`).
    """
    nested = type(code)
    texts = {} if texts is None else texts
    constants = tuple(
        with_places(value, places, calls, texts, silent) if type(value) is nested else value for value in code.co_consts
    )
    read = silent.get((code.co_firstlineno, code.co_name, code.co_varnames[: code.co_argcount])) if silent else None
    if read is not None:
        constants = (*constants, (SILENT, *read))
    table, positions = merged(code.co_linetable, code.co_firstlineno)
    starts: set[Position] = {(line, col) for line, col, end in positions if end < sites_table.MARK}
    if calls:
        own = _sites({end // sites_table.MARK for _, _, end in positions}, calls)
        is_whole = any(site.function.startswith(sites_table.LOCAL) for site in own.values())
        starts |= {(site.line, site.col) for site in own.values() if is_whole or not site.outer}
        starts |= {(line, col) for line, col, _ in positions} if is_whole else set()
        constants = (*constants, sites_table.encoded(own)) if own else constants
    starts &= places.keys()
    for entry in [places[start] for start in starts]:
        while entry[6] and entry[6:8] in places and entry[6:8] not in starts:  # loops around it stand in the same code
            starts.add(entry[6:8])
            entry = places[entry[6:8]]
    entries = [places[start] for start in sorted(starts & places.keys())]
    if entries:
        text = places_table.encoded(entries, code.co_firstlineno)
        constants = (*constants, texts.setdefault(text, text))
    shown = code.co_name.removeprefix(PRIVATE)  # debuggers show one function; the qualified name tells copies apart
    return code.replace(co_name=shown, co_consts=constants, co_linetable=texts.setdefault(table, table))


def _sites(numbers: set[int], calls: list[Call]) -> dict[int, sites_table.Site]:
    """Sites by number, with those that they are part of."""
    table: dict[int, sites_table.Site] = {}
    work = list(numbers)
    while work:
        number = work.pop()
        if number and number not in table:
            table[number] = sites_table.Site(*calls[number - 1])
            work.append(calls[number - 1][3])
    return table
