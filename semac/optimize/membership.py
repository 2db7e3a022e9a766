"""`(member x xs)` where only its truth is asked for is `x in items`, without the part of the list that it would return.

Assumes inferred types. Sound because every use of the value is a test, and Python's `in` gives what `equal?` would
where the value sought is of a kind that equals nothing of another kind; else a function of the runtime searches as
`member` does. A list surely has its items, so that nothing raises where `member` would not.
"""

from __future__ import annotations

from collections.abc import Container

from semac.anf import nodes as anf
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Closure, Expr, If, Let, Logic, Op, Python, Ref, Result
from semac.anf.walk import all_blocks, blocks, code_of, exit_operands, operands
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.types.lattice import (
    ANY,
    BOOL,
    CHAR,
    FLAT,
    INT,
    KEYWORD,
    LIST,
    NIL,
    OTHER,
    STR,
    SYMBOL,
    Type,
    atom,
)  # fmt: skip

HOLDS = "sema_runtime.values.equality:holds"
UNAMBIGUOUS = STR | KEYWORD | SYMBOL | CHAR | NIL  # equal, in Python, to nothing of another kind
TESTS = frozenset(("not",))


def ask_members(unit: Unit) -> None:
    """Rewrites the calls of `member` that are tests."""
    asked = asked_in(unit)
    for form in unit.blocks if asked else ():
        for block in all_blocks(form):
            for instr in [instr for instr in block.instrs if instr.var in asked]:
                rewrite(block, instr)
    give_truth(unit, asked)


def asked_in(unit: Unit) -> set[Var | None]:
    """The variables of calls of `member` in lists that are only tested."""
    sought = {
        instr.var
        for form in unit.blocks
        for block in all_blocks(form)
        for instr in block.instrs
        if type(instr.op) is CallBuiltin and instr.op.name == "member" and is_search(instr)
    }
    return sought - Values(unit).found() if sought else set()


def give_truth(unit: Unit, asked: Container[Var | None]) -> None:
    """The type of what is now a boolean, wherever it is used."""
    if not asked:
        return
    truth = atom(BOOL)
    for form in unit.blocks:
        for block in all_blocks(form):
            for value in [value for instr in block.instrs for value in operands(instr.op)] + exit_operands(block.exit):
                if type(value) is Ref and value.var in asked:
                    value.type = truth


def is_search(instr: Let) -> bool:
    op, var = instr.op, instr.var
    assert type(op) is CallBuiltin
    return len(op.args) == 2 and op.args[1].type.only(LIST) and var is not None and not var.name


def rewrite(block: Block, instr: Let) -> None:
    op, var = instr.op, instr.var
    assert type(op) is CallBuiltin and var is not None
    whole = op.args[1]
    items = Var("", var.owner)
    items.hint, items.defined = "items", 1
    kind = "flat_items" if whole.type.only(FLAT) else "list_items"
    items.op = Python(kind, [whole], span=op.span, type=ANY)
    items.type = ANY
    search = search_of(op, Ref(items, ANY))
    var.op, var.type = search, search.type
    at = block.instrs.index(instr)
    block.instrs[at : at + 1] = [Let(items, items.op), Let(var, search)]


def search_of(op: CallBuiltin, items: Expr) -> Op:
    """What a call of `member` asks of the items of its list."""
    value, whole = op.args
    exact = is_exact(value, whole.type)
    search: Op = Python("in", [value, items]) if exact else CallRuntime(HOLDS, [value, items])
    search.span, search.type = op.span, atom(BOOL)
    return search


def is_exact(value: Expr, whole: Type) -> bool:
    """Whether Python's `in` finds what `member` finds."""
    item = whole.item
    if value.type.only(UNAMBIGUOUS):
        return not item.tags & OTHER  # a comparison of values of libraries may fail
    return value.type.only(INT) and item.only(INT)


class Values:
    """The variables whose values matter, not only whether they are true."""

    def __init__(self, unit: Unit) -> None:
        self.valued: set[Var] = set()
        self.results: dict[Var, set[Var]] = {}  # of a choice → the variables whose values are its own
        for form in unit.blocks:
            self.block(form, None, False)

    def found(self) -> set[Var]:
        todo = list(self.valued)
        while todo:
            for var in self.results.pop(todo.pop(), ()):
                if var not in self.valued:
                    self.valued.add(var)
                    todo.append(var)
        return self.valued

    def use(self, value: Expr, target: Var | None, is_test: bool) -> None:
        """A value becomes that of target; where there is none, it is tested or wanted as it is."""
        if type(value) is not Ref or is_test:
            return
        if target is None:
            self.valued.add(value.var)
        else:
            self.results.setdefault(target, set()).add(value.var)

    def block(self, block: Block, target: Var | None, is_test: bool) -> None:
        """target: the variable that gets the value of the block; is_test: whether only its truth is asked for."""
        for instr in block.instrs:
            self.instruction(instr)
        for value in exit_operands(block.exit):
            is_value = type(block.exit) is Result
            self.use(value, target if is_value else None, is_test and is_value)

    def instruction(self, instr: Let) -> None:
        op, var = instr.op, instr.var
        kind = type(op)
        if kind is If or kind is Logic:
            is_asked = kind is If or var is None or op.is_and  # type: ignore[attr-defined]  # what is false is #f
            self.use(operands(op)[0], var, is_asked)
            for inner in blocks(op):
                self.block(inner, var, var is None)
            return
        if kind is Closure:
            self.block(code_of(op.function), None, False)  # type: ignore[attr-defined]
        is_test = kind is CallBuiltin and op.name in TESTS and len(op.args) == 1  # type: ignore[attr-defined]
        for value in operands(op):
            self.use(value, None, is_test)
        tests = tests_of(op)
        for inner in blocks(op):
            self.block(inner, None, inner in tests)


def tests_of(op: Op) -> list[Block]:
    """The blocks of an operation of whose values only the truth is asked for."""
    if type(op) is anf.While:
        return [op.test]
    if type(op) is anf.Match:
        return [clause.guard for clause in op.clauses if clause.guard is not None]
    if type(op) is anf.Comprehension:
        tests = [stage.block for stage in op.stages if stage.how == "if"]
        return [*tests, op.body] if op.kind in ("any", "every") else tests
    return []
