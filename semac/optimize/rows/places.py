"""Places: what variables, and the parts of what they hold, can have in common.

A place stands for all variables that may hold the same values. `parts` are the places of items at a known index, or of
entries under a known keyword; where an index isn't known all of them are one, `inner`. Places are joined as values
flow from one to another, with their parts, so the result says for each list that a unit makes who may see it. So it is
with functions: what calls of a place hand on goes to the parameters of all functions that may be there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

NONE: dict[Any, Any] = {}
NOTHING_YET: frozenset[Any] = frozenset()


class Signature(NamedTuple):
    """The places of a function, or of the calls of one with a number of arguments. rest: of the list of the others."""

    params: list[Place]
    rest: Place | None
    result: Place

    def places(self) -> list[Place]:
        return [*self.params, *([self.rest] if self.rest is not None else []), self.result]


class Place:
    """sites: instructions that make lists of it. sizes: how many items these have, and vectors. asked: how many
    patterns need to take it apart. most: the highest index that is read. is_seen: something tells a list from a tuple
    here, or gives such a list. is_deep: so it is with all that is inside. is_key: keys of maps, or what is inside of
    such, are compared with it. is_exported: it is shown by what gets lists and maps for it. is_mixed: vectors are here,
    too. is_called: keywords may be, which look up what they are called with. functions: those that it may hold. calls:
    of what it holds, by number of arguments. is_atom: no value of it holds anything, so what it is joined to stays.

    Of maps: fields, the keywords that they have or are asked for. common: those that each map has from the start, None
    where none is made. needs: those that must be there. is_open: something tells a map from a tuple here, or gives
    something that isn't a map of known fields. is_changed: entries are added to maps. is_read:
    entries are asked for."""

    __slots__ = (
        "asked", "calls", "common", "fields", "forward", "functions", "inner", "is_atom", "is_called", "is_changed",
        "is_deep", "is_exported",
        "is_key", "is_mixed", "is_open",
        "is_read", "is_seen", "keys", "most", "needs", "parts", "sites", "sizes",
    )  # fmt: skip

    def __init__(self, is_atom: bool = False) -> None:
        self.is_atom = is_atom
        self.forward: Place | None = None
        self.parts: dict[Any, Place] = NONE  # of its own where it has any, which most places don't
        self.inner: Place | None = None
        self.keys: Place | None = None
        self.sites: tuple[Any, ...] = ()
        self.sizes: frozenset[int] = NOTHING_YET
        self.asked: frozenset[int] = NOTHING_YET
        self.most = -1
        self.is_seen = False
        self.is_deep = False
        self.fields: frozenset[Any] = NOTHING_YET
        self.common: frozenset[Any] | None = None
        self.needs: frozenset[Any] = NOTHING_YET
        self.is_open = False
        self.is_changed = False
        self.is_read = False
        self.is_key = False
        self.is_exported = False
        self.is_mixed = False
        self.is_called = False
        self.functions: dict[Any, Signature] = NONE
        self.calls: dict[int, Signature] = NONE

    def hide_nothing(self) -> None:
        """Something tells what it is, but shows nothing that is inside."""
        self.is_seen = self.is_open = True

    def make(self, fields: frozenset[Any]) -> None:
        """A map with these keywords is made here."""
        self.is_seen = True
        self.fields |= fields
        self.common = fields if self.common is None else self.common & fields

    def set_part(self, key: Any, part: Place) -> None:
        if self.parts is NONE:
            self.parts = {}
        self.parts[key] = part

    @property
    def extent(self) -> int:
        """How much joining this place to another one has to move."""
        return len(self.parts) + len(self.sites) + len(self.fields)

    @property
    def is_row(self) -> bool:
        """Whether all lists here may be tuples."""
        if self.is_mixed and (self.is_key or self.is_exported):
            return False
        if self.is_exported and self.most < 0 and not self.asked and not self.is_key:  # it is only shown
            return False
        if self.is_seen or self.is_deep or not self.sites or (self.asked and len(self.sizes | self.asked) != 1):
            return False
        return self.most < min(self.sizes)


def found(place: Place) -> Place:
    """The place that one was joined to."""
    while place.forward is not None:
        if place.forward.forward is not None:
            place.forward = place.forward.forward
        place = place.forward
    return place


def join(a: Place, b: Place) -> None:
    """Has two places, and what is inside them, be one."""
    todo = [(a, b)]
    while todo:
        first, second = todo.pop()
        if first.forward is not None:
            first = found(first)
        if second.forward is not None:
            second = found(second)
        if first is second or first.is_atom or second.is_atom:
            continue
        if second.extent > first.extent:
            first, second = second, first  # what holds little goes to what holds much: the time stays linear
        second.forward = first
        add(first, second)
        if first.functions or second.functions or first.calls or second.calls:
            todo += joined_functions(first, second)
        if second.keys is not None:
            if first.keys is None:
                first.keys = second.keys
            else:
                todo.append((first.keys, second.keys))
        if second.inner is not None and first.inner is None:
            first.inner = second.inner
            todo += [(first.inner, part) for part in first.parts.values()]
            first.parts = NONE
        elif second.inner is not None and first.inner is not None:
            todo.append((first.inner, second.inner))
        for key, part in second.parts.items():
            if first.inner is not None:
                todo.append((first.inner, part))
            elif key in first.parts:
                todo.append((first.parts[key], part))
            else:
                first.set_part(key, part)


def add(first: Place, second: Place) -> None:
    """Notes of a place what is known of one that is joined to it: most often little, so that asking is cheapest."""
    if second.sites:
        first.sites += second.sites
    if second.sizes:
        first.sizes |= second.sizes
    if second.asked:
        first.asked |= second.asked
    if second.most > first.most:
        first.most = second.most
    if second.fields or second.common is not None:
        if not second.fields <= first.fields:
            first.fields |= second.fields
        first.needs |= second.needs
        if second.common is not None:
            first.common = second.common if first.common is None else first.common & second.common
    if second.is_seen:
        first.is_seen = True
    if second.is_deep:
        first.is_deep = True
    if second.is_open:
        first.is_open = True
    if second.is_changed:
        first.is_changed = True
    if second.is_read:
        first.is_read = True
    if second.is_key:
        first.is_key = True
    if second.is_exported:
        first.is_exported = True
    if second.is_mixed:
        first.is_mixed = True
    if second.is_called:
        first.is_called = True


def joined_functions(first: Place, second: Place) -> list[tuple[Place, Place]]:
    """The places that are one where what two places hold is: of functions, and of what is handed to them."""
    pairs: list[tuple[Place, Place]] = []
    for count, call in second.calls.items():
        if count in first.calls:
            pairs += matched(first.calls[count], call)
        else:
            first.calls = {**first.calls, count: call}
            for function in first.functions.values():
                pairs += matched(function, call)
    for key, function in second.functions.items():
        if key not in first.functions:
            first.functions = {**first.functions, key: function}
            for call in first.calls.values():
                pairs += matched(function, call)
    return pairs


def matched(function: Signature, call: Signature) -> list[tuple[Place, Place]]:
    """The places that a call has in common with what it calls; it raises where it has too few or too many arguments."""
    count = len(function.params)
    if len(call.params) < count or (len(call.params) > count and function.rest is None):
        return []
    pairs = list(zip(function.params, call.params, strict=False))
    if function.rest is not None:
        pairs += [(inside(function.rest), param) for param in call.params[count:]]
    return [*pairs, (function.result, call.result)]


def hold_function(place: Place, key: Any, signature: Signature) -> None:
    """A place may hold a function."""
    place = found(place)
    if key not in place.functions:
        place.functions = {**place.functions, key: signature}
        for call in list(place.calls.values()):
            for a, b in matched(signature, call):
                join(a, b)


def call_place(place: Place, call: Signature) -> None:
    """What a place holds is called."""
    other = Place()
    other.calls = {len(call.params): call}
    join(place, other)


def part_of(place: Place, key: Any) -> Place:
    """The place of an item at an index, or of the entry under a keyword."""
    place = found(place)
    if place.inner is not None:
        return found(place.inner)
    if key not in place.parts:
        place.set_part(key, Place())
    return found(place.parts[key])


def inside(place: Place) -> Place:
    """The place of all items, or of the values of all entries."""
    place = found(place)
    if place.inner is None:
        place.inner = Place()
        parts, place.parts = place.parts, NONE
        for part in parts.values():
            join(place.inner, part)
        place = found(place)
        assert place.inner is not None
    return found(place.inner)


def keys_of(place: Place) -> Place:
    """The place of the keys of a map that aren't known."""
    place = found(place)
    if place.keys is None:
        place.keys = Place()
        place.keys.is_called = True
    return found(place.keys)


def spread_exports(places: list[Place]) -> None:
    """Marks what is inside of places that are exported. Functions there take and give what they would to anybody."""
    todo = [place for place in different(places) if place.is_exported]
    while todo:
        place = found(todo.pop())
        place.is_deep |= bool(place.functions or place.calls)
        for part in map(found, contents(place)):
            if not part.is_exported:
                part.is_exported = True
                todo.append(part)


def spread_depth(places: list[Place]) -> None:
    """Marks what is inside of places that are seen with all that they hold: anybody calls the functions there. And what
    is inside of keys, which are compared with all that is in them."""
    todo: list[Place] = []
    for place in different(places):
        if place.calls:
            place.hide_nothing()  # the error shows what is no function
            seen = contents(place)
            if place.is_called or place.common is not None:
                seen += [part for call in place.calls.values() for part in call.places()]
            for part in map(found, seen):
                part.is_deep = True
                todo.append(part)
        if place.is_deep:
            todo.append(place)
    while todo:
        place = found(todo.pop())
        place.is_deep = place.is_seen = True
        for part in [*contents(place), *called(place)]:
            if not found(part).is_deep:
                found(part).is_deep = True
                todo.append(part)
    todo = [place for place in different(places) if place.is_key]
    while todo:
        for part in map(found, contents(found(todo.pop()))):
            if not part.is_key:
                part.is_key = True
                todo.append(part)


def different(places: list[Place]) -> dict[Place, None]:
    """Places, each that others were joined to once."""
    return dict.fromkeys(map(found, places))


def contents(place: Place) -> list[Place]:
    """The places of what is in the values of one."""
    return [*place.parts.values(), *(part for part in (place.inner, place.keys) if part is not None)]


def called(place: Place) -> list[Place]:
    """The places of what the functions of one take and give."""
    return [part for one in (*place.functions.values(), *place.calls.values()) for part in one.places()]
