"""Which lists surely have an item, wherever their variable is read: those that are made with one, and variables of
loops that begin with such a list and go on with such lists, as a table of rows to which each round adds one.

Says nothing of a variable that changes, or that callers give a value. Sound because a list never loses an item.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.lists import List
from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Block,
    CallBuiltin,
    Comprehension,
    Expr,
    For,
    If,
    Jump,
    Let,
    Lit,
    Loop,
    Match,
    Move,
    Op,
    Ref,
    Result,
)
from semac.anf.walk import all_blocks, operands, params_of, value_blocks
from semac.ir.nodes import Var
from semac.ir.unit import Unit

KEEPING = frozenset(
    ("reverse", "sort", "list/reverse")
)  # builtins whose result has as many items as their first operand
GIVING = KEEPING | {"cons", "list", "append"}
NEEDED = frozenset(("first", "car"))


def filled_lists(unit: Unit) -> set[Var]:
    """The variables of a unit whose lists surely have an item."""
    blocks = [block for form in unit.blocks for block in all_blocks(form)]
    if not any(type(instr.op) is CallBuiltin and instr.op.name in NEEDED for block in blocks for instr in block.instrs):
        return set()
    sources = sources_in(blocks)
    users: dict[Var, list[Var]] = {}
    for var, values in sources.items():
        for value in values:
            for used in [value] if type(value) is Ref else operands(value) if isinstance(value, Op) else []:
                if type(used) is Ref:
                    users.setdefault(used.var, []).append(var)
    found = set(sources)
    todo = list(sources)
    while todo:
        var = todo.pop()
        if var in found and not all(is_filled(value, found) for value in sources[var]):
            found.discard(var)
            todo += users.get(var, ())
    return found


def sources_in(blocks: list[Block]) -> dict[Var, list[Any]]:
    """Variables that may be such → the operations and values that theirs come from."""
    sources: dict[Var, list[Any]] = {}
    jumps: list[Jump] = []
    for block in blocks:
        for instr in block.instrs:
            enter(instr, sources)
        if type(block.exit) is Jump:
            jumps.append(block.exit)
    for jump in jumps:
        for param, value in zip(params_of(jump.target), jump.args, strict=False):
            if param in sources:
                sources[param].append(value)
    return sources


def enter(instr: Let, sources: dict[Var, list[Any]]) -> None:
    op, var = instr.op, instr.var
    if type(op) in (Loop, For) and op.inits:  # type: ignore[attr-defined]
        for param, init in zip(op.params, op.inits, strict=True):  # type: ignore[attr-defined]
            if is_fixed(param):
                sources[param] = [init]
    if var is None or not is_fixed(var) or var.is_global:
        return
    if type(op) in (If, Match, Loop, For):
        results = [block.exit.value for block in value_blocks(op) if type(block.exit) is Result]
        if results:
            sources[var] = list(results)
    elif type(op) in (Move, Comprehension) or (type(op) is CallBuiltin and op.name in GIVING):
        sources[var] = [op]


def is_filled(value: Any, found: set[Var]) -> bool:
    """Whether a value, or that of an operation, is a list with an item, if variables are as they were found."""
    kind = type(value)
    if kind is Ref:
        return value.var in found
    if kind is Lit:
        return type(value.value) is List and not value.value.empty
    if kind is Move:
        return is_filled(value.value, found)
    if kind is Comprehension:
        return (
            value.kind == "list"
            and value.how in ("items", "reversed")
            and not value.stages
            and all_of(value.sources, found)
        )
    if kind is not CallBuiltin:
        return False  # a builtin itself, as in `(let ((make list)) ...)`
    if value.name == "cons":
        return len(value.args) == 2
    if value.name == "list":
        return bool(value.args)
    if value.name == "append":
        return any(is_filled(arg, found) for arg in value.args)
    return value.name in KEEPING and bool(value.args) and is_filled(value.args[0], found)


def all_of(values: list[Expr], found: set[Var]) -> bool:
    return len(values) == 1 and is_filled(values[0], found)
