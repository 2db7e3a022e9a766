"""Under which keywords a function may change or read the map of a parameter, or what that holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sema_runtime.values.atoms import Keyword
from semac.anf import nodes as anf
from semac.anf.nodes import Ref
from semac.anf.walk import exit_operands
from semac.ir.nodes import Var
from semac.optimize.inplace.flows import Flows
from semac.optimize.inplace.origins import Path
from semac.optimize.inplace.regions import OTHER, Region, root
from semac.optimize.inplace.roles import ALIAS, GIVE, READ, STORE, TAKE, Use
from semac.optimize.own.code import Code

Keys = frozenset[Any] | None  # None: any
Changes = dict[Region, Keys] | None  # None: nobody knows


def is_keyword(key: Any) -> bool:
    """Whether a part of a place is a keyword that the code names: it differs from all other ones."""
    return type(key) is tuple and key[0] is Keyword


class Summaries:
    """Answers for the functions of a unit."""

    def __init__(self, flows: Flows) -> None:
        self.flows = flows
        self.known: dict[Var, Keys] = {}
        self.read: dict[Var, Keys] = {}
        self.acts: dict[Code, Changes] = {}
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

    def leaves(self, use: Use, region: Region, keys: Keys) -> bool:
        """Whether a use of a map changes nothing that is read under some keywords of maps of a region, nor what is in
        it. Where a map is stored, the changes that follow are asked about."""
        if keys is None:
            return False
        if use.how == STORE:
            return True
        changes = self.changed_by(use)
        if changes is None:
            return False
        changed = changes.get(root(region), frozenset())
        if changed is None or not changed.isdisjoint(keys):
            return False
        inner = root(region).inner
        read = [inner[name] for name in {OTHER, *(key[1] for key in keys)} if name in inner]
        return all(self.flows.reached(part).isdisjoint(changes) for part in read)

    def changed_by(self, use: Use) -> Changes:
        """As `changes`, of one use."""
        if use.how == GIVE:
            called = self.parts.get(use.target)
            return self.changes(called) if called is not None else None
        keys = frozenset(map(self.flows.key, use.keys))
        return {self.flows.region(use.var): keys if all(map(is_keyword, keys)) else None}

    def changes(self, part: Code) -> Changes:
        """The regions whose maps a function, or one that it calls, may change, and under which keywords; None: nobody
        knows."""
        if part not in self.acts:
            self.acts[part] = None  # while it is looked for: functions that call each other
            self.acts[part] = self.changes_of(part)
        return self.acts[part]

    def changes_of(self, part: Code) -> Changes:
        found: dict[Region, Keys] = {}
        for use in self.flows.consumed(part):
            if use.how == STORE:
                continue
            inner = self.changed_by(use)
            if inner is None:
                return None
            for region, changed in inner.items():
                before = found.get(region, frozenset())
                found[region] = None if before is None or changed is None else before | changed
        return found

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

    def read_keys(self, param: Var) -> Keys:
        """The keywords under which alone a function reads the map of a parameter with which it does nothing else."""
        if param not in self.read:
            self.read[param] = None  # while it is looked for
            part = self.parts.get(param)
            self.read[param] = self.read_in(part, param) if part is not None else None
        return self.read[param]

    def read_in(self, part: Code, param: Var) -> Keys:
        names: set[Any] = {param}
        keys: set[Any] = set()
        for block in part.blocks:
            for instr in block.instrs:
                for use in self.flows.uses[instr]:
                    if use.var not in names:
                        continue
                    if use.how == ALIAS and type(instr.op) is anf.Move and instr.var is not None:
                        names.add(instr.var)
                        continue
                    read = self.read_by(use)
                    if read is None:
                        return None
                    keys |= read
        ends = (value.var for block in part.blocks for value in exit_operands(block.exit) if type(value) is Ref)
        return frozenset(keys) if names.isdisjoint(ends) else None

    def read_by(self, use: Use) -> Keys:
        if use.how == GIVE and use.target not in self.flows.taken:
            return self.read_keys(use.target)
        key = self.flows.key(use.keys[0]) if use.how == READ and len(use.keys) == 1 else None
        return frozenset((key,)) if is_keyword(key) else None
