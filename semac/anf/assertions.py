"""Types asserted at run time: a debugging pass that checks every operand and every variable against its inferred type.

`SEMA_ASSERT_TYPES=1` runs it after inference. The first false claim ends the program with a `FalseType`, which no
handler of the program catches; so a wrong type is found where it is claimed, not where it does harm.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import CACHED, List
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.mutable import MutableArray
from sema_runtime.values.numbers import Complex
from sema_runtime.values.records import Record
from semac.anf.literals import tags_of_int
from semac.anf.nodes import Block, CallRuntime, Closure, Destructure, Let, Lit, Match, Ref
from semac.anf.records import RecordType
from semac.anf.walk import all_blocks, exit_operands, operands, pattern_vars
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.types import lattice
from semac.types.lattice import ANY, NEVER, Type

TAGS: dict[type, int] = {
    float: lattice.FLOAT, Fraction: lattice.RATIO, Complex: lattice.RATIO, str: lattice.STR,
    type(None): lattice.NIL, Keyword: lattice.KEYWORD, Symbol: lattice.SYMBOL, Char: lattice.CHAR,
    tuple: lattice.VECTOR, Map: lattice.MAP, HashMap: lattice.HASHMAP, MutableArray: lattice.ARRAY,
    bytes: lattice.BYTES, bytearray: lattice.BYTES,
}  # fmt: skip
LARGEST = 1000  # bits of an int that isn't huge
SAMPLE = 20  # items of a collection that are looked at
claims: list[tuple[Type, str]] = []


class FalseType(BaseException):
    """A value isn't of the type that inference gave it."""


def check(value: Any, claim: int) -> None:
    """Raises FalseType unless a value is of the type of a claim."""
    type_, where = claims[claim]
    if not admits(type_, value):
        from sema_runtime.values.printer import to_text

        raise FalseType(f"{where}: {to_text(value)[:200]} isn't {type_}")


def admits(type_: Type, value: Any) -> bool:
    """Whether a value is of a type, as far as a sample of its items shows."""
    if type_ is ANY:
        return True
    tag = tags_of(value)
    if not type_.tags & tag:
        return False
    if tag == lattice.RECORD:
        return admits_record(type_, value)
    if tag & lattice.LIST:
        if type_.row is not None:
            return len(value) == len(type_.row) and all(map(admits, type_.row, value))
        return all(admits(type_.item, item) for item in islice(value, SAMPLE))
    if tag == lattice.VECTOR:
        if type_.vec is not None:
            return len(value) == len(type_.vec) and all(map(admits, type_.vec, value))
        return all(admits(type_.vitem, item) for item in value[:SAMPLE])
    if tag & lattice.DICT:
        return admits_map(type_, value)
    if tag == lattice.ARRAY and type_.arrays is not None:
        return all(any(admits(site.type, item) for site in type_.arrays) for item in value.items[:SAMPLE])
    return True


def admits_record(type_: Type, value: Record) -> bool:
    if type_.records is None:
        return True
    return any(holds(record, value) for record in type_.records if record.name == value.sema_tag)


def holds(record: RecordType, value: Record) -> bool:
    held = zip(record.params, value.sema_members(), strict=True)
    return all(record.fields[param].type.tags & tags_of(member) for param, member in held)


def tags_of(value: Any) -> int:
    """The tags that a value may have."""
    if value is True or value is False:
        return lattice.TRUE if value else lattice.FALSE
    if type(value) is int:
        return tags_of_int(value, LARGEST)
    if isinstance(value, Record):
        return lattice.RECORD
    if type(value) is List:
        return lattice.FLAT if is_flat(value) else lattice.LINKED
    return TAGS.get(type(value), lattice.OTHER | lattice.FN)


def is_flat(value: List) -> bool:
    """Whether a list was made of a sequence, which it keeps."""
    return value.flat is not None and getattr(value, "note", None) is not CACHED


def admits_map(type_: Type, value: Map) -> bool:
    pairs = value.pairs()[:SAMPLE]
    if type_.shape is not None and type_.tags & lattice.HASHMAP == 0:
        fields = dict(type_.shape)
        required = fields.keys() - type_.optional
        are_there = len(value) > SAMPLE or required <= {key for key, _ in pairs}
        return are_there and all(key in fields and admits(fields[key], item) for key, item in pairs)
    return all(admits(type_.key, key) and admits(type_.value, item) for key, item in pairs)


def assert_types(unit: Unit) -> None:
    """Puts a check before each use of a variable and after each binding whose type is known."""
    for form in unit.blocks:
        for block in list(all_blocks(form)):
            assert_block(block)


def assert_block(block: Block) -> None:
    checked: list[Let] = []
    last = block.instrs[-1] if block.instrs else None
    values = exit_operands(block.exit)
    is_value = last is not None and any(type(value) is Ref and value.var is last.var for value in values)
    for instr in block.instrs:
        for value in operands(instr.op):
            if type(value) is Ref and type(value.var.op) is not Closure:
                checked += claim(value.var, value.type, f"operand of {type(instr.op).__name__}", instr.op.span)
        checked.append(instr)
        op = instr.op
        if instr is last and is_value:
            continue  # it may be in tail position
        if instr.var is not None and type(op) is not Closure:
            checked += claim(instr.var, op.type, f"{type(op).__name__} {getattr(op, 'name', '')}", op.span)
        if type(op) is Destructure:
            for var in pattern_vars(op.pattern):
                checked += claim(var, var.type, f"part {var.name}", op.span)
        if type(op) is Match:
            for clause in op.clauses:
                parts = [
                    part for var in pattern_vars(clause.pattern) for part in claim(var, var.type, var.name, op.span)
                ]
                clause.body.instrs[:0] = parts
    for value in values:
        if type(value) is Ref and not is_value and type(value.var.op) is not Closure:
            checked += claim(value.var, value.type, "result", None)
    block.instrs = checked


def claim(var: Var, type_: Type, what: str, span: Any) -> list[Let]:
    """The check of one claim; nothing where nothing is claimed."""
    if type_ is ANY or type_ is NEVER or var.is_global:
        return []
    where = f"{span.line}:{span.col} {what}" if span is not None else what
    claims.append((type_, where))
    return [Let(None, CallRuntime("semac.anf.assertions:check", [Ref(var, type_), Lit(len(claims) - 1)]))]
