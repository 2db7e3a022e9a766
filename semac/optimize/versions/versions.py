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
from semac.fingerprint import is_traced
from semac.ir.nodes import Var
from semac.ir.unit import Unit, left_out
from semac.optimize.infer.fits import fits
from semac.optimize.infer.flow import Flow, inferred
from semac.optimize.loops.named import own_loop
from semac.optimize.versions.closed import make_closed_copies
from semac.optimize.versions.demands import Demands
from semac.optimize.versions.foreign import Param, lists_of_callers, second_entry
from semac.optimize.versions.heat import Definition, definitions, hot_functions
from semac.optimize.versions.private import (
    Redirected,
    Version,
    add_copy,
    calls_by_name,
    is_useful,
    private_name,
    remove_copies,
    temporary,
)

ROUNDS = 6  # of inference, before no call but those of the entries goes to a copy


def make_versions(unit: Unit) -> None:
    """Gives functions of a module private copies, and leads calls to them."""
    if unit.is_program or unit.is_input or unit.is_open or unit.is_text or is_traced():
        return
    found = definitions(unit)
    hot, called_often = hot_functions(unit, found)
    closed = make_closed_copies(unit, found, hot)
    versions = chosen(unit, [definition for definition in found if definition.function in hot - closed])
    if not versions:
        return
    for version in versions:
        add_copy(unit, version)
    redirected = redirect(unit, {version.definition.var: version for version in versions})
    flow = inferred(unit)
    redirected = settle(flow, redirected)
    useful = [version for version in versions if is_useful(version)]
    useless = set(versions) - set(useful)
    remove_copies(unit, [version for version in versions if version in useless])
    take_back(flow, [call for call in redirected if call.version in useless])
    called = {call.version for call in redirected}
    lists = {} if "foreign" in left_out(unit) else lists_of_callers(useful)
    for version in useful:
        add_entry(version, lists)
        version.public.copy_is_often_called = version in called and version.public in called_often
    flow.go_on(narrowed=[version.public for version in useful])
    unit.is_typed = True


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


def add_entry(version: Version, lists: dict[Param, bool]) -> None:
    """The public function tests its arguments, and calls the copy or runs its body. lists: see `lists_of_callers`."""
    public = version.public
    span = version.definition.closure.span
    general = own_loop(public, span) if public.self_tail else public.code
    general = second_entry(version, lists, general)
    tested = [(param, kind) for param, kind in zip(public.params, version.kinds, strict=True) if kind]
    test = Fits([Ref(param) for param, _ in tested], [kind for _, kind in tested], span=span)
    call = Call(Ref(version.var), [Ref(param) for param in public.params], True, True, span=span)
    passed, called = temporary(test, public), temporary(call, public)
    choice = If(Ref(passed), Block([Let(called, call)], Result(Ref(called))), general, span=span)
    value = temporary(choice, public)
    public.has_copy = True
    public.code = Block([Let(passed, test), Let(value, choice)], Result(Ref(value)))


# Calls


def redirect(unit: Unit, versions: dict[Var, Version]) -> list[Redirected]:
    """Leads all calls of public functions to their copies, but those in the functions themselves."""
    found: list[Redirected] = []
    own = {version.definition.block: version for version in versions.values()}
    for form in unit.blocks:
        calls = [
            Redirected(op, versions[var], code)
            for op, var, code in calls_by_name(form)
            if var in versions and len(op.args) == len(versions[var].kinds)
        ]
        exempt = own.get(form)
        if exempt is not None:
            inside = {op for op, _, _ in calls_by_name(exempt.public.code)}
            calls = [call for call in calls if not (call.version is exempt and call.op in inside)]
        found += calls
    for call in found:
        call.op.head = Ref(call.version.var)
    return found


def settle(flow: Flow, redirected: list[Redirected]) -> list[Redirected]:
    """Takes calls back to the public functions until the arguments of all others are proved to fit: these are given."""
    for _ in range(ROUNDS):
        lost = [call for call in redirected if not is_proved(call)]
        if not lost:
            return redirected
        take_back(flow, lost)
        redirected = [call for call in redirected if call not in lost]
    take_back(flow, redirected)
    return []


def take_back(flow: Flow, calls: list[Redirected]) -> None:
    """Has calls go to the public functions, which give all that the copies do, or more."""
    for call in calls:
        call.take_back()
    if calls:
        flow.go_on(dict.fromkeys(call.code for call in calls))


def is_proved(call: Redirected) -> bool:
    return all(fits(arg.type, kind) for arg, kind in zip(call.op.args, call.version.kinds, strict=True))
