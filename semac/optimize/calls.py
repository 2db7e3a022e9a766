"""Calls of small functions become what the functions do.

Only of functions that nothing defines anew, whose body does nothing but compute: basic builtins, look-ups, accessors of
records, choices. They are functions of the top level, or local ones that are called where they were made: by the same
run of the same function, so that variables from outside are the same. Their arguments are computed before as for a
call, each operation keeps its place, and traces show the frame that the call would have had (`ir/sites.py`), so nobody
sees a difference. Debuggers, profilers and text for people get the functions as they are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.atoms import Keyword
from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Assign,
    Block,
    BuiltinRef,
    Call,
    CallBuiltin,
    CallRuntime,
    Closure,
    Destructure,
    Expr,
    For,
    If,
    Iteration,
    Jump,
    Let,
    Lit,
    Logic,
    Loop,
    MakeMap,
    MakeVector,
    Match,
    Move,
    Op,
    Read,
    RecordFunction,
    Ref,
    Result,
    Throw,
    Try,
)
from semac.anf.walk import LOOPS, all_blocks, blocks, bound, code_of, instructions, named, value_blocks
from semac.fingerprint import is_profiled, is_traced
from semac.ir.intrinsics import BREAKPOINT, KEYWORD_GET, LEVEL, LOOK, UPDATED
from semac.ir.nodes import Function, Var
from semac.ir.questions import jumps_out
from semac.ir.unit import Unit, left_out
from semac.optimize.loops.higher_order import is_known_now, loop_over_items
from semac.optimize.loops.named import jumps_to, own_loop
from semac.optimize.versions.copies import Copier
from semac.syntax.spans import SiteSpan

ALWAYS, OFTEN = 4, 16  # operations of functions that are small enough anywhere, and where code runs often
KEYED = 60  # operations of functions that look up or change what maps have under a keyword, where a call names it
ONCE = 150  # operations of a function that is called in one place of a program
GROWTH = 2  # at most so many operations of others for each of a unit's own, and these
SPARE = 200
PLAIN = frozenset((Move, Read, If, Logic, MakeVector, MakeMap))
SIMPLE = PLAIN | {Destructure}
MOVABLE = PLAIN | LOOPS | {Call, CallBuiltin, CallRuntime, Destructure, Match, Throw, Try}
NESTED = LOOPS | {Try}
DEEPEST = 12  # of those, in a function that takes in others: Python allows 20
CHECKS = frozenset((LEVEL, LOOK, UPDATED))
NOBODY = Function("", None)
ARRAYS = "lib.collections.mutable"


def inline_calls(unit: Unit) -> None:
    """Rewrites calls of small functions in all forms of a unit."""
    if unit.is_text or unit.is_input or unit.is_open or is_traced() or is_profiled():
        return
    size = sum(1 for form in unit.blocks for _ in instructions(form))
    inliner = Inliner(unit, size * GROWTH + SPARE)
    defined: set[Var] = set()
    for form in unit.blocks:
        inliner.form(form, defined)
        for instr in form.instrs:
            if type(instr.op) is Assign and instr.op.define == "global":
                defined.add(instr.op.var)
    if inliner.has_arguments and "loops" not in left_out(unit):
        loop_over_items(unit, Counter(named(unit.blocks)))
    if inliner.makers:
        drop_unused(unit, inliner.makers.keys())
    if inliner.moved and unit.is_closed:
        drop_moved(unit, inliner.moved)
    elif inliner.moved:
        for var in inliner.moved.difference(uses_of(unit)):
            if var.function is not None:
                var.function.has_copy = True  # in each of its callers


def drop_moved(unit: Unit, moved: set[Var]) -> None:
    """Takes out the functions of a program that nobody calls any more."""
    named = {var for var in moved if var.function is not None and var.function.name == var.name}
    lost = named.difference(uses_of(unit))  # traces know them by the names of their variables
    unit.sites.lost |= lost
    for form in unit.blocks:
        ends = {instr.op.value.var for instr in form.instrs if defines(instr, lost)}
        if ends:
            form.instrs = [instr for instr in form.instrs if instr.var not in ends and not defines(instr, lost)]
    gone = {var.function for var in lost}
    unit.functions = [function for function in unit.functions if function not in gone]


def defines(instr: Let, functions: set[Var]) -> bool:
    op = instr.op
    return type(op) is Assign and op.var in functions and type(op.value) is Ref


def drop_unused(unit: Unit, functions: Iterable[Var]) -> None:
    """Takes out the local functions that nobody calls any more."""
    left = set(functions).difference(named(unit.blocks))
    for form in unit.blocks if left else ():
        for block in all_blocks(form):
            block.instrs = [instr for instr in block.instrs if instr.var not in left]


class Inliner:
    """Inlines in one unit. room: how many operations may still be added."""

    def __init__(self, unit: Unit, room: int) -> None:
        self.unit = unit
        self.room = room
        self.sizes: dict[Function, int] = {}  # of functions whose calls are done; 0: of one that stays a function
        self.begun: set[Function] = set()
        self.makers: dict[Var, Function | None] = {}  # local functions by their variable → whose code makes them
        self.handlers = 0  # around the code at hand
        self.nested = 0  # in how many loops and handlers of the same function that is
        self.moved: set[Var] = set()  # functions of the top level that have become part of a caller
        self.has_arguments = False  # a call of `map` or its kin has got the function that it calls
        self.places = Counter(uses_of(unit))  # of each global: where it is named

    def form(self, form: Block, defined: set[Var]) -> None:
        self.block(form, None, False, defined)

    def size(self, function: Function) -> int:
        """How many operations a function has, after its own calls were looked at; 0 where it must stay a function."""
        known = self.sizes.get(function)
        if known is None:
            if function in self.begun:
                return 0  # it is recursive
            known = self.body(function)
        return known

    def body(self, function: Function) -> int:
        """Looks at the calls in a function, once; returns its size."""
        if function not in self.begun:
            self.begun.add(function)
            outer = self.handlers, self.nested
            self.handlers, self.nested = 0, 0
            self.block(code_of(function), function, function.self_tail, None)
            self.handlers, self.nested = outer
            self.sizes[function] = size_of(function)
        return self.sizes.get(function, 0)

    def block(self, block: Block, owner: Function | None, is_often: bool, defined: set[Var] | None) -> None:
        """defined: the globals that are defined above; None inside of functions."""
        instrs: list[Let] = []
        for instr in block.instrs:
            op = instr.op
            if type(op) is Closure:
                self.body(op.function)
                if instr.var is not None and is_fixed(instr.var) and not instr.var.is_global:
                    self.makers[instr.var] = owner
            self.handlers += type(op) is Try
            self.nested += type(op) in NESTED
            for inner in blocks(op):
                self.block(inner, owner, is_often or type(op) in LOOPS, defined)
            self.nested -= type(op) in NESTED
            self.handlers -= type(op) is Try
            function = self.inlined(op, is_often, owner, defined) if type(op) is Call else None
            if function is None:
                instrs.append(instr)
                continue
            spliced = self.spliced(instr, function, owner)
            if not self.sizes[function]:  # it has calls of its own
                inner = Block(spliced, Result(Lit(None)))
                self.block(inner, owner, is_often, defined)
                spliced = inner.instrs
            instrs += spliced
        block.instrs = instrs

    def inlined(self, op: Call, is_often: bool, owner: Function | None, defined: set[Var] | None) -> Function | None:
        """The function whose code takes the place of a call."""
        head = op.head
        if type(head) is not Ref or op.span is None or not is_fixed(head.var):
            return None
        if not head.var.is_global and self.makers.get(head.var, NOBODY) is not owner:
            return None
        var, function = head.var, function_of(head.var)
        if function is None or len(function.params) != len(op.args) or function.rest is not None:
            return None
        if defined is not None and var.is_global and (var.late or var not in defined):
            return None  # it may be unbound
        size = self.size(function)
        limit = KEYED if is_keyed(function, op.args) else OFTEN if is_often else ALWAYS
        if 0 < size <= min(limit, self.room):
            self.room -= size
        elif not self.is_called_seldom(function, var, owner, op, is_often):
            return None
        self.moved.update([var] if var.is_global else ())
        return function

    def is_called_seldom(
        self, function: Function, var: Var, owner: Function | None, call: Call, is_often: bool
    ) -> bool:
        """Whether the code of a function can stand in place of a call, however much it does: of the only place that
        names it, or of one of few that begin a loop of it with maps made there, whose fields then become variables."""
        if not var.is_global or function is owner or function not in self.sizes:
            return False
        if self.handlers:
            return False  # an error would no longer end the call of a function, which some operations count on
        records = any(map(is_record, call.args))
        if function.self_tail and records and can_have_loop(function):
            function.code = own_loop(function, function.body.span)
        places = self.places[var]
        is_once = places == 1 and (is_often if owner is None else self.unit.is_closed)  # what others call stays small
        if not is_once and not (records and loops_over(function, call.args)):
            return False
        return can_be_part(function, places) and self.nested + nesting(code_of(function)) <= DEEPEST

    def spliced(self, instr: Let, function: Function, owner: Function | None) -> list[Let]:
        """The instructions of a function in place of a call of it."""
        call = instr.op
        assert type(call) is Call and type(call.head) is Ref
        body = Splice(self.unit, call, function, owner or self.unit.main).code(call.tail)
        self.has_arguments |= any(is_known_now(each.op) for each in instructions(body))
        exit_ = body.exit
        assert type(exit_) is Result
        value = exit_.value
        last = body.instrs[-1] if body.instrs else None
        if type(value) is Ref and last is not None and last.var is value.var and not value.var.name:
            last.var = instr.var
        elif instr.var is not None:
            last = Let(instr.var, Move(value, span=call.span))
            body.instrs.append(last)
        if instr.var is not None and last is not None and is_fixed(instr.var):
            instr.var.op = last.op
        return body.instrs


PLACED = (Op, Result)


class Splice(Copier):
    """The copy of a function's code for one call: with the arguments in place of the parameters."""

    def __init__(self, unit: Unit, call: Call, function: Function, owner: Function) -> None:
        super().__init__()
        self.unit = unit
        self.owner = owner
        self.function_ = function
        self.made[id(function)] = owner
        self.args = dict(zip(function.params, call.args, strict=True))
        self.own = {var for instr in instructions(function.code) for var in (instr.var, *bound(instr.op))}
        self.sites = unit.sites
        span: Any = call.span
        outer = span.site if type(span) is SiteSpan else 0
        self.site = unit.sites.of(call.head.var, span, outer)  # type: ignore[union-attr]

    def code(self, is_tail: bool) -> Block:
        block: Block = self.copy(self.function_.code)
        for before, after in self.vars:
            after.op = self.made.get(id(before.op))
            if after.name:
                self.owner.locals.append(after)
        for instr in instructions(block):
            op = instr.op
            if type(op) is CallBuiltin or type(op) is Call:
                op.tail = op.tail and is_tail
            if type(op) is Call:
                op.trampolined = op.trampolined and is_tail
        return block

    def copy(self, part: Any) -> Any:
        if type(part) is Ref and part.var in self.args:
            arg = self.args[part.var]
            if type(arg) is Ref:
                return Ref(arg.var)
            return Lit(arg.value, arg.type) if type(arg) is Lit else BuiltinRef(arg.name, arg.span, arg.type)  # type: ignore[union-attr]
        if type(part) is Var and part not in self.own:
            return part  # it is from outside
        return super().copy(part)

    def new(self, part: Any) -> Any:
        made = super().new(part)
        if isinstance(made, PLACED):
            made.span = self.span(part.span)
            if isinstance(made, Iteration) and part.place is not None:
                made.place = self.span(part.place)  # type: ignore[attr-defined]
        return made

    def span(self, span: Any) -> Any:
        """The span of a form of the function as part of the caller's code."""
        if span is None:
            return None
        return SiteSpan(span, self.sites.inside(span.site, self.site) if type(span) is SiteSpan else self.site)


def function_of(var: Var) -> Function | None:
    """The one function that a fixed variable holds."""
    return var.op.function if type(var.op) is Closure else var.known_function


def uses_of(unit: Unit) -> list[Var]:
    """The globals that a unit names, as often as it does."""
    return [var for var in named(unit.blocks, with_reads=True) if var.is_global]


def has_plain_frame(function: Function) -> bool:
    """Whether a function only has parameters that stay as they are, and makes no functions."""
    return not function.self_tail and is_plain(function)


def is_plain(function: Function) -> bool:
    if function.is_thunk or function.rest is not None or any(param.assigned for param in function.params):
        return False
    names = {param.name for param in function.params}
    return len(names) == len(function.params) and not makes_functions(function)


def makes_functions(function: Function) -> bool:
    """Whether a function makes others: lambdas that `map/update` and its kin were given are part of it by now."""
    if not function.has_closures and not any(param.captured for param in function.params):
        return False
    return any(type(instr.op) is Closure for instr in instructions(code_of(function)))


def is_record(value: Expr) -> bool:
    """Whether a value is a map of some keywords that was just made: its fields may become variables in a loop."""
    op = value.var.op if type(value) is Ref and is_fixed(value.var) else None
    return type(op) is MakeMap and all(type(key) is Lit and type(key.value) is Keyword for key in op.items[::2])


def can_have_loop(function: Function) -> bool:
    """Whether the rounds of a function that calls itself can be those of a loop in it, to which no other one jumps."""
    inner = [
        block for instr in instructions(code_of(function)) if type(instr.op) in LOOPS for block in blocks(instr.op)
    ]
    jumps = jumps_to(code_of(function), function) and not any(jumps_to(block, function) for block in inner)
    return jumps and is_plain(function)


def loops_over(function: Function, args: list[Expr]) -> bool:
    """Whether a map that was just made for an argument is what a loop of a function begins with, and no round goes on
    with what a call gives, but for maps that a function has just made."""
    records = {param for param, arg in zip(function.params, args, strict=True) if is_record(arg)}
    for instr in instructions(code_of(function)):
        op: Any = instr.op
        inits = op.inits if type(op) in (Loop, For) else []
        places = [place for place, init in enumerate(inits) if type(init) is Ref and init.var in records]
        if not places:
            continue
        target = op.source if type(op) is Loop else op
        jumps = [
            block.exit for block in all_blocks(op.body) if type(block.exit) is Jump and block.exit.target is target
        ]
        if not any(is_called(jump.args[place]) for jump in jumps for place in places):
            return True
    return False


def is_called(value: Expr) -> bool:
    """Whether a value is, or may be, the result of a call that isn't known to make a map."""
    op: Any = value.var.op if type(value) is Ref and is_fixed(value.var) else None
    if type(op) is Call:
        function = function_of(op.head.var) if type(op.head) is Ref and is_fixed(op.head.var) else None
        exit_ = code_of(function).exit if function is not None else None
        return type(exit_) is not Result or not is_record(exit_.value)
    if type(op) is CallBuiltin and op.name == "assoc" and op.args:
        return is_called(op.args[0])
    ends = [block.exit for block in value_blocks(op)] if type(op) in (If, Match, Try) else []
    return any(type(end) is Result and is_called(end.value) for end in ends)


def can_be_part(function: Function, places: int) -> bool:
    """Whether the code of a function can stand in its callers, where its own calls stay calls."""
    ops = [instr.op for instr in instructions(code_of(function))]
    return has_plain_frame(function) and places * len(ops) <= ONCE and all(map(is_movable, ops))


def nesting(block: Block) -> int:
    """How many loops and handlers stand inside of each other in a block."""
    return max(
        ((type(instr.op) in NESTED) + max(map(nesting, blocks(instr.op)), default=0) for instr in block.instrs),
        default=0,
    )


def is_movable(op: Op) -> bool:
    """Whether an operation can stand in the middle of a caller. A loop that goes on from a loop inside of it can't: the
    inner one then either gives the value or goes on, and only the end of a function tells these apart."""
    if type(op) is Loop and jumps_out(op.source):
        return False
    return type(op) in MOVABLE and not (type(op) is CallRuntime and op.path == BREAKPOINT)


def size_of(function: Function) -> int:
    """How many operations a function has that can be inlined; 0 for any other."""
    if not has_plain_frame(function):
        return 0
    size = 1
    for instr in instructions(code_of(function)):
        if not is_simple(instr.op):
            return 0
        size += 1
    return size if size <= KEYED else 0


def is_keyed(function: Function, args: list[Expr]) -> bool:
    """Whether a call names a keyword that its function uses as a key of a map. What the map has is known then."""
    named = {
        param
        for param, arg in zip(function.params, args, strict=True)
        if type(arg) is Lit and type(arg.value) is Keyword and is_fixed(param)
    }
    keys = (key for instr in instructions(code_of(function)) for key in keys_of(instr.op)) if named else ()
    return any(type(key) is Ref and key.var in named for key in keys)


def keys_of(op: Op) -> list[Expr]:
    """The keys under which an operation looks something up, or changes a map."""
    if type(op) is CallRuntime and op.path in CHECKS:
        return op.args[1:2]
    if type(op) is not CallBuiltin:
        return []
    return op.args[1::2] if op.name == "assoc" else op.args[1:2] if op.name in ("get", "contains?", "dissoc") else []


def is_simple(op: Op) -> bool:
    """Whether an operation only computes: without effects but on arrays, without calls of other functions."""
    if type(op) is CallBuiltin:
        return bool(INDEX[op.name][6]) or INDEX[op.name][0] == ARRAYS
    if type(op) is CallRuntime:
        return op.path == KEYWORD_GET or op.path in CHECKS
    if type(op) is Call:
        return type(op.head) is Ref and type(op.head.var.op) is RecordFunction
    return type(op) in SIMPLE
