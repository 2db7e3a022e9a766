"""Maps that change in place: copies that code with a token has made and nobody else holds (`optimize/inplace`).

The mark of such a copy stands where a map keeps what Python has seen of it (`Map._face`). So a map that Python looks at
loses its mark, and the next change copies it again.
"""

from __future__ import annotations

from sema_runtime.lib.collections.maps import assoc, dissoc
from sema_runtime.values.maps import ATOMIC, SMALL, HashMap, Map, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STEPS = 64  # entries that are copied in the time of one change of a large map
_new: Any = Map.__new__


class Owner:
    """A token of the code that changes maps. moved: how often it has changed large ones that weren't its own."""

    __slots__ = ("moved",)

    def __init__(self) -> None:
        self.moved = 0


def copied(owner: Owner, old: Map) -> Map | None:
    """A copy with the owner's mark; None where that costs more than the changes so far."""
    d = old.d
    if len(d) > SMALL:
        owner.moved += STEPS
        if owner.moved < len(d):
            return None
        owner.moved = 0
    new: Map = _new(type(old))
    new._order = None
    new._face = owner
    new.d = d.copy()
    return new


def put(owner: Owner, old: Map, key: Any, value: Any) -> Map:
    """`(assoc old key value)`, in place where the map has the owner's mark. The key is one that is stored as it is."""
    if old._face is owner:
        old.d[key] = value
        old._order = None
        return old
    new = copied(owner, old)
    if new is None:
        return changed(old, key, value)
    new.d[key] = value
    return new


def put_all(owner: Owner, old: Map, key: Any, value: Any, key_2: Any, value_2: Any, *more: Any) -> Map:
    """The same of several keys, each with its value after it."""
    if old._face is owner:
        new: Map | None = old
        old._order = None
    else:
        new = copied(owner, old)
        if new is None:
            new = changed(changed(old, key, value), key_2, value_2)
            for index in range(0, len(more), 2):
                new = changed(new, more[index], more[index + 1])
            return new
    d = new.d  # type: ignore[union-attr]
    d[key] = value
    d[key_2] = value_2
    if more:
        for index in range(0, len(more), 2):
            d[more[index]] = more[index + 1]
    return new  # type: ignore[return-value]


def put_in(owner: Owner, old: Any, key: Any, value: Any, *more: Any) -> Any:
    """`(assoc old key value ...)` of whatever value, with any keys."""
    if (type(old) is Map or type(old) is HashMap) and type(key) in ATOMIC and not more:
        return put(owner, old, key, value)
    return assoc(old, key, value, *more)


def drop_from(owner: Owner, old: Any, key: Any, *more: Any) -> Any:
    """`(dissoc old key ...)`."""
    if type(old) is Map and old._face is owner and type(key) in ATOMIC and not more:
        if old.d.pop(key, old) is not old:
            old._order = None
        return old
    return dissoc(old, key, *more)
