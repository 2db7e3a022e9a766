"""What calls of the functions of a record type give, and what its records hold.

Where other code may call a constructor, the records that the unit makes itself have a type of their own: records never
change, so their fields hold what these calls have given. What the declared type says holds for both.
"""

from __future__ import annotations

from semac.anf.records import RecordMember, RecordType, of_type
from semac.ir.nodes import Function
from semac.optimize.infer.solver import Solver
from semac.types.lattice import ANY, BOOL, NEVER, RECORD, Type, atom, join_all, make


def called_member(solver: Solver, member: RecordMember, args: list[Type]) -> Type:
    """What a constructor, predicate or accessor returns; NEVER where it raises."""
    record: RecordType = member.record
    if member.role == "constructor":
        return made(solver, record, args) if len(args) == len(record.params) else NEVER
    if len(args) != 1:
        return NEVER
    return atom(BOOL) if member.role == "predicate" else field(solver, record, member.field, args[0])


def made(solver: Solver, record: RecordType, args: list[Type]) -> Type:
    """A new record."""
    kind = record if solver.sealed or is_called_by_others(solver) else record.own
    for name, arg in zip(record.params, args, strict=True):
        solver.fill(record.fields[name], arg)
        if kind is not record:
            solver.fill(kind.fields[name], arg)
    return make(RECORD, records=None if record.has_twin else frozenset((kind,)))


def is_called_by_others(solver: Solver) -> bool:
    """Whether the code that is visited is in a function which anybody may call with anything."""
    function = solver.current if type(solver.current) is Function else None
    while function is not None and not function.is_open:
        function = function.parent
    return function is not None


def field(solver: Solver, record: RecordType, name: str, subject: Type) -> Type:
    """What an accessor gives for a value of a type; it raises for what isn't a record of its own type."""
    known = of_type(subject.records, record)
    if not subject.tags & RECORD or not known:
        return NEVER
    if record.has_twin or name not in record.fields or (subject.records is None and not solver.sealed):
        return ANY
    return join_all(solver.read(each.fields[name]) for each in known)


def set_attribute(solver: Solver, subject: Type) -> None:
    """Something sets an attribute of a value: it may be a field of a record."""
    if subject.tags & RECORD:
        for record in subject.records or solver.unit.records.values():
            for cell in [*record.declared.fields.values(), *record.own.fields.values()]:
                solver.grow(cell, ANY)
