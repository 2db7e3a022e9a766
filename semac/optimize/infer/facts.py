"""What tests and operations that succeeded say of variables that never change, where the visit of a unit stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semac.anf.build import is_fixed
from semac.anf.nodes import Call, CallBuiltin, Expr, Fits, Lit, Logic, Move, Ref, Result
from semac.anf.records import RecordMember, RecordType, of_type
from semac.anf.walk import is_call_on
from semac.ir.nodes import Var
from semac.optimize.infer import signs
from semac.optimize.infer.fits import fitted, left_by
from semac.types.lattice import (
    ANY,
    BOOL,
    CHAR,
    DICT,
    FALSY,
    FLOAT,
    FN,
    HUGE,
    INT,
    KEYWORD,
    LIST,
    NEVER,
    NIL,
    NUMBER,
    OTHER,
    RECORD,
    STR,
    SYMBOL,
    VECTOR,
    ZERO,
    Type,
    atom,
    join,
    make,
    restrict,
)

if TYPE_CHECKING:
    from semac.optimize.infer.flow import Flow

# Predicates of one argument → (what a value can have for which they hold, what it hasn't for which they don't).
# OTHER stands where values of Python's own pass as well: a list, a dict, a subclass of str.
PREDICATES: dict[str, tuple[int, int]] = {
    "nil?": (NIL, NIL), "string?": (STR | OTHER, STR), "keyword?": (KEYWORD, KEYWORD), "symbol?": (SYMBOL, SYMBOL),
    "list?": (LIST | OTHER, LIST), "vector?": (VECTOR, VECTOR), "char?": (CHAR, CHAR), "bool?": (BOOL, BOOL),
    "boolean?": (BOOL, BOOL), "integer?": (INT | FLOAT, 0), "float?": (FLOAT, FLOAT),
    "number?": (NUMBER | OTHER, INT | FLOAT), "map?": (DICT | OTHER, 0), "pair?": (LIST | OTHER, 0),
}  # fmt: skip
COMPARED_WITH_ZERO = {"zero?": "=", "positive?": ">", "negative?": "<"}
NOUGHT = Lit(0, atom(ZERO))
RESTS = ("cdr", "rest")
EMPTINESS = frozenset(("null?", "empty?"))


class Facts:
    """Narrowed types by variable, and variables whose lists surely have an item; both can be taken back."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.env: dict[Var, Type] = {}
        self.filled: set[Var] = set()
        self.trail: list[tuple[Var, Type | None, bool]] = []

    def clear(self) -> None:
        self.env.clear()
        self.filled.clear()
        self.trail.clear()

    def mark(self) -> int:
        return len(self.trail)

    def undo(self, mark: int) -> None:
        while len(self.trail) > mark:
            var, before, was_filled = self.trail.pop()
            if before is None:
                self.env.pop(var, None)
            else:
                self.env[var] = before
            if not was_filled:
                self.filled.discard(var)

    def impossible(self, mark: int) -> bool:
        """Whether something that was said since mark can't be."""
        for var, _, _ in self.trail[mark:]:
            if self.env.get(var) is NEVER and self.flow.declared(var) is not NEVER:
                return True
        return False

    def has_second(self, var: Var) -> bool:
        """Whether the rest of a list surely has an item."""
        return is_fixed(var) and any(is_call_on(other.op, RESTS, var) for other in self.filled)

    # Narrowing

    def note(self, var: Var, type_: Type | None, is_filled: bool = False) -> None:
        self.trail.append((var, self.env.get(var), var in self.filled))
        if type_ is not None:
            self.env[var] = type_
        if is_filled:
            self.filled.add(var)

    def narrow(self, var: Var, tags: int) -> None:
        """A variable surely has one of the tags. It is noted even where that is no news: calls may add to its type."""
        if is_fixed(var) and not var.is_global:
            type_ = self.flow.var(var)
            kept = restrict(type_, tags)
            if kept is not type_ or type_ is not ANY:
                self.note(var, kept)

    def narrow_record(self, var: Var, record: RecordType, outcome: bool) -> None:
        """A variable surely is a record of a type, or surely none."""
        if not is_fixed(var) or var.is_global:
            return
        type_ = self.flow.var(var)
        is_known = not record.has_twin and (type_.records is not None or self.flow.solver.sealed)
        if outcome and is_known:
            known = of_type(type_.records, record)
            kept = make(RECORD, records=known) if type_.tags & RECORD and known else NEVER
        elif outcome:
            kept = restrict(type_, RECORD)
        elif is_known and type_.tags & RECORD and type_.records is not None:
            left = type_.records - of_type(type_.records, record)
            kept = join(restrict(type_, ~RECORD), make(RECORD, records=left) if left else NEVER)
        else:
            return
        if kept is not type_:
            self.note(var, kept)

    def assume(self, test: Expr, outcome: bool) -> None:
        """The value of a test is true, or false."""
        if type(test) is not Ref:
            return
        var = test.var
        op = var.op if is_fixed(var) and not var.is_global else None
        if op is None or var.name:
            self.narrow(var, ~FALSY if outcome else FALSY)
        if op is None:
            return
        kind = type(op)
        if kind is Move:
            self.assume(op.value, outcome)
        elif kind is CallBuiltin:
            self.assume_builtin(op, outcome)
        elif kind is Call:
            self.assume_call(op, outcome)
        elif kind is Fits:
            self.assume_fits(op, outcome)
        elif kind is Logic and op.is_and is outcome:
            self.assume(op.first, outcome)
            if type(op.rest.exit) is Result:
                self.assume(op.rest.exit.value, outcome)

    def assume_fits(self, op: Fits, outcome: bool) -> None:
        if not outcome and len(op.args) > 1:
            return
        for arg, kind in zip(op.args, op.kinds, strict=True):
            if type(arg) is not Ref or not is_fixed(arg.var):
                continue
            type_ = self.flow.var(arg.var)
            kept = fitted(type_, kind) if outcome else restrict(type_, left_by(kind))
            if kept is not type_:
                self.note(arg.var, kept)

    def assume_compared(self, test: str, a: Expr, b: Expr, outcome: bool) -> None:
        """A comparison of two ints holds, or doesn't."""
        if not (a.type.only(INT) and b.type.only(INT) and self.flow.tells_signs):
            return
        for subject, other, name in ((a, b, test), (b, a, signs.MIRRORED[test])):
            if type(subject) is Ref:
                left = signs.kept(name, outcome, subject.type.tags, other.type.tags)
                self.narrow(subject.var, left | subject.type.tags & HUGE)

    def assume_builtin(self, op: CallBuiltin, outcome: bool) -> None:
        if len(op.args) == 2 and op.name in signs.MIRRORED:
            self.assume_compared(op.name, op.args[0], op.args[1], outcome)
        if len(op.args) != 1:
            return
        if op.name in COMPARED_WITH_ZERO:
            self.assume_compared(COMPARED_WITH_ZERO[op.name], op.args[0], NOUGHT, outcome)
            return
        subject: Any = op.args[0]
        if op.name == "not":
            self.assume(subject, not outcome)
            return
        if type(subject) is not Ref:
            return
        if op.name in PREDICATES:
            holds, exact = PREDICATES[op.name]
            if op.name == "string?" and self.flow.solver.sealed:  # texts of a class of Python's own come from Python
                holds = STR
            self.narrow(subject.var, holds if outcome else ~exact)
        has_items = (op.name == "empty?" or subject.type.only(LIST)) and op.name in EMPTINESS and not outcome
        if has_items or (op.name == "pair?" and outcome):  # an empty vector isn't `null?`
            if is_fixed(subject.var) and not subject.var.is_global:
                self.note(subject.var, None, is_filled=True)

    def assume_call(self, op: Call, outcome: bool) -> None:
        """A call of the predicate of a record type."""
        head = op.head.type
        if not head.only(FN) or head.fns is None or len(head.fns) != 1 or len(op.args) != 1:
            return
        (member,) = head.fns
        if type(member) is RecordMember and member.role == "predicate" and type(op.args[0]) is Ref:
            self.narrow_record(op.args[0].var, member.record, outcome)
