"""Types of the variables of patterns."""

from __future__ import annotations

from semac.anf.nodes import MapPattern, Pattern, SequencePattern, VarPattern
from semac.optimize.infer.recursive import unfolded
from semac.optimize.infer.solver import Solver
from semac.types.lattice import (
    ALL,
    ANY,
    ARRAY,
    DICT,
    FLAT,
    LIST,
    NEVER,
    NIL,
    OTHER,
    SEQUENCE,
    VECTOR,
    Type,
    atom,
    join,
    list_of,
    restrict,
)
from semac.types.lattice import field as field_of


def bind(solver: Solver, pattern: Pattern, type_: Type) -> None:
    """Gives the variables of a pattern the types of what a value of a type has there."""
    if type(pattern) is VarPattern:
        solver.bind(pattern.var, type_)
    elif type(pattern) is SequencePattern:
        bind_sequence(solver, pattern, type_)
    elif type(pattern) is MapPattern:
        type_ = unfolded(solver, type_)
        pattern.fits = type_.only(DICT)
        for key, part, _ in pattern.entries:
            bind(solver, part, entry(solver, type_, key))


def taken(pattern: Pattern) -> int:
    """The kinds of values that a pattern takes; it raises, or doesn't match, for any other."""
    if type(pattern) is SequencePattern:
        return SEQUENCE | ARRAY | OTHER
    return DICT | OTHER if type(pattern) is MapPattern else ALL


def bind_sequence(solver: Solver, pattern: SequencePattern, type_: Type) -> None:
    type_ = unfolded(solver, type_)
    pattern.kinds = type_.tags
    whole, type_ = type_, restrict(type_, taken(pattern))
    vec = type_.vec if type_.only(VECTOR) else type_.row if type_.only(LIST) else None
    is_known = vec is not None and len(vec) == len(pattern.parts) and pattern.rest is None
    pattern.fits = is_known and whole.only(type_.tags | NIL)
    pattern.or_nil = pattern.fits and whole is not type_
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
        bind(solver, pattern.rest, list_of(item, FLAT))


def entry(solver: Solver, type_: Type, key: object) -> Type:
    """What a value of a type has under a key of a map pattern."""
    type_ = restrict(type_, DICT | OTHER)
    if type_ is NEVER:
        return NEVER
    if not type_.only(DICT):
        solver.escape(type_)
        return ANY
    return field_of(type_, key, atom(NIL))
