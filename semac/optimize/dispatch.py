"""Calls of multimethods whose methods are all known go to a function that asks for the dispatch value itself.

Methods become functions of their own, so that types flow into them and calls of small ones are written out. Sound where
nobody else can add a method, each is added once at the top level, and no call can happen before the last of them: all
forms between the `defmulti` and its last `defmethod` make functions and data alone. Values of dispatch are such that
`=` says what the table of a multimethod says. The multimethod itself stays what everything but a call sees. Where
nothing else sees it, its table is for debuggers: nobody calls the methods from there.

In a module others may add methods later, so the function first asks the multimethod whether somebody has, and hands the
call to it. Leaving out "extended" leaves multimethods of modules as they are.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol, keyword
from semac.anf.literals import literal
from semac.anf.nodes import AnyPattern as Otherwise
from semac.anf.nodes import (
    Assign,
    Block,
    BuiltinRef,
    Call,
    CallBuiltin,
    CallRuntime,
    Clause,
    Closure,
    Expr,
    If,
    Let,
    Lit,
    LiteralPattern,
    MakeMap,
    MakeRecordType,
    MakeVector,
    Match,
    Move,
    Op,
    Read,
    RecordFunction,
    Ref,
    Result,
    SequencePattern,
)
from semac.anf.walk import all_blocks, exit_operands, map_operands, operands
from semac.fingerprint import is_traced
from semac.ir.intrinsics import ADD_KNOWN, ADD_OWN, ADD_SEEN, BY_DEFAULT, EXTENDED, KEYWORD_GET, KNOWN_MULTI
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit, left_out
from semac.optimize.infer.instantiate import parts_of
from semac.optimize.loops.functions import temporary
from semac.types.signatures import Function as FunctionExpr
from semac.types.signatures import signature_for

MULTIMETHODS = "sema_runtime.lib.language.multimethods:"
MULTI, ADD = MULTIMETHODS + "MultiMethod", MULTIMETHODS + "add_method"
DEFAULT = keyword("default")
STILL = (Assign, Closure, MakeMap, MakeRecordType, MakeVector, Move, Read, RecordFunction)  # what calls nothing


class Method:
    """A `defmethod`. key: the literal, or the literals of a vector."""

    def __init__(self, op: CallRuntime, block: Block, index: int, key: Any, is_vector: bool, closure: Let) -> None:
        self.op = op
        self.block = block
        self.index = index  # of the form
        self.key = key
        self.is_vector = is_vector
        self.closure = closure
        self.var: Var | None = None

    @property
    def function(self) -> Function:
        made: Function = self.closure.op.function  # type: ignore[attr-defined]
        return made

    @property
    def is_default(self) -> bool:
        return self.key is DEFAULT


class Multi:
    """A `defmulti` of a unit, with its methods in order."""

    def __init__(self, var: Var, op: CallRuntime, index: int, block: Block, dispatch: Let | Expr) -> None:
        self.var = var
        self.op = op
        self.index = index
        self.block = block
        self.dispatch = dispatch
        self.methods: list[Method] = []
        self.is_open = False  # something about it isn't known
        self.function: Var | None = None  # of the function that chooses
        self.fallback: Op | None = None  # the call of the multimethod in that function

    @property
    def count(self) -> int:
        """Of arguments."""
        return len(self.methods[0].function.params)


def dispatch_directly(unit: Unit) -> None:
    """Leads the calls of known multimethods to functions."""
    if unit.is_open or unit.is_text or unit.is_input or is_traced():
        return
    if not unit.is_program and "extended" in left_out(unit):
        return
    multis = found_in(unit)
    if not multis or not note_methods(unit, multis):
        return
    calling = [index for index, block in enumerate(unit.blocks) if not is_still(block)]
    known = {var: multi for var, multi in multis.items() if can_be_function(multi, calling)}
    for multi in known.values():
        define(unit, multi)
    redirect(unit, known)
    in_use = seen(unit, known)
    for multi in known.values():
        if unit.is_program and multi not in in_use:
            multi.op.path = KNOWN_MULTI
        for method in multi.methods:
            if not unit.is_program:
                method.op.path = ADD_SEEN if multi in in_use else ADD_OWN
            elif multi not in in_use:
                method.op.path = ADD_KNOWN


# Finding


def found_in(unit: Unit) -> dict[Var, Multi]:
    multis: dict[Var, Multi] = {}
    for index, block in enumerate(unit.blocks):
        made = {instr.var: instr for instr in block.instrs}
        for instr in block.instrs:
            op = instr.op
            if type(op) is not Assign or type(op.value) is not Ref or op.value.var not in made:
                continue
            value = made[op.value.var].op
            is_only = op.define == "global" and op.var.defined == 1 and not op.var.assigned
            if type(value) is CallRuntime and value.path == MULTI and is_only:
                dispatch = value.args[1]
                source = made.get(dispatch.var) if type(dispatch) is Ref else None
                multis[op.var] = Multi(op.var, value, index, block, source if source is not None else dispatch)
    return multis


def note_methods(unit: Unit, multis: dict[Var, Multi]) -> bool:
    """Notes each `defmethod` of a unit with its multimethod; False where one is that of an unknown multimethod."""
    for index, form in enumerate(unit.blocks):
        for block in all_blocks(form):
            made = {instr.var: instr for instr in block.instrs}
            for instr in block.instrs:
                op = instr.op
                if type(op) is not CallRuntime or op.path != ADD:
                    continue
                multi = named(op.args[0], made, multis)
                if multi is None:
                    return False
                method = method_of(op, made, block, index) if block is form else None
                if method is None or any(same_key(method, other) for other in multi.methods):
                    multi.is_open = True
                else:
                    multi.methods.append(method)
    return True


def named(value: Expr, made: dict[Var | None, Let], multis: dict[Var, Multi]) -> Multi | None:
    read = made[value.var].op if type(value) is Ref and value.var in made else None
    if type(read) is Read:
        return multis.get(read.var)
    return multis.get(value.var) if type(value) is Ref else None


def method_of(op: CallRuntime, made: dict[Var | None, Let], block: Block, index: int) -> Method | None:
    _, key, function = op.args
    closure = made.get(function.var) if type(function) is Ref else None
    if closure is None or type(closure.op) is not Closure:
        return None
    if type(key) is Lit:
        return Method(op, block, index, key.value, False, closure) if is_plain(key.value) else None
    vector = made[key.var].op if type(key) is Ref and key.var in made else None
    if type(vector) is not MakeVector or not all(type(item) is Lit and is_plain(item.value) for item in vector.items):
        return None
    return Method(op, block, index, [item.value for item in vector.items], True, closure)  # type: ignore[union-attr]


def is_plain(value: Any) -> bool:
    """Whether `=` and the table of a multimethod agree on a value: they don't on numbers."""
    return value is None or isinstance(value, str | bool | Keyword | Symbol | Char)


def same_key(a: Method, b: Method) -> bool:
    return a.is_vector is b.is_vector and a.key == b.key


def can_be_function(multi: Multi, calling: list[int]) -> bool:
    """Whether calls may go to a function. calling: the forms of the unit that may call something."""
    if multi.is_open or not multi.methods:
        return False
    last = max(method.index for method in multi.methods)
    at = bisect_left(calling, multi.index)
    if at < len(calling) and calling[at] <= last:
        return False  # the call may come before a method
    if any(method.is_vector for method in multi.methods) and not gives_vector(multi.dispatch):
        return False  # patterns take lists for vectors, which the table doesn't
    functions = [method.function for method in multi.methods]
    dispatch = multi.dispatch
    if type(dispatch) is Let and type(dispatch.op) is Closure:
        functions.append(dispatch.op.function)
    elif type(dispatch) is not Lit or not isinstance(dispatch.value, Keyword) or multi.count != 1:
        return False
    return multi.count > 0 and all(len(each.params) == multi.count and each.rest is None for each in functions)


def gives_vector(dispatch: Let | Expr) -> bool:
    """Whether a dispatch function surely gives a vector."""
    if type(dispatch) is not Let or type(dispatch.op) is not Closure:
        return False
    code = dispatch.op.function.code
    made = {instr.var: instr.op for instr in code.instrs}
    exit_ = code.exit
    return type(exit_) is Result and type(exit_.value) is Ref and type(made.get(exit_.value.var)) is MakeVector


def is_still(block: Block) -> bool:
    """Whether a form calls no function of the program: builtins that it calls get none."""
    made = {instr.var: instr.op for instr in block.instrs}
    return all(is_still_operation(instr.op, made) for instr in block.instrs)


def is_still_operation(op: Op, made: dict[Var | None, Op]) -> bool:
    if isinstance(op, STILL) or (type(op) is CallRuntime and op.path in (MULTI, ADD)):
        return True
    if type(op) is not CallBuiltin:
        return False
    return not any(
        type(value) is BuiltinRef
        or (type(value) is Ref and type(made.get(value.var)) not in (CallBuiltin, MakeMap, MakeVector))
        for value in operands(op)
    )


# Making


def define(unit: Unit, multi: Multi) -> None:
    """Defines the methods, and the function that chooses among them, as globals."""
    for method in multi.methods:
        method.var = bind_global(unit, method.block, method.closure, f"_{multi.var.name}_{hint_of(method)}")
    function = Function("", multi.methods[0].function.parent)
    function.span = multi.methods[-1].closure.op.span
    function.params = [parameter(param.name, function) for param in multi.methods[0].function.params]
    function.code = body(unit, multi, function)
    unit.functions.append(function)
    last = max(multi.methods, key=lambda method: method.index).block
    closure = Closure(function, span=function.span)
    made = Let(temporary("result", None), closure)
    made.var.op = closure  # type: ignore[union-attr]
    multi.function = bind_global(unit, last, made, f"_call_{multi.var.name}")


def hint_of(method: Method) -> str:
    parts = method.key if method.is_vector else [method.key]
    names = [getattr(part, "name", None) for part in parts]
    return "_".join(name if name is not None and name.isidentifier() else "case" for name in names)


def bind_global(unit: Unit, block: Block, closure: Let, name: str) -> Var:
    """Binds the function that an instruction makes to a new global, too."""
    number, unique = 1, name
    while unique in unit.globals:
        number += 1
        unique = f"{name}_{number}"
    var = Var(unique, None, is_global=True)
    var.defined = 1
    function = closure.op.function  # type: ignore[attr-defined]
    var.function = function
    if function.var is None:
        function.var = var
    unit.globals[unique] = var
    assert closure.var is not None
    if closure in block.instrs:
        block.instrs.remove(closure)
    for instr in block.instrs:
        map_operands(instr.op, lambda value: Ref(var) if type(value) is Ref and value.var is closure.var else value)
    definition = Let(None, Assign(var, Ref(closure.var), "global", span=closure.op.span))
    unit.blocks.insert(unit.blocks.index(block), Block([closure, definition], Result(Lit(None))))
    return var


def parameter(name: str, owner: Function) -> Var:
    var = Var(name, owner)
    var.defined = 1
    return var


def body(unit: Unit, multi: Multi, function: Function) -> Block:
    """Asks for the dispatch value and calls a method."""
    block = Block([], Result(Lit(None)))

    def bind(into: Block, op: Op) -> Ref:
        return bound_in(into, op, function)

    def called(var: Var) -> Block:
        inner = Block([], Result(Lit(None)))
        inner.exit = Result(bind(inner, Call(Ref(var), [Ref(param) for param in function.params], True, True)))
        return inner

    key = bind(block, dispatch_call(unit, multi, function))
    key.var.hint = "kind"
    chosen = [method for method in multi.methods if not method.is_default]
    default = next((method for method in multi.methods if method.is_default), None)
    if default is not None:
        otherwise = called(default.var)  # type: ignore[arg-type]
    else:
        otherwise = Block([], Result(Lit(None)))
        table = bind(otherwise, Read(multi.var))
        params = [Ref(param) for param in function.params]
        otherwise.exit = Result(bind(otherwise, CallRuntime(BY_DEFAULT, [table, Ref(key.var), *params])))
    if any(method.is_vector for method in chosen):
        clauses = [Clause(pattern_of(method), None, called(method.var)) for method in chosen]  # type: ignore[arg-type]
        block.exit = Result(bind(block, Match(key, [*clauses, Clause(Otherwise(), None, otherwise)], False)))
        return block if unit.is_program else behind_test(multi, function, block)
    for method in reversed(chosen):
        outer = Block([], Result(Lit(None)))
        test = bind(outer, CallBuiltin("=", [Ref(key.var), literal(method.key)], fixed=True))
        outer.exit = Result(bind(outer, If(test, called(method.var), otherwise)))  # type: ignore[arg-type]
        otherwise = outer
    block.instrs += otherwise.instrs
    block.exit = otherwise.exit
    return block if unit.is_program else behind_test(multi, function, block)


def behind_test(multi: Multi, function: Function, known: Block) -> Block:
    """Asks whether somebody has added a method: then the multimethod chooses."""
    block, fallback = Block([], Result(Lit(None))), Block([], Result(Lit(None)))
    multi.fallback = Call(Ref(multi.var), [Ref(param) for param in function.params], True, True)
    fallback.exit = Result(bound_in(fallback, multi.fallback, function))
    test = bound_in(block, CallRuntime(EXTENDED, [Ref(multi.var)]), function)
    block.exit = Result(bound_in(block, If(test, fallback, known), function))
    return block


def bound_in(block: Block, op: Op, function: Function) -> Ref:
    """A variable for the value of an operation of a function, which a block computes next."""
    op.span = function.span
    var = temporary("result", function)
    var.op = op
    block.instrs.append(Let(var, op))
    return Ref(var)


def pattern_of(method: Method) -> LiteralPattern | SequencePattern:
    if method.is_vector:
        return SequencePattern([LiteralPattern(part) for part in method.key], None)
    return LiteralPattern(method.key)


def dispatch_call(unit: Unit, multi: Multi, function: Function) -> Op:
    params: list[Expr] = [Ref(param) for param in function.params]
    dispatch = multi.dispatch
    if type(dispatch) is Let:
        return Call(Ref(bind_global(unit, multi.block, dispatch, f"_{multi.var.name}_kind")), params)
    return CallRuntime(KEYWORD_GET, [*params, dispatch])  # type: ignore[list-item]


# Calls


def redirect(unit: Unit, known: dict[Var, Multi]) -> None:
    """Leads calls, and builtins that call a function argument at once, to functions."""
    for form in unit.blocks:
        for block in all_blocks(form):
            reads = reads_of(block, known)
            for instr in block.instrs:
                op = instr.op
                if type(op) is Call and type(op.head) is Ref:
                    multi = known.get(op.head.var) or reads.get(op.head.var)
                    if multi is not None and len(op.args) == multi.count and op is not multi.fallback:
                        op.head = Ref(multi.function)  # type: ignore[arg-type]
                elif type(op) is CallBuiltin and reads:
                    for index, value in enumerate(op.args):
                        multi = reads.get(value.var) if type(value) is Ref else None
                        if multi is not None and calls_at_once(op, index, multi.count):
                            op.args[index] = Ref(multi.function)  # type: ignore[arg-type]


def reads_of(block: Block, known: dict[Var, Multi]) -> dict[Var | None, Multi]:
    """The variables of a block that hold multimethods."""
    reads = [(instr.var, instr.op.var) for instr in block.instrs if type(instr.op) is Read]
    return {held: known[var] for held, var in reads if var in known}


def seen(unit: Unit, known: dict[Var, Multi]) -> set[Multi]:
    """The multimethods that anything sees but their definitions, methods and functions."""
    found: set[Multi | None] = set()
    fallbacks = {multi.fallback for multi in known.values()}
    for form in unit.blocks:
        for block in all_blocks(form):
            reads = reads_of(block, known)
            used = [value for value in exit_operands(block.exit) if type(value) is Ref]
            for instr in block.instrs:
                op = instr.op
                is_own = (type(op) is CallRuntime and op.path in (ADD, BY_DEFAULT, EXTENDED)) or op in fallbacks
                used += [value for value in operands(op)[is_own:] if type(value) is Ref]
            found.update(known.get(value.var) or reads.get(value.var) for value in used)
    return {multi for multi in found if multi is not None}


def calls_at_once(op: CallBuiltin, index: int, count: int) -> bool:
    """Whether a builtin does nothing with an argument but calling it with so many values."""
    signature = signature_for(op.name, len(op.args))
    if signature is None or signature.param(index).mode != "now":
        return False
    parts = parts_of(signature.param(index).type)
    return any(type(part) is FunctionExpr and len(part.params) == count for part in parts)
