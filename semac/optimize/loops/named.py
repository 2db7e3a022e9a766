"""What the passes over named lets and functions that loop have in common: from a shape to a `for` loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from semac.anf.nodes import AnyPattern, Block, Expr, For, If, Jump, Let, Loop, Op, Ref, Result, VarPattern, While
from semac.anf.walk import all_blocks, named, refs
from semac.ir.nodes import Const, Function, NamedLet, Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.loops.shape import Shape
from semac.optimize.operators import replace
from semac.types.lattice import ANY, NEVER

# (body, what jumps go back to, variables, their first values) → (instructions before the loop, the loop)
Maker = Callable[[Block, Any, "list[Var]", "list[Expr]"], "tuple[list[Let], For] | None"]


def rewrite_loops(unit: Unit, make: Maker, rewrite_while: Callable[[Block, int, While], None] | None = None) -> None:
    """Has named lets and functions of tail calls become what make() says."""
    for form in unit.blocks:
        for block in all_blocks(form):
            for instr in [one for one in block.instrs if type(one.op) is Loop or type(one.op) is While]:
                if type(instr.op) is Loop:
                    rewrite_loop(block, instr, instr.op, make)
                elif rewrite_while is not None:
                    rewrite_while(block, block.instrs.index(instr), instr.op)  # type: ignore[arg-type]
    for function in unit.functions:
        if function.self_tail and function.code is not None:
            rewrite_function(function, make)


def rewrite_loop(block: Block, instr: Let, op: Loop, make: Maker) -> None:
    made = make(op.body, op.source, op.params, op.inits)
    if made is not None:
        before, loop = made
        loop.span, loop.type = op.span, op.type
        replace(instr, loop)
        index = block.instrs.index(instr)
        block.instrs[index:index] = before


def rewrite_function(function: Function, make: Maker) -> None:
    """The same for a function whose body its own tail calls begin anew."""
    params = function.params
    made = make(function.code, function, params, [Ref(param, param.type) for param in params])
    if made is not None:
        before, loop = made
        loop.span, loop.type = function.body.span, function.type or ANY
        result = temporary("result", function)
        result.op, result.type = loop, loop.type
        function.code = Block([*before, Let(result, loop)], Result(Ref(result, loop.type)))
        function.self_tail = False


def own_loop(function: Function, span: Any) -> Block:
    """The body of a function that jumps to its own start, as a loop inside; the function gets parameters of its own."""
    body = Function(function.name, function)
    body.params = function.params
    loop = NamedLet(
        Var(function.name, function), body, [Const(None) for _ in body.params], True, True, function, span=span
    )
    for block in all_blocks(function.code, into_functions=False):
        if type(block.exit) is Jump and block.exit.target is function:
            block.exit.target = loop
    function.params = [parameter(param, function) for param in body.params]
    function.locals = [*function.locals, *body.params]
    function.self_tail = False
    op = Loop(loop, [Ref(param) for param in function.params], function.code, span=span)
    value = temporary("result", function)
    value.op = op
    return Block([Let(value, op)], Result(Ref(value)))


def parameter(old: Var, owner: Function) -> Var:
    """A parameter in place of one that has become the variable of a loop."""
    var = Var(old.name, owner)
    var.defined, var.type = 1, old.type or NEVER
    var.span = old.span
    return var


def jumps_to(block: Block, target: Any) -> bool:
    return any(
        type(inner.exit) is Jump and inner.exit.target is target for inner in all_blocks(block, into_functions=False)
    )


def for_loop(
    shape: Shape, body: Block, params: list[Var], inits: dict[Var, Expr], counter: Var, end: Op | None
) -> For | None:
    """The loop whose rounds bind one variable of another loop. end: its value where no round follows.

    None where more than one place would leave the loop, or need a value that isn't known.
    """
    early = copied(shape.leave) if shape.more is not None else None
    if (shape.more is not None and early is None) or not tell_end(shape.leave, counter, end):
        return None
    others = [param for param in params if param is not counter]
    loop = For(VarPattern(counter), "items", [], "", others, [inits[param] for param in others], body, shape.leave)
    loop.body = rest_of_round(shape, early, body)
    position = params.index(counter)
    steps = set()
    for block in shape.jumps:
        exit_: Any = block.exit
        steps.add(exit_.args[position].var)
        block.exit = Jump(loop, [*exit_.args[:position], *exit_.args[position + 1 :]], exit_.span)
    drop_steps(loop, counter, steps)
    return loop


def drop_steps(loop: For, counter: Var, steps: set[Var]) -> None:
    """Takes sums that nothing uses any more out of a loop, and its variable where nothing else mentions it."""
    uses = Counter(named([loop.body]))
    for block in all_blocks(loop.body, into_functions=False):
        kept = [instr for instr in block.instrs if instr.var not in steps or uses[instr.var]]
        uses[counter] -= len(block.instrs) - len(kept)
        block.instrs = kept
    if not uses[counter]:
        loop.target = AnyPattern()


def tell_end(leave: Block, counter: Var, end: Op | None) -> bool:
    """Has the end of a loop use the last value of the counter; false where that isn't known."""
    found = [ref for ref in refs(leave) if ref.var is counter]
    if found and end is not None:
        var = temporary(counter.name, counter.owner)
        var.type = end.type
        var.op = end
        for ref in found:
            ref.var = var
        leave.instrs.insert(0, Let(var, end))
    return not found or end is not None


def rest_of_round(shape: Shape, early: Block | None, body: Block) -> Block:
    """The block of a round: a further test that may leave, and the rest."""
    if shape.more is None or early is None:
        return shape.stay
    exit_ = shape.more.exit
    assert type(exit_) is Result
    branches = (shape.stay, early) if shape.more_stays else (early, shape.stay)
    last = body.instrs[-1]
    test = If(exit_.value, *branches, span=last.op.span, type=last.op.type)
    replace(last, test)
    return Block([*shape.more.instrs, last], body.exit)


def copied(block: Block) -> Block | None:
    """A copy of a block whose value is an atom; None of any other."""
    exit_ = block.exit
    if block.instrs or type(exit_) is not Result:
        return None
    value = exit_.value
    return Block([], Result(Ref(value.var, value.type) if type(value) is Ref else value))
