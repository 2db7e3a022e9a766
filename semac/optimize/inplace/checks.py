"""Looks at the order of a function's operations: spoils regions whose maps somebody would see change.

Walks backwards with the variables that are read later. Where a map is changed, stored or handed on, no variable that is
read later may hold the same map, or one in which it is; unless what is done next to that one replaces the entry from
which the map came: `(assoc accounts id (assoc (get accounts id) ...))`. A handler around may read it at any time: what
the body of its `try` changes is undone before (`Attempt` of the runtime), apart from variables that the body sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Expr, Jump, Let, Op
from semac.anf.walk import all_blocks, blocks, bound, exit_operands
from semac.ir.nodes import Var
from semac.optimize.inplace.final import Endings, has_any
from semac.optimize.inplace.flows import Flows
from semac.optimize.inplace.origins import MOST_KEYS, Path
from semac.optimize.inplace.regions import Region, root, spoil
from semac.optimize.inplace.roles import ALIAS, FILL, GIVE, LEAK, PARTS, READ, STORE, TAKE, Use, may_hold, sources_of
from semac.optimize.inplace.summaries import Summaries, is_keyword
from semac.optimize.own.carried import is_raise
from semac.optimize.own.code import Code
from semac.optimize.own.settled import overwritten, settled


class Later(NamedTuple):
    """What is done next to a variable. replaced: places in its map that are replaced before they are read. only: the
    keywords under which alone it is read from then on; None: nothing is known of that. is_local: whether it is only
    read and changed, and never goes into another map, a result or a function."""

    replaced: frozenset[Path] = frozenset()
    only: frozenset[Any] | None = None
    is_local: bool = False

    def covers(self, place: Path) -> bool:
        """Whether nobody reads a place in the map, or what is in it."""
        if self.only is not None and place and is_keyword(place[0]) and place[0] not in self.only:
            return True
        return any(place[: len(path)] == path for path in self.replaced)

    def __and__(self, other: Later) -> Later:
        """What is true of both."""
        replaced = {path for path in self.replaced if other.covers(path)}
        replaced.update(path for path in other.replaced if self.covers(path))
        only = None if self.only is None or other.only is None else self.only | other.only
        return Later(frozenset(replaced), only, self.is_local and other.is_local)


ANYHOW = Later()  # a variable is used
READ_ONLY = Later(is_local=True)
Live = dict[Var, Later]


def assigned_in(block: Block) -> set[Var]:
    ops = [instr.op for inner in all_blocks(block, False) for instr in inner.instrs]
    return {op.var for op in ops if type(op) is anf.Assign}


def merged(one: Live, other: Live) -> Live:
    result = dict(one)
    for var, later in other.items():
        result[var] = result[var] & later if var in result else later
    return result


class Order:
    """Checks one function, or one form of the top level. endings.acts: the instructions that may change maps in place.
    is_root: whether it makes its token itself, so that nothing changes in place after it has ended. is_late: whether it
    is called only where nothing does any more."""

    def __init__(
        self, flows: Flows, summaries: Summaries, endings: Endings, part: Code, is_root: bool, is_late: bool = False
    ) -> None:
        self.flows = flows
        self.summaries = summaries
        self.part = part
        self.endings = endings
        self.acts = endings.acts
        self.is_root = is_root
        self.is_late = is_late
        self.spoilt: set[Region] = set()  # those of which this code has shown that nothing can change in place
        self.late_calls: set[Let] = set()  # those after which nothing changes in place
        self.is_trial = False  # only asks which calls are late
        self.attempts: set[anf.Try] = set()  # those whose changes are undone for their handlers, which read the maps
        self.loops: dict[Any, Live] = {}
        self.lasts: dict[Any, bool] = {}  # of each loop around, whether nothing changes in place in its next rounds
        self.is_last = True  # whether nothing changes in place from here on

    def check(self) -> None:
        self.block(self.part.block, {}, {})

    def block(self, block: Block, after: Live, always: Live) -> Live:
        """What is live before a block. after: what is live behind it; always: what a handler around it reads."""
        live = dict(after)
        exit_ = block.exit
        if type(exit_) is Jump:
            live = dict(self.loops.get(exit_.target, {}))
            self.is_last = self.lasts.get(exit_.target, False)
        for value in exit_operands(exit_):
            if may_hold(value):
                live[value.var] = ANYHOW  # type: ignore[union-attr]
        if block.instrs and is_raise(block.instrs[-1].op):
            live = {}  # nothing follows but handlers around
        for instr in reversed(block.instrs):
            live = self.instruction(instr, live, always)
        return live

    def instruction(self, instr: Let, live: Live, always: Live) -> Live:
        op, var = instr.op, instr.var
        result = live.pop(var, None) if var is not None else None
        if var in self.flows.key_vars:
            self.forget(var, live)
        if type(op) is anf.Destructure:
            for part in bound(op):
                live.pop(part, None)
                if part in self.flows.key_vars:
                    self.forget(part, live)
        if type(op) is anf.Assign:
            live.pop(op.var, None)
        live = self.inner(op, live, always)
        uses = self.flows.uses[instr]
        if type(op) is anf.Call and self.is_harmless:
            self.late_calls.add(instr)
        for use in uses:
            if use.how in (TAKE, STORE) or (use.how == GIVE and use.target in self.flows.taken):
                self.consume(use, uses, live, always)
            elif use.how in (LEAK, PARTS):
                self.leak(use)
        for use in uses:
            several = any(other.var is use.var for other in uses if other is not use)
            live[use.var] = ANYHOW if several else self.before(use, instr, live.get(use.var), result)
        if instr in self.acts:
            self.is_last = False
        return live

    @staticmethod
    def forget(key: Any, live: Live) -> None:
        """Before its definition a key is none."""
        for other, later in live.items():
            if any(key in path for path in later.replaced):
                live[other] = later._replace(replaced=frozenset(path for path in later.replaced if key not in path))

    def before(self, use: Use, instr: Let, after: Later | None, result: Later | None) -> Later:
        """What is done to a variable from a use of it on. after, result: the same of the variable, and of what the
        instruction gives, behind it; None where nobody reads these any more."""
        if use.how == TAKE:
            return self.replacing(use.keys)
        if use.how == FILL:
            after = after or ANYHOW
            return Later(after.replaced | self.replacing(use.keys).replaced, after.only)
        is_local = after is None or after.is_local
        if use.how == READ and use.keys and sources_of(instr.op):
            later = self.before_entry(self.flows.key(use.keys[0]), after, result or ANYHOW)
            return later._replace(is_local=is_local)
        if use.how == GIVE and use.target not in self.flows.taken:
            keys = self.summaries.read_keys(use.target)
            return self.before_entries(keys, after)._replace(is_local=is_local) if keys is not None else ANYHOW
        if use.how in (READ, PARTS):
            return READ_ONLY if is_local else ANYHOW
        if use.how == ALIAS and type(instr.op) in (anf.Move, anf.CallRuntime) and result is not None:
            return result if after is None else result & after
        return ANYHOW

    def before_entry(self, key: Any, after: Later | None, result: Later) -> Later:
        """The same where an entry alone is read."""
        if key is None:
            return ANYHOW
        inside = {(key, *path) for path in result.replaced if len(path) < MOST_KEYS}
        if after is None:
            return Later(frozenset(inside), frozenset((key,)) if is_keyword(key) else None)
        inside = {path for path in inside if after.covers(path)}  # what was found may be a copied map from then on
        if type(key) is tuple:
            inside.update(path for path in after.replaced if type(path[0]) is tuple and path[0] != key)
        only = after.only | {key} if after.only is not None and is_keyword(key) else None
        return Later(frozenset(inside), only)

    @staticmethod
    def before_entries(keys: frozenset[Any], after: Later | None) -> Later:
        """The same where entries under some keywords are read."""
        if after is None:
            return Later(frozenset(), keys)
        kept = {path for path in after.replaced if is_keyword(path[0]) and path[0] not in keys}
        return Later(frozenset(kept), after.only | keys if after.only is not None else None)

    def replacing(self, keys: tuple[Expr, ...]) -> Later:
        return Later(frozenset((key,) for key in map(self.flows.key, keys) if key is not None), None, True)

    # Rules

    @property
    def is_harmless(self) -> bool:
        """Whether nothing changes in place from here on."""
        return self.is_late or (self.is_root and self.is_last)

    def leak(self, use: Use) -> None:
        """Others see a map from now on; that makes no difference where no map changes any more."""
        if self.is_trial or self.is_harmless or use.var not in self.flows.copied:
            return
        region = self.flows.region(use.var)
        parts = [region] if use.how == LEAK else list(map(root, region.inner.values()))
        self.spoilt.update(parts)
        for part in parts:
            spoil(part, f"leaves as {use.var.name or use.var.hint}")

    def consume(self, use: Use, uses: list[Use], live: Live, always: Live) -> None:
        flows, var = self.flows, use.var
        if self.is_trial or var not in flows.copied:
            return
        own = flows.region(var)
        own_parts = flows.reached(own) if use.how != TAKE else {own}
        for other, later in live.items():
            if use.how == STORE and other is use.container:
                continue  # a bare dict that gets it
            self.meet(use, own, own_parts, other, later)
        for other in always:
            self.meet(use, own, own_parts, other, ANYHOW)
        for another in uses:
            if another is not use:
                later = self.replacing(another.keys) if another.how in (TAKE, FILL) else ANYHOW
                later = later._replace(is_local=False)  # what comes of it may hold both
                self.meet(use, own, own_parts, another.var, later)

    def meet(self, use: Use, own: Region, own_parts: set[Region], other: Var, later: Later) -> None:
        """A map is consumed while another variable is live. later: what is done next to that one."""
        flows, var = self.flows, use.var
        if other not in flows.copied or flows.relation(other) is not flows.relation(var):
            return
        region = flows.region(other)
        is_around = own in flows.reached(region)
        if (not is_around and region not in own_parts) or self.summaries.leaves(use, region, later.only):
            return
        if is_around and later != ANYHOW:
            places = self.places(use, region, other)
            if places == [()] and use.how == STORE and later.is_local:
                return  # later changes of the map meet the one that it goes into
            if places and all(self.is_hidden(use, place, later) for place in places):
                return
        if is_around and other is not var:
            if use.how == TAKE and flows.is_inside(other, var):
                return
        reason = f"changes while {other.name or other.hint} is in use"
        self.spoilt.update(own_parts if is_around else (region,))
        if is_around:
            for part in own_parts:
                part.spoilt = part.spoilt or reason
        else:
            spoil(region, reason)

    def places(self, use: Use, region: Region, other: Var) -> list[Path | None]:
        """Where the map of a use may be in that of another variable, of a region around it; none: nobody knows."""
        places: list[Path | None] = [()] if other is use.var else self.flows.places_in(other, use.var)
        if None in places or not places:
            possible = self.flows.places_by_region(region, self.flows.region(use.var))
            if possible is not None:
                return [*(place for place in places if place is not None), *possible]
        return places

    def is_hidden(self, use: Use, place: Path | None, later: Later) -> bool:
        """Whether nobody reads what a use changes of a map that is at a place in another one."""
        if place is None:
            return False
        if later.covers(place):
            return True
        changed: Iterable[Any] | None = None
        if use.how == TAKE:
            changed = [self.flows.key(key) for key in use.keys]
        elif use.how == GIVE:
            changed = self.summaries.changed_keys(use.target)
        return changed is not None and all(key is not None and later.covers((*place, key)) for key in changed)

    # Blocks inside

    def inner(self, op: Op, live: Live, always: Live) -> Live:
        """What is live before the blocks of an operation."""
        kind = type(op)
        if kind in (anf.For, anf.Comprehension, anf.Loop, anf.While):
            return self.loop(op, live, always)
        if kind is anf.Try:
            return self.attempt(op, live, always)  # type: ignore[arg-type]
        if kind is anf.With:  # what it enters may swallow an exception
            always = merged(always, live)
        inside = blocks(op)
        if not inside:
            return live
        last = self.is_last
        branches: list[Live] = []
        lasts = []
        for block in inside:
            self.is_last = last
            branches.append(self.block(block, live, always))
            lasts.append(self.is_last)
        self.is_last = all(lasts)
        if kind in (anf.Logic, anf.Match, anf.With):
            branches.append(live)
        joined = branches[0]
        for branch in branches[1:]:
            joined = merged(joined, branch)
        if kind is anf.Match:  # a guard runs before the body of its clause, and those of other clauses
            joined = merged(joined, self.all_used(op))
        for var in bound(op):
            joined.pop(var, None)
        return joined

    def attempt(self, op: anf.Try, live: Live, always: Live) -> Live:
        """As `inner` for a `try`. Where its body changes maps that the handler reads, these changes can be undone."""
        handler = self.block(op.handler, live, always)
        assigned = assigned_in(op.body)
        kept = {var for var in handler if var not in assigned and var in self.flows.copied}
        if kept and has_any(op.body, self.acts):
            self.is_last = False
            if not self.endings.is_final(op.body):
                self.attempts.add(op)
            during = merged(always, {var: later for var, later in handler.items() if var not in kept})
        else:
            during = merged(always, handler)
        return merged(self.block(op.body, live, during), handler)

    def loop(self, op: Any, live: Live, always: Live) -> Live:
        acts = any(has_any(block, self.acts) for block in blocks(op))
        last, again = self.is_last, self.is_last and not acts
        self.is_last = again
        if type(op) is anf.Comprehension:
            for block in blocks(op):
                for value in exit_operands(block.exit):
                    if may_hold(value):
                        self.leak(Use(value.var, LEAK))  # type: ignore[union-attr]
        around = self.all_used(op)
        sources = op.sources if isinstance(op, anf.Iteration) else ()
        for value in filter(may_hold, sources):
            around.setdefault(value.var, READ_ONLY)  # type: ignore[union-attr]
        after = live
        if type(op) is anf.Loop:  # whose rounds are followed by others, or by an end that sets these
            set_again = overwritten(op)
            after = {var: later for var, later in live.items() if var not in set_again}
        head = merged(after, around)
        target = op.source if type(op) is anf.Loop else op
        self.loops[target] = head
        self.lasts[target] = again
        result = dict(head)
        for block in blocks(op):
            is_round = type(op) in (anf.While, anf.Comprehension)  # its end is followed by the next one
            self.is_last = again if is_round else last
            result = merged(result, self.block(block, head if is_round else live, always))
        self.is_last = again
        for var in bound(op):
            result.pop(var, None)
        return result

    def all_used(self, op: Op) -> Live:
        """The variables from outside that the blocks of an operation use, in whatever order."""
        used: Live = {}
        inside: set[Any] = set(bound(op))
        for block in blocks(op):
            for inner in all_blocks(block, into_functions=False):
                for instr in inner.instrs:
                    inside.add(instr.var)
                    inside.update(bound(instr.op))
                    used.update(dict.fromkeys((use.var for use in self.flows.uses[instr]), ANYHOW))
                for value in exit_operands(inner.exit):
                    if may_hold(value):
                        used[value.var] = ANYHOW  # type: ignore[union-attr]
        inside |= settled(op)
        return {var: keys for var, keys in used.items() if var not in inside}
