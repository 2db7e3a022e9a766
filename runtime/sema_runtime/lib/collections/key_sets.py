"""Dicts that get many entries at once: one value under many keys, as in maps that serve as sets, or those of a map.

`d` is a dict that only emitted code has, and that these functions give back; the keys are stored as they are.
"""

from __future__ import annotations

from sema_runtime.lib.collections.owned_maps import STEPS, copied, noted
from sema_runtime.values.lists import List
from sema_runtime.values.maps import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sema_runtime.lib.collections.owned_maps import Owner
    from sema_runtime.values.maps import Map


def fill(d: dict[Any, Any], keys: List | Sequence[Any], value: Any) -> dict[Any, Any]:
    """Sets all items of a list or vector."""
    items: Iterable[Any] = keys.flat or keys.items if type(keys) is List else keys
    d.update(dict.fromkeys(items, value))
    return d


def fill_all(d: dict[Any, Any], keys: Map, value: Any) -> dict[Any, Any]:
    """Sets all keys of a map."""
    d.update(dict.fromkeys(keys.stable(), value))
    return d


def fill_common(d: dict[Any, Any], keys: Map, others: Map, value: Any) -> dict[Any, Any]:
    """Sets the keys that two maps have in common: Python goes through the smaller one."""
    d.update(dict.fromkeys(keys.stable().keys() & others.stable().keys(), value))
    return d


def fill_others(d: dict[Any, Any], keys: Map, others: Map, value: Any) -> dict[Any, Any]:
    """Sets the keys of a map that another one hasn't."""
    d.update(dict.fromkeys(keys.stable().keys() - others.stable().keys(), value))
    return d


def merge_into(d: dict[Any, Any], other: Map) -> dict[Any, Any]:
    """Sets the entries of a map."""
    d.update(other.stable())
    return d


def unordered_keys(keys: Map) -> List:
    """The keys of a map in any order."""
    return List([*keys.stable()])


def put_keys(owner: Owner, old: Map, keys: Map, value: Any) -> Map:
    """`put` of all keys of a map."""
    theirs = keys.stable()
    if old._face is not owner.mark and not noted(owner, old, *theirs):
        if not theirs:
            return old
        owner.fresh.moved += STEPS * (len(theirs) - 1)
        copy = copied(owner, old)
        if copy is None:
            for key in theirs:
                old = changed(old, key, value)
            return old
        old = copy
    old.d.update(dict.fromkeys(theirs, value))
    old._order = None
    return old
