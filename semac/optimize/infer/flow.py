"""The visit of one unit of code: types flow through its blocks in the order of evaluation.

Where a test holds, or an operation has succeeded, more is known of a variable that never changes: `env` says it for the
instructions that follow. Each operand gets the type that holds where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Expr, Jump, Op, Ref
from semac.anf.records import RecordMember
from semac.anf.walk import code_of, operands, params_of
from semac.ir.intrinsics import (
    ADD_KNOWN,
    ADD_OWN,
    AS_LIST,
    BY_DEFAULT,
    EXTENDED,
    KEYWORD_GET,
    KNOWN_MULTI,
    RESTORED,
)
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit, left_out
from semac.optimize.infer import iteration, patterns
from semac.optimize.infer import maps as map_rules  # it enters its builtins
from semac.optimize.infer import numbers as number_rules  # so does it
from semac.optimize.infer.builtins import builtin_result, called_function, leave_out_refused
from semac.optimize.infer.called import can_visit, visit_called
from semac.optimize.infer.facts import Facts
from semac.optimize.infer.filled import filled_lists
from semac.optimize.infer.fits import fitted
from semac.optimize.infer.maps import FIELDS, LEVELS, field_type, level_type
from semac.optimize.infer.record_types import called_member, set_attribute
from semac.optimize.infer.recursive import bounded, unfolded
from semac.optimize.infer.restored import restored_type
from semac.optimize.infer.signs import of_any_sign
from semac.optimize.infer.solver import LATER, Solver
from semac.types.lattice import (
    ANY,
    DICT,
    FALSE,
    FALSY,
    FLAT,
    FN,
    KEYWORD,
    MAP,
    MAX_DEPTH,
    NEVER,
    NIL,
    OTHER,
    TRUE,
    Type,
    atom,
    dict_of,
    function_of,
    join,
    list_of,
    restrict,
    shape_of,
    vector_of,
)
from semac.types.lattice import field as field_of

KNOWN = frozenset((KNOWN_MULTI, ADD_KNOWN, AS_LIST))  # keep what they get for debuggers alone, or not at all
BOOL_TYPE = atom(TRUE | FALSE)
MANY_FIELDS = 30
ENTERED = (map_rules, number_rules)


def infer(unit: Unit) -> None:
    """Fills in the types of variables, operations and operands, where they aren't those of the code already."""
    if unit.is_typed:
        unit.is_typed = False
    else:
        inferred(unit)


def inferred(unit: Unit) -> Flow:
    """Infers; what is given can go on when the unit changes."""
    flow = Flow(unit)
    flow.go_on()
    return flow


TAKEN_APART = frozenset(("car", "first", "cdr", "rest"))


class Flow:
    """Visits code; `solver` keeps the facts and what is left to do."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.solver = Solver(unit)
        self.facts = Facts(self)
        self.function: Function | None = None
        self.active: set[Any] = set()  # the code that is being visited
        self.depth = 0  # of the blocks that are being visited
        self.tells_signs = "signs" not in left_out(unit)
        self.asks_filled = "filled" not in left_out(unit)
        self.filled: set[Var] = set()

    def go_on(self, changed: Iterable[Any] = (), narrowed: Collection[Function] = ()) -> None:
        """Visits until no fact grows any more.

        changed: forms and functions whose operations may give more than before. narrowed: functions in which less can
        be than before; what they have told others stays.
        """
        self.filled = filled_lists(self.unit) if self.asks_filled else set()
        mixed = self.solver.newly_mixed()
        if mixed is None:
            self.solver = Solver(self.unit)
        self.solver.forget(narrowed)
        for code in [*changed, *narrowed, *(mixed or ())]:
            self.solver.enqueue(code)
        while (code := self.solver.next()) is not None:
            self.active.add(code)
            self.visit(code)
            self.active.discard(code)

    def visit(self, code: Any) -> None:
        self.facts.clear()
        if type(code) is Function:
            self.function = code
            if code.rest is not None and code.is_open:
                self.solver.grow(code.rest, list_of(ANY, FLAT))
            for param, kind in zip(code.params, code.kinds, strict=False):  # its entry passes on what fits
                self.solver.grow(param, fitted(ANY, kind))
            self.solver.returned(code, self.block(code_of(code)))
        else:
            self.function = None
            self.solver.escape(self.block(code), LATER)  # whoever runs the unit may get the value of a form

    # Blocks

    def block(self, block: Block) -> Type:
        """The type of the block's value; NEVER where it has none."""
        reached = True
        self.depth += 1
        for instr in block.instrs:
            type_ = self.op(instr.op)
            var = instr.var
            if var is None:
                pass
            elif var.name:
                self.solver.bind(var, type_)
            else:
                var.type = type_
            if type_ is NEVER and type(instr.op) is anf.Throw:
                reached = False
        self.depth -= 1
        exit_ = block.exit
        if type(exit_) is Jump:
            self.jump(exit_)
            return NEVER
        result = self.operand(exit_.value)  # type: ignore[union-attr]
        return result if reached else NEVER

    def scoped(self, block: Block, assume: Callable[[], None] | None = None) -> Type:
        """The type of a block in which more is known than around it."""
        mark = self.facts.mark()
        if assume is not None:
            assume()
        type_ = self.block(block)
        self.facts.undo(mark)
        return type_

    def jump(self, exit_: Jump) -> None:
        for param, arg in zip(params_of(exit_.target), exit_.args, strict=False):
            self.solver.grow(param, self.operand(arg))

    # Operands

    def operand(self, value: Expr) -> Type:
        """The type of an atom where it stands, which it gets."""
        if type(value) is Ref:
            var = value.var
            known = self.facts.env.get(var)
            if known is None:
                known = self.declared(var) if var.name or var.readers is not None else var.type
            value.type = known
        return value.type if self.tells_signs else of_any_sign(value.type)

    def var(self, var: Var) -> Type:
        known = self.facts.env.get(var)
        return self.declared(var) if known is None else known

    def declared(self, var: Var) -> Type:
        """What a variable can hold anywhere."""
        if not var.name and var.readers is None:  # it has one definition, which has been visited
            type_: Type = var.type
            return type_
        type_ = self.solver.read(var)
        return unfolded(self.solver, type_) if type_.nodes else type_

    def op(self, op: Op) -> Type:
        """The type of an operation's value, computed and stored."""
        type_ = OPS[type(op)](self, op)
        folding = self.solver.folding
        if type_.depth > MAX_DEPTH or (folding and op in folding):
            type_ = bounded(self.solver, op, type_)
        if type_.nodes:
            type_ = unfolded(self.solver, type_)
        if not self.tells_signs:
            type_ = of_any_sign(type_)
        op.type = type_
        return type_

    def unknown(self, op: Op) -> Type:
        """An operation of which nothing is known: its operands escape."""
        for value in operands(op):
            self.solver.escape(self.operand(value))
        return ANY

    # Variables

    def move(self, op: anf.Move) -> Type:
        return self.operand(op.value)

    def read(self, op: anf.Read) -> Type:
        return self.declared(op.var)

    def assign(self, op: anf.Assign) -> Type:
        type_ = self.operand(op.value)
        known = op.var.known_function
        is_seen = op.var.is_global and not op.var.is_private and not self.solver.closed
        if is_seen and (known is None or known.original is None):
            self.solver.escape(type_, LATER)  # others read the globals of a module, but for private copies
        self.solver.grow(op.var, type_)
        return atom(NIL)

    def declare(self, op: anf.Declare) -> Type:
        return atom(NIL)

    def closure(self, op: anf.Closure) -> Type:
        self.solver.make(op.function)
        return function_of(op.function)

    # Calls

    def call(self, op: anf.Call) -> Type:
        args = [self.operand(arg) for arg in op.args]
        head = self.operand(op.head)
        type_ = self.apply(head, args, op)
        member = next(iter(head.fns)) if head.only(FN) and head.fns and len(head.fns) == 1 else None
        if type(member) is RecordMember and member.role == "accessor" and len(args) == 1 and type(op.args[0]) is Ref:
            self.facts.narrow_record(op.args[0].var, member.record, True)  # it would have raised for anything else
        return type_

    def apply(self, head: Type, args: list[Type], op: Op | None = None) -> Type:
        """The type of a call of a value of a type."""
        args = [unfolded(self.solver, arg) if arg.nodes else arg for arg in args]
        result = NEVER
        if head is NEVER or NEVER in args:
            return result  # it isn't known to be reached
        if head.fns is None or head.tags & OTHER:
            for arg in args:
                self.solver.escape(arg)
            result = ANY
        elif head.tags & KEYWORD:
            result = self.looked_up(args[0], NIL) if len(args) == 1 else ANY
        for function in head.fns or ():  # anything else that isn't a function raises
            result = join(result, called_function(self, function, args, op))
        return result

    def call_known(self, function: Function, args: list[Type]) -> Type:
        """A call of a function of the unit."""
        if function.kinds:
            args = [fitted(arg, kind) for arg, kind in zip(args, function.kinds, strict=False)]
        for param, arg in zip(function.params, args, strict=False):
            self.solver.grow(param, arg)
        if function.rest is not None:
            rest = NEVER
            for arg in args[len(function.params) :]:
                rest = join(rest, arg)
            self.solver.grow(function.rest, list_of(rest, FLAT))
        elif len(args) != len(function.params):
            return NEVER  # it raises
        if function in self.solver.queued and can_visit(self, function):
            visit_called(self, function)
        return self.solver.read(function)

    def call_builtin(self, op: anf.CallBuiltin) -> Type:
        args = [self.operand(arg) for arg in op.args]
        if op.name in TAKEN_APART and len(op.args) == 1:
            subject = op.args[0]
            op.filled = type(subject) is Ref and (subject.var in self.facts.filled or subject.var in self.filled)
        elif op.name == "cadr" and len(op.args) == 1 and type(op.args[0]) is Ref:
            op.filled = self.facts.has_second(op.args[0].var)
        result = builtin_result(self, op, args)
        if result is not NEVER:
            leave_out_refused(self, op, args)
        return result

    def call_runtime(self, op: anf.CallRuntime) -> Type:
        if op.path == KEYWORD_GET and type(op.args[1]) is anf.Lit:
            self.operand(op.args[1])
            type_ = self.keyword_get(self.operand(op.args[0]), op.args[1].value)
            if type(op.args[0]) is Ref:
                self.facts.narrow(op.args[0].var, DICT | OTHER)  # it would have raised for anything else
            return type_
        if op.path in LEVELS:
            return level_type(self, op)
        if op.path in FIELDS:
            return field_type(self, op)
        if op.path == RESTORED:
            self.unknown(op)
            plan, number = (arg.value for arg in op.args[1:])  # type: ignore[union-attr]
            return restored_type(self.operand(op.args[0]), plan, number)
        if op.path in KNOWN:
            for arg in op.args:
                self.operand(arg)
            return ANY
        if op.path == BY_DEFAULT and (self.solver.closed or self.solver.reads_early):  # nobody has added a method
            self.solver.escape([self.operand(arg) for arg in op.args][1])  # the error shows it
            return NEVER
        if op.path == ADD_OWN:
            for arg in op.args:
                self.solver.escape(self.operand(arg), LATER)  # until then nobody calls it from the table
            return ANY
        if op.path == EXTENDED:
            self.operand(op.args[0])
            return atom(FALSE) if self.solver.reads_early else BOOL_TYPE
        return self.unknown(op)

    def keyword_get(self, subject: Type, key: Any) -> Type:
        maps = restrict(subject, DICT)
        if not subject.tags & OTHER and maps.only(MAP) and maps.shape is not None:
            return field_of(maps, key, atom(NIL))
        return self.looked_up(subject, NIL)

    def looked_up(self, subject: Type, default: int) -> Type:
        """A look-up of an unknown key; it raises for what is no map."""
        if subject.tags & OTHER:
            self.solver.escape(subject)
            return ANY
        maps = restrict(subject, DICT)
        return join(maps.value, atom(default)) if maps.tags else NEVER

    # Records

    def record_function(self, op: anf.RecordFunction) -> Type:
        self.operand(op.kind)
        return function_of(op.function)

    def call_member(self, member: RecordMember, args: list[Type]) -> Type:
        return called_member(self.solver, member, args)

    # Data

    def make_vector(self, op: anf.MakeVector) -> Type:
        return vector_of(*[self.operand(item) for item in op.items])

    def make_map(self, op: anf.MakeMap) -> Type:
        types = [self.operand(item) for item in op.items]
        keys = op.items[0::2]
        if len(keys) <= MANY_FIELDS and all(type(key) is anf.Lit and key.type.only(KEYWORD) for key in keys):
            return shape_of({key.value: type_ for key, type_ in zip(keys, types[1::2], strict=True)})  # type: ignore[union-attr]
        key_type = value_type = NEVER
        for index in range(0, len(types), 2):
            key_type, value_type = join(key_type, types[index]), join(value_type, types[index + 1])
        return dict_of(MAP, key_type, value_type)

    # Control

    def if_(self, op: anf.If) -> Type:
        self.operand(op.test)
        mark = self.facts.mark()
        self.facts.assume(op.test, True)
        then = self.block(op.then) if not self.facts.impossible(mark) else self.dead(op.then)
        self.facts.undo(mark)
        self.facts.assume(op.test, False)
        otherwise = self.block(op.otherwise) if not self.facts.impossible(mark) else self.dead(op.otherwise)
        if then is not NEVER:
            self.facts.undo(mark)
            if otherwise is NEVER:
                self.facts.assume(op.test, True)
        return join(then, otherwise)

    def dead(self, block: Block) -> Type:
        """A branch that types rule out is visited all the same, so that its operands have types."""
        self.block(block)
        return NEVER

    def logic(self, op: anf.Logic) -> Type:
        first = self.operand(op.first)
        rest = self.scoped(op.rest, lambda: self.facts.assume(op.first, op.is_and))
        if op.is_and:
            return join(restrict(first, FALSY), rest) if first is not NEVER else NEVER
        return join(restrict(first, ~FALSY), rest) if first is not NEVER else NEVER

    def loop(self, op: anf.Loop) -> Type:
        for param, init in zip(op.params, op.inits, strict=True):
            self.solver.grow(param, self.operand(init))
        return self.scoped(op.body)

    def while_(self, op: anf.While) -> Type:
        mark = self.facts.mark()
        self.block(op.test)
        self.facts.assume(op.test.exit.value, True)  # type: ignore[union-attr]
        self.block(op.body)
        self.facts.undo(mark)
        return atom(NIL)

    def try_(self, op: anf.Try) -> Type:
        body = self.scoped(op.body)
        self.solver.grow(op.var, ANY)
        return join(body, self.scoped(op.handler))

    def throw(self, op: anf.Throw) -> Type:
        self.solver.escape(self.operand(op.value))
        return NEVER

    def with_(self, op: anf.With) -> Type:
        self.solver.escape(self.operand(op.context))
        if op.target is not None:
            self.solver.grow(op.target, ANY)
            return join(self.scoped(op.body), atom(NIL))  # it may swallow an exception
        return self.scoped(op.body)

    def fits(self, op: anf.Fits) -> Type:
        for arg in op.args:
            self.operand(arg)
        return BOOL_TYPE

    # Patterns

    def destructure(self, op: anf.Destructure) -> Type:
        patterns.bind(self.solver, op.pattern, self.operand(op.value))
        if type(op.value) is Ref and op.value.type is not ANY:
            self.facts.narrow(op.value.var, patterns.taken(op.pattern))
        return atom(NIL)

    def match(self, op: anf.Match) -> Type:
        subject = self.operand(op.subject)
        result = atom(NIL) if op.lenient else NEVER
        for clause in op.clauses:
            mark = self.facts.mark()
            patterns.bind(self.solver, clause.pattern, subject)
            if clause.guard is not None:
                self.block(clause.guard)
                self.facts.assume(clause.guard.exit.value, True)  # type: ignore[union-attr]
            result = join(result, self.block(clause.body))
            self.facts.undo(mark)
        return result

    # Python

    def py_set_attr(self, op: anf.PySetAttr) -> Type:
        set_attribute(self.solver, self.operand(op.object))
        return self.unknown(op)

    def py_import(self, op: anf.PyImport) -> Type:
        for var in [op.var] if op.names is None else [var for _, var in op.names]:
            self.solver.grow(var, ANY)
        return atom(NIL)

    def import_(self, op: anf.Import) -> Type:
        for var in op.vars:
            self.solver.grow(var, ANY)
        return self.unknown(op)


OPS: dict[type, Callable[[Flow, Any], Type]] = {
    anf.Move: Flow.move,
    anf.Read: Flow.read,
    anf.Assign: Flow.assign,
    anf.Declare: Flow.declare,
    anf.Closure: Flow.closure,
    anf.Call: Flow.call,
    anf.CallBuiltin: Flow.call_builtin,
    anf.CallRuntime: Flow.call_runtime,
    anf.MakeRecordType: lambda flow, op: ANY,
    anf.RecordFunction: Flow.record_function,
    anf.MakeVector: Flow.make_vector,
    anf.MakeMap: Flow.make_map,
    anf.If: Flow.if_,
    anf.Logic: Flow.logic,
    anf.Loop: Flow.loop,
    anf.While: Flow.while_,
    anf.Try: Flow.try_,
    anf.Throw: Flow.throw,
    anf.With: Flow.with_,
    anf.Destructure: Flow.destructure,
    anf.Match: Flow.match,
    anf.PyImport: Flow.py_import,
    anf.Fits: Flow.fits,
    anf.For: iteration.for_,
    anf.Comprehension: iteration.comprehension,
    anf.CallOpen: Flow.unknown,
    anf.PyAttr: Flow.unknown,
    anf.PyItem: Flow.unknown,
    anf.PySetAttr: Flow.py_set_attr,
    anf.PyCall: Flow.unknown,
    anf.Import: Flow.import_,
}
