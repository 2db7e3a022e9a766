"""Arithmetic on the values of arithmetic: one test of all operands (`SEMA_SKIP=once` leaves it out).

`a * b + c if type(a) is type(b) is type(c) in INT_OR_FLOAT else add(mul(a, b), c)`: numbers of one type make numbers of
this type, so then all of it needs no other test. Operands may be items of vectors and lists at literal indices: that
they are there is asked first, once for each sequence, and where ints stand beside floats, whether these are short. None
of these tests can be noticed, and where one fails all is computed by calls from the beginning, in the order of the
program.
"""

from __future__ import annotations

import ast

from semac.anf.nodes import Expr, Guarded, Lit, Op, Python, Read, Ref
from semac.generate.context import Context
from semac.generate.effects import EFFECT
from semac.generate.guards import ALIKE, INDEXED_TYPES, NUMBER, SHORT, Operands
from semac.generate.guards import one as asked_one
from semac.generate.pyast import boolop, builtin, call, compare, const, name, walrus
from semac.ir.nodes import Var
from semac.types.lattice import INT

CLOSED = ("add", "sub", "mul")  # operations that make numbers of the type that both their operands have
COMPARISONS = ("lt", "gt", "le", "ge", "not_gt", "not_lt")
MOST = 16  # short ints whose product a float can hold
ARE_REAL = "sema_runtime.lib.numbers.sums:are_real"
AT_HAND = "sema_runtime.values.lists:at_hand"
Item = tuple[int, int]  # a variable that holds a sequence, by its identity, and an index


def leaves(op: Guarded) -> list[Expr] | None:
    """What a guard has to ask in place of its operands, where some are sums and products behind guards of the same
    kind: the operands of these, in order. None: there are none, or it could be told that an operand is computed before
    one of these operations fails: all are plain, or items, but those of the first. The test asks the first two in any
    case."""
    found: list[Expr] = []
    if not is_asking(op) or not any(is_inner(op, arg) for arg in op.args) or not add_leaves(op, found):
        return None
    if any(item_of(leaf) is not None for leaf in found):
        return found if all(is_atom(leaf) or item_of(leaf) is not None for leaf in found) else None
    first = op
    while type(inner := next(arg for arg in first.args if type(arg) is not Lit)) is Guarded and is_inner(op, inner):
        first = inner
    early = {id(arg) for arg in first.args}
    return found if all(is_atom(leaf) or (id(leaf) in early and at < 2) for at, leaf in enumerate(found)) else None


def is_asking(op: Guarded) -> bool:
    return not op.foreign and not op.type.form and len(op.tests) == 1 and op.tests[0][0] in (NUMBER, ALIKE, "int")


def is_inner(op: Guarded, arg: Expr) -> bool:
    """Whether an operand is a number of the type that the guard asks for, where its own operands are."""
    if type(arg) is not Guarded or arg.fast not in CLOSED or not is_asking(arg):
        return False
    (kind, tested), own = arg.tests[0], op.tests[0][0]
    if (kind == "int") != (own == "int"):
        return False
    return all(index in tested or value.type.only(INT) for index, value in enumerate(arg.args))


def asked_of(op: Guarded) -> str:
    """The kind of test that holds for the leaves: of one that is known to be a number all others have to be alike."""
    inner = [asked_of(arg) for arg in op.args if is_inner(op, arg)]  # type: ignore[arg-type]
    return ALIKE if ALIKE in inner else op.tests[0][0]


def add_leaves(op: Guarded, found: list[Expr]) -> bool:
    """Whether all that isn't asked can be written twice."""
    tested = op.tests[0][1]
    for index, arg in enumerate(op.args):
        if index in tested and is_inner(op, arg):
            if not add_leaves(arg, found):  # type: ignore[arg-type]
                return False
        elif index in tested:
            found.append(arg)
        elif not is_atom(arg):
            return False
    return True


def takes_mixed(op: Guarded) -> bool:
    """Whether all of it does with an int beside a float what the language does, where all ints are short."""
    tested = op.tests[0][1]
    for index, arg in enumerate(op.args):
        if is_inner(op, arg):
            if not takes_mixed(arg):  # type: ignore[arg-type]
                return False
        elif index not in tested and not is_short(arg):
            return False
    return op.fast in (*CLOSED, *COMPARISONS)


def is_short(value: Expr) -> bool:
    return type(value) is Lit and type(value.value) in (int, float) and abs(value.value) < SHORT


def is_atom(value: Expr) -> bool:
    return not isinstance(value, Op) or (type(value) is Read and value.rank < EFFECT)


def item_of(leaf: Expr) -> Item | None:
    """The sequence and the index of an operand that is an item behind a test of both."""
    if type(leaf) is not Guarded or leaf.fast != "item" or leaf.tests[0][0] != "indexed":
        return None
    sequence, index = leaf.args
    if type(index) is not Lit or type(index.value) is not int or index.value < 0:
        return None
    if type(sequence) is Ref or (type(sequence) is Read and sequence.rank < EFFECT):
        return id(sequence.var), index.value
    return None


class Numbers:
    """The operands of nested arithmetic in one test, each asked once."""

    def __init__(self, c: Context, op: Guarded, found: list[Expr]) -> None:
        self.c = c
        self.loc = c.loc(op)
        self.sequences: dict[int, tuple[Expr, int]] = {}  # variables → what reads them, the greatest index
        self.items: dict[int, str] = {}  # variables → what holds their items
        distinct: dict[object, Expr] = {}
        keys: list[object] = []
        for leaf in found:
            item = item_of(leaf)
            if item is not None:
                sequence, highest = item[0], max(item[1], self.sequences.get(item[0], (leaf, 0))[1])
                self.sequences[sequence] = leaf.args[0], highest  # type: ignore[union-attr]
            keys.append(item or id(leaf))
            distinct.setdefault(keys[-1], leaf)
        at_hand = [self.at_hand(*each) for each in self.sequences.items()]
        self.operands = Operands(c, [self.bare(leaf) for leaf in distinct.values()])
        self.operands.loc = self.loc
        alike = asked_one(self.operands, asked_of(op), tuple(range(len(distinct))))
        if alike is not None and at_hand and asked_of(op) != "int" and len(found) <= MOST and takes_mixed(op):
            alike = boolop(ast.Or(), [alike, self.are_real()], self.loc)
        asked = [*at_hand, *([alike] if alike is not None else [])]
        self.asked = boolop(ast.And(), asked, self.loc) if asked else None
        held = dict(zip(distinct, self.operands.again(), strict=True))
        self.written = {id(leaf): held[key] for key, leaf in zip(keys, found, strict=True)}

    def at_hand(self, var: int, asked: tuple[Expr, int]) -> ast.expr:
        """`len(items := xs if type(xs) in INDEXED else at_hand(xs)) > 1`, which holds what is asked for its items.
        `items or at_hand(xs)` where a variable holds them (`Context.hold_type`)."""
        sequence, loc = self.c.expr(asked[0]), self.loc
        held = self.c.items_of(sequence)
        otherwise = call(self.c.runtime(AT_HAND, loc), [sequence], loc)
        self.items[var] = self.c.names.temporary("items")
        if held:  # none of a list that was made item by item
            found: ast.expr = boolop(ast.Or(), [name(held, loc), otherwise], loc)
        else:
            is_indexed = compare(self.c.type_of(sequence, loc), ast.In(), self.c.runtime(INDEXED_TYPES, loc), loc)
            found = ast.IfExp(is_indexed, sequence, otherwise, **loc)
        items = walrus(self.items[var], found, loc)
        return compare(call(builtin("len", loc), [items], loc), ast.Gt(), const(asked[1], loc), loc)

    def are_real(self) -> ast.expr:
        """`are_real(n := items[0], n_2 := items[1])`: what else is asked of ints and floats side by side. The test
        before may have stopped at the first that differs."""
        values: list[ast.expr] = []
        for value, held in zip(self.operands.values, self.operands.again(), strict=True):
            is_item = isinstance(held, ast.Name) and held is not value
            values.append(walrus(held.id, value, self.loc) if is_item else held)  # type: ignore[attr-defined]
        return call(self.c.runtime(ARE_REAL, self.loc), values, self.loc)

    def bare(self, leaf: Expr) -> Expr:
        """An operand as it stands behind the tests of the sequences."""
        item = item_of(leaf)
        if item is None:
            return leaf
        held = Var("items", None)
        held.py = self.items[item[0]]
        read = Python("item", [Ref(held), Lit(item[1])])
        read.weight = 1  # an expression, not a statement
        return read
