"""`map/update`, `update-in`, `assoc-in` and `get-in` become look-ups and `assoc`, before types are inferred.

So what is known of maps goes through them, and maps that nobody else sees change in place. A path must be written out
as a vector; the function must be one that `loops/functions.py` knows how to apply. Sound because the runtime's own
checks stand where the builtin makes them (`LEVEL`): the map and the key at each level are checked, in order, before the
function is called, and `assoc` to a checked level can't fail.
"""

from __future__ import annotations

from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Assign,
    Block,
    CallBuiltin,
    CallRuntime,
    Closure,
    Expr,
    Let,
    Lit,
    MakeMap,
    MakeVector,
    Move,
    Op,
    Ref,
)
from semac.anf.walk import blocks
from semac.fingerprint import is_traced
from semac.ir.intrinsics import LEVEL, LOOK, NEW_KEY, UPDATED
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.keys import is_stored_key
from semac.optimize.loops.functions import applied, temporary
from semac.optimize.loops.higher_order import value_of
from semac.optimize.operators import replace
from semac.types.lattice import ANY, DICT, STR, atom

ALIASES = {"map/update-in": "update-in", "map/assoc-in": "assoc-in", "map/get-in": "get-in"}
ARGUMENTS = {"map/update": (3,), "update-in": (3,), "assoc-in": (3,), "get-in": (2, 3)}
MOST_KEYS = 6  # of a path


def expand_updates(unit: Unit) -> None:
    """Rewrites the calls in a unit; the text for people keeps them."""
    if unit.is_text or is_traced():
        return
    defined: set[Var] = set()
    for form in unit.blocks:
        Expander(unit, defined).run(form)
        for instr in form.instrs:
            if type(instr.op) is Assign and instr.op.define == "global":
                defined.add(instr.op.var)


def drop_levels(unit: Unit) -> None:
    """Takes out the checks that types have made: of what surely is a map, and of a key that surely can be one. `assoc`
    of such keys to a map that is written out becomes part of that."""
    stack = list(unit.blocks)
    while stack:
        block = stack.pop()
        kept: list[Let] = []
        for instr in block.instrs:
            op = instr.op
            if type(op) is CallRuntime and op.path in (LEVEL, UPDATED) and op.args[0].type.only(DICT):
                if not is_stored_key(op.args[1]):
                    kept.append(Let(None, checked_key(op)))
                replace(instr, Move(op.args[0], span=op.span, type=op.type))
            elif type(op) is CallBuiltin and op.name == "assoc":
                write_out(instr, op)
            stack += [op.function.code] if type(op) is Closure else blocks(op)
            kept.append(instr)
        block.instrs = kept


def checked_key(op: CallRuntime) -> CallRuntime:
    """The check of the key alone."""
    name = op.args[2] if op.path == LEVEL else Lit("map/update", atom(STR))
    return CallRuntime(NEW_KEY, [op.args[1], name], span=op.span, type=ANY)


class Expander:
    """Rewrites one top-level form."""

    def __init__(self, unit: Unit, defined: set[Var]) -> None:
        self.main = unit.main
        self.defined = defined
        self.out: list[Let] = []
        self.owner: Function | None = None

    def run(self, form: Block) -> None:
        stack: list[tuple[Block, Function | None]] = [(form, None)]
        while stack:
            block, self.owner = stack.pop()
            self.block(block)
            for instr in block.instrs:
                op = instr.op
                stack += [(op.function.code, op.function)] if type(op) is Closure else []
                stack += [(inner, self.owner) for inner in blocks(op)]

    def block(self, block: Block) -> None:
        todo = block.instrs[::-1]
        self.out = []
        while todo:
            instr = todo.pop()
            op = instr.op
            expanded = self.expanded(op, instr) if type(op) is CallBuiltin else None
            if expanded is not None:
                todo += expanded[::-1]  # the function's body may have such calls, too
                continue
            self.out.append(instr)
        block.instrs = self.out

    def expanded(self, op: CallBuiltin, instr: Let) -> list[Let] | None:
        """The instructions in place of a call; None where it stays."""
        name = ALIASES.get(op.name, op.name)
        if len(op.args) not in ARGUMENTS.get(name, ()):
            return None
        keys = [op.args[1]] if name == "map/update" else path_of(op.args[1])
        if not keys or len(keys) > MOST_KEYS:
            return None
        steps = Steps(op, self.owner)
        if name == "get-in":
            value = op.args[0]
            for key in keys[:-1]:
                value = steps.bind(CallRuntime(LOOK, [value, key]), "value")
            steps.bind(CallRuntime(LOOK, [value, keys[-1], *op.args[2:]]), "value")
            return steps.ended(instr)
        if name == "assoc-in":
            levels = steps.levels(op.args[0], keys, name)
            steps.store(levels, keys, op.args[2])
            return steps.ended(instr)
        body = applied(op.args[2], 1, op, self.owner, self.defined)
        if body is None:
            return None
        self.take_over(op.args[2])
        levels = steps.levels(op.args[0], keys, name)
        old = CallBuiltin("get", [levels[-1], keys[-1]], fixed=True, span=op.span)
        (param,) = body.params
        param.op = old
        steps.out.append(Let(param, old))
        steps.out += body.block.instrs
        steps.store(levels, keys, value_of(body.block))
        return steps.ended(instr)

    def take_over(self, function: Expr) -> None:
        """A lambda's code now stands in the code around it."""
        if type(function) is not Ref or function.var.name or type(function.var.op) is not Closure:
            return
        moved: Function = function.var.op.function
        for var in [*moved.params, *moved.locals]:
            var.owner = self.owner or self.main
        self.out = [instr for instr in self.out if instr.var is not function.var]


def write_out(instr: Let, op: CallBuiltin) -> None:
    """Has a map that is written out have the entries that `assoc` adds to it."""
    first = op.args[0] if len(op.args) >= 3 and len(op.args) % 2 else None
    made = first.var.op if type(first) is Ref and is_fixed(first.var) and not first.var.captured else None
    if type(made) is MakeMap and all(map(is_stored_key, (*made.items[::2], *op.args[1::2]))):
        replace(instr, MakeMap([*made.items, *op.args[1:]], span=op.span, type=op.type))


def path_of(path: Expr) -> list[Expr] | None:
    """The keys of a path that is written out."""
    if type(path) is Lit and type(path.value) is tuple:
        return None  # quoted data: keys of unknown places
    op = path.var.op if type(path) is Ref and is_fixed(path.var) and not path.var.is_global else None
    return list(op.items) if type(op) is MakeVector else None


class Steps:
    """The instructions that one call becomes."""

    def __init__(self, call: CallBuiltin, owner: Function | None) -> None:
        self.call = call
        self.owner = owner
        self.out: list[Let] = []

    def bind(self, op: Op, hint: str) -> Ref:
        var = temporary(hint, self.owner)
        var.op, op.span = op, self.call.span
        self.out.append(Let(var, op))
        return Ref(var)

    def levels(self, subject: Expr, keys: list[Expr], name: str) -> list[Expr]:
        """The maps along a path, checked."""
        levels: list[Expr] = []
        for key in keys:
            check = CallRuntime(UPDATED, [subject, key]) if name == "map/update" else self.level(subject, key, name)
            levels.append(self.bind(check, "level"))
            if len(levels) < len(keys):
                subject = self.bind(CallBuiltin("get", [levels[-1], key], fixed=True), "value")
        return levels

    def level(self, subject: Expr, key: Expr, name: str) -> CallRuntime:
        return CallRuntime(LEVEL, [subject, key, Lit(name)])

    def store(self, levels: list[Expr], keys: list[Expr], value: Expr) -> None:
        """Stores a value at the end of a path."""
        for level, key in zip(reversed(levels), reversed(keys), strict=True):
            value = self.bind(CallBuiltin("assoc", [level, key, value], fixed=True), "level")

    def ended(self, instr: Let) -> list[Let]:
        """The instructions, of which the last one binds the value of the call."""
        if instr.var is not None:
            self.out[-1].var = instr.var
            if instr.var.op is instr.op:
                instr.var.op = self.out[-1].op
        return self.out
