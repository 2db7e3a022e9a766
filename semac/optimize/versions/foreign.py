"""Lists of Python as arguments of public functions: the private copy gets a list of the language with the same items.

A private copy for lists goes from `cdr` to `cdr` without asking what it has. Callers in Python hand in Python's lists,
of which each `cdr` would be a copy, and each step a call. So where the test at the entry fails, the entry makes lists
of those and asks again.

Sound where nobody can tell the new list from the old one: the copy only reads it, by operations that look at its items
or make new lists of them (`READERS`), in loops and in calls of functions of the unit for which the same holds. Where
the copy may give back the very list, the entry gives back the caller's (`given_back`). A copy that reads a few items
alone gains nothing by this, so there has to be a `cdr`: that of a Python list copies it, too, so no function becomes
slower by an order. As anywhere, a list that Python changes while Sema reads it may be seen before or after the change.

`SEMA_SKIP=foreign` leaves it out.
"""

from __future__ import annotations

from semac.anf.nodes import (
    Block,
    Call,
    CallBuiltin,
    CallRuntime,
    Closure,
    Comprehension,
    Fits,
    For,
    If,
    Jump,
    Let,
    Logic,
    Loop,
    Move,
    Op,
    Ref,
    Result,
)
from semac.anf.walk import blocks, code_of, operands, params_of, refs
from semac.ir.intrinsics import AS_LIST, GIVEN_BACK
from semac.ir.nodes import Function, Var
from semac.optimize.loops.suffixes import RESTS
from semac.optimize.versions.private import Version, temporary

# Builtins that only read lists, or copy what they keep of them → the positions of these arguments; none: all.
READERS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("car", "cdr", "first", "rest", "cadr", "cddr", "caddr", "null?", "empty?", "length"), (0,)),
    **dict.fromkeys(("last", "nth", "pair?", "list?", "nil?", "vector?", "reverse"), (0,)),
    **dict.fromkeys(("list->vector", "list->string", "string/join", "sort"), (0,)),
    **dict.fromkeys(("cons", "take", "drop", "member", "map", "filter", "for-each", "any", "every"), (1,)),
    **dict.fromkeys(("foldl", "foldr"), (2,)),
    "append": (),
}  # fmt: skip
ITEMS = frozenset(("items", "reversed", "indexed", "zip", "rest"))  # of `Iteration.how`
Param = tuple[Function, int]


class Reading:
    """What a function does with one of its lists. is_read: nothing else than reading it; is_given_back: it may be the
    result; walks: a `cdr` of it is taken; passed: the parameters of functions that get it."""

    def __init__(self, param: Param, given_back: set[Param]) -> None:
        function, index = param
        self.given_back = given_back
        self.is_read = True
        self.is_given_back = False
        self.walks = False
        self.passed: set[Param] = set()
        self.names: set[Var] = {function.params[index]}
        before = 0
        while self.is_read and len(self.names) != before:
            before = len(self.names)
            self.is_given_back = self.block(code_of(function)) or self.is_given_back
            self.is_read = self.is_read and not any(name.assigned for name in self.names)

    def holds(self, value: object) -> bool:
        return type(value) is Ref and value.var in self.names

    def block(self, block: Block) -> bool:
        """Looks at a block; whether its value may be the list."""
        for instr in block.instrs:
            self.instruction(instr)
        exit_ = block.exit
        if type(exit_) is Jump:
            for param, arg in zip(params_of(exit_.target), exit_.args, strict=False):
                if self.holds(arg):
                    self.names.add(param)
            return False
        return self.holds(exit_.value)  # type: ignore[union-attr]

    def instruction(self, instr: Let) -> None:
        op = instr.op
        kind = type(op)
        if kind is Closure:
            self.is_read = self.is_read and not any(map(self.holds, refs(code_of(op.function))))  # type: ignore[attr-defined]
            return
        gives = self.value(op)
        for inner in blocks(op):
            gives = self.block(inner) or gives
        if gives and instr.var is not None:
            self.names.add(instr.var)

    def value(self, op: Op) -> bool:
        """Looks at an operation that gets the list; whether its value may be the list."""
        taken = [index for index, value in enumerate(operands(op)) if self.holds(value)]
        if not taken:
            return False
        kind = type(op)
        if kind is Move or kind is Logic:
            return True
        if kind is CallBuiltin and op.name in READERS:  # type: ignore[attr-defined]
            positions = READERS[op.name]  # type: ignore[attr-defined]
            self.walks = self.walks or op.name in RESTS  # type: ignore[attr-defined]
            if not positions or set(taken) <= set(positions):
                return False
        elif kind is Loop:
            self.names.update(op.params[index] for index in taken)  # type: ignore[attr-defined]
            return False
        elif kind is For and op.how in ITEMS:  # type: ignore[attr-defined]
            self.names.update(op.params[index] for index in taken if index < len(op.params))  # type: ignore[attr-defined]
            return False
        elif (kind is Comprehension and op.how in ITEMS) or kind is If:  # type: ignore[attr-defined]
            return False
        elif kind is Call and 0 not in taken and (params := passed(op, taken)):  # type: ignore[arg-type]
            self.passed |= params
            return not params.isdisjoint(self.given_back)
        self.is_read = False
        return False


def passed(op: Call, taken: list[int]) -> set[Param]:
    """The parameters that get operands of a call of a function of the unit; none where not all do."""
    function = op.head.var.known_function if type(op.head) is Ref else None
    if function is None or any(index > len(function.params) for index in taken):
        return set()
    return {(function, index - 1) for index in taken}


def lists_of_callers(versions: list[Version]) -> dict[Param, bool]:
    """The parameters of private copies for which the entry may make lists → whether the copy may give it back."""
    wanted = {
        (version.private, index) for version in versions for index, kind in enumerate(version.kinds) if kind == "List"
    }
    found: dict[Param, Reading] = {}
    todo = set(wanted)
    while todo:  # what gets the lists of what is looked at
        found.update((param, Reading(param, set())) for param in todo)
        todo = {param for reading in found.values() for param in reading.passed} - found.keys()
    given_back: set[Param] = set()
    params = set(found)
    while True:
        found = {param: Reading(param, given_back) for param in params}
        kept = {param for param, reading in found.items() if reading.is_read and reading.passed <= params}
        given = {param for param in kept if found[param].is_given_back}
        if kept == params and given == given_back:
            break
        params, given_back = kept, given
    walked = {param for param in params if found[param].walks}
    while more := {param for param in params - walked if found[param].passed & walked}:
        walked |= more
    return {param: param in given_back for param in walked & wanted}


def second_entry(version: Version, lists: dict[Param, bool], general: Block) -> Block:
    """The code of a public function behind a test that failed: it makes lists of Python's, and tests again."""
    public, span = version.public, version.definition.closure.span
    own = dict(sorted((index, gives) for (function, index), gives in lists.items() if function is version.private))
    if not own:
        return general
    instrs: list[Let] = []
    values = list(public.params)
    for index in own:
        made = CallRuntime(AS_LIST, [Ref(public.params[index])], span=span)
        values[index] = temporary(made, public)
        instrs.append(Let(values[index], made))
    tested = [(value, kind) for value, kind in zip(values, version.kinds, strict=True) if kind]
    test = Fits([Ref(value) for value, _ in tested], [kind for _, kind in tested], span=span)
    given = [index for index, gives in own.items() if gives]
    call = Call(Ref(version.var), [Ref(value) for value in values], not given, not given, span=span)
    result = temporary(call, public)
    then = Block([Let(result, call)], Result(Ref(result)))
    for index in given:
        back = CallRuntime(GIVEN_BACK, [then.exit.value, Ref(values[index]), Ref(public.params[index])], span=span)  # type: ignore[union-attr]
        result = temporary(back, public)
        then.instrs.append(Let(result, back))
        then.exit = Result(Ref(result))
    passed = temporary(test, public)
    choice = If(Ref(passed), then, general, span=span)
    value = temporary(choice, public)
    return Block([*instrs, Let(passed, test), Let(value, choice)], Result(Ref(value)))
