"""What a comparator compares: the keys of both elements, one after the other, and how.

    (fn (a b) (cond ((not (= (:points a) (:points b))) (- (:points b) (:points a)))
                    ((< (:name a) (:name b)) -1)
                    (else 1)))

A comparator is evaluated three times for each key that it asks for first: as if that of the first element came before
the other's, as if they were equal, and as if it came after. Where the first and the last answer are known and differ,
they say how this key is ordered, and what it answers for equal ones is a comparator of the other keys.

Sound because nothing but comparisons of the same computation of both elements decides, nothing has effects, and each
instruction of the comparator was met on the way. Keys behind the first are computed of more elements than the
comparator would, so what they do must come to an end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallBuiltin, Closure, Expr, Jump, Let, Lit, Op, Ref, Result, VarPattern
from semac.anf.walk import all_blocks, blocks, code_of, is_ref, operands
from semac.ir.intrinsics import LOOK
from semac.ir.nodes import Function, Var
from semac.optimize.steps.silent import calls_back, changed, silent_calls
from semac.optimize.steps.waits import functions_of

NEXT = "next"  # what a comparator answers in a round of a loop that goes on
BEFORE, SAME, AFTER = range(3)  # where the key of the first element is
TRUE_FOR = {"<": (BEFORE,), "<=": (BEFORE, SAME), ">": (AFTER,), ">=": (SAME, AFTER), "=": (SAME,)}
MOST_KEYS = 6


class Key(NamedTuple):
    """A key of the first element. is_down: the larger one is first. is_difference: keys are subtracted, too."""

    value: Expr
    is_down: bool
    is_difference: bool


class Order(NamedTuple):
    """What a comparator compares. needed: what computes the keys. is_turned: elements whose keys are all equal change
    places."""

    keys: list[Key]
    needed: list[Let]
    is_turned: bool


class Each(NamedTuple):
    """A comparator that calls one key after the other, until two differ. keys: the variable of their list."""

    keys: Ref
    is_down: bool
    is_turned: bool


def each_of(function: Function) -> Each | None:
    """The keys that a function of two elements goes through; None where it does something else. The runtime sees
    whether they have effects: keywords have none."""
    if not is_comparator(function):
        return None
    instrs = code_of(function).instrs
    loop: Any = instrs[0].op if len(instrs) == 1 else None
    exit_: Any = code_of(function).exit
    if type(loop) is not anf.For or loop.inits or len(loop.sources) != 1 or not is_ref(exit_.value, instrs[0].var):
        return None
    keys, target, last = loop.sources[0], loop.target, loop.after
    if type(keys) is not Ref or not is_fixed(keys.var) or keys.var in function.params or type(target) is not VarPattern:
        return None
    if last is None or last.instrs or type(last.exit) is not Result:
        return None
    try:
        return Comparison(function, loop).each(keys, last.exit.value)
    except UnknownError:
        return None


def is_comparator(function: Function) -> bool:
    if len(function.params) != 2 or function.rest is not None or function.is_generator:
        return False
    if not all(map(is_fixed, function.params)):
        return False
    if not any(param.captured for param in function.params):
        return True
    inside = all_blocks(code_of(function), into_functions=False)  # what was a function there may be a loop by now
    return not any(type(instr.op) is Closure for block in inside for instr in block.instrs)


def order_of(function: Function) -> Order | None:
    """What a function of two elements compares; None where that isn't known."""
    if not is_comparator(function):
        return None
    comparison = Comparison(function)
    try:
        return comparison.order()
    except UnknownError:
        return None


class UnknownError(Exception):
    """A comparator does what isn't known here."""


class Undecided(NamedTuple):
    """It depends on how the keys of both elements compare. value: the key of the first."""

    value: Expr


class Comparison:
    """A comparator, or what it does in each round of a loop over keys. facts: how keys compare, as is assumed. met:
    what has a part in its answer. subtracted: keys of which it gives the difference."""

    def __init__(self, function: Function, loop: anf.For | None = None) -> None:
        self.first, self.second = function.params
        self.loop = loop
        self.code = loop.body if loop is not None else code_of(function)
        self.instrs = [instr for block in all_blocks(self.code, into_functions=False) for instr in block.instrs]
        self.made = {instr.var: instr for instr in self.instrs if instr.var is not None}
        self.facts: list[tuple[Expr, int]] = []
        self.met: set[Let] = set()
        self.subtracted: list[Expr] = []

    def order(self) -> Order | None:
        keys: list[tuple[Expr, bool]] = []
        while True:
            answer = self.in_order(self.code)
            if not isinstance(answer, Undecided):
                break
            if len(keys) == MOST_KEYS or (keys and not self.ends(answer.value)):
                return None
            before, after = (self.assuming(answer.value, place) for place in (BEFORE, AFTER))
            if isinstance(before, Undecided) or isinstance(after, Undecided) or before is after:
                return None
            keys.append((answer.value, after))
            self.facts.append((answer.value, SAME))
        if not keys or len(self.met) != len(self.instrs):
            return None
        computed: set[Let] = set()
        for value, _ in keys:
            self.computed(value, computed)
        found = [
            Key(value, is_down, any(self.is_alike(value, one) for one in self.subtracted)) for value, is_down in keys
        ]
        return Order(found, [instr for instr in self.instrs if instr in computed], not answer)

    def each(self, keys: Ref, last: Expr) -> Each | None:
        """The order by each key of a list. last: what is answered where all are equal."""
        answer = self.in_order(self.code)
        if not isinstance(answer, Undecided) or not self.is_call(answer.value, self.first):
            return None
        before, same, after = (self.assuming(answer.value, place) for place in (BEFORE, SAME, AFTER))
        if type(before) is not bool or type(after) is not bool or before is after or same is not NEXT:
            return None
        if len(self.met) != len(self.instrs) or self.subtracted:
            return None
        return Each(keys, after, not self.in_order(last))

    def is_call(self, value: Expr, element: Var) -> bool:
        """Whether a value is what the key of this round has of an element."""
        op = self.made[value.var].op if type(value) is Ref and value.var in self.made else None
        if type(op) is not anf.Call or self.loop is None or len(op.args) != 1:
            return False
        return is_ref(op.head, self.loop.target.var) and is_ref(op.args[0], element)  # type: ignore[attr-defined]

    def assuming(self, key: Expr, place: int) -> Any:
        self.facts.append((key, place))
        answer = self.in_order(self.code)
        self.facts.pop()
        return answer

    # What is answered

    def in_order(self, part: Block | Expr) -> Any:
        """Whether the value of a block or an operand says that the elements are in order. NEXT: the next key does."""
        if type(part) is Block and type(part.exit) is Jump and part.exit.target is self.loop and not part.exit.args:
            return NEXT
        value = result_of(part) if type(part) is Block else part
        if type(value) is Lit:
            return value.value is True or (
                value.value is not False and (type(value.value) is not int or value.value <= 0)
            )
        op: Any = self.op(value)
        if type(op) is anf.Move:
            return self.in_order(op.value)
        if type(op) is CallBuiltin and op.name == "-":
            place = self.place(op, is_difference=True)
            return place if isinstance(place, Undecided) else place != AFTER
        branch = self.branch(op)
        if branch is None:
            return self.truth(value)
        return branch if isinstance(branch, Undecided) else self.in_order(branch)

    def truth(self, part: Any) -> bool | Undecided:
        """Whether the value of a block or an operand counts as true."""
        value = result_of(part) if type(part) is Block else part
        if type(value) is Lit:
            return value.value is not None and value.value is not False
        op: Any = self.op(value)
        if type(op) is anf.Move:
            return self.truth(op.value)
        if type(op) is CallBuiltin and op.name == "not" and len(op.args) == 1 and not op.as_value:
            answer = self.truth(op.args[0])
            return answer if isinstance(answer, Undecided) else not answer
        if type(op) is CallBuiltin and op.name in TRUE_FOR:
            place = self.place(op)
            return place if isinstance(place, Undecided) else place in TRUE_FOR[op.name]
        branch = self.branch(op)
        if branch is None:
            raise UnknownError
        return branch if isinstance(branch, Undecided) else self.truth(branch)

    def op(self, value: Any) -> Op:
        """The operation of the comparator that gives a value."""
        instr = self.made.get(value.var) if type(value) is Ref else None
        if instr is None:
            raise UnknownError
        self.met.add(instr)
        return instr.op

    def branch(self, op: Any) -> Any:
        """What a choice has the value of; None for other operations."""
        if type(op) is anf.If:
            answer = self.truth(op.test)
            return answer if isinstance(answer, Undecided) else op.then if answer else op.otherwise
        if type(op) is anf.Logic:
            answer = self.truth(op.first)
            return answer if isinstance(answer, Undecided) else op.rest if answer is op.is_and else op.first
        return None

    def place(self, op: CallBuiltin, is_difference: bool = False) -> Any:
        """Where the key of the first element is, compared with the second's: turned where the operands are."""
        if len(op.args) != 2 or op.as_value:
            raise UnknownError
        for is_swapped in (False, True):
            pairs = {self.second: self.first} if is_swapped else {self.first: self.second}
            if self.is_same(op.args[0], op.args[1], pairs):
                break
        else:
            raise UnknownError
        key = op.args[1] if is_swapped else op.args[0]
        for var in (*pairs, *pairs.values()):
            if var in self.made:
                self.met.add(self.made[var])
        if is_difference:
            self.subtracted.append(key)
        for known, place in self.facts:
            if self.is_alike(known, key):
                return AFTER - place if is_swapped else place
        return Undecided(key)

    # Keys

    def is_same(self, x: Expr, y: Expr, pairs: dict[Var, Var]) -> bool:
        """Whether two values are computed in the same way of the two elements, without effects. pairs: variables that
        stand for each other."""
        if type(x) is not Ref or type(y) is not Ref:
            return is_same_constant(x, y)
        made = self.made
        if x.var in pairs:
            return pairs[x.var] is y.var
        if x.var not in made or y.var not in made:
            own = (self.first, self.second)
            return x.var is y.var and is_fixed(x.var) and x.var not in own and x.var not in made
        one, other = made[x.var].op, made[y.var].op
        if one is other or type(one) is not type(other) or not does_the_same(one, other):
            return False
        if not is_pure(one, set()) and not (self.is_call(x, self.first) or self.is_call(x, self.second)):
            return False
        values, others = parts(one), parts(other)
        if len(values) != len(others) or not all(
            self.is_same(a, b, pairs) for a, b in zip(values, others, strict=True)
        ):
            return False
        pairs[x.var] = y.var
        return True

    def is_alike(self, x: Expr, y: Expr) -> bool:
        """Whether two values are the same key of one element."""
        if type(x) is not Ref or type(y) is not Ref:
            return is_same_constant(x, y)
        if x.var is y.var:
            return True
        if x.var not in self.made or y.var not in self.made:
            return False
        one, other = self.made[x.var].op, self.made[y.var].op
        if type(one) is not type(other) or not does_the_same(one, other):
            return False
        values, others = parts(one), parts(other)
        return len(values) == len(others) and all(map(self.is_alike, values, others))

    def computed(self, key: Expr, found: set[Let]) -> None:
        """What computes a key."""
        instr = self.made.get(key.var) if type(key) is Ref else None
        if instr is not None and instr not in found:
            found.add(instr)
            for part in operands(instr.op):
                self.computed(part, found)

    def ends(self, key: Expr) -> bool:
        """Whether the computation of a key surely comes to an end."""
        found: set[Let] = set()
        self.computed(key, found)
        return all(ends(instr.op, ()) for instr in found)


def result_of(block: Block) -> Expr:
    if type(block.exit) is not Result:
        raise UnknownError
    return block.exit.value


def is_same_constant(x: Expr, y: Expr) -> bool:
    if type(x) is Lit and type(y) is Lit:
        return type(x.value) is type(y.value) and bool(x.value == y.value)
    return type(x) is anf.BuiltinRef and type(y) is anf.BuiltinRef and x.name == y.name


def parts(op: Any) -> list[Expr]:
    """The operands that decide what an operation does."""
    return [op.record] if type(op) is anf.GetField else operands(op)


def does_the_same(one: Any, other: Any) -> bool:
    """Whether two operations of a class do the same, apart from their operands."""
    if type(one) is CallBuiltin:
        return bool(one.name == other.name and one.as_value == other.as_value)
    if type(one) is anf.CallRuntime:
        return bool(one.path == other.path)
    if type(one) is anf.GetField:
        return bool(one.is_sure and other.is_sure and one.member is other.member)
    if type(one) is anf.Python:
        return bool(one.kind == other.kind)
    if type(one) is anf.Read:  # nothing sets it meanwhile
        return bool(one.var is other.var)
    return type(one) is anf.Move or type(one) is anf.Call


def is_pure(op: Op, seen: set[Function]) -> bool:
    """Whether an operation has no effects."""
    if type(op) is anf.GetField:
        return op.is_sure
    if type(op) is anf.CallRuntime and op.path == LOOK:
        return True
    if type(op) is anf.Call and functions_of(op.head) is None:
        return False
    if type(op) is CallBuiltin and calls_back(op.name):
        return False
    callees = silent_calls(op)
    if callees is None or type(op) is anf.Assign or changed(op) is not None:
        return False
    for callee in callees:
        if callee not in seen:
            seen.add(callee)
            if not all(is_pure(instr.op, seen) for instr in code_of(callee).instrs):
                return False
    return all(is_pure(instr.op, seen) for inner in blocks(op) for instr in inner.instrs)


def ends(op: Op, callers: tuple[Function, ...]) -> bool:
    """Whether an operation without effects surely comes to an end."""
    if type(op) in (anf.Loop, anf.While, Closure):
        return False
    for callee in silent_calls(op) or ():
        if callee in callers or len(callers) > MOST_KEYS:
            return False
        if not all(ends(instr.op, (*callers, callee)) for instr in code_of(callee).instrs):
            return False
    return all(ends(instr.op, callers) for inner in blocks(op) for instr in inner.instrs)
