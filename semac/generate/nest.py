"""Puts operations whose value is used once back where it is used: `t = g(x); u = f(t)` → `u = f(g(x))`.

Effects keep their order: an operation moves only past operations that can't tell. What needs statements stays an
instruction, and so does what the program names. Afterwards operands may be operations, and `weight` says how large an
expression is (0: it must be a statement). Only printing works on this form.
"""

from __future__ import annotations

from semac.anf.nodes import (
    Assign,
    Block,
    Call,
    Closure,
    Comprehension,
    Declare,
    Destructure,
    Expr,
    For,
    Guarded,
    If,
    Jump,
    Let,
    Logic,
    Loop,
    Match,
    Move,
    Op,
    PyImport,
    PySetAttr,
    Python,
    Read,
    Ref,
    Result,
    SetArrayItem,
    SetItem,
    Try,
    While,
    With,
)
from semac.anf.step_nodes import Give, Receive, Send, YieldFrom
from semac.anf.walk import NESTING, OPERANDS, blocks, exit_operands, map_exit, map_operands
from semac.generate.effects import EFFECT, PURE, commute, is_nil_else, own_rank, value_type
from semac.generate.fusion import TAKES_ITEMS, fuse, may_assign, take_bare
from semac.generate.python_ops import PYTHON_OPS, takes
from semac.ir.nodes import Function
from semac.types.lattice import INT, NUMBER, SEQUENCE, STR, VECTOR, Type

STATEMENTS = frozenset(
    (
        Assign, Declare, Loop, For, While, Try, With, Match, Destructure, PyImport, PySetAttr, SetItem, SetArrayItem,
        Give, Receive, Send, YieldFrom,
    )
)  # fmt: skip
ORDERED = (INT, STR)  # keys of one of these types Python orders as the language does
KNOWN: dict[type, int] = {Receive: 2, Send: 3}  # where the operands begin that stand for the channel
MOST = 80  # nodes of an expression
LAMBDA = 14  # nodes of the body of a Python lambda


def nest(block: Block) -> None:
    """Nests a block and everything inside, functions made there too, in place."""
    count_uses(block)
    Nest().block(block)


def count_uses(block: Block) -> None:
    """Counts how often each variable is read. Reads in other blocks count twice: there nothing nests."""
    stack = [block]
    while stack:
        current = stack.pop()
        values = exit_operands(current.exit)
        for instr in current.instrs:
            op = instr.op
            kind = type(op)
            if instr.var is not None:
                instr.var.home = current
            values += OPERANDS[kind](op)
            if kind is Closure:
                stack.append(op.function.code)  # type: ignore[attr-defined]
            elif kind in NESTING:
                stack += blocks(op)
        for value in values:
            if type(value) is Ref:
                value.var.uses += 1 if value.var.home is current else 2


def expr_weight(expr: Expr) -> int:
    """The number of nodes of an expression, 0 for what must be a statement."""
    return expr.weight if isinstance(expr, Op) else 1


def block_weight(block: Block) -> int:
    return 0 if block.instrs or type(block.exit) is Jump else expr_weight(block.exit.value)  # type: ignore[union-attr]


def weigh(op: Op, values: list[Expr]) -> int:
    """The weight of an operation whose operands, these values, and blocks are nested already."""
    kind = type(op)
    if kind in STATEMENTS or (kind is Comprehension and not is_expression(op)):  # type: ignore[arg-type]
        return 0
    total = 1
    for value in values:
        if not isinstance(value, Op):
            total += 1
        elif not value.weight:
            return 0
        else:
            total += value.weight
    if kind is If or kind is Logic or kind is Comprehension or kind is Closure:
        weights = list(map(block_weight, blocks(op)))
        if kind is Closure:
            weights.append(lambda_weight(op.function))  # type: ignore[attr-defined]
        if 0 in weights:
            return 0
        total += sum(weights)
    return 0 if total > MOST else total


def is_expression(op: Comprehension) -> bool:
    """Whether a comprehension prints as an expression where its blocks do."""
    if op.kind == "sort-by":
        return is_ordered(value_type(op))
    if any(stage.how == "for" and may_assign(stage.block.exit.value) for stage in op.stages):  # type: ignore[union-attr]
        return False
    return op.kind in ("list", "any", "every", "find", "sum")


def is_ordered(type_: Type) -> bool:
    """Whether Python orders the values of a type as the language does: ints, texts, vectors of one length of such."""
    if type_.only(VECTOR):
        return type_.vec is not None and all(map(is_ordered, type_.vec))
    return any(type_.only(tags) for tags in ORDERED)


def lambda_weight(function: Function) -> int:
    """The weight of a function as a Python lambda."""
    body: Block = function.code
    weight = block_weight(body)
    if function.rest is not None or function.self_tail or function.is_generator or function.doc is not None:
        return 0
    if not 0 < weight <= LAMBDA or function.own_name:  # errors and `println` tell its name
        return 0
    if len({var.name for var in function.params}) < len(function.params) or has_trampoline(body.exit.value):  # type: ignore[union-attr]
        return 0
    return weight


def has_trampoline(expr: Expr) -> bool:
    """Whether an expression in tail position makes a call that must not grow the stack."""
    if type(expr) is Call:
        return expr.trampolined
    if type(expr) in (If, Logic):
        return any(has_trampoline(inner.exit.value) for inner in blocks(expr))  # type: ignore[union-attr, arg-type]
    return False


ARITHMETIC = frozenset(("add", "sub", "mul", "concat", "div", "floordiv", "mod"))
CHAINED = frozenset(("lt", "gt", "le", "ge"))  # `a < b < c`
TURNED = frozenset(("map_has", "join"))  # Python computes their second operand first


class Nest:
    def __init__(self) -> None:
        self.out: list[Let] = []
        self.pending: list[Let] = []  # in order; each may still become an operand

    def block(self, block: Block) -> None:
        outer = self.out, self.pending
        self.out, self.pending = [], []
        for instr in block.instrs:
            self.instruction(instr)
        self.exit(block)
        block.instrs = self.out
        self.out, self.pending = outer

    def instruction(self, instr: Let) -> None:
        op, var = instr.op, instr.var
        kind = type(op)
        if kind in NESTING:
            for inner in blocks(op):
                self.block(inner)
        elif kind is Closure:
            Nest().block(op.function.code)  # type: ignore[attr-defined]
        elif kind is Assign and self.out and not self.pending and is_only_use(op.value, self.out[-1]):  # type: ignore[attr-defined]
            op.value = self.out.pop().op  # type: ignore[attr-defined]  # it may be a statement: its value goes there
        values = OPERANDS[kind](op)
        if self.pending and is_any_single(values):
            may_fold = foldable(op)
            if kind is Python and op.kind in TURNED:  # type: ignore[attr-defined]
                self.take(values[1::-1], may_fold[1::-1])
            else:
                self.take(values, may_fold)
            map_operands(op, self.folded)
            values = OPERANDS[kind](op)
        if kind is For or kind is Comprehension:
            fuse(op)  # type: ignore[arg-type]
            values = OPERANDS[kind](op)
        elif kind is Python and op.kind in TAKES_ITEMS:  # type: ignore[attr-defined]
            take_bare(op)  # type: ignore[arg-type]
            values = OPERANDS[kind](op)
        op.weight = weigh(op, values)
        most = own_rank(op, values)
        for value in values:
            if isinstance(value, Op) and value.rank > most:
                most = value.rank
        op.rank = most
        if var is not None and not var.name and var.uses == 0:
            var = instr.var = None
        if var is None and op.rank < EFFECT:
            return
        if op.weight and var is not None and not var.name and var.uses == 1:
            self.pending.append(instr)
            return
        self.flush(op.rank)
        self.out.append(instr)

    def exit(self, block: Block) -> None:
        exit_ = block.exit
        values = exit_operands(exit_)
        last = self.out[-1] if self.out and not self.pending else None
        if type(exit_) is Result and last is not None and is_only_use(exit_.value, last):
            self.out.pop()
            exit_.value = last.op
            return
        if last is not None and len(values) == 1 and is_only_use(values[0], last):  # a jump
            self.out.pop()
            exit_.args[0] = last.op  # type: ignore[union-attr]
            return
        self.take(values, [True] * len(values))
        map_exit(exit_, self.folded)
        self.flush(EFFECT)

    def take(self, values: list[Expr], may_fold: list[bool]) -> None:
        """Sees to it that the pending operations among values can become operands, in order."""
        places = {instr.var: index for index, instr in enumerate(self.pending)}
        wanted = []
        for value, fold in zip(values, may_fold, strict=True):
            if type(value) is Ref and value.var in places:
                if not fold:
                    self.flush_to(places[value.var], all_of_it=True)
                    return self.take(values, may_fold)
                wanted.append(places[value.var])
        if wanted and not self.is_order_kept(wanted):
            self.flush_to(len(self.pending) - 1)

    def is_order_kept(self, wanted: list[int]) -> bool:
        """Whether nobody can tell when the pending operations at these places are evaluated in this order, last."""
        count = len(self.pending)
        if wanted == list(range(count - len(wanted), count)):  # as most often
            return True
        order = [*(place for place in range(min(wanted), count) if place not in wanted), *wanted]
        if order == sorted(order):
            return True
        ranks = [self.pending[place].op.rank for place in order]
        return not any(
            later < place and not commute(ranks[index], ranks[index + 1 + offset])
            for index, place in enumerate(order)
            for offset, later in enumerate(order[index + 1 :])
        )

    def folded(self, value: Expr) -> Expr:
        """The pending operation that a variable stands for, or the value itself."""
        if type(value) is Ref:
            for index in range(len(self.pending) - 1, -1, -1):
                if self.pending[index].var is value.var:
                    op = self.pending.pop(index).op
                    return op.value if type(op) is Move else op
        return value

    def flush(self, before: int) -> None:
        """Makes instructions of the pending operations that must not happen after one of a rank."""
        for last in range(len(self.pending) - 1, -1, -1):
            if not commute(self.pending[last].op.rank, before):
                self.flush_to(last)
                return

    def flush_to(self, last: int, all_of_it: bool = False) -> None:
        """Makes instructions of the pending operations up to a place, but for those that can happen at any time."""
        kept = []
        for place, instr in enumerate(self.pending):
            if place > last or (instr.op.rank == PURE and not (all_of_it and place == last)):
                kept.append(instr)
            else:
                self.out.append(instr)
        self.pending = kept


def is_any_single(values: list[Expr]) -> bool:
    """Whether a variable that is used once is among operands."""
    for value in values:  # noqa: SIM110  (called for each operation, and shorter than a generator takes to start)
        if type(value) is Ref and value.var.uses == 1:
            return True
    return False


def is_only_use(value: Expr, instr: Let) -> bool:
    return type(value) is Ref and value.var is instr.var and not value.var.name and value.var.uses == 1


def foldable(op: Op) -> list[bool]:
    """Which operands of an operation may be operations."""
    if type(op) is Call:
        head = op.head  # a computed function is kept, so that an error can show what was no function
        return [type(head) is Ref and type(head.var.op) is Read, *([True] * len(op.args))]
    if type(op) is Receive or type(op) is Send:  # what stands for the channel is read more than once
        return [at < KNOWN[type(op)] for at in range(len(op.args))]
    if type(op) is PySetAttr:
        return [True, False]  # the value is read again
    if type(op) is SetArrayItem:
        return [True, is_read(op.array), is_read(op.index) or is_sum(op.index)]
    if type(op) is Guarded:
        return guarded_operands(op)
    if type(op) is For:
        return [*([True] * len(op.inits)), *in_turn(op.sources)]
    if type(op) is Comprehension and is_expression(op):  # Python has no `:=` in what a comprehension runs over
        assigns = [type(source) is Ref and may_assign(source.var.op) for source in op.sources]
        return [fits and not bad for fits, bad in zip(in_turn(op.sources), assigns, strict=True)]
    if type(op) is Comprehension:
        return in_turn(op.sources)
    if type(op) is Python and PYTHON_OPS[op.kind].is_named:
        first = op.args[0]
        if op.kind in TAKES_ITEMS and type(first) is Ref and type(first.var.op) is Comprehension:
            return [True] * len(op.args)  # it will be written once
        return [type(first) is Ref and type(first.var.op) is Read, *([True] * (len(op.args) - 1))]
    if type(op) is Python and op.kind in CHAINED and len(op.args) > 2:
        return [True, True, *(is_pure(arg) for arg in op.args[2:])]  # Python doesn't compute them after a false
    if type(op) is Python and op.kind in ARITHMETIC and len(op.args) > 2 and not is_sure(op):
        return [True, True, *(is_pure(arg) for arg in op.args[2:])]  # Python computes them after the first two meet
    return [True] * len(OPERANDS[type(op)](op))


def is_sure(op: Python) -> bool:
    """Whether the operands of a sum or product fit each other: as variables, not for what a later operand has shown."""
    types = [arg.var.type if type(arg) is Ref else arg.type for arg in op.args[:-1]]
    return op.kind in ("add", "sub", "mul") and all(its is not None and its.only(NUMBER) for its in types)


def in_turn(sources: list[Expr]) -> list[bool]:
    """Which sources of a loop may be operations: each is asked for its items before the next one is computed."""
    return [
        is_pure(source) or all(other.type.only(SEQUENCE) for other in sources[:at]) for at, source in enumerate(sources)
    ]


def is_read(value: Expr) -> bool:
    """Whether an operand prints as a name or a constant."""
    op = value.var.op if type(value) is Ref and not value.var.name else None
    return not isinstance(op, Op) or type(op) is Read


def is_sum(value: Expr) -> bool:
    """Whether an operand prints as an operation on two names or constants."""
    op = value.var.op if type(value) is Ref else None
    return type(op) is Python and op.kind in ("add", "sub", "mul", "mod", "floordiv") and all(map(is_atom, op.args))


def is_atom(value: Expr) -> bool:
    return not isinstance(value, Op) or type(value) is Read


def is_pure(value: Expr) -> bool:
    op = value.var.op if type(value) is Ref else None
    return not isinstance(op, Op) or op.rank == PURE


def guarded_operands(op: Guarded) -> list[bool]:
    """An operand that is tested may be computed in the test: then nothing before it may be computed later.

    One that isn't tested is written in both branches, unless the operation of Python has no use for it.
    """
    tested = [position for _, positions in op.tests for position in positions]
    last_tested = max(tested)
    kind, positions = op.tests[0]
    sure = positions[:2]  # what comes later isn't computed where the test stops before it
    if any(may_be_nil(op.args[position], kind) for position in positions):
        sure = positions[:1] if may_be_nil(op.args[positions[0]], kind) else ()  # they are asked first, one by one
    return [
        index in sure or (index > last_tested and (takes(op.fast, len(op.args), index) or is_pure(arg)))
        for index, arg in enumerate(op.args)
    ]


def may_be_nil(value: Expr, kind: str) -> bool:
    """Whether the test of a kind may ask an operand whether it is nil."""
    op = value.var.op if type(value) is Ref else None
    return is_nil_else(value, kind) or (isinstance(op, Op) and is_nil_else(op, kind))
