"""Maps of variables that `set!` changes: a memo, a table of counts. Nobody else holds them, so they change in place.

`(set! memo (assoc memo key value))` becomes `memo[key] = value`. The variable holds a bare dict where whatever reads it
looks something up at once, or stores a changed map in the same variable.

Assumes inferred types. Sound because every map that the variable gets is fresh, or its own with a change; because
between a read of the variable and the use of what was read nothing runs that could change it; and because no reader
keeps what it has read. A global is one of a program, which nobody else reads, or stands for one while a module is
imported (`versions/apart.py`).
"""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue_index import INDEX
from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, Let, Op, Ref
from semac.anf.walk import all_blocks, blocks, bound, exit_operands, is_ref, operands, refs
from semac.ir.intrinsics import FIELD, FIELD_LOOK, KEYWORD_GET
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.operators import replace
from semac.optimize.own.code import all_code
from semac.optimize.own.dicts import DictRewriter, Dicts
from semac.optimize.own.representation import CHANGE, LEND, READ
from semac.optimize.versions.apart import is_handed_over
from semac.types.lattice import DICT, FN, NIL, atom

CHANGERS = frozenset(("assoc", "dissoc"))
LOOKS = frozenset((KEYWORD_GET, FIELD, FIELD_LOOK))
STILL = frozenset((anf.Move, anf.Read, anf.MakeVector, anf.MakeMap))  # operations that run no other code


def own_variables(unit: Unit) -> None:
    """Rewrites a unit where variables can hold bare dicts."""
    held = Candidates(unit).held()
    if held:
        rewriter = VariableRewriter(held)
        for form in unit.blocks:
            for block in list(all_blocks(form)):
                if any(rewriter.concerns(instr) for instr in block.instrs):
                    rewriter.block(block)


class Candidates:
    """The variables of a unit whose maps nobody else can hold."""

    def __init__(self, unit: Unit) -> None:
        self.form = Dicts()
        self.code = all_code(unit)
        self.kinds: dict[Var, str] = {}  # what each variable is given: "Map", "HashMap"
        self.spoilt: set[Var] = set()
        self.is_closed = unit.is_closed and not unit.is_input
        self.epilogue = unit.epilogue

    def held(self) -> dict[Var, str]:
        """The variables, with the kind of their maps, and those in which they are read."""
        found: dict[Var, str] = {}
        for part in self.code:
            for block in part.blocks:
                self.block(block)
            if part.function is not None:
                self.spoilt.update(part.function.params)
        aliases: dict[Var, str] = {}
        for part in self.code:
            for block in part.blocks:
                for instr in block.instrs:
                    if type(instr.op) is anf.Read and self.is_held(instr.op.var) and instr.var is not None:
                        aliases.update(dict.fromkeys(Uses(self, block, instr).aliases, self.kinds[instr.op.var]))
                    elif instr.var is not None and (target := self.given_to(block, instr)) is not None:
                        aliases[instr.var] = self.kinds[target]
        found = {var: kind for var, kind in self.kinds.items() if self.is_held(var)}
        return found | aliases if found else {}

    def is_held(self, var: Var) -> bool:
        return var in self.kinds and var not in self.spoilt

    def may_be(self, var: Any) -> bool:
        """Whether a variable changes, is this unit's alone, and holds maps."""
        if type(var) is not Var or is_fixed(var) or var.early or not var.name or var.type is None:
            return False
        return var.type.only(DICT) and (self.is_closed or not var.is_global or var.is_private)

    def block(self, block: Block) -> None:
        for instr in block.instrs:
            op = instr.op
            self.spoilt.update(bound(op))
            if self.may_be(instr.var):
                self.gives(instr.var, self.form.fresh(op))  # type: ignore[arg-type]
            if type(op) is anf.Assign and self.may_be(op.var):
                if not self.is_own(block, instr):
                    given = next(
                        (other for other in block.instrs if other.var is not None and is_ref(op.value, other.var)), None
                    )
                    is_new = given is not None and uses_of(block, given.var) == 1
                    self.gives(op.var, self.form.fresh(given.op) if given is not None and is_new else "")
            if type(op) is anf.Read and self.may_be(op.var) and instr.var is not None:
                if is_fixed(instr.var) and Uses(self, block, instr).are_fine:
                    continue
                self.spoilt.add(op.var)

    def gives(self, var: Var, kind: str) -> None:
        if not kind or self.kinds.setdefault(var, kind) != kind:
            self.spoilt.add(var)

    def is_own(self, block: Block, assign: Let) -> bool:
        """Whether a variable gets back its own map."""
        op: Any = assign.op
        for instr in block.instrs:
            if type(instr.op) is anf.Read and instr.op.var is op.var and instr.var is not None:
                if any(is_ref(op.value, alias) for alias in Uses(self, block, instr).aliases):
                    return True
        return False

    def given_to(self, block: Block, instr: Let) -> Var | None:
        """The variable that gets the new map which an instruction makes."""
        if not self.form.fresh(instr.op):
            return None
        if self.is_held(instr.var):  # type: ignore[arg-type]
            return instr.var
        for other in block.instrs:
            if type(other.op) is anf.Assign and is_ref(other.op.value, instr.var) and self.is_held(other.op.var):
                return other.op.var
        return None


class Uses:
    """What happens to the map that is read from a variable, in the block of the read."""

    def __init__(self, candidates: Candidates, block: Block, read: Let) -> None:
        self.form = candidates.form
        self.is_last = block is candidates.epilogue  # nothing changes the map any more
        self.variable: Var = read.op.var  # type: ignore[attr-defined]
        self.aliases: list[Var] = [read.var]  # type: ignore[list-item]
        self.changed: set[Var] = set()  # those whose map has changed since: nobody may use them
        self.is_stored = True  # whether the variable has the newest change
        self.are_fine = self.look(block, block.instrs.index(read) + 1)

    def look(self, block: Block, start: int) -> bool:
        left = uses_of(block, self.aliases[0])
        for instr in block.instrs[start:]:
            if not left and self.is_stored:
                return True
            op = instr.op
            used = [value.var for value in operands(op) if type(value) is Ref and value.var in self.aliases]
            if any(var in self.changed for var in used) or (used and not self.fits(instr, used)):
                return False
            left -= len(used)
            if instr.var is not None and instr.var in self.aliases:
                left += uses_of(block, instr.var)
            is_seen = used and (type(op) is anf.Comprehension or not blocks(op))  # `fits` has looked at all of it
            if (left or not self.is_stored) and not (is_seen or self.is_still(op)):
                return False
        return not left and self.is_stored

    def fits(self, instr: Let, used: list[Var]) -> bool:
        """Whether an instruction uses the map as it may."""
        op, var = instr.op, instr.var
        if len(used) > 1:
            return False
        if type(op) is anf.Assign:
            self.is_stored = self.is_stored or op.var is self.variable
            return op.var is self.variable or (self.is_last and is_handed_over(op, self.variable))
        if type(op) is anf.Move:
            return self.follows(var)
        how = [use.how for use in self.form.uses_of(op, var) if use.var is used[0]]
        if how == [CHANGE]:
            self.changed.update(self.aliases)
            self.is_stored = False
            return self.follows(var)
        if type(op) is anf.Comprehension and how == [LEND]:  # it goes through the map's own entries
            return all(self.is_still(instr.op) for inner in blocks(op) for instr in inner.instrs)
        return how == [READ] or (how == [LEND] and is_quiet(op))

    def is_still(self, op: Op) -> bool:
        """Whether an operation that doesn't use the map leaves the variable as it is, and its map."""
        if type(op) is anf.CallBuiltin:  # another read of the variable may be what is changed
            return bool(INDEX[op.name][6]) and is_quiet(op) and op.name not in CHANGERS
        if type(op) is anf.Assign:
            return op.var is not self.variable
        if type(op) is anf.Read:  # until it is stored, a change must not be seen
            return self.is_stored or op.var is not self.variable
        if type(op) in (anf.If, anf.Logic):
            return all(self.is_still(instr.op) for inner in blocks(op) for instr in inner.instrs)
        return type(op) in STILL or (type(op) is anf.CallRuntime and op.path in LOOKS)

    def follows(self, var: Var | None) -> bool:
        """Another variable holds the map from here on."""
        if var is None or not is_fixed(var) or var.is_global:
            return False
        self.aliases.append(var)
        return True


def uses_of(block: Block, var: Var | None) -> int:
    """How often a variable is used in a block; many times where blocks or functions inside use it, or the exit."""
    count = sum(is_ref(value, var) for instr in block.instrs for value in operands(instr.op))
    everywhere = sum(ref.var is var for ref in refs(block))
    return count if count == everywhere and not any(is_ref(v, var) for v in exit_operands(block.exit)) else 1000


def is_quiet(op: Op) -> bool:
    """Whether a builtin calls no function of the program."""
    return type(op) is anf.CallBuiltin and not any(arg.type.tags & FN for arg in op.args)


class VariableRewriter(DictRewriter):
    """Gives operations on these variables the form of bare dicts. held: they, and the variables they are read in."""

    def __init__(self, held: dict[Var, str]) -> None:
        self.form = Dicts()
        self.held = held
        self.out = []
        self.renamed = {}
        self.general = set()

    def kind(self, member: Any) -> str:
        return self.held.get(member, "") if type(member) is Var else ""

    def concerns(self, instr: Let) -> bool:
        op = instr.op
        return bool(self.kind(instr.var) or (type(op) is anf.Assign and self.kind(op.var)))

    def instruction(self, instr: Let) -> None:
        op = instr.op
        if type(op) is not anf.Assign or not self.kind(op.var):
            super().instruction(instr)
            return
        value = op.value = self.current(op.value)
        root = value.var.op if type(value) is Ref else None
        while type(root) is anf.Move and type(root.value) is Ref:
            root = root.value.var.op
        if type(root) is anf.Read and root.var is op.var:  # it has it already
            replace(instr, anf.Move(anf.Lit(None, atom(NIL)), span=op.span, type=atom(NIL)))
        self.out.append(instr)
