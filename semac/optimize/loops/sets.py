"""Loops that give keys one value are `dict.fromkeys`, and loops whose answer has no order take keys in any order.

    (foldl (fn (s x) (if (contains? b x) (assoc s x #t) s)) {} (keys a))

is how programs intersect sets that they keep as maps: Python does that with the keys of both dicts, and goes through
the smaller one. Keys of maps come sorted, which takes longer than such a loop; `every`, and the length of what `filter`
leaves, are the same in any order.

Assumes inferred types, lowered operators, and dicts that `own/` has made. Sound because the keys are atoms or vectors
of such, which a dict stores as they are and compares without code of ours; each key of a map is there once; and what a
loop does with a key can't fail and has no effect but on the dict, which nobody else has.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Block,
    Call,
    CallBuiltin,
    CallRuntime,
    Comprehension,
    Expr,
    For,
    If,
    Jump,
    Let,
    Lit,
    MakeMap,
    Move,
    Op,
    Python,
    Read,
    Ref,
    Result,
    SetItem,
    VarPattern,
)
from semac.anf.walk import all_blocks, code_of, is_ref, operands, refs
from semac.fingerprint import is_traced
from semac.ir.intrinsics import KEY_SETS, MAP_CLASSES
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.calls import function_of
from semac.optimize.keys import is_stored_as_is
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.types.lattice import DICT, FLAT, VECTOR

PUT = "sema_runtime.lib.collections.owned_maps:put"
LOOPS = (For, Comprehension)
QUIET = (MakeMap, Move, Read)
CANT_FAIL = frozenset(("map_has", "not", "is_none", "is", "eq", "lt", "gt", "le", "ge"))  # kinds of `Python`


def use_sets(unit: Unit) -> None:
    """Rewrites the loops of a unit."""
    if unit.is_text or unit.is_input or is_traced():
        return
    for form in unit.blocks:
        used: Counter[Var] | None = None
        for block in all_blocks(form):
            if any(type(instr.op) in LOOPS or is_keys(instr.op) for instr in block.instrs):
                if used is None:
                    used = Counter(ref.var for ref in refs(form))
                Rewriter(block, used).run()


class Source(NamedTuple):
    """Keys of a map that one loop goes through. keys: what has them. other, is_in: they are those that this map has or
    lacks. kept: what leaves those."""

    keys: Let
    other: Ref | None = None
    is_in: bool = True
    kept: Let | None = None


class Rewriter:
    """Rewrites a block. sources: by variable, as long as no instruction that may change a map stands between them and
    the loop. read: instructions that nobody needs any more."""

    def __init__(self, block: Block, used: Counter[Var]) -> None:
        self.block = block
        self.used = used
        self.sources: dict[Var, Source] = {}
        self.read: set[Let] = set()

    def run(self) -> None:
        out: list[Let] = []
        for index, instr in enumerate(self.block.instrs):
            op: Any = instr.op
            if type(op) in (For, Call):
                out += self.filled(instr, op) if type(op) is For else self.made(instr, op)
                self.sources = {}
                continue
            out.append(instr)
            if instr.var is not None and self.used[instr.var] == 1 and not instr.var.captured:
                if is_keys(op):
                    self.sources[instr.var] = Source(instr)
                    continue
                if type(op) is Comprehension and self.comprehension(op, instr, self.block.instrs[index + 1 :]):
                    continue
            if type(op) not in QUIET:
                self.sources = {}
        self.block.instrs = [instr for instr in out if instr not in self.read]

    def source(self, value: Expr) -> Source | None:
        return self.sources.get(value.var) if type(value) is Ref else None

    def comprehension(self, op: Comprehension, instr: Let, later: list[Let]) -> bool:
        """Whether a comprehension leaves some keys of a map, and does no more."""
        source = self.source(op.sources[0])
        if source is None or source.other is not None:
            return False
        kept = kept_keys(op)
        if kept is not None:
            self.sources[instr.var] = Source(source.keys, *kept, instr)  # type: ignore[index]
        if has_no_order(op, instr, later):
            keys = source.keys
            any_order = CallRuntime(KEY_SETS + "unordered_keys", operands(keys.op), span=keys.op.span)
            any_order.type = keys.op.type
            replace(keys, any_order)
        return kept is not None

    def filled(self, instr: Let, op: For) -> list[Let]:
        """What stands in place of a loop that gives its items one value in a dict."""
        added = addition(op)
        if added is None:
            return [instr]
        value, other, is_in, owner = added
        made = self.fill(op.inits[0], op.sources[0], value, other, is_in, owner)
        if made is None:
            return [instr]
        (param,) = op.params
        made.span, made.type = op.span, param.type
        leaving: Any = op.after.exit
        if not op.after.instrs and is_ref(leaving.value, param):
            return [rebound(instr, made)]
        param.op = made
        last = Move(leaving.value, span=op.span, type=op.type)
        return [Let(param, made), *op.after.instrs, rebound(instr, last)]

    def fill(
        self, init: Expr, items: Expr, value: Expr, other: Ref | None, is_in: bool, owner: Expr | None
    ) -> CallRuntime | None:
        """The call that gives keys a value. other, is_in: those alone that this map has or lacks."""
        source = self.source(items)
        if source is None:
            is_flat = other is None and owner is None and items.type.only(FLAT | VECTOR)
            made = init.var.op if type(init) is Ref else None
            is_new = type(made) is MakeMap and made.is_raw  # a few items more are set sooner one by one
            return CallRuntime(KEY_SETS + "fill", [init, items, value]) if is_flat and is_new else None
        if other is not None and source.other is not None:
            return None
        if other is None:
            other, is_in = source.other, source.is_in
        if owner is not None and other is not None:
            return None
        self.read |= {source.keys, *([source.kept] if source.kept is not None else [])}
        if owner is not None:
            return CallRuntime(KEY_SETS + "put_keys", [owner, init, *operands(source.keys.op), value])
        how = "fill_all" if other is None else "fill_common" if is_in else "fill_others"
        rest = [other] if other is not None else []
        return CallRuntime(KEY_SETS + how, [init, *operands(source.keys.op), *rest, value])

    def made(self, instr: Let, op: Call) -> list[Let]:
        """What stands in place of a call with keys of a map of a function that makes a dict of its argument."""
        source = self.source(op.args[0]) if len(op.args) == 1 else None
        function = function_of(op.head.var) if type(op.head) is Ref else None
        value = filler(function) if source is not None and function is not None else None
        if value is None or function is None:
            return [instr]
        before = code_of(function).instrs
        owner = instr.var.owner if instr.var is not None else None
        fresh: Any = temporary("keys", owner)
        fresh.op, fresh.type = MakeMap([], is_raw=True, span=op.span, type=before[0].op.type), before[0].op.type
        filled: Any = self.fill(Ref(fresh, fresh.type), op.args[0], value, None, True, None)
        filled.span, filled.type = op.span, before[1].op.type
        out = [Let(fresh, fresh.op)]
        if len(before) == 3:
            held: Any = temporary("filled", owner)
            held.op, held.type = filled, filled.type
            out.append(Let(held, filled))
            filled = CallRuntime(before[2].op.path, [Ref(held, held.type)], span=op.span, type=op.type)  # type: ignore[attr-defined]
        return [*out, rebound(instr, filled)]


def rebound(instr: Let, op: Op) -> Let:
    """An instruction that gives the variable of another what an operation gives."""
    if instr.var is not None and instr.var.op is instr.op:
        instr.var.op = op
    return Let(instr.var, op)


def filler(function: Function) -> Lit | None:
    """The value that a function gives the items of its argument in a new dict, where it does no more."""
    code = code_of(function)
    ops: list[Any] = [instr.op for instr in code.instrs]
    if len(function.params) != 1 or function.rest is not None or len(ops) not in (2, 3):
        return None
    first, second, *more = code.instrs
    if type(ops[0]) is not MakeMap or not ops[0].is_raw or ops[0].items or type(ops[1]) is not CallRuntime:
        return None
    init, items, value = ops[1].args if ops[1].path == KEY_SETS + "fill" else (None, None, None)
    if not is_ref(init, first.var) or not is_ref(items, function.params[0]) or type(value) is not Lit:
        return None
    is_map = not more or (
        type(ops[2]) is CallRuntime and ops[2].path in MAP_CLASSES and is_ref(ops[2].args[0], second.var)
    )
    return value if is_map and gives(code, code.instrs[-1].var) else None


def is_keys(op: Any) -> bool:
    return type(op) is CallBuiltin and op.name == "keys" and len(op.args) == 1 and op.args[0].type.only(DICT)


# Loops over items


def addition(op: For) -> tuple[Expr, Ref | None, bool, Expr | None] | None:
    """(the value that items get, the map whose keys decide, whether the item must be there, the owner of the map that
    gets them, None for a bare dict); None for other loops."""
    if op.how != "items" or op.leads or len(op.params) != 1 or len(op.inits) != 1 or type(op.target) is not VarPattern:
        return None
    exit_, instrs, item, (param,) = op.body.exit, op.body.instrs, op.target.var, op.params
    if type(exit_) is not Jump or type(op.after.exit) is not Result or not instrs or not is_stored_as_is(item.type):
        return None
    last: Any = instrs[-1]
    tests, adding, other, is_in = instrs[:-1], last.op, None, True
    if not tests and type(adding) is CallRuntime and adding.path == PUT:
        owner, subject, key, value = adding.args
        is_plain = is_ref(subject, param) and is_ref(key, item) and is_ref(exit_.args[0], last.var)
        return (value, None, True, owner) if is_plain and is_steady(value, op) and is_steady(owner, op) else None
    if type(adding) is If:
        found = asked_map(tests, adding.test, item)
        if found is None or not is_ref(exit_.args[0], last.var):
            return None
        (other, is_in), (first, second) = found, (adding.then, adding.otherwise)
        if not first.instrs:
            first, second, is_in = second, first, not is_in
        if len(first.instrs) != 1 or second.instrs or not (gives(first, param) and gives(second, param)):
            return None
        tests, adding = [], first.instrs[0].op
    elif not is_ref(exit_.args[0], param):
        return None
    if tests or type(adding) is not SetItem or not is_ref(adding.subject, param) or not is_ref(adding.key, item):
        return None
    if not is_steady(adding.value, op) or (other is not None and not is_steady(other, op)):
        return None
    return adding.value, other, is_in, None


def asked_map(tests: list[Let], test: Expr, item: Var) -> tuple[Ref, bool] | None:
    """(the map that is asked for the item, whether the answer is true where it is there)."""
    kinds = [each.op.kind if type(each.op) is Python else "" for each in tests]
    if kinds not in (["map_has"], ["map_has", "not"]) or not is_ref(test, tests[-1].var):
        return None
    subject, key = operands(tests[0].op)
    if type(subject) is not Ref or not subject.type.only(DICT) or not is_ref(key, item):
        return None
    if len(tests) == 2 and not is_ref(operands(tests[1].op)[0], tests[0].var):
        return None
    return subject, len(tests) == 1


def is_steady(value: Expr, op: For) -> bool:
    """Whether an operand has the same value in all rounds."""
    if type(value) is not Ref:
        return type(value) is Lit
    return value.var is not op.target.var and value.var not in op.params and is_fixed(value.var)  # type: ignore[attr-defined]


def kept_keys(op: Comprehension) -> tuple[Ref, bool] | None:
    """(the map, whether it must have the item) of a comprehension of those items that a map has or lacks."""
    if op.kind != "list" or op.how != "items" or len(op.stages) != 1 or op.stages[0].how != "if" or op.body.instrs:
        return None
    if (
        type(op.target) is not VarPattern
        or not is_stored_as_is(op.target.var.type)
        or not gives(op.body, op.target.var)
    ):
        return None
    test = op.stages[0].block
    found = (
        asked_map(test.instrs, test.exit.value, op.target.var) if type(test.exit) is Result and test.instrs else None
    )
    return found if found is not None and is_fixed(found[0].var) else None


def gives(block: Block, var: Var | None) -> bool:
    return type(block.exit) is Result and is_ref(block.exit.value, var)


# Answers without an order


def has_no_order(op: Comprehension, instr: Let, later: list[Let]) -> bool:
    """Whether what a comprehension gives is the same in whatever order its items come."""
    if op.how != "items" or type(op.target) is not VarPattern or not is_stored_as_is(op.target.var.type):
        return False
    if op.kind == "list":
        reader: Any = later[0].op if later else None
        if type(reader) is not Python or reader.kind != "len" or not is_ref(reader.args[0], instr.var):
            return False
    elif op.kind not in ("any", "every"):
        return False
    parts = [op.body, *(stage.block for stage in op.stages)]
    return all(stage.how == "if" for stage in op.stages) and all(map(cant_fail, parts))


def cant_fail(block: Block) -> bool:
    return type(block.exit) is Result and all(
        type(instr.op) is Move or (type(instr.op) is Python and instr.op.kind in CANT_FAIL) for instr in block.instrs
    )
