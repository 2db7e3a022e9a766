"""Where maps come from: which variables may hold one map, or a map that is in another's.

All of it is told from what operations are, whatever their order. `checks.py` then looks at the order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, Expr, Jump, Let, Ref, Result
from semac.anf.walk import blocks, bound, exit_operands, params_of
from semac.ir.intrinsics import LEVEL, UPDATED
from semac.ir.nodes import Function, Var
from semac.optimize.inplace.origins import ANY_KEY, UNKNOWN, Again, Member, Origins, Path, Through
from semac.optimize.inplace.regions import OTHER, Region, held_in, reached, root, spoil, unite, ways
from semac.optimize.inplace.roles import (
    ALIAS,
    FILL,
    GIVE,
    LEAK,
    STORE,
    TAKE,
    Use,
    change_of,
    is_place,
    is_var,
    may_hold,
    sources_of,
    uses_of,
)
from semac.optimize.own.carried import Carried
from semac.optimize.own.code import LOOPS, Code


class Flows(Origins):
    """What is known of the maps of a unit. taken: parameters whose maps are changed, stored or handed on."""

    def __init__(
        self, code: list[Code], shut: set[Function], carried: Carried, detached: frozenset[anf.Call] = frozenset()
    ) -> None:
        super().__init__(shut, detached)
        self.code = code
        self.carried = carried  # what functions return in vectors
        self.regions: dict[Member, Region] = {}
        self.relations: dict[Var, Var] = {}  # a union of variables of one function whose maps may have parts in common
        self.next: dict[Member, list[Member]] = {}  # who gets a member's map, or what it holds
        self.same: dict[Var, list[Var]] = {}  # bare dicts of several names, backwards
        self.taken: set[Var] = set()
        self.uses: dict[Let, list[Use]] = {}
        self.spoilt_by: list[tuple[Member, Code]] = []  # what can't change in place, and the code that says so
        self.current: Code = code[0]
        self.within: dict[Region, set[Region]] = {}
        self.key_vars: set[Any] = set()  # what stands for keys
        self.joins: set[Var] = set()  # variables that branches assign right before they are read
        for part in code:
            self.find_rounds(part.block, frozenset())
            for param in part.function.params if part.function is not None else ():
                self.rounds[param] = frozenset()
            self.part(part)
        for given, source in carried.passed:
            self.comes(given, source)
            self.passed.add(given)
        self.key_vars = {self.key(key) for uses in self.uses.values() for use in uses for key in use.keys}
        self.spoil_shared()
        for region in {root(region) for region in self.regions.values()}:
            if region.spoilt:
                spoil(region, region.spoilt)
        self.find_copied()
        self.find_taken()

    # Regions, relations

    def region(self, member: Member) -> Region:
        if member not in self.regions:
            self.regions[member] = Region()
        return root(self.regions[member])

    def relation(self, var: Var) -> Var:
        relations = self.relations
        while (other := relations.get(var)) is not None:
            if (further := relations.get(other)) is not None:
                relations[var] = further
            var = other
        return var

    def relate(self, one: Var, other: Var) -> None:
        one, other = self.relation(one), self.relation(other)
        if one is not other:
            self.relations[one] = other

    def comes(self, target: Member, source: Member, key: Any = None, again: Any = None) -> None:
        """The map of target is that of source, or what that holds under a key. again: of which earlier round it is."""
        region = self.region(source) if key is None else held_in(self.region(source), key)
        unite(self.region(target), region)
        self.next.setdefault(source, []).append(target)
        if type(target) is Var and type(source) is Var:
            self.origins.setdefault(target, []).append((source, again or key))
            self.relate(target, source)

    # Instructions

    def part(self, part: Code) -> None:
        self.current = part
        function = part.function
        self.joins |= joins(part)
        known: set[Any] = {instr.var for inner in part.blocks for instr in inner.instrs}
        known |= {var for inner in part.blocks for instr in inner.instrs for var in bound(instr.op)}
        known |= {instr.op.var for inner in part.blocks for instr in inner.instrs if type(instr.op) is anf.Assign}
        known |= set(function.params) if function is not None else set()
        for inner in part.blocks:
            self.passing = {}
            for instr in inner.instrs:
                if type(instr.op) in (anf.SetItem, anf.Call) or is_drop(instr.op) or blocks(instr.op):
                    self.passing = {}
                uses = uses_of(instr.op, instr.var)
                if instr.op in self.carried.made:
                    uses = [use._replace(how=ALIAS) if is_fixed(use.var) else use for use in uses]
                if type(instr.op) is anf.Call and self.callee(instr.op) is None:
                    uses = [use._replace(how=LEAK, target=None) for use in uses]
                self.uses[instr] = uses
                for use in uses:
                    self.use(instr, use, known)
                self.value(instr)
            for value in exit_operands(inner.exit):
                if may_hold(value) and value.var not in known:  # type: ignore[union-attr]
                    self.spoil(value.var, "used in another function")  # type: ignore[union-attr]
            if type(inner.exit) is Jump:
                self.jump(inner.exit)
        if function is not None and function in self.shut:
            self.result(part.block, function)
        for var in known:
            if is_var(var) and not self.is_plain(var) and not is_place(var):
                self.spoil(var, "a variable that changes")

    def find_rounds(self, block: Block, loops: frozenset[Any]) -> None:
        for instr in block.instrs:
            op = instr.op
            if instr.var is not None:
                self.rounds[instr.var] = loops
            inside = loops
            if isinstance(op, (*LOOPS, anf.Comprehension, anf.While)):
                inside = loops | {op.source if type(op) is anf.Loop else op}
            for var in bound(op):
                self.rounds[var] = inside
            for inner in blocks(op):
                self.find_rounds(inner, inside)

    def use(self, instr: Let, use: Use, known: set[Any]) -> None:
        if use.var not in known:
            self.spoil(use.var, "used in another function")
        if use.how == STORE:
            (key,) = use.keys
            unite(self.region(use.var), held_in(self.region(use.container), key))
            self.next.setdefault(use.var, []).append(use.container)
            self.relate(use.container, use.var)
            if use.container is not instr.var:  # a bare dict, which may have got it in an earlier round
                self.origins.setdefault(use.container, []).append((use.var, ANY_KEY))
        if use.how == GIVE:
            unite(self.region(use.var), self.region(use.target))
            self.next.setdefault(use.var, []).append(use.target)

    def value(self, instr: Let) -> None:
        """Where the value of an instruction comes from."""
        op, var = instr.op, instr.var
        self.carry(op)
        if isinstance(op, LOOPS):
            for param, init in zip(op.params, op.inits, strict=False):
                self.flow(param, init)
        if type(op) is anf.Assign and is_place(op.var) and may_hold(op.value):
            self.passes_on(op.var, op.value.var, op.var)  # type: ignore[union-attr]
        if var is not None and is_fixed(var):
            self.number(op, var)
        if var is None or not is_var(var):
            return
        if type(op) is anf.Read and is_place(op.var):
            self.passes_on(var, op.var, op.var)
        for source, keys in sources_of(op) if type(op) is not anf.Call or self.callee(op) is not None else []:
            if not may_hold(source):
                continue
            if type(op) is anf.Call:
                self.through(var, source.var, op, self.callee(op))  # type: ignore[union-attr]
            elif (type(op) is anf.MakeMap) or (change_of(op) and source is not op.args[0]):  # type: ignore[attr-defined]
                self.origins.setdefault(var, []).append((source.var, None))  # type: ignore[union-attr]
                self.relate(var, source.var)  # type: ignore[union-attr]
            else:
                self.comes(var, source.var, keys[0] if keys else None)  # type: ignore[union-attr]
        if type(op) is anf.Call and (callee := self.callee(op)) is not None:
            self.comes(var, callee)
        if type(op) is anf.Move and type(op.value) is Ref and may_hold(op.value):
            self.same.setdefault(var, []).append(op.value.var)
            self.twins[var] = self.canonical(op.value.var)
        if type(op) is anf.CallRuntime and op.path in (LEVEL, UPDATED) and may_hold(op.args[0]):
            self.twins[var] = self.canonical(op.args[0].var)  # type: ignore[union-attr]
        if type(op) in (anf.If, anf.Match, anf.Try, anf.Logic, anf.With, *LOOPS):
            for inner in blocks(op):
                self.result(inner, var)

    def passes_on(self, target: Var, source: Var, changing: Var) -> None:
        """A variable that changes is set or read."""
        if changing in self.joins:
            self.comes(target, source)
            self.same.setdefault(target, []).append(source)
        else:
            self.comes(target, source, None, ANY_KEY)

    def through(self, var: Var, arg: Var, call: anf.Call, result: Member) -> None:
        """A variable gets a map that a call gives, which may come from an argument."""
        params = self.callee(call).params  # type: ignore[union-attr]
        for param, value in zip(params, call.args, strict=True):
            if type(value) is Ref and value.var is arg:
                self.origins.setdefault(var, []).append((arg, Through(call, param, result)))
        self.relate(var, arg)

    def carry(self, op: anf.Op) -> None:
        """Maps go into a vector that a function returns, or come out of it."""
        parts = [(part, value) for part, value in self.carried.parts(op) if is_var(value) or may_hold(value)]
        if not parts or self.carried.calls.get(op) in self.detached:
            return
        if op in self.carried.made:
            for part, value in parts:
                self.comes(part, value.var)
                self.results.setdefault(part, []).append(value.var)
            return
        for part, var in parts:
            self.comes(var, part)
            self.relate(var, parts[0][1])
            call = self.carried.calls[op]
            for arg in call.args:
                if may_hold(arg):
                    self.through(var, arg.var, call, part)  # type: ignore[union-attr]

    @staticmethod
    def is_plain(var: Var) -> bool:
        return not var.assigned and not var.early and var.defined <= 1

    def flow(self, target: Var, value: Expr, again: Any = None) -> None:
        if may_hold(value) and is_var(target):
            self.comes(target, value.var, None, again)  # type: ignore[union-attr]
            self.same.setdefault(target, []).append(value.var)  # type: ignore[union-attr]

    def jump(self, jump: Jump) -> None:
        for param, arg in zip(params_of(jump.target), jump.args, strict=False):
            self.flow(param, arg, Again(jump.target))

    def result(self, block: Block, target: Member) -> None:
        exit_ = block.exit
        if type(exit_) is Result and may_hold(exit_.value):
            self.comes(target, exit_.value.var)  # type: ignore[union-attr]
            if type(target) is Function:
                self.results.setdefault(target, []).append(exit_.value.var)  # type: ignore[union-attr]
            if type(target) is Var:
                self.same.setdefault(target, []).append(exit_.value.var)  # type: ignore[union-attr]

    def reached(self, region: Region) -> set[Region]:
        """As `regions.reached`, once everything is united."""
        region = root(region)
        if region not in self.within:
            self.within[region] = reached(region)
        return self.within[region]

    def places_by_region(self, owner: Region, part: Region) -> list[Path] | None:
        """Where maps of a region may be in those of another one; None: anywhere."""
        found = ways(owner, part)
        return found and [tuple(UNKNOWN if key is OTHER else (type(key), key) for key in keys) for keys in found]

    def spoil(self, member: Member, reason: str) -> None:
        self.spoilt_by.append((member, self.current))
        spoil(self.region(member), reason)

    def spoil_shared(self) -> None:
        """Spoils bare dicts that variables hold which change: nobody follows what else is read from these."""
        filled = [use.var for uses in self.uses.values() for use in uses if use.how == FILL]
        for var in filled:
            todo: list[Var] = [var]
            names: set[Var] = set()
            while todo:
                name = todo.pop()
                if name not in names:
                    names.add(name)
                    todo += self.same.get(name, ())
            names -= self.joins
            reads = [name.op.var for name in names if type(name.op) is anf.Read]
            if not all(map(self.is_plain, names)) or not self.joins.issuperset(reads):
                self.spoil(var, "of a variable that changes")

    # What follows

    def find_copied(self) -> None:
        todo: list[Member] = []
        for part in self.code:
            for inner in part.blocks:
                todo += [instr.var for instr in inner.instrs if instr.var is not None and change_of(instr.op)]
        filled = {use.container for uses in self.uses.values() for use in uses if use.how == STORE}
        while todo:
            member = todo.pop()
            if member in self.copied:
                continue
            self.copied.add(member)
            todo += self.next.get(member, ())
            if member in filled:  # other names of a dict that has got an entry
                todo += self.same.get(member, ())
                filled.update(self.same.get(member, ()))

    def find_taken(self) -> None:
        """Parameters whose maps, or what these hold, a function may change, store or hand on."""
        while True:
            before = len(self.taken)
            for part in self.code:
                if part.function is None:
                    continue
                consumed = [use.var for use in self.consumed(part)]
                self.taken.update(self.sources(consumed).intersection(part.function.params))
            if len(self.taken) == before:
                return

    def consumed(self, part: Code) -> Iterable[Use]:
        for inner in part.blocks:
            for instr in inner.instrs:
                for use in self.uses[instr]:
                    if use.how in (TAKE, STORE, FILL) or (use.how == GIVE and use.target in self.taken):
                        yield use


def is_drop(op: anf.Op) -> bool:
    return type(op) is anf.Python and op.kind == "drop_key"


def joins(part: Code) -> set[Var]:
    """Variables that are assigned inside of instructions of the block in which they are read, and before."""
    places: dict[Var, set[Block]] = {}  # where each is read
    assigned: dict[Var, int] = {}
    for block in part.blocks:
        for instr in block.instrs:
            if type(instr.op) is anf.Read:
                places.setdefault(instr.op.var, set()).add(block)
            elif type(instr.op) is anf.Assign:
                assigned[instr.op.var] = assigned.get(instr.op.var, 0) + 1
    found: set[Var] = set()
    for block in {block for reading in places.values() if len(reading) == 1 for block in reading}:
        before: dict[Var, int] = {}
        for instr in block.instrs:
            op = instr.op
            if type(op) is anf.Read and before.get(op.var) == assigned.get(op.var) and places[op.var] == {block}:
                found.add(op.var)
            for assign in branches(instr):
                before[assign.var] = before.get(assign.var, 0) + 1
    return found


def branches(instr: Let) -> Iterable[anf.Assign]:
    """The assignments in an instruction and the branches inside, but not in loops, which may run again and again."""
    op = instr.op
    if type(op) is anf.Assign:
        yield op
    elif type(op) in (anf.If, anf.Match, anf.Try, anf.Logic):
        for block in blocks(op):
            for inner in block.instrs:
                yield from branches(inner)
