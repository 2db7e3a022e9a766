"""Copies of tasks and of the functions that they call: what the passes over tasks have in common."""

from __future__ import annotations

from semac.anf.nodes import (
    Assign,
    BuiltinRef,
    CallBuiltin,
    CallRuntime,
    Closure,
    Let,
    Loop,
    Op,
    Read,
    Ref,
)
from semac.anf.walk import blocks, code_of, instructions, refs
from semac.ir.nodes import Function, Var
from semac.optimize.loops.functions import lambda_applied, temporary
from semac.optimize.loops.higher_order import for_each
from semac.optimize.steps.silent import CALL_NATIVE, bound_by
from semac.optimize.versions.copies import Copier
from semac.types.lattice import ANY


def kept(op: Op, instrs: list[Let]) -> Ref:
    """The value of an operation, at the end of instructions."""
    var = temporary("", None)
    var.op, var.type = op, op.type
    instrs.append(Let(var, op))
    return Ref(var, op.type)


def value_of(var: Var, before: list[Let]) -> Ref:
    """A variable as an operand."""
    return kept(Read(var, type=ANY), before) if var.is_global else Ref(var, var.type or ANY)


def copied_function(function: Function, var: Var) -> tuple[Function, list[Function]]:
    """A copy of a function of the top level, which another global will hold; and the functions in it."""
    copier = Copier()
    copy = copier.function(function, var)
    for before, after in copier.vars:
        after.type = before.type
    copy.original = function.original or function
    copy.type = function.type
    return copy, copier.functions


def copied(original: Function) -> tuple[Function, list[Function]]:
    """A copy of a function inside of another one, which has the same variables of others; and the functions in it."""
    inside = functions_in(original) | {original}
    copier = Copier(inside)
    for var in named(original) - own_variables(original):
        copier.made[id(var)] = var
    made: Function = copier.copy(original)
    for before, after in copier.vars:
        after.op = copier.made.get(id(before.op))
        after.type = before.type
    for function in inside:
        copy = copier.made[id(function)]
        copy.type, copy.original = function.type, function.original
    return made, copier.functions


def functions_in(function: Function) -> set[Function]:
    """The functions that are made in a function, those of its loops included."""
    operations = [instr.op for instr in instructions(code_of(function))]
    made = {op.function for op in operations if type(op) is Closure}
    return made | {op.source.function for op in operations if type(op) is Loop}


def named(function: Function) -> set[Var]:
    """The variables that the code of a function names."""
    found = {ref.var for ref in refs(code_of(function))}
    return found | {
        instr.op.var for instr in instructions(code_of(function)) if type(instr.op) is Read or type(instr.op) is Assign
    }


def own_variables(function: Function) -> set[Var]:
    return {var for instr in instructions(code_of(function)) for var in bound_by(instr)}


def write_loops(function: Function) -> None:
    """Makes plain calls of those of builtins that look after turns, and loops of `for-each` with a lambda."""
    stack = [code_of(function)]
    while stack:
        block = stack.pop()
        spent: set[Var] = set()
        for instr in block.instrs:
            op = instr.op
            if type(op) is CallRuntime and op.path == CALL_NATIVE and type(op.args[0]) is BuiltinRef:
                plain = CallBuiltin(op.args[0].name, op.args[2:], fixed=True, span=op.span, type=op.type)
                instr.op = looped(plain, spent)
                if instr.var is not None:
                    instr.var.op = instr.op
            stack += blocks(instr.op)
        block.instrs = [instr for instr in block.instrs if instr.var is None or instr.var not in spent]


def looped(call: CallBuiltin, spent: set[Var]) -> Op:
    """A call of `for-each` as a loop. spent: gets the variable of a lambda that is part of it now."""
    if call.name != "for-each" or len(call.args) != 2:
        return call
    value, items = call.args
    if type(value) is not Ref or value.var.name or type(value.var.op) is not Closure:
        return call
    body = lambda_applied(value.var.op.function, 1)
    if body is None:
        return call
    spent.add(value.var)
    loop = for_each(call, body, [items])
    loop.span, loop.type = call.span, call.type
    return loop
