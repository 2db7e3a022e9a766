"""Types of the variables of patterns."""

from __future__ import annotations

from semac.anf.nodes import MapPattern, Pattern, SequencePattern, VarPattern
from semac.optimize.infer.solver import Solver
from semac.types.lattice import (
    ANY,
    DICT,
    LIST,
    NEVER,
    NIL,
    SEQUENCE,
    VECTOR,
    Type,
    atom,
    join,
    list_of,
)
from semac.types.lattice import field as field_of


def bind(solver: Solver, pattern: Pattern, type_: Type) -> None:
    """Gives the variables of a pattern the types of what a value of a type has there."""
    if type(pattern) is VarPattern:
        solver.grow(pattern.var, type_)
    elif type(pattern) is SequencePattern:
        bind_sequence(solver, pattern, type_)
    elif type(pattern) is MapPattern:
        for key, part, _ in pattern.entries:
            bind(solver, part, entry(solver, type_, key))


def bind_sequence(solver: Solver, pattern: SequencePattern, type_: Type) -> None:
    vec = type_.vec if type_.only(VECTOR) else type_.row if type_.only(LIST) else None
    pattern.fits = vec is not None and len(vec) == len(pattern.parts) and pattern.rest is None
    if type_ is NEVER:
        item = NEVER
    elif type_.only(SEQUENCE):
        item = join(type_.item, type_.vitem)
    else:
        solver.escape(type_)
        item = ANY
    for index, part in enumerate(pattern.parts):
        known = vec is not None and index < len(vec)
        bind(solver, part, vec[index] if known and vec is not None else item)
    if pattern.rest is not None:
        bind(solver, pattern.rest, list_of(item))


def entry(solver: Solver, type_: Type, key: object) -> Type:
    """What a value of a type has under a key of a map pattern."""
    if type_ is NEVER:
        return NEVER
    if not type_.only(DICT):
        solver.escape(type_)
        return ANY
    return field_of(type_, key, atom(NIL))
