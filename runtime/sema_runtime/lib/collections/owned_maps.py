"""Maps that change in place: copies that code with a token has made and nobody else holds (`optimize/inplace`).

The mark of such a copy stands where a map keeps what Python has seen of it (`Map._face`). So a map that Python looks at
loses its mark, and the next change copies it again.
"""

from __future__ import annotations

from sema_runtime.lib.collections.maps import assoc, dissoc
from sema_runtime.values.maps import ATOMIC, MISSING, SMALL, HashMap, Map, Mark, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STEPS = 64  # entries that are copied in the time of one change of a large map
MOST_UNDONE = 1000  # changes that an attempt notes; later ones copy what others hold
_new: Any = Map.__new__


class Owner:
    """A token of the code that changes maps. mark: of maps that change at once; fresh: that which copies get; inner: an
    attempt that was made."""

    __slots__ = ("fresh", "inner", "mark")

    def __init__(self) -> None:
        self.mark = self.fresh = Mark()
        self.inner: Attempt | None = None


NO_MARK = Mark()  # which no map has


class Attempt(Owner):
    """A token of the body of a `try` whose handler reads the maps as they were: what changes is noted.

    Changes are noted until they are many: from then on it has a mark of its own, so that what others hold is copied.
    undo: maps, keys and the values that these had; start: the number of them that an attempt around has noted.
    """

    __slots__ = ("start", "undo")
    undo: list[tuple[Map, Any, Any]]
    start: int

    def __init__(self) -> None:
        self.inner = None


def attempt_of(owner: Owner) -> Attempt:
    """The token of a body that begins; one that the same code has made before is over."""
    made = owner.inner
    if made is None:
        made = owner.inner = Attempt()
    made.fresh = owner.fresh
    made.mark = NO_MARK
    if owner.mark is NO_MARK:  # it is an attempt itself
        made.undo = owner.undo  # type: ignore[attr-defined]
        made.start = len(made.undo)
    else:
        made.undo = []
        made.start = 0
    return made


def noted(owner: Owner, old: Map, *keys: Any) -> bool:
    """Whether a map without the mark may change, after a note of what it has: one with that of an attempt's copies."""
    if old._face is not owner.fresh:
        return False
    undo = owner.undo  # type: ignore[attr-defined]
    for key in keys:
        undo.append((old, key, old.d.get(key, MISSING)))
    if len(undo) >= MOST_UNDONE:
        owner.mark = owner.fresh = Mark()
    return True


def roll_back(attempt: Attempt) -> None:
    """Gives the maps the entries back that they had when the attempt began."""
    undo = attempt.undo
    while len(undo) > attempt.start:
        changed_map, key, value = undo.pop()
        if value is MISSING:
            changed_map.d.pop(key, None)
        else:
            changed_map.d[key] = value
        changed_map._order = None


def copied(owner: Owner, old: Map) -> Map | None:
    """A copy with the owner's mark; None where that costs more than the changes so far."""
    d = old.d
    fresh = owner.fresh
    if len(d) > SMALL:
        fresh.moved += STEPS
        if fresh.moved < len(d):
            return None
        fresh.moved = 0
    new: Map = _new(type(old))
    new._order = None
    new._face = fresh
    new.d = d.copy()
    return new


def put(owner: Owner, old: Map, key: Any, value: Any) -> Map:
    """`(assoc old key value)`, in place where the map has the owner's mark. The key is one that is stored as it is."""
    face = old._face
    if face is owner.mark:
        old.d[key] = value
        old._order = None
        return old
    if face is owner.fresh:  # `noted`, without the time of its call
        undo = owner.undo  # type: ignore[attr-defined]
        d = old.d
        undo.append((old, key, d.get(key, MISSING)))
        if len(undo) >= MOST_UNDONE:
            owner.mark = owner.fresh = Mark()
        d[key] = value
        old._order = None
        return old
    new = copied(owner, old)
    if new is None:
        return changed(old, key, value)
    new.d[key] = value
    return new


def put_all(owner: Owner, old: Map, key: Any, value: Any, key_2: Any, value_2: Any, *more: Any) -> Map:
    """The same of several keys, each with its value after it."""
    face = old._face
    if face is owner.mark or (face is owner.fresh and noted(owner, old, key, key_2, *more[::2])):
        new = old
        old._order = None
    elif (copy := copied(owner, old)) is not None:
        new = copy
    else:
        new = changed(changed(old, key, value), key_2, value_2)
        for index in range(0, len(more), 2):
            new = changed(new, more[index], more[index + 1])
        return new
    d = new.d
    d[key] = value
    d[key_2] = value_2
    if more:
        for index in range(0, len(more), 2):
            d[more[index]] = more[index + 1]
    return new


def put_in(owner: Owner, old: Any, key: Any, value: Any, *more: Any) -> Any:
    """`(assoc old key value ...)` of whatever value, with any keys."""
    if (type(old) is Map or type(old) is HashMap) and type(key) in ATOMIC and not more:
        return put(owner, old, key, value)
    return assoc(old, key, value, *more)


def drop_from(owner: Owner, old: Any, key: Any, *more: Any) -> Any:
    """`(dissoc old key ...)`."""
    if type(old) is Map and type(key) in ATOMIC and not more:
        if old._face is owner.mark or noted(owner, old, key):
            if old.d.pop(key, old) is not old:
                old._order = None
            return old
    return dissoc(old, key, *more)
