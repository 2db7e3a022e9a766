"""Comparators that compare a key of both elements sort by that key.

`(sort xs (fn (a b) (- (:cost a) (:cost b))))` computes the cost of each element once, and Python sorts by it. So it is
with `<` and its kin.

Sound because the comparator has no effects and does the same with both elements, so what it says of two depends on
their keys alone; where all keys are ints, texts, or floats but NaN, each way to sort that keeps or turns the order of
equal keys, as the merge of the reference does, has one result. For other keys, and where one fails, the runtime merges
with the comparator itself.
"""

from __future__ import annotations

from typing import Any

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Closure, Expr, Let, Lit, Op, Ref, Result
from semac.anf.walk import blocks, code_of, operands, refs
from semac.fingerprint import is_traced
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.optimize.own.code import Code, all_code
from semac.optimize.own.rewrite import calls_any
from semac.optimize.steps.silent import calls_back, changed, silent_calls
from semac.optimize.steps.waits import functions_of
from semac.optimize.versions.copies import Copier

SORTED_AS = "sema_runtime.lib.collections.sorting:sorted_as"
COMPARISONS = {"-": (False, False), "<=": (False, False), ">=": (True, False), "<": (False, True), ">": (True, True)}
# of two elements in their order: whether the larger key is first, whether equal ones change places


def sort_by_keys(unit: Unit) -> None:
    """Gives sorts with comparators the key that these compare. Assumes inferred types."""
    if unit.is_text or unit.is_input or is_traced() or not calls_any(unit, frozenset(("sort",))):
        return
    for part in all_code(unit):
        made = {instr.var: instr.op for block in part.blocks for instr in block.instrs if type(instr.op) is Closure}
        for block in part.blocks:
            for instr in list(block.instrs):
                op: Any = instr.op
                if type(op) is CallBuiltin and op.name == "sort" and len(op.args) == 2:
                    rewrite(part, block, instr, comparator(op.args[1], made))


def comparator(value: Expr, made: dict[Var | None, Any]) -> Function | None:
    """The function that a value surely is, where it can be copied here."""
    if type(value) is not Ref or not is_fixed(value.var):
        return None
    if value.var.is_global:
        return value.var.known_function
    return made[value.var].function if value.var in made else None


def rewrite(part: Code, block: Block, instr: Let, function: Function | None) -> None:
    found = key_of(function) if function is not None else None
    if function is None or found is None:
        return
    op: Any = instr.op
    key, needed, is_down, is_turned, is_difference = found
    var = temporary("key", part.function)
    made = key_function(function, key, needed, part.function)
    var.op = Closure(made, span=op.span)
    var.type = var.op.type
    block.instrs.insert(block.instrs.index(instr), Let(var, var.op))
    how = [Lit(is_down), Lit(is_turned), Lit(is_difference)]
    replace(instr, CallRuntime(SORTED_AS, [*op.args, Ref(var, var.type), *how], span=op.span, type=op.type))


def key_of(function: Function) -> tuple[Expr, list[Let], bool, bool, bool] | None:
    """(the key of the first element, what computes it, how keys are compared); None for other comparators."""
    if len(function.params) != 2 or function.rest is not None or function.is_generator:
        return None
    code = code_of(function)
    exit_ = code.exit
    if not code.instrs or type(exit_) is not Result or type(exit_.value) is not Ref:
        return None
    last = code.instrs[-1]
    op: Any = last.op
    if last.var is not exit_.value.var or type(op) is not CallBuiltin or op.name not in COMPARISONS or op.as_value:
        return None
    if len(op.args) != 2 or any(param.captured or not is_fixed(param) for param in function.params):
        return None
    made = {instr.var: instr for instr in code.instrs[:-1] if instr.var is not None}
    first, second = function.params
    for a, b, is_swapped in ((first, second, False), (second, first, True)):
        pairs: dict[Var, Var] = {a: b}
        if is_same(op.args[0], op.args[1], made, pairs):
            left = {var for var in pairs if var in made}
            if len(code.instrs) - 1 != len(left | {pairs[var] for var in left}) or a in pairs.values():
                return None
            is_down, is_turned = COMPARISONS[op.name]
            key, needed = op.args[0], [instr for instr in code.instrs if instr.var in left]
            if is_swapped:
                key, needed = op.args[1], [instr for instr in code.instrs if instr.var in {pairs[var] for var in left}]
            return key, needed, is_down is not is_swapped, is_turned, op.name == "-"
    return None


def is_same(x: Expr, y: Expr, made: dict[Var, Let], pairs: dict[Var, Var]) -> bool:
    """Whether two values are computed in the same way of the two elements, without effects. pairs: variables that
    stand for each other."""
    if type(x) is Lit and type(y) is Lit:
        return type(x.value) is type(y.value) and bool(x.value == y.value)
    if type(x) is anf.BuiltinRef and type(y) is anf.BuiltinRef:
        return x.name == y.name
    if type(x) is not Ref or type(y) is not Ref:
        return False
    if x.var in pairs:
        return pairs[x.var] is y.var
    if x.var not in made or y.var not in made:
        return x.var is y.var and is_fixed(x.var) and x.var not in pairs.values() and x.var not in made
    one, other = made[x.var].op, made[y.var].op
    if one is other or type(one) is not type(other) or not is_pure(one, set()) or not is_alike(one, other):
        return False
    values, others = parts(one), parts(other)
    if len(values) != len(others) or not all(is_same(a, b, made, pairs) for a, b in zip(values, others, strict=True)):
        return False
    pairs[x.var] = y.var
    return True


def parts(op: Any) -> list[Expr]:
    """The operands that decide what an operation does."""
    return [op.record] if type(op) is anf.GetField else operands(op)


def is_alike(one: Any, other: Any) -> bool:
    """Whether two operations of a class do the same, apart from their operands."""
    if type(one) is CallBuiltin:
        return bool(one.name == other.name and one.as_value == other.as_value)
    if type(one) is CallRuntime:
        return bool(one.path == other.path)
    if type(one) is anf.GetField:
        return bool(one.is_sure and other.is_sure and one.member is other.member)
    return type(one) is anf.Move or type(one) is anf.Call


def is_pure(op: Op, seen: set[Function]) -> bool:
    """Whether an operation has no effects."""
    if type(op) is anf.GetField:
        return op.is_sure
    if type(op) is anf.Call and functions_of(op.head) is None:
        return False
    if type(op) is CallBuiltin and calls_back(op.name):
        return False
    callees = silent_calls(op)
    if callees is None or type(op) is anf.Assign or changed(op) is not None:
        return False
    for callee in callees:
        if callee not in seen:
            seen.add(callee)
            if not is_pure_block(code_of(callee), seen):
                return False
    return all(is_pure_block(inner, seen) for inner in blocks(op))


def is_pure_block(block: Block, seen: set[Function]) -> bool:
    return all(is_pure(instr.op, seen) for instr in block.instrs)


def key_function(function: Function, key: Expr, needed: list[Let], parent: Function | None) -> Function:
    """A function of one element that has the key of it."""
    copier = Copier()
    own = {*function.params, *(instr.var for instr in code_of(function).instrs)}
    for ref in refs(code_of(function)):
        if ref.var not in own:  # of a function around it
            copier.made[id(ref.var)] = ref.var
    made: Function = copier.copy(function)
    for before, after in copier.vars:
        after.type = before.type
        after.op = copier.copy(before.op) if isinstance(before.op, Op) else before.op
    wanted = {copier.made[id(instr)] for instr in needed}
    made.code.instrs = [instr for instr in made.code.instrs if instr in wanted]
    made.code.exit = Result(copier.copy(key))
    made.var, made.doc, made.parent, made.anonymous = None, None, parent, True
    used = made.code.exit.value.var
    kept = {instr.var for instr in made.code.instrs} | {used}
    kept |= {value.var for instr in made.code.instrs for value in operands(instr.op) if type(value) is Ref}
    made.params = [param for param in made.params if param in kept]
    made.locals = [var for var in made.locals if var in kept]
    return made
