"""Versions of functions: one test of the arguments at entry, then a body without guards.

In a module anybody may call a public function with anything, so each of its operators has a guard. A function in which
guards are met often (in a loop, a recursion, or called from one) gets a private copy for arguments of the types that
its operations want: the public function tests its arguments once and calls the copy, or runs the body as it was.

Calls in the unit whose arguments surely have these types go to the copy at once. That is found out by supposing it of
all calls, inferring, and taking it back where the arguments don't say so, until nothing changes: what is left is proved
from the tests at the entries alone. It assumes of the globals of a module what inference does: that a function that the
unit never changes is the one that it defines. Where other code may define it anew (`eval`, inputs of a session) there
are no versions. Traces leave out the frame of a public function that its copy's frame follows.
"""

from __future__ import annotations

from semac.anf.nodes import (
    Block,
    Call,
    Fits,
    If,
    Let,
    Ref,
    Result,
)
from semac.anf.walk import all_blocks
from semac.fingerprint import is_traced
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.infer.fits import fits
from semac.optimize.infer.flow import infer
from semac.optimize.loops.named import own_loop
from semac.optimize.versions.closed import make_closed_copies
from semac.optimize.versions.demands import Demands
from semac.optimize.versions.heat import Definition, definitions, hot_functions
from semac.optimize.versions.private import (
    Version,
    add_copy,
    is_useful,
    private_name,
    remove_copy,
    take_back,
    temporary,
)

ROUNDS = 6  # of inference, before no call but those of the entries goes to a copy


def make_versions(unit: Unit) -> None:
    """Gives functions of a module private copies, and leads calls to them."""
    if unit.is_program or unit.is_input or unit.is_open or unit.is_text or is_traced():
        return
    found = definitions(unit)
    hot = hot_functions(unit, found)
    if not hot:
        return
    closed = make_closed_copies(unit, found, hot)
    versions = chosen(unit, [definition for definition in found if definition.function in hot - closed])
    if not versions:
        return
    for version in versions:
        add_copy(unit, version)
    redirected = settle(unit, redirect(unit, {version.definition.var: version for version in versions}))
    useless = {version for version in versions if not is_useful(version)}
    if useless:
        for version in useless:
            remove_copy(unit, version)
        take_back([(op, version) for op, version in redirected if version in useless])
        settle(unit, [(op, version) for op, version in redirected if version not in useless])
    for version in versions:
        if version not in useless:
            add_entry(version)


# Choosing


def chosen(unit: Unit, candidates: list[Definition]) -> list[Version]:
    """The functions that get versions."""
    demands = Demands(unit)
    versions = []
    for definition in candidates:
        function = definition.function
        if not definition.can_be_copied or function.rest is not None:
            continue
        kinds = [demands.kind(param) for param in function.params]
        if any(kinds) and private_name(definition) not in unit.globals:
            versions.append(Version(definition, kinds))
    return versions


# Making


def add_entry(version: Version) -> None:
    """The public function tests its arguments, and calls the copy or runs its body."""
    public = version.public
    span = version.definition.closure.span
    general = own_loop(public, span) if public.self_tail else public.code
    tested = [(param, kind) for param, kind in zip(public.params, version.kinds, strict=True) if kind]
    test = Fits([Ref(param) for param, _ in tested], [kind for _, kind in tested], span=span)
    call = Call(Ref(version.var), [Ref(param) for param in public.params], True, True, span=span)
    passed, called = temporary(test, public), temporary(call, public)
    choice = If(Ref(passed), Block([Let(called, call)], Result(Ref(called))), general, span=span)
    value = temporary(choice, public)
    public.has_copy = True
    public.code = Block([Let(passed, test), Let(value, choice)], Result(Ref(value)))


# Calls


def redirect(unit: Unit, versions: dict[Var, Version]) -> list[tuple[Call, Version]]:
    """Leads all calls of public functions to their copies, but those in the functions themselves."""
    found: list[tuple[Call, Version]] = []
    own = {version.definition.block: version for version in versions.values()}
    for form in unit.blocks:
        exempt = own.get(form)
        for block in all_blocks(form):
            for instr in block.instrs:
                op = instr.op
                if type(op) is Call and type(op.head) is Ref and op.head.var in versions:
                    version = versions[op.head.var]
                    if len(op.args) == len(version.kinds):
                        found.append((op, version))
        if exempt is not None:
            inside = calls_in(exempt.public.code)
            found = [(op, version) for op, version in found if not (version is exempt and op in inside)]
    for op, version in found:
        op.head = Ref(version.var)
    return found


def calls_in(code: Block) -> set[Call]:
    return {instr.op for block in all_blocks(code) for instr in block.instrs if type(instr.op) is Call}


def settle(unit: Unit, redirected: list[tuple[Call, Version]]) -> list[tuple[Call, Version]]:
    """Takes calls back to the public functions until the arguments of all others are proved to fit: these are given."""
    for _ in range(ROUNDS):
        infer(unit)
        kept = [(op, version) for op, version in redirected if is_proved(op, version)]
        if len(kept) == len(redirected):
            return redirected
        proved = {op for op, _ in kept}
        take_back([(op, version) for op, version in redirected if op not in proved])
        redirected = kept
    take_back(redirected)
    return []


def is_proved(op: Call, version: Version) -> bool:
    return all(fits(arg.type, kind) for arg, kind in zip(op.args, version.kinds, strict=True))
