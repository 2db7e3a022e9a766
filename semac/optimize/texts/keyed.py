"""Bare dicts whose keys are characters, and can be the texts of these: `counts[c] = counts.get(c, 0) + 1` of a text.

Nobody sees the keys of a bare dict but what looks them up, sets or drops them, as long as all that is done with it is
one of these. Where it becomes a map, the keys become characters again; a dict becomes a map once, and has no more keys
than were set. Characters are equal as their texts are, so a dict of the one finds what a dict of the other would.

The dicts that flow to each other, through moves, loops, branches and calls, are of one group, which is out as soon as
one of them is used otherwise, or comes from elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sema_runtime.values.atoms import Char
from semac.anf import nodes as anf
from semac.anf.nodes import Block, Expr, Jump, Let, Lit, Op, Ref
from semac.anf.walk import bound, operands, params_of, value_blocks
from semac.ir.intrinsics import MAP_CLASSES
from semac.ir.nodes import Var
from semac.optimize.own.representation import known_callee
from semac.types.lattice import CHAR, DICT, FN

READERS = frozenset(("len", "size", "is_none", "not"))
KEYS = {"get": (0, 1), "in": (1, 0), "drop_key": (0, 1)}  # operations of Python → the places of dict and key
JOINS = (anf.If, anf.Match, anf.Try, anf.Loop, anf.For)  # operations whose value is that of a block
FLOWS = (*JOINS, anf.Move, anf.Read, anf.Call)  # operations that hand dicts on


class Keyed:
    """The dicts of a unit. key_of: of an operation on one, the place of its key. members: of an operation, its dict."""

    def __init__(self, code: list[Block]) -> None:
        self.key_of: dict[Op, int] = {}
        self.members: dict[Op, Any] = {}
        self.wraps: dict[Op, Any] = {}  # what makes maps of dicts → the dict
        self.made: dict[Op, Any] = {}  # what makes dicts → the dict
        self.parent: dict[Any, Any] = {}
        self.lost: set[Any] = set()  # roots of groups that are out
        if not any(sets_character(instr.op) for block in code for instr in block.instrs):
            return
        self.targets: dict[Block, Any] = {}
        for block in code:
            for instr in block.instrs:
                self.targets_of(instr)
        for block in code:
            for instr in block.instrs:
                self.instruction(instr)
            self.exit(block)
        for op, member in self.members.items():
            if not operands(op)[self.key_of[op]].type.only(CHAR):
                self.lose(member)
        for op, member in self.made.items():
            if not all(type(key) is Lit and type(key.value) is Char for key in operands(op)[0::2]):
                self.lose(member)
        origins = {self.root(member) for member in self.made.values()}
        self.keep({op for op, member in self.members.items() if self.root(member) in origins - self.lost})

    def keep(self, ops: Collection[Op]) -> None:
        """Forgets all operations on dicts but some, and what makes dicts and maps of others."""
        self.members = {op: member for op, member in self.members.items() if op in ops}
        roots = {self.root(member) for member in self.members.values()}
        self.made = {op: member for op, member in self.made.items() if self.root(member) in roots}
        self.wraps = {op: member for op, member in self.wraps.items() if self.root(member) in roots}

    def key(self, op: Op) -> Expr:
        return operands(op)[self.key_of[op]]

    def drop_poor(self, chosen: set[Var]) -> bool:
        """Drops the groups most of whose keys are characters; returns whether there was one."""
        balance: dict[Any, int] = {}
        for op, member in self.members.items():
            key = self.key(op)
            worth = 0 if type(key) is Lit else 1 if type(key) is Ref and key.var in chosen else -1
            root = self.root(member)
            balance[root] = balance.get(root, 0) + worth
        kept = {op for op, member in self.members.items() if balance[self.root(member)] > 0}
        if len(kept) == len(self.members):
            return False
        self.keep(kept)
        return True

    # Groups

    def root(self, member: Any) -> Any:
        while (parent := self.parent.get(member, member)) is not member:
            self.parent[member] = self.parent.get(parent, parent)
            member = parent
        return member

    def join(self, value: Expr, target: Any) -> None:
        """An operand becomes what a variable holds, or a function returns; None: something else."""
        if type(value) is not Ref or not may_be_dict(value):
            if target is not None and type(value) is Lit and value.type.tags & DICT:
                self.lose(target)
            return
        if target is None or value.var.is_global or getattr(target, "is_global", False):
            self.lose(value.var)
            target = target or value.var
        one, other = self.root(value.var), self.root(target)
        if one is not other:
            self.parent[one] = other
            if one in self.lost:
                self.lost.add(other)

    def lose(self, member: Any) -> None:
        self.lost.add(self.root(member))

    # What is done with dicts

    def targets_of(self, instr: Let) -> None:
        """What gets the values of the blocks of an operation."""
        op = instr.op
        if type(op) is anf.Closure:
            self.targets[op.function.code] = op.function
        elif type(op) in JOINS:
            self.targets.update(dict.fromkeys(value_blocks(op), instr.var))

    def instruction(self, instr: Let) -> None:
        op, var = instr.op, instr.var
        for other in bound(op):
            if type(op) not in (anf.Loop, anf.For) or other not in op.params or not op.inits:  # type: ignore[attr-defined]
                self.lose(other)
        if var is not None and type(op) not in FLOWS and not (type(op) is anf.MakeMap and op.is_raw):
            self.lose(var)
        kind = type(op)
        if kind is anf.MakeMap and op.is_raw and var is not None:  # type: ignore[attr-defined]
            self.made[op] = var
            self.escape(operands(op))
        elif kind is anf.Move:
            self.join(op.value, var)  # type: ignore[attr-defined]
        elif kind is anf.Read:
            self.join(Ref(op.var, op.type), var)  # type: ignore[attr-defined]
        elif kind is anf.Assign:
            self.join(op.value, op.var)  # type: ignore[attr-defined]
        elif kind in (anf.Loop, anf.For):
            for param, init in zip(op.params, op.inits, strict=False):  # type: ignore[attr-defined]
                self.join(init, param)
            self.escape(op.sources if kind is anf.For else [])  # type: ignore[attr-defined]
        elif kind is anf.Call:
            self.call(op, var)
        elif kind is anf.SetItem:
            self.use(op, 1, 2)
        elif kind is anf.Python and op.kind in KEYS:  # type: ignore[attr-defined]
            self.use(op, *KEYS[op.kind])  # type: ignore[attr-defined]
        elif kind is anf.CallRuntime and op.path in MAP_CLASSES and type(op.args[0]) is Ref:  # type: ignore[attr-defined]
            self.wraps[op] = op.args[0].var  # type: ignore[attr-defined]
        elif kind is not anf.If and not (kind is anf.Python and op.kind in READERS):  # type: ignore[attr-defined]
            self.escape(operands(op))

    def call(self, op: Any, var: Any) -> None:
        callee = known_callee(op)
        if callee is not None:
            for param, arg in zip(callee.params, op.args, strict=True):
                self.join(arg, param)
            if var is not None:
                self.join(Ref(var, op.type), callee)
            return
        self.escape(op.args)
        if var is not None:
            self.lose(var)
        for function in (op.head.type.fns or ()) if op.head.type.tags & FN else ():
            for member in (function, *getattr(function, "params", ())):
                self.lose(member)

    def use(self, op: Op, subject: int, key: int) -> None:
        values = operands(op)
        held = values[subject]
        if type(held) is Ref:
            self.members[op] = held.var
            self.key_of[op] = key
        self.escape([value for place, value in enumerate(values) if place != subject])

    def escape(self, values: list[Expr]) -> None:
        for value in values:
            self.join(value, None)

    def exit(self, block: Block) -> None:
        exit_ = block.exit
        if not isinstance(exit_, Jump):
            if block in self.targets and self.targets[block] is None:
                return  # nobody wants the value
            self.join(exit_.value, self.targets.get(block))
            return
        for param, value in zip(params_of(exit_.target), exit_.args, strict=False):
            self.join(value, param)


def sets_character(op: Op) -> bool:
    return type(op) is anf.SetItem and type(op.key) is Ref and op.key.type.only(CHAR)


def may_be_dict(value: Ref) -> bool:
    return bool(value.type.tags & DICT)
