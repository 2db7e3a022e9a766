"""Changes of maps that were made a moment ago: `(-> m (assoc :a 1) (assoc :b 2))` copies m once.

A change whose map has no other use is part of the change that made that map: one `assoc` of all the entries (the pass
`joins`). Where the new map was looked at in between, and nothing uses it after the second change, that one changes it
in place (the pass `chains`). So does a change of a map that the new map holds under a key, where the entry is replaced
afterwards. A map that a conditional gives is new where each of its branches gives a new one.

Sound because `assoc` of a map that is no bare dict makes a new map; because every use of the variables that hold it is
known and only reads entries; because nothing that may run after the change, the handlers of errors included, reads the
old map; and because the second change happens once for the first one. A map too large to be copied is left to `changed`
of the runtime, which keeps the old one as it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Expr, Let, Lit, Ref, Result
from semac.anf.walk import blocks, code_of, exit_operands, operands, refs
from semac.fingerprint import is_traced
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.inplace.roles import ALIAS, LEAK, READ, STORE, TAKE, uses_of
from semac.optimize.keys import is_stored_key
from semac.optimize.operators import replace
from semac.optimize.own.code import Code, all_code
from semac.optimize.own.rewrite import calls_any
from semac.optimize.own.sinking import stays
from semac.types.lattice import DICT

SET_ENTRY = "sema_runtime.lib.collections.maps:set_entry"
SET_ENTRIES = "sema_runtime.lib.collections.maps:set_entries"
MOST_ENTRIES = 3  # of one change that needs no loop
STRAIGHT = frozenset((anf.If, anf.Logic, anf.Match))  # whose blocks run at most once
Path = tuple[tuple[Any, int], ...]  # the operations around an instruction, and in which of their blocks it stands


def join_changes(unit: Unit) -> None:
    """Makes one change of several, before others look at them. Assumes inferred types."""
    for part in chained(unit):
        while Chains(part).join():
            pass


def change_new_maps(unit: Unit) -> None:
    """Rewrites changes of new maps. Assumes inferred types, and that maps which loops change are known."""
    for part in chained(unit):
        Chains(part).change_in_place()


def chained(unit: Unit) -> list[Code]:
    """The code that changes maps more than once."""
    if unit.is_text or unit.is_input or is_traced() or not calls_any(unit, frozenset(("assoc",))):
        return []
    return [
        part
        for part in all_code(unit)
        if sum(is_change(instr.op) for block in part.blocks for instr in block.instrs) > 1
    ]


class Place(NamedTuple):
    """A use of a variable. how: one of those of `roles.py`. keys, container: as there."""

    instr: Let | None
    block: Block
    path: Path
    order: int
    how: int
    keys: tuple[Expr, ...]
    container: Any


class Chains:
    """The uses of variables that hold maps, in a function or form."""

    def __init__(self, part: Code) -> None:
        self.uses: dict[Var, list[Place]] = {}
        self.made: dict[Var, tuple[Let, Block, Path]] = {}
        self.changes: list[tuple[Let, Block, Path, int]] = []
        self.new: set[Var] = set()  # variables that hold maps which were changed in place
        self.order = 0
        self.walk(part.block, ())

    def walk(self, block: Block, path: Path, around: Let | None = None) -> None:
        for instr in block.instrs:
            self.order += 1
            op = instr.op
            self.note(instr, block, path)
            if is_change(op):
                self.changes.append((instr, block, path, self.order))
            if type(op) is anf.Closure:
                for ref in refs(code_of(op.function)):
                    self.add(ref.var, Place(instr, block, path, self.order, LEAK, (), None))
            for index, inner in enumerate(blocks(op)):
                self.walk(inner, (*path, (op, index)), instr)
        self.order += 1
        is_branch = around is not None and type(around.op) is anf.If and type(block.exit) is Result
        for value in exit_operands(block.exit):
            if type(value) is Ref:
                how = ALIAS if is_branch and around is not None and around.var is not None else LEAK
                self.add(value.var, Place(around, block, path, self.order, how, (), None))

    def note(self, instr: Let, block: Block, path: Path) -> None:
        op = instr.op
        if instr.var is not None:
            self.made[instr.var] = (instr, block, path)
        left = [value.var for value in operands(op) if type(value) is Ref]
        for use in uses_of(op, instr.var):
            if use.var in left:
                left.remove(use.var)
            self.add(use.var, Place(instr, block, path, self.order, use.how, use.keys, use.container))
        for var in left:
            self.add(var, Place(instr, block, path, self.order, LEAK, (), None))

    def add(self, var: Var, place: Place) -> None:
        self.uses.setdefault(var, []).append(place)

    # One change of all the entries

    def join(self) -> bool:
        """Makes one change of two where the map between them has no other use. Whether there were any."""
        for instr, block, _, _ in self.changes:
            op: Any = instr.op
            sources = self.sources(op.args[0])
            if not sources or not all(before in block.instrs for before in sources):
                continue
            made: Any = sources[-1].op
            if is_change(made) and all(map(stays, made.args)):
                args = joined(made.args, op.args)
                if len(args) <= 1 + 2 * MOST_ENTRIES:
                    op.args[:] = args
                    block.instrs = [other for other in block.instrs if other not in sources]
                    return True
        return False

    def sources(self, value: Expr) -> list[Let]:
        """The instruction that makes a value, after the moves of it, where nothing else uses it."""
        found: list[Let] = []
        while type(value) is Ref and is_own(value.var) and len(self.uses[value.var]) == 1 and value.var in self.made:
            found.append(self.made[value.var][0])
            op = found[-1].op
            if type(op) is not anf.Move:
                return found
            value = op.value
        return []

    # Changes in place

    def change_in_place(self) -> None:
        for instr, _, path, order in self.changes:
            op: Any = instr.op
            names = self.names(op.args[0], path)
            if names and self.is_last(names, order, path):
                self.new.add(instr.var)  # type: ignore[arg-type]
                path_ = SET_ENTRY if len(op.args) == 3 else SET_ENTRIES
                replace(instr, CallRuntime(path_, op.args, span=op.span, type=op.type))

    def names(self, value: Expr, path: Path) -> set[Var]:
        """The variables that hold a new map, which this operand is; empty where it is none, or one of another round."""
        if type(value) is not Ref or not is_own(value.var) or value.var not in self.made:
            return set()
        var = value.var
        instr, _, around = self.made[var]
        op = instr.op
        if path[: len(around)] != around or not all(type(outer) in STRAIGHT for outer, _ in path[len(around) :]):
            return set()
        if type(op) is anf.Move:
            return self.names(op.value, path)
        if type(op) is not anf.If:
            return self.aliases(var) if var in self.new or is_change(op) else set()
        found: set[Var] = set()
        for index, branch in enumerate(blocks(op)):
            if type(branch.exit) is not Result:
                continue  # it goes on elsewhere
            names = self.names(branch.exit.value, (*around, (op, index)))
            if not names:
                return set()
            found |= names
        return found

    def aliases(self, var: Var) -> set[Var]:
        """A variable and those that may hold the same by moves, and by branches that it is the value of."""
        found, todo = {var}, [var]
        while todo:
            for place in self.uses.get(todo.pop(), ()):
                instr = place.instr
                if is_move(place) and instr is not None and instr.var is not None and instr.var not in found:
                    found.add(instr.var)
                    todo.append(instr.var)
        return found

    def is_last(self, names: set[Var], order: int, path: Path) -> bool:
        """Whether a change of a map, which these variables hold, is its last use, and others only read entries."""
        holders: list[Place] = []
        for var in names:
            if not is_own(var):
                return False
            for place in self.uses.get(var, ()):
                if are_apart(place.path, path) or (place.order == order and place.how == TAKE):
                    continue
                if place.how == STORE:
                    holders.append(place)
                elif is_move(place) or (place.how == TAKE and place.order < order and self.is_same(place)):
                    continue
                elif place.how != READ or not is_entry(place) or place.order > order:
                    return False
        return not holders or (len(holders) == 1 and self.is_replaced(holders[0], order, path))

    def is_same(self, change: Place) -> bool:
        """Whether a change is made in place."""
        return change.instr is not None and change.instr.var in self.new

    def is_replaced(self, holder: Place, order: int, path: Path) -> bool:
        """Whether the map that got the changed one gets another in its place before that is read again."""
        var, key = holder.container, holder.keys[0]
        if holder.order >= order or type(var) is not Var or holder.instr is None:
            return False
        if not is_change(holder.instr.op) and holder.instr.var not in self.new:
            return False
        if not stays(key) or path[: len(holder.path)] != holder.path:
            return False
        if not all(type(op) in STRAIGHT for op, _ in path[len(holder.path) :]):
            return False
        replaced = 0
        for name in self.aliases(var):
            if not is_own(name):
                return False
            for place in self.uses.get(name, ()):
                if are_apart(place.path, path):
                    continue
                op: Any = place.instr.op if place.instr is not None else None
                if is_move(place):
                    continue
                if place.how == TAKE and place.order > order and is_set(op, key):
                    replaced += 1
                elif place.how != READ or not is_entry(place) or not are_other(place.keys, key):
                    return False
        return replaced == 1


def is_change(op: Any) -> bool:
    """Whether an operation makes a new map with other entries, and can't fail."""
    if type(op) is not CallBuiltin or op.name != "assoc" or len(op.args) < 3 or len(op.args) % 2 == 0:
        return False
    return op.args[0].type.only(DICT) and all(map(is_stored_key, op.args[1::2]))


def is_own(var: Var) -> bool:
    return is_fixed(var) and not var.is_global and not var.captured and not var.early


def is_move(place: Place) -> bool:
    """Whether a use has another variable hold the same map."""
    instr = place.instr
    if place.how != ALIAS or instr is None or instr.var is None:
        return False
    return type(instr.op) is anf.Move or type(instr.op) is anf.If


def is_entry(place: Place) -> bool:
    """Whether a use reads one entry of a map."""
    return len(place.keys) == 1


def is_set(op: Any, key: Expr) -> bool:
    """Whether a change sets this key."""
    return is_change(op) and any(are_same(other, key) for other in op.args[1::2])


def are_same(a: Expr, b: Expr) -> bool:
    if type(a) is Ref and type(b) is Ref:
        return a.var is b.var and stays(a)
    return type(a) is Lit and type(b) is Lit and type(a.value) is type(b.value) and bool(a.value == b.value)


def are_other(keys: tuple[Expr, ...], key: Expr) -> bool:
    """Whether keys that are read surely differ from one."""
    return all(type(other) is Lit and type(key) is Lit and not are_same(other, key) for other in keys)


def joined(first: list[Expr], second: list[Expr]) -> list[Expr]:
    """The operands of a change that does what two do; an entry that both set is that of the second."""
    pairs = [
        (key, value)
        for key, value in zip(first[1::2], first[2::2], strict=True)
        if not any(are_same(key, other) for other in second[1::2])
    ]
    return [first[0], *(part for pair in pairs for part in pair), *second[1:]]


def are_apart(a: Path, b: Path) -> bool:
    """Whether only one of two places is reached, as they are in two branches of a conditional or two clauses."""
    for (op, index), (other, position) in zip(a, b, strict=False):
        if op is not other:
            return False
        if index != position:
            return type(op) is anf.If or (type(op) is anf.Match and not any(clause.guard for clause in op.clauses))
    return False
