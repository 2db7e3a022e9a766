"""What lists and maps are that a module leaves in its globals, where it computed with tuples (`rows/restoring.py`)."""

from __future__ import annotations

from typing import Any

from semac.ir.intrinsics import NOTHING, ROW, SHAPE
from semac.types.lattice import (
    ANY,
    BOOL,
    CHAR,
    DICT,
    KEYWORD,
    LIST,
    NEVER,
    NIL,
    NUMBER,
    STR,
    SYMBOL,
    VECTOR,
    Type,
    dict_of,
    join_all,
    list_of,
    restrict,
    shape_of,
    vector_of,
)

Plan = tuple[tuple[Any, ...], ...]  # as `lib/collections/restored.py` of the runtime has it
ATOMS = NIL | BOOL | NUMBER | CHAR | STR | KEYWORD | SYMBOL
DEEPEST = 8


def restored_type(type_: Type, plan: Plan, number: int, depth: int = 0) -> Type:
    """The type of the copy of a value with lists and maps in place of tuples; any where more than atoms and containers
    can be in it."""
    if type_ is NEVER:
        return NEVER
    if depth == DEEPEST or type_.tags & ~(ATOMS | LIST | VECTOR | DICT) or type_.nodes or type_.form:
        return ANY
    place = plan[number] if number != NOTHING else (None, (), (), NOTHING, NOTHING)
    parts = [restrict(type_, ATOMS)]
    if type_.tags & VECTOR:
        parts.append(of_vector(restrict(type_, VECTOR), plan, place, depth))
    if type_.tags & LIST:
        parts.append(list_of(of_any(type_.item, plan, place, depth)))  # a long one has its items later
    if type_.tags & DICT:
        parts.append(of_map(restrict(type_, DICT), plan, place, depth))
    return ANY if ANY in parts else join_all(parts)


def of_any(item: Type, plan: Plan, place: tuple[Any, ...], depth: int) -> Type:
    """What any part of a container is."""
    _, _, numbers, inner, _ = place
    return join_all(restored_type(item, plan, number, depth + 1) for number in {inner, *numbers})


def of_vector(type_: Type, plan: Plan, place: tuple[Any, ...], depth: int) -> Type:
    kind, keys, numbers, inner, _ = place
    if type_.vec is None:
        return ANY
    known = dict(zip(keys, numbers, strict=True))
    if kind == SHAPE:
        fields = zip(keys, type_.vec, numbers, strict=False)
        return shape_of({key: restored_type(item, plan, at, depth + 1) for key, item, at in fields})
    items = [restored_type(item, plan, known.get(at, inner), depth + 1) for at, item in enumerate(type_.vec)]
    return list_of(join_all(items)) if kind == ROW else vector_of(*items)


def of_map(type_: Type, plan: Plan, place: tuple[Any, ...], depth: int) -> Type:
    _, keys, numbers, inner, key_place = place
    if type_.shape is not None:
        known = dict(zip(keys, numbers, strict=True))
        fields = dict(type_.shape)
        restored = {key: restored_type(held, plan, known.get(key, inner), depth + 1) for key, held in fields.items()}
        return shape_of(restored, type_.optional)
    key = restored_type(type_.key, plan, key_place, depth + 1)
    return dict_of(type_.tags, key, of_any(type_.value, plan, place, depth))
