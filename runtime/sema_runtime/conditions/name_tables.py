"""Tables of names that hints are made from; each is a text file beside this module, read when it is first needed."""

from __future__ import annotations

import sys
from functools import cache
from os.path import dirname, join
from typing import Any


@cache
def habits() -> dict[str, str]:
    """Returns what to write in Sema, by the name that another language has."""
    return _advice("habits.txt")


@cache
def dialects() -> dict[str, str]:
    """Returns the reference's own advice, by the name that another Lisp has."""
    return _advice("dialects.txt")


@cache
def reference_names() -> tuple[str, ...]:
    """Returns the names bound at the start of a reference interpreter, in the order in which hints try them."""
    return tuple(" ".join(_lines("reference_names.txt")).split())


def _advice(file: str) -> dict[str, str]:
    """Returns name → advice for a file of entries `name name ... => advice`; names may take several lines."""
    table: dict[str, str] = {}
    names: list[str] = []
    for line in _lines(file):
        more, arrow, advice = line.rpartition(" => ")
        names += (more if arrow else line).split()
        if arrow:
            table.update(dict.fromkeys(names, advice))
            names = []
    return table


def _lines(file: str) -> list[str]:
    """Returns the lines of a file beside this module, without comments, also when the package is in a zip archive."""
    loader: Any = sys.modules[__name__].__loader__
    text = loader.get_data(join(dirname(__file__), file)).decode()
    return [line for line in text.splitlines() if not line.startswith(";")]
