"""The last generator that a pulled task hands on to becomes part of its own.

`(async (walk a b) (channel/close out))` is a generator that only yields what another one does, so each value would
pass two frames. What the task does after its last call has no effect: the value of its generator is dropped. So the
code of a function that nobody else calls, or a copy of that of a small one, can stand in place of the call; its jumps
back to the start become those of a loop.
"""

from __future__ import annotations

from semac.anf.nodes import Block, Call, Closure, Expr, GetField, Guarded, If, Jump, Let, Loop, Move, Read, Ref, Result
from semac.anf.nodes import Python as PythonOp
from semac.anf.step_nodes import YieldFrom
from semac.anf.walk import all_blocks, blocks, code_of, instructions, named, refs
from semac.ir.nodes import Const, Function, NamedLet, Node, Var
from semac.optimize.loops.functions import temporary
from semac.optimize.steps.silent import bound_by
from semac.optimize.versions.copies import Copier
from semac.types.lattice import ANY

EASY = frozenset((Move, Read, GetField, Guarded, PythonOp))  # operations that end soon
MOST = 120  # instructions of a function that is copied


def splice(function: Function, made: list[Function]) -> None:
    """Puts the code of generators in place of a task's last calls of them. made: gets functions that are copied, and
    loses those that are no more."""
    for _ in range(3):  # a generator may hand on to another one
        if not any([spliced(function, block, made) for block in ends(code_of(function))]):
            return


def hand_out(function: Function) -> None:
    """Has a task only return the generator that it would hand on to, where it computes little before."""
    code = code_of(function)
    if not code.instrs or type(code.exit) is not Result:
        return
    *before, last = code.instrs
    if type(last.op) is YieldFrom and not last.op.path and all(type(instr.op) in EASY for instr in before):
        var = last.var or temporary("", function)
        var.op = Call(last.op.args[0], last.op.args[1:], span=last.op.span, type=ANY)
        var.type = ANY
        code.instrs[-1] = Let(var, var.op)
        code.exit = Result(Ref(var, ANY))
        function.is_generator = False


def ends(block: Block) -> list[Block]:
    """The blocks at whose end a function ends, those of loops left out."""
    op = block.instrs[-1].op if block.instrs else None
    return [end for inner in blocks(op) for end in ends(inner)] if type(op) is If else [block]


def spliced(function: Function, block: Block, made: list[Function]) -> bool:
    last = block.instrs[-1] if block.instrs else None
    if last is None or type(last.op) is not YieldFrom or last.op.path or type(block.exit) is Jump:
        return False
    head = last.op.args[0]
    if type(head) is not Ref:
        return False
    called = own_copy(head.var, made) if head.var.is_global else taken(head.var, function, block, made)
    if called is None or called.rest is not None or len(called.params) != len(last.op.args) - 1:
        return False
    code = code_of(called)
    adopt(function, called)
    block.instrs.pop()
    args = last.op.args[1:]
    if called.self_tail:
        block.instrs.append(loop_of(called, args, function))
        block.exit = Result(Ref(block.instrs[-1].var, ANY))  # type: ignore[arg-type]
        return True
    used = set(named([code]))
    for param, arg in zip(called.params, args, strict=True):
        if param in used:
            param.op = Move(arg, type=arg.type)
            block.instrs.append(Let(param, param.op))
    block.instrs += code.instrs
    block.exit = code.exit
    return True


def taken(var: Var, function: Function, block: Block, made: list[Function]) -> Function | None:
    """A function that is made in a block and called at its end only."""
    place = next((at for at, instr in enumerate(block.instrs) if instr.var is var), None)
    if place is None or sum(ref.var is var for ref in refs(code_of(function))) > 1:
        return None
    op = block.instrs[place].op
    if type(op) is not Closure or var.assigned or var.late or var.early:
        return None
    del block.instrs[place]
    if op.function in made:
        made.remove(op.function)
    return op.function


def own_copy(var: Var, made: list[Function]) -> Function | None:
    """A copy of a small generator of the top level that doesn't call itself."""
    original = var.function
    if original is None or not original.is_generator or original.self_tail:
        return None
    operations = list(instructions(code_of(original)))
    if len(operations) > MOST or any(ref.var is var for ref in refs(code_of(original))):
        return None
    copier = Copier()
    copy: Function = copier.copy(original)
    for before, after in copier.vars:
        after.op = copier.made.get(id(before.op))
        after.type = before.type
    copy.type, copy.original = original.type, original.original
    made += [each for each in copier.functions if each is not copy]
    return copy


def adopt(function: Function, called: Function) -> None:
    """Has what belonged to a function belong to the one that its code becomes part of."""
    code = code_of(called)
    for var in {*called.params, *(var for instr in instructions(code) for var in bound_by(instr))}:
        if var.owner is called:
            var.owner = function
    for instr in instructions(code):
        inner = instr.op.function if type(instr.op) is Closure else None
        if inner is not None and inner.parent is called:
            inner.parent = function
        if type(instr.op) is Loop and instr.op.source.enclosing is called:
            instr.op.source.enclosing = function
    function.locals = [*function.locals, *called.params, *called.locals]
    function.has_closures = function.has_closures or called.has_closures


def loop_of(called: Function, args: list[Expr], function: Function) -> Let:
    """The body of a function that jumps to its own start, as a loop of another one."""
    body = Function(called.name, function)
    body.params = called.params
    inits: list[Node] = [Const(None) for _ in args]
    loop = NamedLet(Var(called.name, function), body, inits, True, True, function, span=called.span)
    for block in all_blocks(code_of(called), into_functions=False):
        if type(block.exit) is Jump and called in (block.exit.target, getattr(block.exit.target, "function", None)):
            block.exit.target = loop
    value = Var("", function)
    value.defined, value.op, value.type = 1, Loop(loop, args, code_of(called), span=called.span, type=ANY), ANY
    return Let(value, value.op)
