"""Which types the code of a unit wants of its variables: those with which its operations need no guards.

A demand is a kind of `Fits`. Demands flow from a variable to those that its value comes from: from loops to their first
values, from the parameters of functions to the arguments of calls. Nothing here has to be true: a wrong guess costs a
test that fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from semac.anf.nodes import Assign, Block, Call, CallBuiltin, Expr, Jump, Lit, Loop, Move, RecordFunction, Ref
from semac.anf.records import RecordMember
from semac.anf.walk import all_blocks, params_of
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.infer.fits import Kind

ARITHMETIC = frozenset(("+", "-", "*"))
NUMERIC = frozenset(("/", "<", ">", "<=", ">=", "min", "max", "abs", "sqrt")) | ARITHMETIC
BOUNDS = frozenset(("<", ">", "<=", ">=", "="))
WHOLE = frozenset(("mod", "modulo", "quotient", "remainder", "even?", "odd?"))
SEQUENCES = frozenset(("car", "cdr", "first", "rest", "null?", "cadr", "cddr", "caddr"))
# Builtins → the kinds of their first arguments.
FIRST: dict[str, tuple[str, ...]] = {
    "mutable-array/get": ("MutableArray", "int"), "mutable-array/set!": ("MutableArray", "int"),
    "mutable-array/push!": ("MutableArray",), "mutable-array/length": ("MutableArray",),
    "nth": ("", "int"), "string-ref": ("str", "int"), "string-length": ("str",),
}  # fmt: skip
ASKING = frozenset((
    "nil?", "string?", "keyword?", "symbol?", "list?", "vector?", "char?", "bool?", "boolean?", "integer?", "float?",
    "number?", "map?", "pair?",
))  # fmt: skip
PARTIAL = "?"  # the program itself asks for the type


class Demands:
    """The demands of a unit by variable."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.kinds: dict[Var, set[Kind]] = {}
        self.sources: dict[Var, set[Var]] = {}  # variable → those that its value comes from
        self.operands: dict[Var, set[Var]] = {}  # result of arithmetic → its operands, which are ints where it is
        self.counters: set[Var] = set()  # variables of loops that begin with an int
        self.accessors: dict[Var, RecordMember] = {}
        self.bounds: list[tuple[Expr, Expr]] = []
        self.note_accessors()
        for block in unit.blocks:
            for inner in all_blocks(block):
                self.block(inner)
        for a, b in self.bounds:
            if type(a) is Ref and a.var in self.counters:
                self.want(b, "int")
        self.spread()

    def note_accessors(self) -> None:
        for form in self.unit.blocks:
            for instr in form.instrs:
                op: Any = instr.op
                if type(op) is Assign and op.define == "global" and type(op.value) is Ref and not op.var.assigned:
                    made = op.value.var.op
                    if type(made) is RecordFunction and made.function.role == "accessor" and op.var.defined == 1:
                        record = made.function.record
                        if record.form >= 0 and not record.has_twin:
                            self.accessors[op.var] = made.function

    def kind(self, var: Var) -> Kind:
        """The one kind that is demanded of a variable; "" for none, or for several."""
        kinds = self.kinds.get(var, set())
        if kinds == {"number", "int"}:
            return "int"
        if len(kinds) != 1:
            return ""
        (kind,) = kinds
        return "" if kind == PARTIAL else kind

    # Operations

    def block(self, block: Block) -> None:
        for instr in block.instrs:
            op = instr.op
            if type(op) is CallBuiltin:
                self.builtin(op, instr.var)
            elif type(op) is Move and instr.var is not None:
                self.flow(op.value, instr.var)
            elif type(op) is Loop:
                for param, init in zip(op.params, op.inits, strict=True):
                    self.flow(init, param)
                    if type(init) is Lit and type(init.value) is int:
                        self.counters.add(param)
            elif type(op) is Call and type(op.head) is Ref:
                self.call(op, op.head.var)
        exit_ = block.exit
        if type(exit_) is Jump:
            for param, arg in zip(params_of(exit_.target), exit_.args, strict=False):
                self.flow(arg, param)

    def call(self, op: Call, head: Var) -> None:
        function = head.known_function
        if function is not None:
            for param, arg in zip(function.params, op.args, strict=False):
                self.flow(arg, param)
        elif head in self.accessors and len(op.args) == 1:
            self.want(op.args[0], self.accessors[head].record)

    def builtin(self, op: CallBuiltin, result: Var | None) -> None:
        name, args = op.name, op.args
        if name == "=" and len(args) == 2:  # strings and keywords are compared as often
            self.equality(args[0], args[1])
        elif name in NUMERIC and not any(type(arg) is Lit and type(arg.value) not in (int, float) for arg in args):
            for arg in args:
                self.want(arg, "number")
            if name in BOUNDS and len(args) == 2:
                self.bounds += [(args[0], args[1]), (args[1], args[0])]
            if name in ARITHMETIC and result is not None:
                self.operands.setdefault(result, set()).update(arg.var for arg in args if type(arg) is Ref)
        elif name in WHOLE:
            for arg in args:
                self.want(arg, "int")
        elif name in SEQUENCES and args:
            self.want(args[0], "List")
        elif name in FIRST:
            for arg, kind in zip(args, FIRST[name], strict=False):
                if kind:
                    self.want(arg, kind)
        elif name in ASKING and args:
            self.want(args[0], PARTIAL)

    def equality(self, a: Expr, b: Expr) -> None:
        if any(type(arg) is Lit and type(arg.value) in (int, float) for arg in (a, b)):
            self.want(a, "number")
            self.want(b, "number")
        self.bounds += [(a, b), (b, a)]

    def want(self, value: Expr, kind: Kind) -> None:
        if type(value) is Ref:
            self.kinds.setdefault(value.var, set()).add(kind)

    def flow(self, value: Expr, target: Var) -> None:
        if type(value) is Ref and value.var is not target:
            self.sources.setdefault(target, set()).add(value.var)

    # The flow of demands

    def spread(self) -> None:
        work = list(self.kinds)
        while work:
            var = work.pop()
            kinds = self.kinds[var]
            for source, passed in self.reached(var, kinds):
                known = self.kinds.setdefault(source, set())
                if not passed <= known:
                    known |= passed
                    work.append(source)

    def reached(self, var: Var, kinds: set[Kind]) -> Iterator[tuple[Var, set[Kind]]]:
        passed = kinds - {PARTIAL}
        for source in self.sources.get(var, ()):
            yield source, passed
        if "int" in kinds:
            for operand in self.operands.get(var, ()):
                yield operand, {"int"}
