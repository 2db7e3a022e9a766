"""Functions that wait and that tasks call by name get a twin, a generator: `yield from` calls it.

Only functions of the top level that nothing defines anew: the twin is the function that it is a copy of. A tail call
that may be part of an endless chain is none of its calls, since a chain of generators would grow.
"""

from __future__ import annotations

from semac.anf.nodes import Assign, Block, Call, Closure, Jump, Let, Loop, Op, Ref, Result
from semac.anf.walk import all_blocks, code_of, instructions
from semac.ir.nodes import Const, Function, NamedLet, Var
from semac.ir.unit import Unit
from semac.optimize.steps.copied import copied_function
from semac.optimize.steps.rewrite import Stepped, is_step, own_operations
from semac.optimize.versions.heat import Definition


class Twins:
    """The twins of a unit, made when a stepper wants them. stepping: the functions that can have one."""

    prefix = "_steps_"  # of their names

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.definitions = {
            found.function: found for found in definitions(unit) if found.can_be_copied and found.function.rest is None
        }
        self.stepping = self.those_that_wait()
        self.made: dict[Function, Var] = {}

    def those_that_wait(self, inside: bool = False) -> set[Function]:
        """The functions with operations that wait in their own code, and those that call one of these there. inside: or
        in functions that are made there."""
        find = all_operations if inside else own_operations
        own = {function: find(function) for function in self.definitions}
        waiting = {function for function, ops in own.items() if any(map(is_step, ops))}
        while True:
            more = {
                function
                for function, ops in own.items()
                if function not in waiting and any(called(op) in waiting for op in ops if type(op) is Call)
            }
            if not more:
                return waiting
            waiting |= more

    def called_by(self, op: Call) -> Var | None:
        """The twin of the function that a call calls; None where it has none."""
        function = called(op)
        if function not in self.stepping or len(op.args) != len(self.definitions[function].function.params):
            return None
        assert function is not None
        return self.made[function] if function in self.made else self.make(function)

    def make(self, function: Function) -> Var:
        """Defines the twin, after the function."""
        definition = self.definitions[function]
        twin, functions = self.copied(function)
        var: Var = twin.var  # type: ignore[assignment]
        self.made[function] = var
        var.function = twin
        self.unit.functions += functions
        self.unit.globals[var.name] = var
        span = definition.closure.span
        if twin.self_tail:
            make_loop(twin, span)
        made = Closure(twin, span=span, type=definition.closure.type)
        value = Var("", None)
        value.defined, value.op, value.type = 1, made, made.type
        place = next(at for at, instr in enumerate(definition.block.instrs) if instr.op is definition.closure) + 2
        definition.block.instrs[place:place] = [
            Let(value, made),
            Let(None, Assign(var, Ref(value), "global", span=span)),
        ]
        self.rewrite(function, twin)
        return var

    def copied(self, function: Function) -> tuple[Function, list[Function]]:
        """A copy of a function, and the functions in it."""
        return copied_function(function, self.variable(function))

    def variable(self, function: Function) -> Var:
        """The global that a copy of a function will be the value of."""
        definition = self.definitions[function]
        var = Var(f"{self.prefix}{definition.var.name}", None, is_global=True)
        var.defined = 1
        var.type = definition.var.type
        return var

    def rewrite(self, function: Function, twin: Function) -> None:
        """Makes a generator of the copy of a function."""
        Stepped(twin, self).rewrite()


def all_operations(function: Function) -> list[Op]:
    return [instr.op for instr in instructions(code_of(function))]


def called(op: Call) -> Function | None:
    """The function of the top level that a call calls by name, without a trampoline."""
    head = op.head
    if op.trampolined or type(head) is not Ref or not head.var.is_global:
        return None
    return head.var.known_function


def definitions(unit: Unit) -> list[Definition]:
    """The functions that forms of the top level define, their copies included."""
    found = []
    for block in unit.blocks:
        for before, instr in zip(block.instrs, block.instrs[1:], strict=False):
            closure, definition = before.op, instr.op
            if type(closure) is Closure and type(definition) is Assign and definition.define == "global":
                var, value = definition.var, definition.value
                if type(value) is Ref and value.var is before.var and var.known_function is closure.function:
                    found.append(Definition(block, closure, var))
    return found


def make_loop(function: Function, span: object) -> None:
    """Makes a loop of the body of a function that jumps to its own start: what comes before it happens once.

    Parameters that no jump changes stay those of the function.
    """
    jumps = [
        block.exit
        for block in all_blocks(code_of(function), into_functions=False)
        if type(block.exit) is Jump and block.exit.target is function
    ]
    changed = [
        at
        for at, param in enumerate(function.params)
        if any(type(arg := jump.args[at]) is not Ref or arg.var is not param for jump in jumps)
    ]
    body = Function(function.name, function)
    body.params = [function.params[at] for at in changed]
    loop = NamedLet(Var(function.name, function), body, [Const(None) for _ in changed], True, True, function, span=span)
    for jump in jumps:
        jump.target = loop
        jump.args = [jump.args[at] for at in changed]
    for at in changed:
        old = function.params[at]
        function.params[at] = param = Var(old.name, function)
        param.defined, param.type, param.span = 1, old.type, old.span
    function.locals = [*function.locals, *body.params]
    function.self_tail = False
    inits = [Ref(function.params[at], function.params[at].type) for at in changed]
    op = Loop(loop, list(inits), code_of(function), span=span, type=function.type)
    value = Var("", function)
    value.defined, value.op, value.type = 1, op, function.type
    function.code = Block([Let(value, op)], Result(Ref(value)))
