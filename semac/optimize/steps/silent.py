"""What has no effect that anybody could see, and depends on nothing that changes: it can happen at any time.

As in `waits.py`, the list is one of what is silent, and everything else isn't. Values that silent code meets are
immutable, or made by it and known to nobody else: so reading is silent.
"""

from __future__ import annotations

from functools import cache

from sema_runtime.catalogue_index import INDEX
from semac.anf import nodes as anf
from semac.anf.nodes import Assign, Block, CallBuiltin, CallRuntime, Closure, Expr, Guarded, Op, Read, Ref
from semac.anf.nodes import Python as PythonOp
from semac.anf.step_nodes import Pull
from semac.anf.walk import all_blocks, bound, code_of, exit_operands, operands
from semac.ir.intrinsics import PUSH_ALL
from semac.ir.nodes import Function, Var
from semac.optimize.steps.waits import PURE, RUNTIME, called_by, functions_of, takes_function
from semac.types.lattice import BOOL, CHAR, FN, KEYWORD, NIL, NUMBER, STR, SYMBOL
from semac.types.signatures import signatures_of

CALL_NATIVE = "sema_runtime.tasks.callbacks:call_native"
ATOMS = NUMBER | STR | BOOL | NIL | CHAR | KEYWORD | SYMBOL
CHANGING = ("lib.text.bytes", "lib.numbers.typed_arrays")  # modules of what can be changed
NOT_SILENT = frozenset((anf.SetArrayItem, anf.Try, anf.MakeRecordType))
EXCEPT = (
    "sema_runtime.tasks.", "sema_runtime.conditions.", "sema_runtime.values.promises:", "sema_runtime.values.mutable:",
    "sema_runtime.values.parameters:", "sema_runtime.values.functions:", "sema_runtime.values.macros:",
)  # fmt: skip
CHANGES = frozenset((
    "drop_key", "push", "append", "extend", "drop_top", "drop_last", "take_last", "take_top", "drop_head", "take_first",
    "take_head",
))  # fmt: skip


@cache
def is_silent_builtin(name: str) -> bool:
    """Whether a builtin computes its result of immutable values, and no more. Functions it calls are asked about."""
    module, _, _, _, _, _, is_pure, *_ = INDEX[name]
    is_known = bool(is_pure) and module.startswith(PURE) and module not in CHANGING
    return name == "error" or (is_known and "!" not in name and not name.startswith("hashmap"))


@cache
def calls_back(name: str) -> bool:
    return any(takes_function(param.type) for signature in signatures_of(name) for param in signature.params)


def silent_calls(op: Op) -> list[Function] | None:
    """The functions that an operation calls, the blocks inside left out; None where it isn't silent by itself."""
    kind = type(op)
    if kind in NOT_SILENT or (kind is Assign and op.define == "global"):  # type: ignore[attr-defined]
        return None
    if kind is Pull:
        return []
    if kind is CallBuiltin:
        name: str = op.name  # type: ignore[attr-defined]
        if not is_silent_builtin(name):
            return None
        return callbacks(op.args) if calls_back(name) else []  # type: ignore[attr-defined]
    if kind is anf.Call:
        return called_values(op.head) if all(silent_head(op.head)) else None  # type: ignore[attr-defined]
    if kind is CallRuntime:
        path: str = op.path  # type: ignore[attr-defined]
        if path == CALL_NATIVE and type(op.args[0]) is anf.BuiltinRef:  # type: ignore[attr-defined]
            name, args = op.args[0].name, op.args[2:]  # type: ignore[attr-defined]
            return callbacks(args) if is_silent_builtin(name) else None
        return [] if path == "builtins:next" or (path.startswith(RUNTIME) and not path.startswith(EXCEPT)) else None
    if kind is Guarded:
        slow: str = op.slow  # type: ignore[attr-defined]
        where, _, name = slow.partition(":")
        is_fine = is_silent_builtin(name) if where == "builtin" else where.startswith(RUNTIME[:2])
        return [] if is_fine else None
    return called_by(op)


def called_values(head: Expr) -> list[Function]:
    """The functions of the unit that a value is known to be. Of any other, the runtime asks whether it is silent."""
    return functions_of(head) or []


def silent_head(head: Expr) -> list[bool]:
    """Of each builtin that a call can reach, whether it is silent."""
    if type(head) is anf.BuiltinRef:
        return [is_silent_builtin(head.name)]
    members = head.type.fns if type(head) is Ref and head.type.only(FN | KEYWORD) else None
    return [is_silent_builtin(member) for member in members or () if type(member) is str]


def callbacks(args: list[Expr]) -> list[Function] | None:
    """The functions among the arguments of a builtin; None where one isn't silent."""
    found: list[Function] = []
    for arg in args:
        if type(arg) is anf.Lit or not arg.type.tags & FN:
            continue
        if not all(silent_head(arg)):
            return None
        found += called_values(arg)
    return found


def changed(op: Op) -> Expr | None:
    """The list or dict of the compiler's own that an operation changes in place."""
    if type(op) is anf.SetItem:
        return op.subject
    is_change = (type(op) is PythonOp and op.kind in CHANGES) or (type(op) is CallRuntime and op.path == PUSH_ALL)
    return op.args[0] if is_change else None  # type: ignore[attr-defined]


def is_own(value: Expr, mine: set[Var]) -> bool:
    return type(value) is Ref and value.var in mine


class Silence:
    """What a unit's functions do, as far as somebody asks. facts: of each function, the functions that it calls and the
    variables of others that it reads; None where it isn't silent."""

    def __init__(self) -> None:
        self.facts: dict[Function, tuple[set[Function], set[Var]] | None] = {}

    def reads(self, block: Block, own: set[Var], apart: set[Op]) -> set[Var] | None:
        """The variables of others that a silent block and all that it calls read; None where something isn't silent.

        own: variables that count as the block's. apart: operations in it that needn't be silent.
        """
        first = reads_of(block, own, apart)
        if first is None:
            return None
        called, read = first
        pending, seen = list(called), set(called)
        while pending:
            function = pending.pop()
            if function not in self.facts:
                params = {*function.params, *([function.rest] if function.rest is not None else [])}
                self.facts[function] = reads_of(code_of(function), params, set())
            facts = self.facts[function]
            if facts is None:
                return None
            foreign = {var for var in facts[1] if not var.is_global and not is_still_type(var) and var not in read}
            if foreign:
                return None
            read = read | facts[1]
            pending += facts[0] - seen
            seen |= facts[0]
        return read


def reads_of(block: Block, own: set[Var], apart: set[Op]) -> tuple[set[Function], set[Var]] | None:
    """The functions that a block calls and the variables of others that it reads."""
    mine = set(own)
    called: set[Function] = set()
    read: set[Var] = set()
    assigned: list[Var] = []
    altered: list[Expr] = []
    for inner in all_blocks(block):
        values = exit_operands(inner.exit)
        for instr in inner.instrs:
            op = instr.op
            functions = [] if op in apart else silent_calls(op)
            if functions is None:
                return None
            called.update(functions)
            values += operands(op)
            mine.update(bound_by(instr))
            if type(op) is Read:
                read.add(op.var)
            elif type(op) is Assign:
                assigned.append(op.var)
            elif (value := changed(op)) is not None:
                altered.append(value)
        for value in values:
            if type(value) is Ref:
                read.add(value.var)
            elif type(value) is anf.BuiltinRef and not is_silent_builtin(value.name):
                return None
    if not mine.issuperset(assigned) or not all(is_own(value, mine) for value in altered):
        return None
    return called, read - mine


def bound_by(instr: anf.Let) -> list[Var]:
    op = instr.op
    found = list(bound(op)) if instr.var is None else [instr.var, *bound(op)]
    if type(op) is Closure:
        found += op.function.params
        found += [] if op.function.rest is None else [op.function.rest]
    elif type(op) is Assign and op.define == "local":
        found.append(op.var)
    elif type(op) is anf.Declare:
        found += op.vars
    return found


def is_still_type(var: Var) -> bool:
    """Whether a variable always holds one atom, or one function of the unit."""
    if var.known_function is not None and not var.late:
        return not var.early
    is_one = not var.assigned and not var.early and not var.late and var.defined <= 1
    return is_one and var.type is not None and bool(var.type.tags) and var.type.only(ATOMS)


def is_one_value(var: Var, may_be_late: bool = False) -> bool:
    """Whether a variable holds one value, as the runtime has it, whenever it is read. may_be_late: and has it then."""
    if (
        var.assigned
        or var.early
        or (var.late and not may_be_late)
        or var.defined > 1
        or (var.is_global and not var.defined)
    ):
        return False
    return var.type is None or not var.type.form


def mark_silent(functions: list[Function]) -> None:
    """Marks functions that are silent by themselves, whatever silent functions they are given."""
    for function in functions:
        if function.is_generator or function.is_silent:
            continue
        params = {*function.params, *([function.rest] if function.rest is not None else [])}
        facts = reads_of(code_of(function), params, set())
        if facts is not None:
            function.is_silent = all(is_one_value(var, True) for var in facts[1])
