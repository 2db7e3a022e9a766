"""Calls of `map`, `filter`, `foldl` and their kin become loops, before types are inferred.

The function must be known: a lambda written there, whose body becomes that of the loop; a function of the program, a
keyword, a builtin without effects, which is called for each item. Sound because the builtin does the same: it
reads the items that the source has at the call, raises the same error for a source that has none (`iterate`), calls the
function with each item in order, and keeps it no longer. The rounds of a loop share their variables, so a lambda of
which a closure keeps a variable stays a function, and so does one with another number of parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from semac.anf.nodes import (
    Assign,
    Block,
    BuiltinRef,
    CallBuiltin,
    Closure,
    Comprehension,
    Expr,
    For,
    Iteration,
    Jump,
    Let,
    Lit,
    Op,
    Pattern,
    Ref,
    Result,
    SequencePattern,
    Stage,
    VarPattern,
)
from semac.anf.walk import blocks
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import Body, applied, temporary
from semac.optimize.loops.pairs import binds_parts
from semac.optimize.operators import replace
from semac.types.lattice import NIL, atom


def loop_over_items(unit: Unit, uses: Counter[Var] | None = None) -> None:
    """Rewrites the calls of the builtins in TABLE. uses: how often variables are named, where a function argument may
    have been that of a call which has become part of its caller; a lambda that is named again stays one."""
    defined: set[Var] = set()
    for form in unit.blocks:
        Rewriter(unit, defined, uses).run(form)
        for instr in form.instrs:
            if type(instr.op) is Assign and instr.op.define == "global":
                defined.add(instr.op.var)


class Rewriter:
    """Rewrites one top-level form."""

    def __init__(self, unit: Unit, defined: set[Var], uses: Counter[Var] | None = None) -> None:
        self.main = unit.main
        self.defined = defined
        self.uses = uses

    def run(self, form: Block) -> None:
        stack: list[tuple[Block, Function | None]] = [(form, None)]
        while stack:
            block, owner = stack.pop()
            used: set[Var] = set()
            before: Let | None = None
            for instr in block.instrs:
                op = instr.op
                if type(op) is CallBuiltin and op.name in TABLE:
                    loop = self.loop(op, owner, used)
                    if loop is not None:
                        loop.span = op.span
                        replace(instr, loop)
                        if before is not None and takes_over(loop, before):
                            used.add(before.var)  # type: ignore[arg-type]
                before = instr if type(op) is not Closure else before
                stack += [(inner, owner) for inner in blocks(instr.op)]
            block.instrs = [instr for instr in block.instrs if instr.var is None or instr.var not in used]
            stack += [(i.op.function.code, i.op.function) for i in block.instrs if type(i.op) is Closure]

    def loop(self, op: CallBuiltin, owner: Function | None, used: set[Var]) -> Op | None:
        """The loop that a call is. used: lambdas that have become part of loops."""
        make, position, count, arguments = TABLE[op.name]
        if count is None:
            count = len(op.args) - 1
        elif len(op.args) != arguments:
            return None
        if count < 1:
            return None
        function = op.args[position]
        if self.uses is not None and type(function) is Ref and not function.var.name and self.uses[function.var] != 1:
            return None
        body = applied(function, count, op, owner, self.defined)
        if body is None:
            return None
        rest = [*op.args[:position], *op.args[position + 1 :]]
        made = make(op, body, rest)
        if type(function) is Ref and not function.var.name:
            used.add(function.var)
            moved: Function = function.var.op.function
            for var in [*moved.params, *moved.locals]:
                var.owner = owner or self.main
        return made


def is_known_now(op: Op) -> bool:
    """Whether a call that stayed one may be a loop since its function argument stands in it."""
    if type(op) is not CallBuiltin or op.name not in TABLE:
        return False
    position = TABLE[op.name][1]
    function = op.args[position] if position < len(op.args) else None
    return type(function) is not Ref or type(function.var.op) is Closure or function.var.known_function is not None


def takes_over(loop: Op, before: Let) -> bool:
    """Whether a loop needs no list of what it goes through, which the instruction before it makes."""
    made, var = before.op, before.var
    if not isinstance(loop, Iteration):
        return False
    is_source = var is not None and not var.name and type(loop.sources[-1]) is Ref and loop.sources[-1].var is var
    return is_source and binds_parts(loop, made)


# What the calls become: of the call, the applied function, the other arguments

Maker = Callable[[CallBuiltin, Body, list[Expr]], Op]
TABLE: dict[str, tuple[Maker, int, int | None, int]] = {}


def loop(*names: str, position: int = 0, count: int | None = 1, arguments: int = 2) -> Callable[[Maker], Maker]:
    """Enters builtins. position: of the function argument; count: of the items it gets (None: one of each source)."""

    def register(maker: Maker) -> Maker:
        TABLE.update(dict.fromkeys(names, (maker, position, count, arguments)))
        return maker

    return register


def each(variables: list[Var]) -> Pattern:
    """The target for one variable, or for several, each of an item of one source."""
    if len(variables) == 1:
        return VarPattern(variables[0])
    return SequencePattern([VarPattern(var) for var in variables], None, True)


@loop("map", "mapcar", count=None)
def map_(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    how = "items" if len(sources) == 1 else "zip"
    return Comprehension(each(body.params), how, sources, "map", "list", [], body.block)


@loop("map-indexed", count=2)
def map_indexed(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    return Comprehension(each(body.params), "indexed", sources, op.name, "list", [], body.block)


@loop("filter")
def filter_(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    (item,) = body.params
    return Comprehension(
        VarPattern(item), "items", sources, op.name, "list", [Stage("if", None, body.block)], just(item)
    )


@loop("list/reject")
def reject(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    (item,) = body.params
    stage = Stage("if", None, negated(body.block))
    return Comprehension(VarPattern(item), "items", sources, op.name, "list", [stage], just(item))


@loop("flat-map", "mapcat")
def flat_map(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    (item,) = body.params
    part = temporary("part", item.owner)
    stages = [Stage("for", part, body.block)]
    return Comprehension(VarPattern(item), "items", sources, "flat-map", "list", stages, just(part))


@loop("any", "any?", "some?")
def any_(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    return Comprehension(each(body.params), "items", sources, "any", "any", [], body.block)


@loop("every", "every?")
def every(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    return Comprehension(each(body.params), "items", sources, "every", "every", [], body.block)


@loop("list/find")
def find(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    (item,) = body.params
    return Comprehension(
        VarPattern(item), "items", sources, op.name, "find", [Stage("if", None, body.block)], just(item)
    )


@loop("sort-by")
def sort_by(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    return Comprehension(each(body.params), "items", sources, op.name, "sort-by", [], body.block)


@loop("list/group-by")
def group_by(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    return Comprehension(each(body.params), "items", sources, op.name, "group-by", [], body.block)


@loop("list/key-by", "index-by")
def key_by(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    return Comprehension(each(body.params), "items", sources, "list/key-by", "key-by", [], body.block)


@loop("for-each")
def for_each(op: CallBuiltin, body: Body, sources: list[Expr]) -> Op:
    block = body.block
    drop_value(block)
    made = For(each(body.params), "items", sources, op.name, [], [], block, Block([], Result(Lit(None, atom(NIL)))))
    block.exit = Jump(made, [], op.span)
    return made


@loop("foldl", "fold", count=2, arguments=3)
def foldl(op: CallBuiltin, body: Body, rest: list[Expr]) -> Op:
    acc, item = body.params
    init, source = rest
    acc.hint = "total" if type(op.args[0]) is BuiltinRef and op.args[0].name == "+" else acc.hint
    return folded(op, body.block, acc, item, "items", "foldl", source, [init])


@loop("foldr", count=2, arguments=3)
def foldr(op: CallBuiltin, body: Body, rest: list[Expr]) -> Op:
    item, acc = body.params
    init, source = rest
    return folded(op, body.block, acc, item, "reversed", op.name, source, [init])


@loop("reduce", count=2)
def reduce(op: CallBuiltin, body: Body, rest: list[Expr]) -> Op:
    acc, item = body.params
    return folded(op, body.block, acc, item, "rest", op.name, rest[0], [])


@loop("file/fold-lines", position=1, count=2, arguments=3)
def fold_lines(op: CallBuiltin, body: Body, rest: list[Expr]) -> Op:
    acc, line = body.params
    path, init = rest
    return folded(op, body.block, acc, line, "lines", op.name, path, [init])


def folded(
    op: CallBuiltin, block: Block, acc: Var, item: Var, how: str, who: str, source: Expr, inits: list[Expr]
) -> For:
    """A loop in which the value of the block is the next value of acc."""
    made = For(VarPattern(item), how, [source], who, [acc], inits, block, Block([], Result(Ref(acc))))
    block.exit = Jump(made, [value_of(block)], op.span)
    return made


# Blocks


def just(var: Var) -> Block:
    """The block whose value is that of a variable."""
    return Block([], Result(Ref(var)))


def value_of(block: Block) -> Expr:
    assert type(block.exit) is Result
    return block.exit.value


def negated(block: Block) -> Block:
    """The block whose value is true where that of a block is not."""
    value = value_of(block)
    op = CallBuiltin("not", [value], fixed=True)
    var = temporary("test", None)
    var.op = op
    return Block([*block.instrs, Let(var, op)], Result(Ref(var)))


def drop_value(block: Block) -> None:
    """Nobody wants the value of a block."""
    value = value_of(block)
    last = block.instrs[-1] if block.instrs else None
    if type(value) is Ref and last is not None and last.var is value.var and not value.var.name:
        last.var = None
