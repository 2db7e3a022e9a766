"""Which functions and operations surely make no fiber wait, but where they yield.

An operation is safe when it neither calls a builtin that waits or asks which task is running, nor a function that the
unit doesn't know: so its list is one of what is safe, and everything else isn't.
"""

from __future__ import annotations

from functools import cache

from sema_runtime.catalogue_index import INDEX
from semac.anf import nodes as anf
from semac.anf.nodes import Block, BuiltinRef, Call, CallBuiltin, CallRuntime, Closure, Expr, Iteration, Lit, Op, Ref
from semac.anf.step_nodes import Receive, Send, YieldFrom
from semac.anf.walk import blocks, code_of
from semac.ir.nodes import Function
from semac.ir.unit import Unit
from semac.optimize.tails import functions
from semac.types.lattice import FN, KEYWORD
from semac.types.signatures import Function as FunctionType
from semac.types.signatures import Name as NameType
from semac.types.signatures import TypeExpr, signatures_of
from semac.types.signatures import Union as UnionType

PURE = ("lib.text.", "lib.language.", "lib.collections.", "lib.numbers.", "lib.data.json", "lib.data.csv")
WHOLE = ("lib.collections.mutable", "lib.numbers.typed_arrays")  # with effects on their arguments
OTHERS = frozenset(("print", "println", "display", "newline", "error", "hashmap/assoc!", "gensym"))
RUNTIME = (
    "sema_runtime.values.", "sema_runtime.lib.numbers.", "sema_runtime.conditions.", "sema_runtime.support.",
    "sema_runtime.tasks.steps:",
)  # fmt: skip
CALLING = ("sema_runtime.values.functions:", "sema_runtime.tasks.steps:spawn")  # what calls arguments, or gives turns
SAFE = frozenset((
    anf.Move, anf.Read, anf.Assign, anf.Declare, anf.MakeRecordType, anf.RecordFunction, anf.GetField, anf.IsRecord,
    anf.Closure, anf.MakeVector, anf.MakeMap, anf.SetItem, anf.SetArrayItem, anf.If, anf.Logic, anf.Loop, anf.While,
    anf.Try, anf.Throw, anf.Destructure, anf.Match, anf.Python, anf.Guarded, anf.Fits, Receive, Send, YieldFrom,
))  # fmt: skip


@cache
def is_safe_builtin(name: str) -> bool:
    module, _, _, _, _, _, is_pure, *_ = INDEX[name]
    if any(takes_function(param.type) for signature in signatures_of(name) for param in signature.params):
        return False
    return name in OTHERS or module in WHOLE or (bool(is_pure) and module.startswith(PURE))


def takes_function(type_: TypeExpr) -> bool:
    if type(type_) is UnionType:
        return any(map(takes_function, type_.parts))
    return type(type_) is FunctionType or (type(type_) is NameType and type_.name == "fn")


class Waits:
    """What is known of the functions of a unit."""

    def __init__(self, unit: Unit) -> None:
        self.unsafe: set[Function] = set()
        callers: dict[Function, list[Function]] = {}
        for function in functions(unit):
            callees = self.callees(code_of(function))
            if callees is None:
                self.unsafe.add(function)
                continue
            for callee in callees:
                callers.setdefault(callee, []).append(function)
        pending = list(self.unsafe)
        while pending:
            for caller in callers.get(pending.pop(), ()):
                if caller not in self.unsafe:
                    self.unsafe.add(caller)
                    pending.append(caller)

    def is_safe(self, block: Block) -> bool:
        """Whether a block makes no fiber wait but where it yields."""
        callees = self.callees(block)
        return callees is not None and self.unsafe.isdisjoint(callees)

    def callees(self, block: Block) -> set[Function] | None:
        """The functions that a block calls; None where it has an operation that isn't safe."""
        found: set[Function] = set()
        stack = [block]
        while stack:
            for instr in stack.pop().instrs:
                called = called_by(instr.op)
                if called is None:
                    return None
                found.update(called)
                stack += blocks(instr.op)
        return found


def called_by(op: Op) -> list[Function] | None:
    """The functions that an operation calls, the blocks inside left out; None where it isn't safe."""
    kind = type(op)
    if kind is YieldFrom and not op.path:  # type: ignore[attr-defined]
        return functions_of(op.args[0])  # type: ignore[attr-defined]
    if kind in SAFE:
        return []
    if kind is CallBuiltin:
        return [] if is_safe_builtin(op.name) else None  # type: ignore[attr-defined]
    if kind is CallRuntime:
        path: str = op.path  # type: ignore[attr-defined]
        return [] if path.startswith(RUNTIME) and not path.startswith(CALLING) else None
    if kind is Call:
        return functions_of(op.head)  # type: ignore[attr-defined]
    if isinstance(op, Iteration):
        return [] if op.how != "lines" else None
    return None


def functions_of(head: Expr) -> list[Function] | None:
    """The functions of the unit that a call of a value can reach; None where it may be another one that isn't safe."""
    if type(head) is Lit:
        return []
    if type(head) is BuiltinRef:
        return [] if is_safe_builtin(head.name) else None
    type_ = head.type
    if type_.only(FN | KEYWORD) and type_.fns is not None:
        members = type_.fns
        if any(type(member) is str and not is_safe_builtin(member) for member in members):
            return None
        return [member for member in members if type(member) is Function]
    if type(head) is not Ref:
        return None
    if type(head.var.op) is anf.RecordFunction:
        return []
    if type(head.var.op) is Closure and head.var.known_function is None and not head.var.name:
        return [head.var.op.function]
    known = head.var.known_function
    return None if known is None else [known]
