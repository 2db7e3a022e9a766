"""Private copies of functions, and calls that are led to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from semac.anf.nodes import (
    Assign,
    Block,
    Call,
    CallBuiltin,
    CallRuntime,
    Closure,
    Comprehension,
    Fits,
    For,
    If,
    Let,
    Loop,
    Ref,
)
from semac.anf.records import RecordMember
from semac.anf.walk import blocks, code_of, instructions, operands
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.infer.fits import Kind
from semac.optimize.versions.copies import Copier
from semac.optimize.versions.heat import Definition
from semac.types.lattice import ANY, NEVER

GUARDED = (CallBuiltin, CallRuntime, For, Comprehension)  # operations that ask for types
ENOUGH = 4  # instructions of a copy for each operand of which it knows more, for two where it knows all operands


class Version:
    """A function with a private copy. kinds: what the entry asks of each argument, "" for nothing."""

    def __init__(self, definition: Definition, kinds: list[Kind]) -> None:
        self.public = definition.function
        self.definition = definition
        self.kinds = kinds
        name = private_name(definition)
        self.var = Var(name, None, is_global=True)
        self.var.defined = 1
        self.private = self.public
        self.copied: set[Function] = set()


def private_name(definition: Definition) -> str:
    return f"_fast_{definition.var.name}"


def add_copy(unit: Unit, version: Version) -> None:
    """Defines the private copy, in the form that defines the public function."""
    copier = Copier()
    private = copier.function(version.public, version.var)
    private.original, private.kinds = version.public, version.kinds
    version.private = version.var.function = private
    unit.functions += copier.functions
    version.copied = set(copier.functions)
    unit.globals[version.var.name] = version.var
    span = version.definition.closure.span
    op = Closure(private, span=span)
    block = version.definition.block
    block.instrs[:0] = [
        Let(made := temporary(op, None), op),
        Let(None, Assign(version.var, Ref(made), "global", span=span)),
    ]


def temporary(op: Closure | Fits | Call | CallRuntime | If | Loop, owner: Function | None) -> Var:
    var = Var("", owner)
    var.hint = "result"
    var.defined, var.type = 1, NEVER
    var.op = op
    return var


def is_useful(version: Version) -> bool:
    """Whether the copy saves enough guards for its size: operands of which it knows more. They count twice where it
    knows something of all of them, as such an operation needs no guard; others need another one."""
    code = version.public.code
    pairs = zip(instructions(version.private.code), instructions(code))  # noqa: B905  (types can settle a branch)
    size = saved = 0
    for copied, original in pairs:
        size += 1
        op = original.op
        if type(copied.op) is type(op) and (type(op) in GUARDED or (type(op) is Call and is_accessor(op))):
            own = operands(copied.op)
            known = sum(a.type is not b.type for a, b in zip(own, operands(op)))  # noqa: B905
            saved += known if any(a.type is ANY for a in own) else 2 * known
    return saved * ENOUGH >= size


def is_accessor(op: Call) -> bool:
    """Whether a call surely is that of an accessor of records, or one like it."""
    return op.head.type.fns is not None and all(type(member) is RecordMember for member in op.head.type.fns)


def remove_copies(unit: Unit, versions: list[Version]) -> None:
    """Undoes `add_copy`."""
    removed: set[Function] = set()
    for version in versions:
        del version.definition.block.instrs[:2]
        del unit.globals[version.var.name]
        removed |= version.copied
    if removed:
        unit.functions = [function for function in unit.functions if function not in removed]


class Redirected:
    """A call that goes to a private copy. code: the form or function whose code has it."""

    __slots__ = ("code", "op", "version")

    def __init__(self, op: Call, version: Version, code: Any) -> None:
        self.op = op
        self.version = version
        self.code = code

    def take_back(self) -> None:
        """Has it go to the public function again."""
        self.op.head = Ref(self.version.definition.var)


def calls_by_name(code: Any, into_functions: bool = True) -> Iterator[tuple[Call, Var, Any]]:
    """The calls in a form or a function of what a variable holds: (call, variable, form or function that has it).

    into_functions: also those in functions that are made there.
    """
    work: list[tuple[Block, Any]] = [(block_of(code), code)]
    while work:
        block, own = work.pop()
        for instr in block.instrs:
            op = instr.op
            if type(op) is Call and type(op.head) is Ref:
                yield op, op.head.var, own
            elif type(op) is Closure and into_functions:
                work.append((code_of(op.function), op.function))
            else:
                work += [(inner, own) for inner in blocks(op)]


def block_of(code: Any) -> Block:
    """The block of a form or of a function."""
    block: Block = code if type(code) is Block else code_of(code)
    return block
