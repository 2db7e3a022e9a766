"""Values that functions return in vectors, beside others: `[value memo]`, which each caller takes apart at once.

What is at a position of such a vector is held as what a function returns alone: nobody sees the vector, so the value
goes straight from the function to the variable of its caller. Sound because all calls of such a function are known,
because what a call gives is either taken apart by a pattern of its length and used nowhere else, or is what a function
of the same kind returns, and because the vectors are used for nothing but as the function's value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import AnyPattern, Block, Op, Ref, Result, SequencePattern, VarPattern
from semac.anf.walk import exit_operands, operands, value_blocks
from semac.ir.nodes import Function, Var
from semac.optimize.own.code import Code
from semac.optimize.own.representation import known_callee
from semac.types.lattice import VECTOR

RAISERS = frozenset(("error", "throw", "raise"))
NESTED = (anf.If, anf.Match, anf.Loop, anf.For, anf.Try)  # operations whose value is that of a block inside


class Part(NamedTuple):
    """What is at a position of the vectors that a function returns."""

    function: Function
    position: int


class Carried:
    """made: the vectors that functions return, with these; taken: the patterns that take such vectors apart; calls: the
    calls that these are of; passed: pairs of a function and of one whose result it returns."""

    def __init__(self) -> None:
        self.made: dict[Op, Function] = {}
        self.taken: dict[Op, Function] = {}
        self.calls: dict[Op, anf.Call] = {}
        self.passed: list[tuple[Part, Part]] = []

    def parts(self, op: Op) -> list[tuple[Part, Any]]:
        """The parts that a vector is made of with their operands, or that a pattern takes with their variables."""
        if op in self.made:
            return [(Part(self.made[op], index), value) for index, value in enumerate(op.items)]  # type: ignore[attr-defined]
        if op in self.taken:
            patterns = op.pattern.parts  # type: ignore[attr-defined]
            function = self.taken[op]
            return [(Part(function, at), part.var) for at, part in enumerate(patterns) if type(part) is VarPattern]
        return []


def carried(code: list[Code], tags: int, unknown: Callable[[], set[Function]]) -> Carried | None:
    """The functions of a unit that return values with tags in vectors; None if there are none. unknown: gives those of
    which not all calls are known."""
    found = {part.function: part for part in code if part.function is not None and returns(part.function, tags)}
    if not found:
        return None
    for function in unknown():
        found.pop(function, None)
    return Finder(code, found).find()


def returns(function: Function, tags: int) -> bool:
    result = function.type
    if not result.only(VECTOR) or not result.vec or function.is_open or function.rest is not None:
        return False
    return not function.is_generator and any(item.tags & tags for item in result.vec)


class Finder:
    """Finds out which of some functions return vectors that are only taken apart."""

    def __init__(self, code: list[Code], functions: dict[Function, Code]) -> None:
        self.code = code
        self.functions = functions
        self.ops: dict[Var, Op] = {}  # the vectors, and the calls of the functions, by their variables
        self.uses: dict[Var, list[Op | Block]] = {}  # of these
        self.calls: dict[Function, list[Var]] = {}
        self.carried = Carried()

    def find(self) -> Carried | None:
        self.scan()
        ends = {function: list(ends_of(part.block)) for function, part in self.functions.items()}
        found = set(self.functions)
        while True:
            lost = {function for function in found if not self.stays(function, ends, found)}
            if not lost:
                break
            found -= lost
        for function in found:
            self.keep(function, ends[function])
        return self.carried if found else None

    def scan(self) -> None:
        uses = self.uses
        for part in self.code:
            for block in part.blocks:
                for instr in block.instrs:
                    op, var = instr.op, instr.var
                    if var is None:
                        continue
                    callee = known_callee(op) if type(op) is anf.Call else None
                    if callee in self.functions:
                        self.calls.setdefault(callee, []).append(var)
                    if callee in self.functions or (type(op) is anf.MakeVector and part.function in self.functions):
                        self.ops[var] = op
                        uses[var] = []
        for part in self.code:
            for block in part.blocks:
                for instr in block.instrs:
                    for value in operands(instr.op):
                        if type(value) is Ref and value.var in uses:
                            uses[value.var].append(instr.op)
                for value in exit_operands(block.exit):
                    if type(value) is Ref and value.var in uses:
                        uses[value.var].append(block)

    def stays(self, function: Function, all_ends: dict[Any, list[Block]], found: set[Function]) -> bool:
        ends = all_ends[function]
        size = len(function.type.vec or ())
        if not ends or not all(self.is_end(block, size, found) for block in ends):
            return False
        return all(self.is_call(var, size, all_ends, found) for var in self.calls.get(function, ()))

    def is_end(self, block: Block, size: int, found: set[Function]) -> bool:
        """Whether a block gives a vector that nobody else uses."""
        value = block.exit.value  # type: ignore[union-attr]
        if type(value) is not Ref or len(self.uses.get(value.var, ())) != 1 or not is_fixed(value.var):
            return False
        op = self.ops[value.var]
        if type(op) is anf.MakeVector:
            return len(op.items) == size
        return type(op) is anf.Call and known_callee(op) in found

    def is_call(self, var: Var, size: int, ends: dict[Any, list[Block]], found: set[Function]) -> bool:
        """Whether the result of a call is taken apart, and nothing else is done with it."""
        uses = self.uses[var]
        if len(uses) != 1 or not is_fixed(var):
            return not uses
        (use,) = uses
        if type(use) is anf.Destructure:
            pattern = use.pattern
            if type(pattern) is not SequencePattern or pattern.rest is not None or not pattern.fits or pattern.or_nil:
                return False
            return len(pattern.parts) == size and all(type(part) in (VarPattern, AnyPattern) for part in pattern.parts)
        return any(use is block for function in found for block in ends[function])

    def keep(self, function: Function, ends: list[Block]) -> None:
        found = self.carried
        for block in ends:
            op: Any = self.ops[block.exit.value.var]  # type: ignore[union-attr]
            if type(op) is anf.MakeVector:
                found.made[op] = function
            else:
                callee: Any = known_callee(op)
                size = len(function.type.vec)
                found.passed += [(Part(function, index), Part(callee, index)) for index in range(size)]
        for var in self.calls.get(function, ()):
            for use in self.uses[var]:
                if type(use) is anf.Destructure:
                    found.taken[use] = function
                    found.calls[use] = self.ops[var]  # type: ignore[assignment]


def ends_of(block: Block) -> Iterator[Block]:
    """The blocks whose results are that of a block; not those that end in an error, which give nothing."""
    exit_ = block.exit
    if type(exit_) is not Result:
        return
    last = block.instrs[-1] if block.instrs else None
    if last is None or type(exit_.value) is not Ref or exit_.value.var is not last.var:
        yield block
    elif type(last.op) in NESTED:
        for inner in value_blocks(last.op):
            yield from ends_of(inner)
    elif not raises(last.op):
        yield block


def raises(op: Op) -> bool:
    """Whether an operation never gives a value: an error, or a call of a function that always ends in one."""
    if type(op) is anf.Call:
        return not op.type.tags
    return is_raise(op)


def is_raise(op: Op | None) -> bool:
    return type(op) is anf.Throw or (type(op) is anf.CallBuiltin and op.name in RAISERS)
