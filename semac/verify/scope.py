"""V1 and V9: names, arities, jumps and places."""

from __future__ import annotations

from typing import Any

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, Expr, Jump, Op, Ref, Result
from semac.anf.step_nodes import Consume, Give, Pull, Receive, Send, YieldFrom
from semac.anf.walk import blocks, exit_operands, operands, params_of, pattern_vars
from semac.generate.python_ops import EFFECT, PYTHON_OPS
from semac.ir.nodes import Function, NamedLet, Var
from semac.ir.unit import Unit
from semac.types.lattice import INT
from semac.verify.faults import Place, shown_op

RETURN = "return"  # among the targets: the value of the block is that of the function
DECLARED, BOUND = 1, 2  # a variable of a body that functions may already name; one that has a value
Targets = frozenset[Any]
NONE: Targets = frozenset()
RAISES = frozenset((
    anf.Call, anf.CallBuiltin, anf.CallOpen, anf.Throw, anf.PyAttr, anf.PyItem, anf.PyCall, anf.PySetAttr, anf.Import,
    anf.PyImport, anf.Destructure, anf.Guarded, anf.For, anf.Comprehension, Consume, Give, Pull, Receive, Send,
    YieldFrom,
))  # fmt: skip

ON_INTS = frozenset(("+", "-", "max", "min"))  # builtins that never raise for ints

SURE = frozenset((  # functions of the runtime that never raise
    "builtins:globals", "sema_runtime.values.maps:Map", "sema_runtime.values.maps:HashMap",
    "semac.anf.assertions:check",
))  # fmt: skip


def check_scope(unit: Unit, after: str) -> None:
    """Raises Fault where a unit breaks V1 or V9."""
    scope = Scope(Place(after), has_places(unit))
    for form in unit.blocks:
        scope.block(form, NONE)


def has_places(unit: Unit) -> bool:
    """Whether its forms were read from a text; `eval` is given forms that a program has built."""
    return all(form.span is not None for form in unit.tree.items)


class Scope:
    """Walks the code of a unit with the variables that are in scope."""

    def __init__(self, place: Place, has_places: bool) -> None:
        self.place = place
        self.has_places = has_places
        self.state: dict[Var, int] = {}
        self.trail: list[tuple[Var, int]] = []  # what to restore at the end of a block
        self.homes: dict[Var, Function | None] = {}  # the function whose code binds a variable
        self.once: set[Var] = set()  # variables with one binding that have had it
        self.functions: set[Function] = set()

    # Blocks

    def block(self, block: Block, tail: Targets) -> None:
        """tail: the loops whose value the block's value is."""
        mark = len(self.trail)
        last = block.instrs[-1] if block.instrs else None
        exit_ = block.exit
        is_value = (
            type(exit_) is Result and type(exit_.value) is Ref and last is not None and exit_.value.var is last.var
        )
        for instr in block.instrs:
            # What follows a `try` isn't guarded by it, so its handler may go on with a loop instead.
            others = tail - {RETURN} if type(instr.op) is anf.Try else NONE
            self.instruction(instr, tail if is_value and instr is last else others)
        self.place.op = exit_
        if type(exit_) is Jump:
            self.jump(exit_, tail)
        elif type(exit_) is not Result:
            raise self.place.fault("V1", f"a block ends in {exit_!r}")
        for value in exit_operands(exit_):
            self.operand(value)
        self.restore(mark)

    def jump(self, exit_: Jump, tail: Targets) -> None:
        target = exit_.target
        if target not in tail:
            raise self.place.fault("V1", f"a jump to {name_of(target)}, which isn't around in tail position")
        params = params_of(target)
        if len(exit_.args) != len(params):
            raise self.place.fault("V1", f"{len(exit_.args)} arguments jump to {len(params)} variables")

    def instruction(self, instr: anf.Let, tail: Targets) -> None:
        op, var = instr.op, instr.var
        self.place.op = op
        if not isinstance(op, Op):
            raise self.place.fault("V1", "an instruction without an operation")
        for value in operands(op):
            self.operand(value)
        self.own_variable(op)
        if type(op) is anf.Call and op.trampolined and RETURN not in tail and self.place.function is not None:
            raise self.place.fault("V7", "something stands between a tail call and the end of its function")
        check_shape(op, self.place)
        if self.has_places and op.span is None and can_raise(op):
            raise self.place.fault("V9", "it can raise an error, and has no place in the source")
        if var is not None and type(op) is anf.Closure and var.name:
            self.bind(var)  # it may call itself
            self.inside(op, tail)
        else:
            self.inside(op, tail)
            if var is not None:
                self.bind(var)
        if var is not None and var.op is not None and var.op is not op and is_fixed(var) and not var.is_global:
            raise self.place.fault("V1", f"{var_name(var)} says that another operation defines it")

    # Operands

    def operand(self, value: Expr) -> None:
        if type(value) is Ref:
            self.used(value.var, is_atom=True)
        elif type(value) is not anf.Lit and type(value) is not anf.BuiltinRef:
            raise self.place.fault("V1", f"an operand is {value!r}, no atom")

    def own_variable(self, op: Op) -> None:
        """A variable that an operation reads or sets by itself."""
        kind = type(op)
        if kind is anf.Read:
            self.used(op.var, is_atom=False)  # type: ignore[attr-defined]
        elif kind is anf.Assign:
            var: Var = op.var  # type: ignore[attr-defined]
            if not var.is_global and is_fixed(var):
                raise self.place.fault("V1", f"{var_name(var)} is assigned although it is fixed")
            if not var.is_global and var not in self.state:
                self.bind(var)

    def used(self, var: Var, is_atom: bool) -> None:
        if var.is_global:
            return
        state = self.state.get(var, 0)
        if state == BOUND or (not is_fixed(var) and var.name and state):
            return
        if state == DECLARED and self.homes.get(var) is not self.place.function:
            return  # a function that is called when the variable is defined
        if not var.defined or (not is_fixed(var) and var in self.homes):
            return  # nil, or defined on some other way to here
        raise self.place.fault("V1", f"{var_name(var)} is used where it isn't bound")

    # Bindings

    def bind(self, var: Var, state: int = BOUND) -> None:
        if is_fixed(var) and not var.is_global and state == BOUND:
            if var in self.once:
                raise self.place.fault("V1", f"{var_name(var)} is bound twice")
            self.once.add(var)
        self.trail.append((var, self.state.get(var, 0)))
        self.state[var] = state
        self.homes.setdefault(var, self.place.function)

    def inside(self, op: Op, tail: Targets) -> None:
        """The blocks of an operation, with the variables that it binds for them."""
        kind = type(op)
        if kind is anf.Closure:
            self.function(op.function)  # type: ignore[attr-defined]
        elif kind is anf.Declare:
            for var in op.vars:  # type: ignore[attr-defined]
                self.bind(var, DECLARED)
        elif kind is anf.Destructure:
            for var in pattern_vars(op.pattern):  # type: ignore[attr-defined]
                self.bind(var)
        elif kind is anf.Loop:
            self.binding(list(op.params), op.body, tail | {op.source})  # type: ignore[attr-defined]
        elif kind is anf.For:
            if self.place.function is not None:  # the loop of a function that calls itself has its parameters
                self.once -= set(self.place.function.params) & {*op.params, *pattern_vars(op.target)}  # type: ignore[attr-defined]
            self.binding([*pattern_vars(op.target), *op.params], op.body, tail | {op})  # type: ignore[attr-defined]
            self.binding(list(op.params), op.after, tail, again=True)  # type: ignore[attr-defined]
        elif kind is anf.Comprehension:
            self.comprehension(op)  # type: ignore[arg-type]
        elif kind is anf.Try:
            self.block(op.body, NONE)  # type: ignore[attr-defined]
            self.binding([op.var], op.handler, tail)  # type: ignore[attr-defined]
        elif kind is anf.With:
            target = op.target  # type: ignore[attr-defined]
            self.binding([target] if target is not None else [], op.body, NONE)  # type: ignore[attr-defined]
        elif kind is anf.Match:
            self.clauses(op, tail)  # type: ignore[arg-type]
        else:
            ends = tail if kind in (anf.If, anf.Logic) else NONE
            for inner in blocks(op):
                self.block(inner, ends)

    def binding(self, variables: list[Var], block: Block, tail: Targets, again: bool = False) -> None:
        """again: the variables had their bindings in another block of the operation."""
        mark = len(self.trail)
        for var in variables:
            if again:
                self.once.discard(var)
            self.bind(var)
        self.block(block, tail)
        self.restore(mark)

    def restore(self, mark: int) -> None:
        while len(self.trail) > mark:
            var, before = self.trail.pop()
            self.state[var] = before

    def comprehension(self, op: anf.Comprehension) -> None:
        mark = len(self.trail)
        if self.place.function is not None:  # it was the loop of a function that calls itself
            self.once -= set(self.place.function.params) & set(pattern_vars(op.target))
        for var in pattern_vars(op.target):
            self.bind(var)
        for stage in op.stages:
            self.block(stage.block, NONE)
            if stage.var is not None:
                self.bind(stage.var)
        self.block(op.body, NONE)
        self.restore(mark)

    def clauses(self, op: anf.Match, tail: Targets) -> None:
        for clause in op.clauses:
            mark = len(self.trail)
            for var in pattern_vars(clause.pattern):
                self.bind(var)
            if clause.guard is not None:
                if type(clause.guard.exit) is not Result:
                    raise self.place.fault("V1", "a guard jumps")
                self.block(clause.guard, NONE)
            self.block(clause.body, tail)
            self.restore(mark)

    def function(self, function: Function) -> None:
        if function in self.functions:
            raise self.place.fault("V1", f"function {function.name} is made in two places")
        self.functions.add(function)
        outer, self.place.function = self.place.function, function
        tail: set[Any] = {RETURN, *([function] if function.self_tail else [])}
        params = [*function.params, *([function.rest] if function.rest is not None else [])]
        self.binding(params, function.code, frozenset(tail))
        self.place.function = outer


def can_raise(op: Op) -> bool:
    """Whether an operation by itself can raise an error that says where."""
    kind = type(op)
    if kind is anf.Python:
        return PYTHON_OPS[op.kind].rank == EFFECT  # type: ignore[attr-defined]
    if kind is anf.CallRuntime:
        return op.path not in SURE  # type: ignore[attr-defined]
    if kind is anf.CallBuiltin:
        ints = op.name in ON_INTS and all(value.type.only(INT) for value in op.args)  # type: ignore[attr-defined]
        return op.name != "not" and not ints  # type: ignore[attr-defined]
    if kind is anf.Read:
        return op.var.is_global and not op.var.defined  # type: ignore[attr-defined]
    return kind in RAISES or (kind is anf.Match and not op.lenient)  # type: ignore[attr-defined]


def check_shape(op: Op, place: Place) -> None:
    """The numbers of operands, and what else a class of operations promises."""
    kind = type(op)
    if kind is anf.MakeMap and len(op.items) % 2:  # type: ignore[attr-defined]
        raise place.fault("V1", "a key without a value")
    if kind is anf.Loop and len(op.inits) != len(op.params):  # type: ignore[attr-defined]
        raise place.fault("V1", "the variables of a loop have other numbers of first values")
    if kind is anf.Python and op.kind not in PYTHON_OPS:  # type: ignore[attr-defined]
        raise place.fault("V1", "no printer knows the operation")
    if kind is anf.Guarded:
        if op.fast not in PYTHON_OPS:  # type: ignore[attr-defined]
            raise place.fault("V1", "no printer knows the fast operation")
        tested = [index for _, positions in op.tests for index in positions]  # type: ignore[attr-defined]
        if not tested or not all(0 <= index < len(op.args) for index in tested):  # type: ignore[attr-defined]
            raise place.fault("V1", "a guard tests no operand, or one that isn't there")
    if kind is anf.PyCall and len(op.keywords) > len(op.args):  # type: ignore[attr-defined]
        raise place.fault("V1", "keywords without arguments")


def var_name(var: Var) -> str:
    return var.name or f"a temporary ({var.hint or 'value'})"


def name_of(target: Any) -> str:
    function = target.function if type(target) is NamedLet else target
    return f"function {function.name}" if type(function) is Function else shown_op(target)
