"""Places: what variables, and the parts of what they hold, can have in common.

A place stands for all variables that may hold the same values. `parts` are the places of items at a known index, or of
entries under a known keyword; where an index isn't known all of them are one, `inner`. Places are joined as values
flow from one to another, with their parts, so the result says for each list that a unit makes who may see it.
"""

from __future__ import annotations

from typing import Any


class Place:
    """sites: instructions that make lists of it. sizes: how many items these have, and patterns that take it apart ask
    for. most: the highest index that is read. is_seen: something tells a list from a tuple here, or gives such a list.
    is_deep: so it is with all that is inside."""

    __slots__ = ("forward", "inner", "is_deep", "is_seen", "keys", "most", "parts", "sites", "sizes")

    def __init__(self) -> None:
        self.forward: Place | None = None
        self.parts: dict[Any, Place] = {}
        self.inner: Place | None = None
        self.keys: Place | None = None
        self.sites: list[Any] = []
        self.sizes: set[int] = set()
        self.most = -1
        self.is_seen = False
        self.is_deep = False

    @property
    def is_row(self) -> bool:
        """Whether all lists here may be tuples."""
        if self.is_seen or self.is_deep or not self.sites or len(self.sizes) != 1:
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
        first, second = map(found, todo.pop())
        if first is second:
            continue
        second.forward = first
        first.sites += second.sites
        first.sizes |= second.sizes
        first.most = max(first.most, second.most)
        first.is_seen |= second.is_seen
        first.is_deep |= second.is_deep
        if second.keys is not None:
            if first.keys is None:
                first.keys = second.keys
            else:
                todo.append((first.keys, second.keys))
        if second.inner is not None and first.inner is None:
            first.inner = second.inner
            todo += [(first.inner, part) for part in first.parts.values()]
            first.parts = {}
        elif second.inner is not None and first.inner is not None:
            todo.append((first.inner, second.inner))
        for key, part in second.parts.items():
            if first.inner is not None:
                todo.append((first.inner, part))
            elif key in first.parts:
                todo.append((first.parts[key], part))
            else:
                first.parts[key] = part


def part_of(place: Place, key: Any) -> Place:
    """The place of an item at an index, or of the entry under a keyword."""
    place = found(place)
    if place.inner is not None:
        return found(place.inner)
    if key not in place.parts:
        place.parts[key] = Place()
    return found(place.parts[key])


def inside(place: Place) -> Place:
    """The place of all items, or of the values of all entries."""
    place = found(place)
    if place.inner is None:
        place.inner = Place()
        parts, place.parts = place.parts, {}
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
    return found(place.keys)


def spread_depth(places: list[Place]) -> None:
    """Marks what is inside of places that are seen with all that they hold."""
    todo = [place for place in map(found, places) if place.is_deep]
    while todo:
        place = found(todo.pop())
        place.is_deep = place.is_seen = True
        for part in (*place.parts.values(), place.inner, place.keys):
            if part is not None and not found(part).is_deep:
                found(part).is_deep = True
                todo.append(part)
