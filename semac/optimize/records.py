"""Calls of accessors and predicates of records become attributes and tests of classes.

`(point-x p)` is `p.x` where p surely is a record of the unit's type, else `p.x if type(p) is Point else point_x(p)`:
the accessor knows what to do with records of other types of that name and with anything else. Guards need the class as
a global, which a `define-record-type` at top level has once its form has run.
"""

from __future__ import annotations

from semac.anf.nodes import Call, GetField, IsRecord, Let, Op, Ref
from semac.anf.records import RecordMember, RecordType, is_of_type
from semac.anf.walk import all_blocks
from semac.ir.unit import Unit
from semac.optimize.operators import replace
from semac.types.lattice import FN, RECORD, Type

MOST_OTHERS = 3  # classes that are compared before a predicate is called


def lower_records(unit: Unit) -> None:
    """Rewrites the calls of one known accessor or predicate."""
    if not unit.records:
        return
    for index, form in enumerate(unit.blocks):
        for block in all_blocks(form):
            for instr in block.instrs:
                if type(instr.op) is Call:
                    lower_call(instr, instr.op, index, unit)


def lower_call(instr: Let, op: Call, form: int, unit: Unit) -> None:
    member = called_member(op)
    if member is None:
        return
    in_function = instr.var is not None and instr.var.owner is not None
    has_class = in_function and -1 < member.record.form < form
    lowered = lower(op, member, unit.is_sealed, has_class)
    if type(lowered) is IsRecord and not lowered.is_sure and not unit.is_text:
        lowered.others = others(unit, member.record, form)
    if lowered is not None:
        lowered.span, lowered.type = op.span, op.type
        replace(instr, lowered)


def others(unit: Unit, record: RecordType, form: int) -> tuple[RecordType, ...]:
    """The other types of a unit whose classes a form may name: no record of these has the type's tag."""
    known = [each for each in unit.records.values() if each is not record and -1 < each.form < form]
    return tuple(known) if len(known) <= MOST_OTHERS and not any(each.has_twin for each in known) else ()


def called_member(op: Call) -> RecordMember | None:
    """The function of a record type that a call surely reaches, where looking it up surely succeeds."""
    head = op.head
    if len(op.args) != 1 or type(op.args[0]) is not Ref:
        return None
    if type(head) is not Ref or not head.var.name or not head.type.only(FN) or head.type.fns is None:
        return None
    member = next(iter(head.type.fns)) if len(head.type.fns) == 1 else None
    return member if type(member) is RecordMember and not member.record.has_twin else None


def lower(op: Call, member: RecordMember, is_sealed: bool, has_class: bool) -> Op | None:
    """What a call becomes. has_class: whether the class may be named."""
    record, value = member.record, op.args[0]
    if member.role == "accessor" and member.field in record.fields:
        is_sure = is_of_type(value.type, record)
        return GetField(op.head, value, member, is_sure) if is_sure or has_class else None
    if member.role == "predicate" and has_class:
        return IsRecord(op.head, value, record, is_decided(record, value.type, is_sealed))
    return None


def is_decided(record: RecordType, type_: Type, is_sealed: bool) -> bool:
    """Whether the class of a value of a type says if it is a record of another type."""
    return is_sealed or not type_.tags & RECORD or type_.records is not None
