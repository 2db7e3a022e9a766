"""Loops: `while`, named lets as `while` loops, jumps back."""

from __future__ import annotations

import ast
from typing import Any

from semac.anf.nodes import Block, Expr, For, If, Jump, Loop, Op, Read, Ref, Result, While
from semac.anf.walk import blocks, expressions, params_of
from semac.generate.context import Context
from semac.generate.destination import DROP, Dest
from semac.generate.effects import EFFECT, rank
from semac.generate.nest import expr_weight
from semac.generate.pyast import Loc, assign, const, drop_trailing_continue, loc_of, negate, store_tuple, tuple_of
from semac.ir.nodes import Var

ONCE = 2  # `uses` of a variable that is bound elsewhere than in a block, and read once


def while_(c: Context, op: While, dest: Dest) -> None:
    loc = c.loc(op)
    assert type(op.test.exit) is Result
    value = op.test.exit.value

    def head() -> ast.expr:
        c.instructions(op.test)
        return c.test(value)

    test, before = c.in_block(head)
    c.loops.append(None)
    body = c.statements(op.body, DROP)
    c.loops.pop()
    if before:
        stop = ast.If(negate(test, loc), [ast.Break(**loc)], [], **loc)
        c.append(ast.While(const(True, loc), [*before, stop, *body], [], **loc))
    else:
        c.append(ast.While(test, body or [ast.Pass(**loc)], [], **loc))
    c.finish(const(None, loc), dest, loc, False)


def named_let(c: Context, op: Loop, dest: Dest) -> None:
    """A loop: its variables get their first values, then the body repeats."""
    for var, init in zip(op.params, op.inits, strict=True):
        if not takes_over(c, var, init):
            c.stmt(init, Dest("assign", c.bind(var)))
    loop_body(c, op.source, op.body, dest, op.source.function.body.span)


def takes_over(c: Context, var: Var, init: Expr) -> bool:
    """Has a variable of a loop go on under the name of the one it starts from, where nothing else reads that."""
    if type(init) is not Ref or c.loops or var.captured or not var.name:
        return False
    old = init.var
    if old.name != var.name or old not in c.owned or old.uses != ONCE or old.captured or c.at_module:
        return False
    var.py = old.py
    c.owned.add(var)
    c.kinds.pop(old.py, None)
    c.items.pop(old.py, None)
    return True


def always_jumps(block: Block, loop: Any) -> bool:
    """Whether every way through a block ends in a jump back to the loop."""
    if type(block.exit) is Jump:
        return block.exit.target is loop
    value = block.exit.value  # type: ignore[union-attr]
    return type(value) is If and all(always_jumps(inner, loop) for inner in blocks(value))


def jumps(block: Block) -> set[Any]:
    """The loops to which a block jumps back, those inside of it left out."""
    found = list(expressions(block, into_functions=False))
    inner = {op.source for op in found if type(op) is Loop} | {op for op in found if type(op) is For}
    return {part.exit.target for part in nested_blocks(block) if type(part.exit) is Jump} - inner


def nested_blocks(block: Block) -> list[Block]:
    """A block and those of the operations inside."""
    return [
        block,
        *(part for op in expressions(block, into_functions=False) if isinstance(op, Op) for part in blocks(op)),
    ]


def loop_body(c: Context, loop: Any, body: Block, dest: Dest, span: Any) -> None:
    """`while True:` over a body in which jumps go back; `while test:` if the body allows it."""
    loc = loc_of(span) if span is not None else c.current
    c.current = loc
    value = body.exit.value if type(body.exit) is Result else None
    if not body.instrs and type(value) is If and expr_weight(value.test) and not jumps(body) - {loop}:
        stay, leave = value.then, value.otherwise
        flip = not always_jumps(stay, loop)
        if flip:
            stay, leave = leave, stay
        if always_jumps(stay, loop) and loop not in jumps(leave):
            test = c.test(value.test)
            c.loops.append(loop)
            inside = c.statements(stay, dest)
            c.loops.pop()
            drop_trailing_continue(inside)
            head = negate(test, loc) if flip else test
            c.append(ast.While(head, inside or [ast.Pass(**loc)], [], **loc))
            c.block(leave, dest)
            return
    inner = dest if dest.kind == "return" else Dest(dest.kind, dest.target, after=True)
    c.loops.append(loop)
    inside = c.statements(body, inner)
    c.loops.pop()
    drop_trailing_continue(inside)
    c.append(ast.While(const(True, loc), inside or [ast.Pass(**loc)], [], **loc))
    if dest.after:
        c.append(ast.Break(**loc))
    go_on_around(c, bool(jumps(body) - {loop}), dest, loc)


def go_on_around(c: Context, jumps_past: bool, dest: Dest, loc: Loc) -> None:
    """After a loop: what broke out of it for the next round of the loop around goes on there."""
    if jumps_past and not dest.after:
        c.append(ast.Continue(**loc))


def jump(c: Context, exit_: Jump) -> None:
    """New values for the loop's variables, then `continue` (or `break` out of an inner loop)."""
    loop = exit_.target
    loc = c.loc(exit_)
    pairs = [
        (var, arg)
        for var, arg in zip(params_of(loop), exit_.args, strict=True)
        if not (type(arg) in (Ref, Read) and arg.var is var)  # type: ignore[union-attr]
    ]
    assign_parallel(c, pairs, loc)
    inside = next(i for i, outer in enumerate(reversed(c.loops)) if outer is loop)
    c.append(ast.Continue(**loc) if inside == 0 else ast.Break(**loc))


def assign_parallel(c: Context, pairs: list[tuple[Var, Any]], loc: Loc) -> None:
    """Assigns all variables from their old values: one after the other where an order allows it."""
    ordered = safe_order(pairs)
    if ordered is not None:
        for var, arg in ordered:
            c.stmt(arg, Dest("assign", var.py))
        return
    values = c.exprs([arg for _, arg in pairs])
    kept = [
        (var.py, value)
        for (var, _), value in zip(pairs, values, strict=True)
        if not (isinstance(value, ast.Name) and value.id == var.py)
    ]
    if len(kept) == 1:
        c.append(assign(kept[0][0], kept[0][1], loc))
    elif kept:
        new_values = tuple_of([value for _, value in kept], loc)
        c.append(ast.Assign([store_tuple([target for target, _ in kept], loc)], new_values, **loc))


def safe_order(pairs: list[tuple[Var, Any]]) -> list[tuple[Var, Any]] | None:
    """An order in which assigning one by one has the effect of assigning at once; None when there is none."""
    if len(pairs) < 2:
        return pairs
    if sum(rank(arg) == EFFECT for _, arg in pairs):
        return None if len(pairs) > 1 and not in_place(pairs) else pairs
    reads = [read_by(arg) for _, arg in pairs]
    left = list(range(len(pairs)))
    ordered = []
    while left:
        for index in left:
            if not any(pairs[index][0] in reads[other] for other in left if other != index):
                ordered.append(pairs[index])
                left.remove(index)
                break
        else:
            return None
    return ordered


def in_place(pairs: list[tuple[Var, Any]]) -> bool:
    """Whether assigning one by one, in the order of evaluation, changes nothing that is read later."""
    reads = [read_by(arg) for _, arg in pairs]
    if any(var.captured for var, _ in pairs):
        return False
    return not any(pairs[index][0] in later for index in range(len(pairs)) for later in reads[index + 1 :])


def read_by(expr: Any) -> set[Var]:
    """The variables that an expression reads."""
    parts = expressions(Block([], Result(expr)))
    return {part.var for part in parts if type(part) is Ref or type(part) is Read}
