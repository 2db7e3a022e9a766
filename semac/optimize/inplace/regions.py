"""Regions: sets of maps that may be the same, with the regions of what they hold.

Two variables that may hold one map are of one region. What a map holds under a keyword that the code names is of a
region of its own, what it holds under any other key of one for all of these; where a key may be any keyword, all that
the map holds is of one region. A region that holds itself is that of a tree.
"""

from __future__ import annotations

from typing import Any

from semac.anf.nodes import Expr, Lit
from semac.types.lattice import KEYWORD

MOST_WAYS = 8  # from one region to another
OTHER = "other"  # stands for all keys that aren't named keywords


class Region:
    """spoilt: why its maps can't change in place; "" where they can."""

    __slots__ = ("inner", "is_mixed", "parent", "spoilt")

    def __init__(self) -> None:
        self.parent: Region | None = None
        self.inner: dict[Any, Region] = {}
        self.is_mixed = False
        self.spoilt = ""


def root(region: Region) -> Region:
    parent = region.parent
    while parent is not None:
        if parent.parent is not None:
            region.parent = parent.parent
        region, parent = parent, parent.parent
    return region


def unite(first: Region, second: Region) -> None:
    todo = [(first, second)]
    while todo:
        one, other = map(root, todo.pop())
        if one is other:
            continue
        other.parent = one
        one.spoilt = one.spoilt or other.spoilt
        for key, region in other.inner.items():
            if key in one.inner:
                todo.append((one.inner[key], region))
            else:
                one.inner[key] = region
        other.inner = {}
        one.is_mixed |= other.is_mixed
        if one.is_mixed:
            todo += mix(one)


def mix(region: Region) -> list[tuple[Region, Region]]:
    """What is to be united where all keys of a region become one."""
    region.is_mixed = True
    first, *others = region.inner.values() or [Region()]
    region.inner = {OTHER: first}
    return [(first, other) for other in others]


def held_in(region: Region, key: Expr) -> Region:
    """The region of what maps of a region hold under a key."""
    region = root(region)
    is_name = type(key) is Lit and key.type.only(KEYWORD)
    if not is_name and not region.is_mixed and key.type.tags & KEYWORD:
        for first, other in mix(region):
            unite(first, other)
        region = root(region)
    name = key.value if is_name and not region.is_mixed else OTHER  # type: ignore[union-attr]
    if name not in region.inner:
        region.inner[name] = Region()
    return root(region.inner[name])


def reached(region: Region) -> set[Region]:
    """A region and those of all that its maps hold."""
    found: set[Region] = set()
    todo = [root(region)]
    while todo:
        current = todo.pop()
        if current not in found:
            found.add(current)
            todo += map(root, current.inner.values())
    return found


def ways(region: Region, part: Region) -> list[tuple[Any, ...]] | None:
    """The keys under which maps of a region may hold those of another one, from the outside in: keywords, or OTHER.
    None: there are ways of any length, or too many."""
    found: list[tuple[Any, ...]] = []
    todo: list[tuple[tuple[Region, ...], tuple[Any, ...]]] = [((root(region),), ())]
    while todo:
        around, keys = todo.pop()
        if around[-1] in around[:-1] or len(found) > MOST_WAYS:
            return None
        if around[-1] is root(part):
            found.append(keys)
        for key, inner in around[-1].inner.items():
            if root(part) in reached(inner):
                todo.append(((*around, root(inner)), (*keys, key)))
    return found


def spoil(region: Region, reason: str) -> None:
    """Neither maps of the region nor what they hold can change in place."""
    for part in reached(region):
        part.spoilt = part.spoilt or reason
