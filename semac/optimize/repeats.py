"""Parts of a value that are read again are read once.

`(+ (first xs) 1) ... (max best (first xs))` reads the first item into a variable of its own, so that what is learnt of
it by the first use (that it is a number, that it is not nil) holds for the second: guards and look-ups go. So it is
with entries of maps under the same key.

Sound because a variable that nobody assigns has the same value wherever it is read, because what ran in a block has run
before the blocks inside it and what follows it, and because the values of the language don't change. Values of Python
may: where a unit can get such (it has callers that nobody knows, or uses Python), what was read holds until something
runs that could change them; what `assoc` makes is a map of the language. So it is in any unit with what `nth` read, as
it takes mutable arrays, too. A read that fails ends what follows; one that
succeeded gives the same again. Inside of what becomes a comprehension of Python, items are cheaper to read twice than
to name.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Closure, Comprehension, Expr, Let, Lit, Move, Op, Ref
from semac.anf.walk import LOOPS, all_blocks, blocks, instructions, map_exit, map_operands
from semac.ir.intrinsics import KEYWORD_GET, LEVEL, UPDATED
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.operators import replace
from semac.optimize.steps.waits import is_safe_builtin
from semac.optimize.tails import functions

READS = {
    "car": "car", "first": "car", "cadr": "cadr", "caddr": "caddr", "nth": "nth", "get": "get",
    "contains?": "contains?",
}  # fmt: skip
OF_TWO = ("get", "contains?", "nth")  # they read under a key, or at an index
RESTS = {"cdr": "cdr", "rest": "cdr", "cddr": "cddr", "cdddr": "cdddr"}  # of which parts may be read again
ENTRIES = frozenset(("get", ":"))
LITERALS = frozenset((Keyword, Symbol, Char, str, int, bool, type(None)))
FOREIGN = frozenset((anf.PyImport, anf.PyAttr, anf.PyItem, anf.PySetAttr, anf.PyCall, anf.Import, anf.CallOpen))
STILL = frozenset((
    Move, Closure, anf.Read, anf.Declare, anf.RecordFunction, anf.MakeVector, anf.MakeMap, anf.If, anf.Logic, anf.Loop,
    anf.While, anf.For, anf.Comprehension, anf.Destructure, anf.Match, anf.Throw, anf.Try,
))  # fmt: skip

Key = tuple[Any, ...]


def read_once(unit: Unit) -> None:
    """Rewrites the reads of a unit that were made before."""
    if unit.is_text:
        return
    is_steady = unit.is_closed and not unit.is_input and not is_foreign(unit)
    again: dict[Var, Var] = {}
    parts: list[tuple[Block, Function | None]] = [(block, None) for block in unit.blocks]
    parts += [(function.code, function) for function in functions(unit)]
    for block, _ in parts:
        Reads(is_steady, again, {}, {}, {}, False).block(block)
    if again:
        for block, function in parts:
            put_earlier(block, function, again)


def put_earlier(code: Block, function: Function | None, again: dict[Var, Var]) -> None:
    """Puts the variables that were read first in place of those that would be read again."""

    def earlier(value: Expr) -> Expr:
        if type(value) is not Ref or value.var not in again:
            return value
        var = again[value.var]
        var.captured |= var.owner is not function
        return Ref(var, value.type)

    for block in all_blocks(code, into_functions=False):
        for instr in block.instrs:
            map_operands(instr.op, earlier)
        map_exit(block.exit, earlier)


def is_foreign(unit: Unit) -> bool:
    """Whether values of Python may come into a unit."""
    return any(is_foreign_op(instr.op) for form in unit.blocks for instr in instructions(form))


def is_foreign_op(op: Op) -> bool:
    return type(op) in FOREIGN or (type(op) is CallBuiltin and op.name.startswith(("py/", "eval", "load")))


class Reads:
    """What was read. again: variables that needn't be → those to use instead. known: by what reads it. written: what
    `assoc` has put into the maps that variables hold, by key. same: variables → those that hold the same value.
    in_expression: inside of a comprehension."""

    def __init__(
        self,
        is_steady: bool,
        again: dict[Var, Var],
        known: dict[Key, Var],
        written: dict[Var, dict[Any, Expr | None]],
        same: dict[Var, Var],
        in_expression: bool,
    ) -> None:
        self.is_steady = is_steady
        self.again = again
        self.known = known
        self.written = written
        self.same = same
        self.in_expression = in_expression

    def block(self, block: Block) -> None:
        for instr in block.instrs:
            self.instruction(instr)
        if self.again:
            block.instrs = [instr for instr in block.instrs if instr.var not in self.again]

    def instruction(self, instr: Let) -> None:
        op: Any = instr.op
        key = self.key_of(op)
        if key is not None:
            self.read(instr, key, op)
        elif is_write(op):
            self.write(instr.var, op.args)
        elif type(op) is Move and type(op.value) is Ref and instr.var is not None and is_fixed(instr.var):
            self.same[instr.var] = self.original(op.value.var)
        elif self.is_level(op) and instr.var is not None and is_fixed(instr.var):
            self.same[instr.var] = self.original(op.args[0].var)
        elif type(op) is not Closure:  # functions are visited apart
            acts = not self.is_steady and may_act(op)
            known = {} if acts and type(op) in LOOPS else self.known  # what a round changes, the next one finds
            if any(key[0] == "nth" for key in known) and may_change(op):
                self.known = known = {key: var for key, var in known.items() if key[0] != "nth"}
            in_expression = self.in_expression or type(op) is Comprehension
            for inner in blocks(op):
                Reads(
                    self.is_steady, self.again, dict(known), dict(self.written), dict(self.same), in_expression
                ).block(inner)
            if acts:
                self.known.clear()

    def write(self, var: Var | None, args: list[Expr]) -> None:
        """A new map has what `assoc` has put into it."""
        if var is None or not is_fixed(var) or var.is_global:
            return
        entries: dict[Any, Expr | None] = {}
        for key, value in zip(args[1::2], args[2::2], strict=True):
            name = self.name_of(key)
            if type(key) is not Lit or name is None:
                entries = {}  # it may be any of those before
            else:
                entries = {other: entry for other, entry in entries.items() if type(other) is tuple}
            is_same = type(value) is Lit or self.name_of(value) is not None
            if name is not None:
                entries[name] = value if is_same else None
        self.written[var] = entries

    def read(self, instr: Let, key: Key, op: Op) -> None:
        var, earlier = instr.var, self.known.get(key)
        entry = self.written[key[1]].get(key[2]) if key[0] in ENTRIES and key[1] in self.written else None
        if entry is not None:
            if type(entry) is Ref:
                entry = Ref(entry.var)
                if var is not None and is_fixed(var):
                    self.same[var] = self.original(entry.var)
            replace(instr, Move(entry, span=op.span))
        elif earlier is None:
            is_worth = key[0] in ENTRIES or not self.in_expression
            if var is not None and (is_worth or var.name) and is_fixed(var) and not var.is_global:
                self.known[key] = var
        elif op.name in RESTS if type(op) is CallBuiltin else False:
            if var is not None and is_fixed(var):
                self.same[var] = earlier  # a loop may be known by the rest that it goes on with
        elif var is not None and not var.name and not var.is_global and is_fixed(var):
            self.again[var] = self.same[var] = earlier
        else:
            replace(instr, Move(Ref(earlier), span=op.span))

    def key_of(self, op: Op) -> Key | None:
        """What says which part an operation reads; None where it isn't a read."""
        if type(op) is CallBuiltin:
            name = READS.get(op.name) or RESTS.get(op.name)
            if name is None or len(op.args) != (2 if name in OF_TWO else 1):
                return None
            if name == "nth" and type(op.args[1]) is Lit:  # arithmetic asks once for such items
                return None
        elif type(op) is CallRuntime and op.path == KEYWORD_GET:
            name = ":"
        else:
            return None
        args = tuple(map(self.name_of, op.args))
        return (name, *args) if None not in args and type(op.args[0]) is Ref else None

    def is_level(self, op: Op) -> bool:
        """Whether an operation asks whether something is a map that `assoc` has made, and gives it back."""
        if type(op) is not CallRuntime or op.path not in (LEVEL, UPDATED) or type(op.args[0]) is not Ref:
            return False
        return self.original(op.args[0].var) in self.written

    def name_of(self, value: Expr) -> Any:
        if type(value) is Lit:
            return (type(value.value), value.value) if type(value.value) in LITERALS else None
        if type(value) is not Ref or not is_fixed(value.var) or value.var.is_global:
            return None
        return self.original(value.var)

    def original(self, var: Var) -> Var:
        return self.same.get(var, var)


def is_write(op: Op) -> bool:
    """Whether an operation makes a map with new entries."""
    return type(op) is CallBuiltin and op.name == "assoc" and len(op.args) >= 3 and len(op.args) % 2 == 1


def may_change(op: Op) -> bool:
    """Whether an operation, or one in its blocks, may change what mutable arrays hold."""
    if type(op) is CallBuiltin and op.name.endswith("!"):
        return True
    if type(op) in STILL:
        return any(may_change(instr.op) for inner in blocks(op) for instr in inner.instrs)
    return may_act(op)


def may_act(op: Op) -> bool:
    """Whether an operation, or one in its blocks, may change what Python values hold."""
    if type(op) is CallBuiltin:
        return not is_safe_builtin(op.name)
    if type(op) is CallRuntime:
        return op.path != KEYWORD_GET
    return type(op) not in STILL or any(may_act(instr.op) for inner in blocks(op) for instr in inner.instrs)
