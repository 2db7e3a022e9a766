"""Maps of the runtime that nobody else holds change in place.

`(assoc accounts id (assoc (get accounts id) :balance b))` copies two maps at each step of a loop, although nobody reads
the old ones. Here the code that begins a loop makes a token (`lib/collections/owned_maps.py`), the first change of a
map copies it and marks the copy, and later changes by code with the same token change the copy itself. So it doesn't
matter where a map comes from: one that others hold has no mark. Functions all of whose calls are known get the token
from their callers.

Sound because a marked map is held by one variable, or by one entry of a map, wherever it is changed or handed on:
`checks.py` spoils the region of every other map, and of all that leave (into lists, closures, handlers, unknown code)
while something may still change in place. A token ends with the function or form that made it.
"""

from __future__ import annotations

from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Expr, Jump, Let, Op, Python, Ref, Result
from semac.anf.walk import LOOPS, all_blocks, blocks
from semac.fingerprint import is_traced
from semac.ir.intrinsics import LEVEL, NEW_KEY
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.fields.split import stops
from semac.optimize.inplace.checks import Order
from semac.optimize.inplace.detached import MOST_ROUNDS, calls_to_detach
from semac.optimize.inplace.final import Endings, has_any
from semac.optimize.inplace.flows import Flows
from semac.optimize.inplace.origins import is_look_up
from semac.optimize.inplace.regions import Region
from semac.optimize.inplace.roles import change_of, may_hold
from semac.optimize.inplace.summaries import Summaries
from semac.optimize.keys import is_stored_key
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.optimize.own.carried import Carried, carried
from semac.optimize.own.code import Code, all_code, called_elsewhere
from semac.optimize.own.representation import known_callee
from semac.optimize.own.rewrite import calls_any
from semac.types.lattice import ANY, BOOL, DICT, atom

RUNTIME = "sema_runtime.lib.collections.owned_maps:"


def change_in_place(unit: Unit) -> None:
    """Rewrites changes of maps that nobody else holds. Assumes inferred types."""
    if unit.is_text or unit.is_input or is_traced() or not calls_any(unit, frozenset(("assoc", "dissoc"))):
        return
    code = all_code(unit)
    shut = shut_functions(code)
    near = concerned(code, shut)
    shut -= alone(near, shut)
    if near and not stops(unit):
        Placing(near, code, shut).run()


class Placing:
    """Finds and rewrites the changes of a unit. code: the parts concerned, everything: all parts. carried: what
    functions return in vectors. attempts: each `try` whose changes may be undone. spoilt: of each part of the code, the
    regions of which it has shown that nothing can change in place."""

    flows: Flows
    attempts: set[anf.Try]
    spoilt: dict[Code, set[Region]]

    def __init__(self, code: list[Code], everything: list[Code], shut: set[Function]) -> None:
        self.code = code
        self.everything = everything
        self.take_for_shut(shut)
        self.tokens: dict[Function, Var] = {}  # the parameters of functions that are handed a token
        self.with_own: set[anf.Call] = set()  # calls of functions that need a token which get one of their own
        self.changed: set[Any] = set()  # the variables that get a map that may have been changed in place

    def take_for_shut(self, shut: set[Function]) -> None:
        """Takes functions for those that get their callers' token."""
        functions = {part.function for part in self.everything if part.function is not None}
        self.shut = shut
        self.carried = carried(self.everything, DICT, lambda: functions - shut) or Carried()

    def run(self) -> None:
        acts = self.with_own_tokens(self.checked(frozenset()))
        for _ in range(MOST_ROUNDS):
            others = calls_to_detach(self.flows, self.spoilt)
            if not others:
                break
            known = self.flows, self.attempts
            more = self.checked(self.flows.detached | others)
            if len(more) <= len(acts):
                self.flows, self.attempts = known
                break
            acts = more
        self.changed = {instr.var for instr in acts}
        if acts:
            self.find_tokens(acts)
            self.with_own = {call for call in self.flows.detached if known_callee(call) in self.tokens}
            for part in self.code:
                self.rewrite(part, acts)

    def with_own_tokens(self, acts: set[Let]) -> set[Let]:
        """What can change in place if functions make tokens of their own whose loops change maps that callers keep: the
        first change copies such a map, the others change the copy."""
        calls = calls_of(self.code, self.shut)
        more = {
            function
            for part in self.code
            if (function := part.function) in calls and not function.self_tail and function not in calls[function]
            if any(change_of(instr.op) and instr not in acts for block in inside_loops(part) for instr in block.instrs)
        }
        if not more:
            return acts
        known = self.flows, self.attempts, self.spoilt, self.shut, self.carried
        self.take_for_shut(self.shut - more)
        new = self.checked(frozenset())
        if len(new) > len(acts):
            return new
        self.flows, self.attempts, self.spoilt, self.shut, self.carried = known
        return acts

    def checked(self, detached: frozenset[anf.Call]) -> set[Let]:
        """The instructions that surely can change maps in place. detached: calls that get tokens of their own."""
        self.flows = Flows(self.code, self.shut, self.carried, detached)
        self.attempts = set()
        self.spoilt = {}
        summaries = Summaries(self.flows)
        for member, part in self.flows.spoilt_by:
            self.spoilt.setdefault(part, set()).add(self.flows.region(member))
        acts = self.acting()
        if not acts:
            return acts
        endings = Endings(acts)
        late = self.late(endings, summaries)
        for part in self.code:
            is_root, is_late = part.function not in self.shut, part.function in late
            order = Order(self.flows, summaries, endings, part, is_root, is_late)
            order.check()
            self.attempts |= order.attempts
            self.spoilt.setdefault(part, set()).update(order.spoilt)
        return self.acting()

    # What changes

    def is_site(self, instr: Let) -> bool:
        op: Any = instr.op
        return (
            change_of(op)
            and instr.var is not None
            and may_hold(op.args[0])
            and not self.flows.region(op.args[0].var).spoilt
        )

    def acting(self) -> set[Let]:
        """The instructions that may change maps in place, and the calls of functions that do."""
        acts: set[Let] = set()
        active: set[Function] = set()
        for part in self.code:
            inside = self.sites(part)
            if part.function in self.shut and inside:
                active.add(part.function)
            acts |= inside
        while True:
            before = len(acts)
            for part in self.code:
                for block in part.blocks:
                    for instr in block.instrs:
                        if type(instr.op) is anf.Call and self.flows.callee(instr.op) in active:
                            acts.add(instr)
                            if part.function in self.shut:
                                active.add(part.function)
            if len(acts) == before:
                return acts

    def sites(self, part: Code) -> set[Let]:
        return {instr for block in changing(part, self.shut) for instr in block.instrs if self.is_site(instr)}

    def late(self, endings: Endings, summaries: Summaries) -> set[Function]:
        """Functions that are called only where nothing changes in place any more."""
        calls: dict[Function, list[tuple[Let, Code]]] = {}
        harmless: set[Let] = set()
        late = set(self.shut)
        for part in self.code:
            order = Order(self.flows, summaries, endings, part, part.function not in self.shut)
            order.is_trial = True
            order.check()
            harmless |= order.late_calls
            for block in part.blocks:
                for instr in block.instrs:
                    if instr in endings.acts:
                        late.discard(part.function)
                    callee = self.flows.callee(instr.op) if type(instr.op) is anf.Call else None
                    if callee is not None:
                        calls.setdefault(callee, []).append((instr, part))
        while True:
            wrong = {
                function
                for function in late
                if not all(instr in harmless or part.function in late for instr, part in calls.get(function, ()))
            }
            if not wrong:
                return late
            late -= wrong

    # Rewriting

    def find_tokens(self, acts: set[Let]) -> None:
        for part in self.code:
            function = part.function
            if function in self.shut and any(instr in acts for block in part.blocks for instr in block.instrs):
                self.tokens[function] = token(function)

    def rewrite(self, part: Code, acts: set[Let]) -> None:
        instrs = [instr for block in part.blocks for instr in block.instrs]
        inside = [instr for instr in instrs if instr in acts or instr.op in self.with_own]
        if not inside:
            return
        function = part.function
        var = self.tokens.get(function) or token(function)  # type: ignore[arg-type]
        if function in self.tokens:
            function.params.append(var)
        elif any(instr in acts for instr in inside):
            var.op = CallRuntime(RUNTIME + "Owner", [], span=inside[0].op.span, type=ANY)
            part.block.instrs.insert(0, Let(var, var.op))
        for block in part.blocks:
            if function in self.tokens and type(block.exit) is Jump and block.exit.target is function:
                block.exit.args.append(Ref(var, ANY))
        self.rewrite_block(part.block, var, acts)

    def rewrite_block(self, block: Block, owner: Var, acts: set[Let]) -> None:
        out: list[Let] = []
        for instr in block.instrs:
            op: Any = instr.op
            inner_owner = owner
            if op in self.attempts and has_any(op.body, acts):
                inner_owner = self.attempt(op, owner, out)
            for inner in blocks(op):
                self.rewrite_block(inner, inner_owner if type(op) is anf.Try and inner is op.body else owner, acts)
            if op in self.with_own:
                op.args.append(bound(CallRuntime(RUNTIME + "Owner", [], span=op.span, type=ANY), "owner", out))
            elif instr in acts:
                if type(op) is anf.Call:
                    op.args.append(Ref(owner, ANY))
                else:
                    self.change(instr, owner, out)
            out.append(instr)
        block.instrs = out

    @staticmethod
    def attempt(op: anf.Try, owner: Var, out: list[Let]) -> Var:
        """Makes the token of a body; the handler undoes what has changed."""
        made = CallRuntime(RUNTIME + "attempt_of", [Ref(owner, ANY)], span=op.span, type=ANY)
        token_ref = bound(made, "attempt", out)
        undone = CallRuntime(RUNTIME + "roll_back", [token_ref], span=op.span, type=ANY)
        op.handler.instrs.insert(0, Let(None, undone))
        return token_ref.var

    def change(self, instr: Let, owner: Var, out: list[Let]) -> None:
        op: Any = instr.op
        args: list[Expr] = op.args
        is_sure = args[0].type.only(DICT)
        name = "put_in" if op.name == "assoc" else "drop_from"
        if op.name == "assoc" and is_sure:
            for index in range(1, len(args), 2):
                if not is_stored_key(args[index]):
                    args[index] = stored_key(args[index], op.span, out)
            name = "put" if len(args) == 3 else "put_all"
        new = CallRuntime(RUNTIME + name, [Ref(owner, ANY), *args], span=op.span, type=op.type)
        found = self.found(op) if name == "put" else None
        if found is None:
            replace(instr, new)
            return
        test = bound(Python("is", [args[2], found], span=op.span, type=atom(BOOL)), "is_same", out)
        inner: list[Let] = []
        changed = bound(new, "level", inner)
        kept = Block([], Result(args[0]))
        replace(instr, anf.If(test, kept, Block(inner, Result(changed)), span=op.span, type=op.type))

    def found(self, op: CallBuiltin) -> Ref | None:
        """The variable that holds what a map has under a key already, where the new value may be the same map."""
        subject, key, value = op.args
        if not value.type.only(DICT):
            return None  # nil may be there because the key isn't
        steps: set[Any] = set()
        while type(value) is Ref and value.var not in steps:
            steps.add(value.var)
            source = value.var.op
            if value.var in self.changed and type(source) is CallBuiltin:
                value = source.args[0]
            elif type(source) is CallRuntime and source.path.startswith(RUNTIME):
                value = source.args[1]  # the map that was changed
            elif type(source) is anf.If and type(source.then.exit) is Result and not source.then.instrs:
                value = source.then.exit.value  # the same, of such a change
            elif type(source) is CallRuntime and source.path == LEVEL:
                value = source.args[0]
            elif type(source) is anf.Move:
                value = source.value
            elif type(source) in (CallBuiltin, CallRuntime) and is_look_up(source) and len(source.args) == 2:
                flows = self.flows
                wanted = flows.key(subject), flows.key(key)
                return value if (flows.key(source.args[0]), flows.key(source.args[1])) == wanted else None
            else:
                return None
        return None


def stored_key(key: Expr, span: Any, out: list[Let]) -> Ref:
    """The key as a dict has it."""
    return bound(CallRuntime(NEW_KEY, [key], span=span, type=ANY), "key", out)


def bound(op: Op, hint: str, out: list[Let]) -> Ref:
    var = temporary(hint, None)
    var.op, var.type = op, op.type
    out.append(Let(var, op))
    return Ref(var, op.type)


def token(function: Function | None) -> Var:
    var = temporary("owner", function)
    var.type = ANY
    return var


def shut_functions(code: list[Code]) -> set[Function]:
    """The functions of which all calls are known."""
    elsewhere = called_elsewhere(code)
    functions = {part.function for part in code if part.function is not None}
    return {function for function in functions - elsewhere if is_shut(function)}


def is_shut(function: Function) -> bool:
    return not function.is_open and function.rest is None and not function.is_generator and function.var is not None


def alone(code: list[Code], shut: set[Function]) -> set[Function]:
    """Functions with loops that make their tokens themselves: nothing changes in place after they have returned, so
    others may see what they give. Those are called once each time that a form, or a function which anybody calls, runs;
    or they are given no maps, so that a caller's token would mark nothing of theirs that is there before."""
    calls = calls_of(code, shut)
    found: set[Function] = set()
    for part in code:
        function = part.function
        callers = calls.get(function) if function is not None else None
        if callers and not function.self_tail and function not in callers and inside_loops(part):  # type: ignore[union-attr]
            is_once = all(caller not in shut and not in_loop for caller, in_loop in callers.items())
            if is_once or takes_no_maps(function):  # type: ignore[arg-type]
                found.add(function)  # type: ignore[arg-type]
    return found


def calls_of(code: list[Code], shut: set[Function]) -> dict[Function, dict[Function | None, bool]]:
    """Who calls each function of which all calls are known: whether a call stands in a loop."""
    found: dict[Function, dict[Function | None, bool]] = {}
    for part in code:
        loops = set(inside_loops(part))
        for block in part.blocks:
            for instr in block.instrs:
                callee = known_callee(instr.op) if type(instr.op) is anf.Call else None
                if callee in shut:
                    callers = found.setdefault(callee, {})
                    callers[part.function] = callers.get(part.function, False) or block in loops
    return found


def takes_no_maps(function: Function) -> bool:
    return not any(may_hold(Ref(param, param.type or ANY)) for param in function.params)


def inside_loops(part: Code) -> list[Block]:
    loops = [instr.op for block in part.blocks for instr in block.instrs if type(instr.op) in LOOPS]
    return [inner for loop in loops for block in blocks(loop) for inner in all_blocks(block, into_functions=False)]


def concerned(code: list[Code], shut: set[Function]) -> list[Code]:
    """The code that may change a map, and what it is connected with: by calls of functions of which all calls are
    known, and by closures. Maps and changes that are looked at go no other way from one function to another."""
    todo = [part for part in code if may_change(part, shut)]
    if not todo:
        return []
    of = {part.function: part for part in code if part.function is not None}
    near: dict[Code, list[Code]] = {part: [] for part in code}
    for part in code:
        for function in connected(part, shut):
            other = of.get(function)
            if other is not None:
                near[part].append(other)
                near[other].append(part)
    reached = set(todo)
    while todo:
        new = [other for other in near[todo.pop()] if other not in reached]
        reached.update(new)
        todo += new
    return [part for part in code if part in reached]


def connected(part: Code, shut: set[Function]) -> set[Function]:
    """The functions that some code makes, and those that it calls of which all calls are known."""
    found: set[Function] = set()
    for block in part.blocks:
        for instr in block.instrs:
            op = instr.op
            if type(op) is anf.Closure:
                found.add(op.function)
            elif type(op) is anf.Call and (callee := known_callee(op)) in shut:
                found.add(callee)
    return found


def may_change(part: Code, shut: set[Function]) -> bool:
    return any(change_of(instr.op) for block in changing(part, shut) for instr in block.instrs)


def changing(part: Code, shut: set[Function]) -> list[Block]:
    """The blocks whose changes may pay. A function that makes its own token must change a map again and again."""
    if part.function is None or part.function in shut:
        return part.blocks
    in_loops = any(change_of(instr.op) for block in inside_loops(part) for instr in block.instrs)
    return part.blocks if in_loops else []
