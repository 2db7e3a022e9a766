"""Under which keywords a function may change the map of a parameter, or what that holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sema_runtime.values.atoms import Keyword
from semac.ir.nodes import Var
from semac.optimize.inplace.flows import Flows
from semac.optimize.inplace.origins import Path
from semac.optimize.inplace.roles import GIVE, TAKE, Use

Keys = frozenset[Any] | None  # None: any


def is_keyword(key: Any) -> bool:
    """Whether a part of a place is a keyword that the code names: it differs from all other ones."""
    return type(key) is tuple and key[0] is Keyword


class Summaries:
    """Answers for the functions of a unit."""

    def __init__(self, flows: Flows) -> None:
        self.flows = flows
        self.known: dict[Var, Keys] = {}
        self.parts = {param: part for part in flows.code if part.function is not None for param in part.function.params}

    def changed_keys(self, param: Var) -> Keys:
        """The keywords of a parameter's map under which its function, or one that it calls, may change anything."""
        if param not in self.known:
            self.known[param] = None  # while it is looked for: functions that call each other
            self.known[param] = self.found(param)
        return self.known[param]

    def found(self, param: Var) -> Keys:
        part = self.parts.get(param)
        if part is None or part.function is None:
            return None
        keys: set[Any] = set()
        for use in self.flows.consumed(part):
            for place in self.flows.places_from(param, use.var, part.function.params):
                changed = self.changed_at(place, use, param)
                if changed is None or not all(map(is_keyword, changed)):
                    return None
                keys.update(changed)
        return frozenset(keys)

    def changed_at(self, place: Path | None, use: Use, param: Var) -> Iterable[Any] | None:
        """The keys of a parameter's map at which a use changes what is at a place in it."""
        if place:
            return place[:1]
        if place is None:
            return None
        if use.how == TAKE:
            return [self.flows.key(key) for key in use.keys]
        if use.how == GIVE:
            return () if use.target is param else self.changed_keys(use.target)
        return None  # the map itself goes into another one
