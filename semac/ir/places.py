"""The places that `:stack-trace` gives to calls, where they are not those of the calls themselves.

The reference knows for a call the last list form that it compiled before the call in the same function: in
`(f (g x) y)` that is `(g x)` for the call of `f`, too. While a called function runs, a list form that begins where the
call returns to counts as well: in `(+ (f x) (g y))` that is `(g y)` for the call of `f`. Forms that macros made,
binding forms, and forms around either, have no place of their own there (`semac/analyze/places.py`); what a builtin
calls back has nobody above it, a call in tail position hides its caller, and a named let is a function. An error that
nobody caught shows the true places.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue_index import INDEX
from semac.ir.nodes import Function, Lambda

Position = tuple[int, int]
Place = tuple[int, int, int, int, str, str, int, int, int, int]  # conditions/places.py
# Those whose functions may be compiled into a loop of the caller.
HIGHER_ORDER = frozenset(
    name
    for name, entry in INDEX.items()
    if entry[0] in ("lib.collections.hofs", "lib.collections.sorting")
    or name in ("file/fold-lines", "map/update", "update-in", "map/update-in")
)


class Places:
    """Facts about the calls of one unit, by (line, column)."""

    __slots__ = ("callbacks", "callers", "calls", "noted", "returns", "tails")

    def __init__(self) -> None:
        self.noted: dict[Position, tuple[Any, Function]] = {}
        self.returns: dict[Position, Position] = {}  # calls → the list form that they return to
        self.callers: set[Position] = set()  # calls that call back
        self.calls: set[Position] = set()  # all calls of what may be functions of the program
        self.callbacks: dict[Function, Position] = {}  # functions that such a call gets → where it stands
        self.tails: set[Position] = set()  # calls in tail position

    def note(self, span: Any, function: Function) -> None:
        """Notes where a form at span, which has just been analyzed, is said to stand. The first note counts."""
        if span is not None:
            self.noted.setdefault((span.line, span.col), (function.place, function))

    def note_call(self, span: Any, function: Function) -> None:
        """Notes that the analysis of a call is at its end. A macro may put several at one place."""
        position = None if span is None else (span.line, span.col)
        function.returning = position if position not in self.calls else None
        if position is not None:
            self.calls.add(position)

    def note_next(self, function: Function) -> None:
        """Notes that the list form whose analysis begins may be compiled directly behind a call.

        The reference looks up where a call returns to, so it shows that form while the called function runs.
        """
        if function.returning is not None:
            self.returns[function.returning] = (function.place.line, function.place.col)

    def note_callbacks(self, call: Any, function: Function) -> None:
        """Notes that a call of a builtin calls its function arguments before it returns."""
        if call.span is None:
            return
        self.note(call.span, function)
        self.callers.add((call.span.line, call.span.col))
        for argument in call.args:
            if type(argument) is Lambda:
                argument.function.is_callback = True
                self.callbacks[argument.function] = (call.span.line, call.span.col)

    def note_tail(self, span: Any) -> None:
        """Notes that the call at span stands in tail position."""
        if span is not None:
            self.tails.add((span.line, span.col))

    def table(self) -> dict[Position, Place]:
        """The places of calls that differ from plain calls shown where they stand, by position."""
        places = {}
        for position, (place, function) in self.noted.items():
            shown = (0, 0) if place is None else (place.line, place.col)
            callback = _callback(function)
            if callback is not None:
                kind = "callback"
                around = self.callbacks[callback]
                loop: Any = (function.name if callback is not function else "", *around)
                if around == position:  # a macro made both
                    loop = (loop[0], 0, 0)
            else:
                kind = "tail" if position in self.tails else "calls back" if position in self.callers else ""
                loop = _loop(function, position)
            later = self.returns.get(position, (0, 0))
            if shown != position or kind or loop is not None or later[0]:
                places[position] = (*position, *shown, kind, *(loop or ("", 0, 0)), *later)
        return places


def _callback(function: Function) -> Function | None:
    """The function argument of a builtin that a function is, or whose tail position a loop that it is stands in."""
    while not function.is_callback:
        node = function.var.loop if function.var is not None else None
        if node is None or not (node.is_loop and node.in_tail):
            return None
        function = node.enclosing
    return function


def _loop(function: Function, call: Position) -> tuple[str, int, int] | None:
    """The name and the position of the named let whose body a function is, where it is a loop inside its function."""
    node = function.var.loop if function.var is not None else None
    if node is None or not node.is_loop or node.span is None:
        return None
    position = (node.span.line, node.span.col)
    is_hidden = node.in_tail or position == call  # a macro's loop stands where the calls in it do
    return (function.name, 0, 0) if is_hidden else (function.name, *position)
