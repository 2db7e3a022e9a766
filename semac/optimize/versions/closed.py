"""Closed copies: functions that the forms of a module call get copies that nothing else calls.

A test at the entry of a public function can't look into its arguments: that a list has ints, what a vector of vectors
holds. Calls that begin in the module's own forms, and go on from function to function by name, need no test: what
reaches the copies is what these calls give them, as in a program that nobody imports. Inference computes it; nothing
has to be proved. The public function stays as it is written for everybody else.

Copies whose results the others take apart return tuples (`fields/parts.py`), those that hand a state on its fields
(`fields/states.py`), as functions of a program do.

A function gets one where inference knows more of an argument than a test could tell, and where that saves enough
guards; so do functions on the way there. Forms below a main guard (`__name__`) aren't run in an import, so they don't
count.

Forms and copies run while the module is imported. Where the module imports nothing itself and waits for nothing, nobody
else can set its globals or change its arrays in that time, so these hold what the module's own code has put there
(`infer/importing.py`; leaving out "importing" leaves that out). Functions that change what the copies read are copied,
too: called as public ones they would count with anything that others may give them.
"""

from __future__ import annotations

from typing import Any

from semac.anf.nodes import Assign, Block, Call, CallBuiltin, CallRuntime, If, Read, Ref
from semac.anf.walk import instructions, operands
from semac.ir.intrinsics import ADD_OWN, EXTENDED
from semac.ir.nodes import Function
from semac.ir.unit import Unit, left_out
from semac.optimize.fields.parts import return_parts_of
from semac.optimize.fields.states import thread_states_of
from semac.optimize.infer.fits import fitted
from semac.optimize.infer.flow import inferred
from semac.optimize.infer.importing import code_at_import, is_alone
from semac.optimize.infer.signs import of_any_sign
from semac.optimize.rows.at_import import make_tuples_at_import
from semac.optimize.versions.apart import keep_apart
from semac.optimize.versions.demands import Demands
from semac.optimize.versions.heat import Definition, called_in, reachable
from semac.optimize.versions.private import (
    Redirected,
    Version,
    add_copy,
    calls_by_name,
    is_useful,
    private_name,
    remove_copies,
)
from semac.types.lattice import ANY, DICT, NEVER

MAIN_GUARD = "__name__"


def make_closed_copies(unit: Unit, found: list[Definition], hot: set[Function]) -> set[Function]:
    """Copies what the forms of a unit reach; returns the functions that have such a copy."""
    calls = {definition.function: called_in(definition.function.code) for definition in found}
    known = set(calls)
    calls = {function: called & known for function, called in calls.items()}
    bodies = {definition.block for definition in found}
    forms = [block for block in unit.blocks if block not in bodies and not is_guarded(block)]
    reached = reachable(set().union(*map(called_in, forms)) & known, calls)
    reached -= reachable(used_as_values(unit) & known, calls)
    alone = "importing" not in left_out(unit) and is_alone(unit)
    if not reached & hot and not (alone and changes_globals(unit)):
        if alone:
            unit.at_import = code_at_import(forms, []) | bodies
            make_tuples_at_import(unit, [])
        return set()
    demands = Demands(unit)
    copies = {
        definition.function: Version(definition, [""] * len(definition.function.params))
        for definition in found
        if definition.function in reached and definition.can_be_copied and private_name(definition) not in unit.globals
    }
    for version in copies.values():
        add_copy(unit, version)
        version.private.kinds = []
    redirect([*forms, *(version.private for version in copies.values())], copies)
    hot_copies = {version.private for version in copies.values() if version.public in hot}
    changed = return_parts_of(unit, hot_copies) | thread_states_of(unit, hot_copies)
    redirected = calls_of(copies, forms)
    if alone:
        unit.at_import = code_at_import(forms, [version.private for version in copies.values()]) | bodies
    changed |= make_tuples_at_import(unit, [version.private for version in copies.values()])
    flow = inferred(unit)
    rewritten = {
        function
        for function, version in copies.items()
        if version.private in changed or not changed.isdisjoint(version.copied)
    }
    kept = wanted(copies, calls, hot, demands, alone, rewritten)
    for function in kept:
        function.has_copy = True
    remove_copies(unit, [version for function, version in copies.items() if function not in kept])
    lost = [call for call in redirected if call.version.public not in kept]
    for call in lost:
        call.take_back()
    is_same = True  # as what was inferred, but for calls that were taken back
    if alone:
        unit.at_import = code_at_import(forms, [copies[function].private for function in kept]) | bodies
        own = [copies[function].private for function in kept if copies[function].private in unit.at_import]
        is_same = not any([drop_test(function) for function in own])
        if "apart" not in left_out(unit):
            is_same = not keep_apart(unit) and is_same
    if is_same:
        flow.go_on(dict.fromkeys(call.code for call in lost))
        unit.is_typed = True
    return kept


def drop_test(function: Function) -> bool:
    """Takes out the question whether somebody has extended a multimethod: while the module is imported nobody has.
    Returns whether there was one."""
    first, *others = function.code.instrs or [None]
    if first is not None and type(first.op) is CallRuntime and first.op.path == EXTENDED and type(others[0].op) is If:
        function.code = others[0].op.otherwise
        return True
    return False


def is_guarded(form: Block) -> bool:
    """Whether a form asks for the name of the module."""
    values = [value for instr in instructions(form) for value in operands(instr.op)]
    reads = [instr.op for instr in instructions(form) if type(instr.op) is Read]
    return any(type(each) in (Ref, Read) and each.var.name == MAIN_GUARD for each in [*values, *reads])  # type: ignore[union-attr]


def used_as_values(unit: Unit) -> set[Function]:
    """The functions that are handed to others: these call the public ones. From the table of a multimethod that
    nothing sees they are called by others alone."""
    return {
        function
        for form in unit.blocks
        for instr in instructions(form)
        if not (type(instr.op) is CallRuntime and instr.op.path == ADD_OWN)
        for value in operands(instr.op)
        if type(value) is Ref and not (type(instr.op) is Call and value is instr.op.head)
        if (function := value.var.known_function) is not None
    }


def redirect(codes: list[Any], copies: dict[Function, Version]) -> None:
    """Leads the calls in forms and functions to copies."""
    for op, var, _ in [call for code in codes for call in calls_by_name(code)]:
        version = copies.get(var.known_function) if var.known_function is not None else None
        if version is not None:
            op.head = Ref(version.var)


def calls_of(copies: dict[Function, Version], forms: list[Block]) -> list[Redirected]:
    """The calls of copies in forms and in copies."""
    versions = {version.var: version for version in copies.values()}
    return [
        Redirected(op, versions[var], own)
        for code in [*forms, *(version.private for version in versions.values())]
        for op, var, own in calls_by_name(code)
        if var in versions
    ]


def wanted(
    copies: dict[Function, Version],
    calls: dict[Function, set[Function]],
    hot: set[Function],
    demands: Demands,
    at_import: bool,
    rewritten: set[Function],
) -> set[Function]:
    """The functions whose copies are worth their size, and those through which these are called. rewritten: those whose
    copies aren't copies any more, as they give or take tuples."""
    kept = rewritten | {
        function
        for function, version in copies.items()
        if function in hot - rewritten
        and (is_worth(version, demands) if at_import else knows_more(version, demands) and is_useful(version))
    }
    if kept and at_import:
        kept |= {function for function in copies if changes_state(function)}
    callers: dict[Function, set[Function]] = {function: set() for function in calls}
    for function in copies:
        for callee in calls[function]:
            callers[callee].add(function)
    return reachable(kept, callers)


def is_worth(version: Version, demands: Demands) -> bool:
    """Whether a copy that runs at import is worth its size: it may take and give maps as bare dicts, too."""
    knows_any = any(param.type not in (ANY, NEVER) for param in version.private.params)
    return (
        knows_more(version, demands)
        or version.private.type.only(DICT)
        or (knows_any and not is_useful(version))  # a test at the entry wouldn't pay
    )


def knows_more(version: Version, demands: Demands) -> bool:
    """Whether inference knows more of an argument than a test at the entry would."""
    return (
        any(
            of_any_sign(copied.type) not in (ANY, NEVER, of_any_sign(fitted(ANY, demands.kind(param))))
            for param, copied in zip(version.public.params, version.private.params, strict=True)
        )
        or is_rest_known(version.private)
        or knows_more_of_globals(version)
    )


def knows_more_of_globals(version: Version) -> bool:
    """The same of a global: the two may differ in what was folded."""
    known = {instr.op.var: instr.op.type for instr in instructions(version.public.code) if type(instr.op) is Read}
    reads = [instr.op for instr in instructions(version.private.code) if type(instr.op) is Read]
    return any(known.get(op.var, op.type) is not op.type for op in reads)


def changes_state(function: Function) -> bool:
    """Whether a function sets globals or changes mutable arrays."""
    return any(
        (type(instr.op) is Assign and instr.op.var.is_global)
        or (type(instr.op) is CallBuiltin and instr.op.name in ("mutable-array/set!", "mutable-array/push!"))
        for instr in instructions(function.code)
    )


def changes_globals(unit: Unit) -> bool:
    return any(var.assigned for var in unit.globals.values())


def is_rest_known(function: Function) -> bool:
    return function.rest is not None and function.rest.type.item not in (ANY, NEVER)
