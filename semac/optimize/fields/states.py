"""Functions that give a state back, with some fields changed, take fields of it and give the changed ones.

    (define (visit graph name state)
      (if (get (:seen state) name) state
          (foldl (fn (s next) (visit graph next s))
                 (assoc state :seen (assoc (:seen state) name #t))
                 (get graph name))))

takes `seen` in place of the state, and gives the new one. Each call makes the changed state by `assoc`; where its
caller has the state in variables (`carriers.py`), nothing is left of that. So what is known of a field is known of a
variable wherever the state goes: its type, who else holds it. Calls in tail position stay such calls: functions that
give each other's results change the same fields.

Sound because every call of such a function is in the unit, by its name, with as many arguments as it has parameters;
because types say that the state surely is a map of the same keywords at each of these calls, and the function only
looks fields up, changes them by `assoc`, hands the state on to such functions, and gives what came of it; and because
maps don't change. Neither where a debugger is at work, nor in text for people.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from semac.anf.build import is_fixed
from semac.anf.literals import literal
from semac.anf.nodes import (
    Block,
    Call,
    CallBuiltin,
    Destructure,
    Expr,
    For,
    Jump,
    Let,
    Loop,
    MakeMap,
    MakeVector,
    Move,
    Op,
    Ref,
    SequencePattern,
    VarPattern,
)
from semac.anf.walk import exit_operands, gives, operands, params_of
from semac.fingerprint import is_traced
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit, left_out
from semac.optimize.calls import function_of
from semac.optimize.fields.arguments import is_field_read
from semac.optimize.fields.carriers import JOINS, Carriers, is_assoc, is_level, read_keys
from semac.optimize.fields.entered import (
    MOST_FIELDS,
    enter,
    entered_parameters,
    fields_of,
    give_loops,
    hand_fields,
)
from semac.optimize.fields.parts import Parts, Site, are_by_name, ends_of, is_raised, may_fall_through, return_parts
from semac.optimize.fields.split import Field, again, hint_of, looked_up, split_code, stops, whole
from semac.optimize.infer.flow import inferred
from semac.optimize.loops.functions import temporary
from semac.optimize.own.code import Code, all_code

MADE = (MakeMap, Move, Call, *JOINS)  # operations whose value may be a state that a caller has in variables


def thread_states(unit: Unit) -> None:
    """Rewrites the functions of a program."""
    if not unit.is_closed or unit.is_text or unit.is_input or unit.is_open or is_traced() or stops(unit):
        return
    if "fields" not in left_out(unit) and hand_on(unit, None)[1] and "parts" not in left_out(unit):
        return_parts(unit)  # of what makes the state with which a loop begins


def thread_states_of(unit: Unit, functions: set[Function]) -> set[Function | None]:
    """The same for some functions of a module that the module alone calls. Returns those whose calls have changed or
    that have such calls, None if a form has."""
    if is_traced() or stops(unit) or {"states", "fields", "infer"} & left_out(unit):
        return set()
    changed, begun = hand_on(unit, functions)
    return {part.function for part in (*changed, *begun)}


def hand_on(unit: Unit, only: set[Function] | None) -> tuple[list[Code], list[Code]]:
    """Rewrites functions of a unit and their calls. Returns the code that has changed: because of states that functions
    give back, and of those with which loops begin. only: those that may be rewritten, None: all."""

    def own(code: list[Code]) -> list[Code]:
        return code if only is None else [part for part in code if part.function in only]

    code = all_code(unit)
    if give_loops(own(code)):
        code = all_code(unit)
    states = States(code, only)
    entered = entered_parameters(own(code))
    if not states.find() and not entered:
        return [], []
    inferred(unit)
    states.keep_known()
    changed = states.rewrite()
    for part in changed:
        split_code(Code(part.block, part.function))
    begun: list[Code] = []
    parts = Parts(all_code(unit) if entered else [])
    parts.scan()
    for part, param in entered:
        function: Any = part.function
        sites = parts.sites.get(function)
        if sites is not None and not are_by_name(sites):
            sites = None
        if param in function.params and enter(Code(part.block, function), param, sites):
            begun += [part, *(site.part for site in sites or ())]
    return changed, begun


class State:
    """A function that threads a state. index: the position of the parameter. members: the variables that hold the state
    on its way. read, changed: keywords. handed: the calls of such functions that get it."""

    def __init__(self, part: Code, index: int, carriers: Carriers) -> None:
        assert part.function is not None
        self.part = part
        self.function: Function = part.function
        self.index = index
        self.param = part.function.params[index]
        self.carriers = carriers
        self.members: set[Var] = {self.param}
        self.read: set[Any] = set()
        self.changed: set[Any] = set()
        self.handed: list[Call] = []

    def taken(self) -> list[Any]:
        return in_order(self.read | self.changed)


class States:
    """The functions of a unit that thread a state, each one at most."""

    def __init__(self, code: list[Code], only: set[Function] | None = None) -> None:
        self.only = only
        self.parts = Parts(code)
        self.states: dict[Function, State] = {}

    def find(self) -> bool:
        """Finds them as far as the code says so without types."""
        self.parts.scan()
        for function, sites in self.parts.sites.items():
            part = self.parts.part_of.get(function)
            if part is None or function.self_tail or not are_by_name(sites):
                continue
            if (self.only is not None and function not in self.only) or may_fall_through(part.block):
                continue
            if not changes_fields(part):
                continue
            index = self.state_index(function, sites)
            if index is not None:
                self.states[function] = State(part, index, Carriers(part))
        self.drop_others()
        return any(state.changed for state in self.states.values())

    def state_index(self, function: Function, sites: list[Site]) -> int | None:
        """The position of the one parameter whose fields are changed."""
        changed = {
            instr.op.args[0].var  # type: ignore[attr-defined]
            for block in self.parts.part_of[function].blocks
            for instr in block.instrs
            if is_assoc(instr.op) or is_level(instr.op)
        }
        handed = {
            value.var
            for block in self.parts.part_of[function].blocks
            for instr in block.instrs
            if type(instr.op) is Call
            for value in instr.op.args
            if type(value) is Ref
        }
        for wanted in (changed, handed):
            found = [
                index
                for index, param in enumerate(function.params)
                if param in wanted and is_fixed(param) and not param.early and is_given(index, sites)
            ]
            if len(found) == 1:
                return found[0]
        return None

    def drop_others(self) -> None:
        """Leaves out the functions that do something else with their states, until nothing changes."""
        while True:
            lost = [function for function, state in self.states.items() if not self.follow(state)]
            for function in lost:
                del self.states[function]
            if not lost and not self.drop_tails():
                self.join_fields()
                wide = [
                    function for function, state in self.states.items() if not 0 < len(state.taken()) <= MOST_FIELDS
                ]
                if not wide:
                    return
                for function in wide:
                    del self.states[function]

    def callee(self, op: Op | None, position: int) -> State | None:
        """The function that gets its state as an operand of a call."""
        if type(op) is not Call or type(op.head) is not Ref:
            return None
        state = self.states.get(function_of(op.head.var))  # type: ignore[arg-type]
        return (
            state
            if state is not None and state.index == position - 1 and len(op.args) == len(state.function.params)
            else None
        )

    # The way of a state through a function

    def follow(self, state: State) -> bool:
        """Finds what a function does with its state; returns whether that is nothing else than it may."""
        state.members, state.read, state.changed, state.handed = {state.param}, set(), set(), []
        self.find_members(state)
        if not state.members.isdisjoint(state.carriers.captured):
            return False
        for block in state.part.blocks:
            for instr in block.instrs:
                if instr.var in state.members and not self.is_state(state, instr):
                    return False
                for position, value in enumerate(operands(instr.op)):
                    if type(value) is Ref and value.var in state.members and not self.may_use(state, instr, position):
                        return False
            if not self.may_leave(state, block):
                return False
        return all(
            is_member(state, end.exit.value) or is_raised(end.exit.value)  # type: ignore[union-attr]
            for end in ends_of(state.part.block)
        )

    def find_members(self, state: State) -> None:
        flows, members = state.carriers.flows, state.members
        calls = [
            (instr.var, value.var)
            for block in state.part.blocks
            for instr in block.instrs
            if instr.var is not None and type(instr.op) is Call
            for position, value in enumerate(operands(instr.op))
            if type(value) is Ref and self.callee(instr.op, position) is not None
        ]
        grown = True
        while grown:
            new = {var for var, sources in flows.items() if any(is_member(state, source) for source in sources)}
            new.update(var for var, source in calls if source in members)
            grown = not new <= members
            members |= new

    def is_state(self, state: State, instr: Let) -> bool:
        """Whether a variable holds nothing but the state."""
        var: Any = instr.var
        if not is_fixed(var) or var.is_global:
            return False
        if type(instr.op) is Call:
            return True
        sources = state.carriers.flows.get(var)
        return sources is not None and all(is_member(state, source) or is_raised(source) for source in sources)

    def may_use(self, state: State, instr: Let, position: int) -> bool:
        op: Any = instr.op
        if type(op) is Call and (callee := self.callee(op, position)) is not None:
            state.handed.append(op)
            return callee is not state or instr.var is not None
        if type(op) in (Loop, For):
            if position >= len(op.inits):
                return False
            param = op.params[position]
            return param in state.members and all(is_member(state, source) for source in state.carriers.flows[param])
        if position:
            return False
        if is_assoc(op):
            state.changed |= {key.value for key in op.args[1::2]}
            return True
        if is_level(op):
            return True
        if is_field_read(op):
            state.read |= set(read_keys(op) or ())
            return True
        return type(op) is Move and instr.var in state.members

    def may_leave(self, state: State, block: Block) -> bool:
        """Whether a state goes from the end of a block to where one is expected."""
        exit_ = block.exit
        targets: list[Any]
        if type(exit_) is Jump:
            targets = params_of(exit_.target)
        elif block is state.part.block:
            return True
        else:
            owner = state.carriers.owner.get(block)
            targets = [owner.var if owner is not None and type(owner.op) in JOINS else None]
        return all(
            target in state.members
            for target, value in zip(targets, exit_operands(exit_), strict=False)
            if is_member(state, value)
        )

    # Tail calls, fields

    def drop_tails(self) -> bool:
        """Leaves out functions of which a call would be no tail call any more that may be part of an endless chain."""
        lost = {
            function
            for function in self.states
            for site in self.parts.sites[function]
            if site.instr.op.tail and not self.hands_on(site) and self.may_call(function, site.part.function)  # type: ignore[attr-defined]
        }
        for function in lost:
            del self.states[function]
        return bool(lost)

    def hands_on(self, site: Site) -> bool:
        """Whether the value of a call is that of a function which gives the same fields."""
        state = self.states.get(site.part.function)  # type: ignore[arg-type]
        if state is None or site.instr.op not in state.handed or site.instr.var is None:
            return False
        return any(gives(end, site.instr.var) for end in ends_of(state.part.block))

    def may_call(self, function: Function, other: Function | None) -> bool:
        """Whether a function may come to call another one. Nothing calls a form of the top level."""
        if other is None:
            return False
        if other not in self.parts.sites:
            return True
        seen, todo = {function}, [function]
        while todo:
            part = self.parts.part_of.get(todo.pop())
            if part is None:
                return True
            called = {
                callee
                for block in part.blocks
                for instr in block.instrs
                if type(instr.op) is Call and type(instr.op.head) is Ref
                if (callee := function_of(instr.op.head.var)) is not None
            }
            if other in called:
                return True
            todo += called - seen
            seen |= called
        return False

    def join_fields(self) -> None:
        """Functions change what those change to which they hand the state, and give what their tail calls give."""
        changed = True
        while changed:
            changed = False
            for state in self.states.values():
                for call in state.handed:
                    callee = self.states[function_of(call.head.var)]  # type: ignore[union-attr, index]
                    before = len(state.read), len(state.changed), len(callee.changed)
                    state.changed |= callee.changed
                    state.read |= callee.read
                    if call.tail:
                        callee.changed |= state.changed
                    changed |= before != (len(state.read), len(state.changed), len(callee.changed))

    # Types

    def keep_known(self) -> None:
        """Leaves out functions whose states aren't maps of the same keywords at every call."""
        while True:
            lost = [function for function, state in self.states.items() if not fits(state)]
            if not lost:
                return
            for function in lost:
                del self.states[function]
            self.drop_others()

    # Rewriting

    def rewrite(self) -> list[Code]:
        """Rewrites the functions and their calls; returns the code that has changed."""
        changed: dict[Code, None] = {}
        raw: dict[Var, Var] = {}
        for function, state in self.states.items():
            for site in self.parts.sites[function]:
                changed[site.part] = None
                self.call(site, state, raw)
        for state in self.states.values():
            changed[state.part] = None
            for end in list(ends_of(state.part.block)):
                give(end, state, raw)
            take(state)
        return list(changed)

    def call(self, site: Site, state: State, raw: dict[Var, Var]) -> None:
        """A call is handed fields, and the state is changed by what it gives."""
        instr, owner = site.instr, site.part.function
        op: Any = instr.op
        given = op.args[state.index]
        hand_fields(site, state.index, state.taken())
        after: list[Let] = []
        if instr.var is not None:
            value = temporary("parts" if len(state.changed) > 1 else hint_of(next(iter(state.changed))), owner)
            value.op = op
            raw[instr.var] = value
            if self.hands_on(site) and len(self.parts.uses.get(instr.var, ())) == 1 and op.tail:
                instr.var = value  # the end of the function gives it
            else:
                op.tail = op.trampolined = False
                after = changed_state(instr.var, given, in_order(state.changed), value, op.span)
                instr.var = value
        at = site.block.instrs.index(instr) + 1
        site.block.instrs[at:at] = after


def changes_fields(part: Code) -> bool:
    """Whether some code changes a field, or hands something on and gives what comes of it."""
    return any(is_assoc(instr.op) or type(instr.op) is Call for block in part.blocks for instr in block.instrs)


def is_given(index: int, sites: list[Site]) -> bool:
    """Whether callers may have what they give as an argument in variables of their own."""
    for site in sites:
        value = site.instr.op.args[index]  # type: ignore[attr-defined]
        if type(value) is not Ref or value.var.is_global:
            return False
        made = value.var.op
        if made is not None and type(made) not in MADE and not is_assoc(made) and not is_level(made):
            return False
    return True


def is_member(state: State, value: Expr) -> bool:
    return type(value) is Ref and value.var in state.members


def fits(state: State) -> bool:
    """Whether a state has the fields that are read and changed, and no others come to it."""
    return bool(state.changed) and state.read | state.changed <= set(fields_of(state.param))


def in_order(keys: Iterable[Any]) -> list[Any]:
    return sorted(keys, key=lambda keyword: str(keyword.name))


def changed_state(var: Var, state: Expr, keys: list[Any], value: Var, span: Any) -> list[Let]:
    """Gives a variable the state with what a call has given."""
    out: list[Let] = []
    parts = [value]
    if len(keys) > 1:
        parts = [temporary(hint_of(key), value.owner) for key in keys]
        pattern = SequencePattern([VarPattern(part) for part in parts], None)
        out.append(Let(None, Destructure(pattern, Ref(value), span=span)))
    pairs = [item for key, part in zip(keys, parts, strict=True) for item in (literal(key), Ref(part))]
    made = CallBuiltin("assoc", [again(state), *pairs], fixed=True, span=span)
    if is_fixed(var):
        var.op = made
    out.append(Let(var, made))
    return out


def give(end: Block, state: State, raw: dict[Var, Var]) -> None:
    """A block of a function gives the changed fields in place of the state."""
    exit_: Any = end.exit
    value = exit_.value
    if is_raised(value):
        return
    last = end.instrs[-1] if end.instrs else None
    if last is not None and last.var is not None and raw.get(value.var) is last.var:
        exit_.value = Ref(last.var)
        return
    span = exit_.span or (value.var.op.span if value.var.op is not None else None) or state.function.body.span
    fields = looked_up(value, in_order(state.changed), state.function, span, end.instrs)
    if len(fields) == 1:
        (exit_.value,) = fields
        return
    var = temporary("parts", state.function)
    var.op = MakeVector(fields, span=span)
    end.instrs.append(Let(var, var.op))
    exit_.value = Ref(var)


def take(state: State) -> None:
    """A function has parameters for fields, of which it makes what it looks into."""
    function, keys = state.function, state.taken()
    params = [temporary(hint_of(key), function) for key in keys]
    index = function.params.index(state.param)
    function.params[index : index + 1] = params
    state.param.op = whole(
        {key: Field(Ref(param)) for key, param in zip(keys, params, strict=True)}, function.body.span
    )
    state.part.block.instrs.insert(0, Let(state.param, state.param.op))
