"""The one visitor and rewriter of the intermediate representation."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from semac.anf.nodes import (
    Assign,
    Block,
    CallBuiltin,
    Closure,
    Comprehension,
    Destructure,
    Exit,
    Expr,
    For,
    If,
    Jump,
    Let,
    Loop,
    MapPattern,
    Match,
    Op,
    Pattern,
    Read,
    Ref,
    Result,
    SequencePattern,
    Stage,
    Try,
    VarPattern,
    While,
    With,
)
from semac.ir.nodes import Function, NamedLet, Var

LOOPS = frozenset((Loop, While, For, Comprehension))  # operations whose blocks run again and again
NO_BLOCKS: list[Block] = []  # most operations have none
HOLDERS = frozenset((Match, Comprehension))  # whose blocks aren't all fields of their own


def with_subclasses(kind: type[Op]) -> list[type[Op]]:
    return [kind, *(each for inner in kind.__subclasses__() for each in with_subclasses(inner))]


NESTING = HOLDERS | {kind for kind in with_subclasses(Op) if kind.blocks}  # operations that have blocks
WITH_CODE = NESTING | {Closure}
BINDING = frozenset((Destructure, Match, Loop, For, Comprehension, Try, With))


class Readers(dict[type[Op], Callable[[Any], list[Expr]]]):
    """By class of operation, a function that gives the operands: each is written out when it is first asked for, as
    walks ask for operands more often than for anything else."""

    def __missing__(self, kind: type[Op]) -> Callable[[Any], list[Expr]]:
        parts = [f"*op.{field}" if field in kind.lists else f"op.{field}" for field in kind.exprs]
        source = f"lambda op: [{', '.join(parts)}]"
        self[kind] = made = READERS.get(source) or READERS.setdefault(source, eval(source))
        return made


READERS: dict[str, Callable[[Any], list[Expr]]] = {}
OPERANDS = Readers()


def operands(op: Op) -> list[Expr]:
    """The operands of an operation in the order in which they are evaluated."""
    return OPERANDS[type(op)](op)


def map_operands(op: Op, change: Callable[[Expr], Expr]) -> None:
    """Replaces each operand of an operation by what change makes of it, in order."""
    for field in op.exprs:
        value = getattr(op, field)
        if type(value) is list:
            value[:] = [change(item) for item in value]
        else:
            setattr(op, field, change(value))


def exit_operands(exit_: Exit) -> list[Expr]:
    return [exit_.value] if type(exit_) is Result else list(exit_.args)  # type: ignore[union-attr]


def map_exit(exit_: Exit, change: Callable[[Expr], Expr]) -> None:
    if type(exit_) is Result:
        exit_.value = change(exit_.value)
    elif type(exit_) is Jump:
        exit_.args[:] = [change(arg) for arg in exit_.args]


def blocks(op: Op) -> list[Block]:
    """The blocks of an operation in the order in which they run."""
    kind = type(op)
    if kind not in NESTING:
        return NO_BLOCKS
    if kind is If:
        return [op.then, op.otherwise]  # type: ignore[attr-defined]
    if kind is Match:
        inner: list[Block] = []
        for clause in op.clauses:  # type: ignore[attr-defined]
            inner += [clause.body] if clause.guard is None else [clause.guard, clause.body]
        return inner
    if kind is Comprehension:
        return [*(stage.block for stage in op.stages), op.body]  # type: ignore[attr-defined]
    return [getattr(op, field) for field in op.blocks]


def value_blocks(op: Op) -> list[Block]:
    """The blocks whose results are the value of a conditional, a loop or a handler: no guards."""
    return [clause.body for clause in op.clauses] if type(op) is Match else blocks(op)


def is_ref(value: object, var: object) -> bool:
    """Whether an operand is that variable."""
    return type(value) is Ref and value.var is var


def gives(block: Block, var: object) -> bool:
    """Whether the value of a block is that variable."""
    return type(block.exit) is Result and is_ref(block.exit.value, var)


def bound(op: Op) -> list[Var]:
    """The variables that an operation binds besides its value: those of patterns, loops and handlers."""
    kind = type(op)
    if kind not in BINDING:
        return []
    if kind is Destructure:
        return pattern_vars(op.pattern)  # type: ignore[attr-defined]
    if kind is Match:
        return [var for clause in op.clauses for var in pattern_vars(clause.pattern)]  # type: ignore[attr-defined]
    if kind is Loop:
        return list(op.params)  # type: ignore[attr-defined]
    if kind is For:
        return [*pattern_vars(op.target), *op.params]  # type: ignore[attr-defined]
    if kind is Comprehension:
        stages: list[Stage] = op.stages  # type: ignore[attr-defined]
        return [*pattern_vars(op.target), *(stage.var for stage in stages if stage.var is not None)]  # type: ignore[attr-defined]
    var = op.var if kind is Try else op.target  # type: ignore[attr-defined]
    return [var] if var is not None else []


def params_of(target: NamedLet | Function | For) -> list[Var]:
    """The variables that get new values where a jump goes back to a loop."""
    kind = type(target)
    params: list[Var] = target.params if kind is Function or kind is For else target.function.params  # type: ignore[union-attr]
    return params


def pattern_vars(pattern: Pattern) -> list[Var]:
    """The variables of a pattern, from left to right."""
    if type(pattern) is VarPattern:
        return [pattern.var]
    if type(pattern) is SequencePattern:
        parts = [*pattern.parts, *([pattern.rest] if pattern.rest is not None else [])]
        return [var for part in parts for var in pattern_vars(part)]
    if type(pattern) is MapPattern:
        return [var for _, part, _ in pattern.entries for var in pattern_vars(part)]
    return []


def is_call_on(op: object, names: Container[str], var: Var) -> bool:
    """Whether an operation is the call of one of some builtins with a variable alone."""
    if type(op) is not CallBuiltin or op.name not in names or len(op.args) != 1:
        return False
    return type(op.args[0]) is Ref and op.args[0].var is var


def sets(op: Op, var: Var) -> bool:
    """Whether an operation sets a variable, in its blocks too."""
    if type(op) is Assign:
        return op.var is var
    return any(sets(instr.op, var) for inner in blocks(op) for instr in inner.instrs)


def instructions(block: Block, into_functions: bool = True) -> Iterator[Let]:
    """All instructions of a block and of the blocks inside, functions made there included."""
    for inner in all_blocks(block, into_functions):
        yield from inner.instrs


def all_blocks(block: Block, into_functions: bool = True) -> Iterator[Block]:
    """A block and the blocks inside, those of functions made there included."""
    stack = [block]
    while stack:
        current = stack.pop()
        yield current
        for instr in current.instrs:
            op = instr.op
            kind = type(op)
            if kind in WITH_CODE:
                if kind is not Closure:
                    stack += blocks(op)
                elif into_functions:
                    stack.append(op.function.code)  # type: ignore[attr-defined]


def code_of(function: Function) -> Block:
    """The block of a function."""
    code: Block = function.code
    return code


def refs(block: Block) -> Iterator[Ref]:
    """All uses of variables as operands in a block, blocks inside and functions made there included."""
    for inner in all_blocks(block):
        for instr in inner.instrs:
            for operand in operands(instr.op):
                if type(operand) is Ref:
                    yield operand
        for operand in exit_operands(inner.exit):
            if type(operand) is Ref:
                yield operand


def named(blocks_: Iterable[Block], with_reads: bool = False) -> list[Var]:
    """The variables that are operands in blocks, as often as they are. with_reads: also those that a `Read` reads."""
    found: list[Var] = []
    stack = [*blocks_]
    while stack:
        block = stack.pop()
        for instr in block.instrs:
            op = instr.op
            kind = type(op)
            for value in OPERANDS[kind](op):
                if type(value) is Ref:
                    found.append(value.var)
            if kind is Read and with_reads:
                found.append(op.var)  # type: ignore[attr-defined]
            elif kind is Closure:
                stack.append(op.function.code)  # type: ignore[attr-defined]
            elif kind in NESTING:
                stack += blocks(op)
        for value in exit_operands(block.exit):
            if type(value) is Ref:
                found.append(value.var)
    return found


def expressions(block: Block, into_functions: bool = True) -> Iterator[Expr]:
    """Every operation and atom of a block, operations that are operands and blocks inside included."""
    stack: list[Block | Expr] = [block]
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind is Block:
            stack += [instr.op for instr in part.instrs]  # type: ignore[union-attr]
            stack += exit_operands(part.exit)  # type: ignore[union-attr]
            continue
        yield part  # type: ignore[misc]
        if kind is not Ref and isinstance(part, Op):
            if part.exprs:
                stack += OPERANDS[kind](part)  # type: ignore[index]
            if kind in NESTING:
                stack += blocks(part)
            elif into_functions and kind is Closure:
                stack.append(part.function.code)  # type: ignore[attr-defined]
