"""The calls of a unit in place of which the code of the called function stands, by number."""

from __future__ import annotations

from typing import Any

from sema_runtime.conditions.sites import LOCAL
from semac.ir.identifiers import mangle
from semac.ir.nodes import Var


class Sites:
    """Numbers such calls, from 1. Each is known by the called function's variable, its place, and the outer site."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Var, int, int, int], int] = {}
        self.calls: list[tuple[Var, int, int, int]] = []
        self.lost: set[Var] = set()  # functions of the top level that are nowhere else

    def of(self, function: Var, span: Any, outer: int = 0) -> int:
        return self._number((function, span.line, span.col, outer))

    def inside(self, number: int, outer: int) -> int:
        """The site for what was at a site of a function whose code now stands at the outer site."""
        function, line, col, own = self.calls[number - 1]
        return self._number((function, line, col, self.inside(own, outer) if own else outer))

    def _number(self, call: tuple[Var, int, int, int]) -> int:
        known = self.numbers.get(call)
        if known is None:
            self.calls.append(call)
            known = self.numbers[call] = len(self.calls)
        return known

    def table(self) -> list[tuple[str, int, int, int]]:
        """The calls as `conditions/placing.py` takes them."""
        return [(self._name_of(function), line, col, outer) for function, line, col, outer in self.calls]

    def _name_of(self, function: Var) -> str:
        """The Python name of a function; that of one which the code around it stands for is marked."""
        if function.is_global:
            return LOCAL + function.py if function in self.lost else function.py
        return LOCAL + (mangle(function.name) if function.name else "<lambda>")
