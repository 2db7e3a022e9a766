"""Types of maps that are written with different keywords."""

from __future__ import annotations

from sema_runtime.values.atoms import keyword
from semac.types.lattice import INT, MAP, MAX_FIELDS, NIL, STR, atom, field, has_field, join, shape_of, show

A, B = keyword("a"), keyword("b")
INTS, STRS, NILS = atom(INT), atom(STR), atom(NIL)


def test_a_map_may_lack_what_only_some_have() -> None:
    both = join(shape_of({A: INTS}), shape_of({A: STRS, B: INTS}))
    assert show(both) == "{:a int|str :b? int}"
    assert has_field(both, A) and not has_field(both, B)
    assert field(both, B, NILS) is join(INTS, NILS)
    assert field(both, keyword("c"), NILS) is NILS


def test_what_is_optional_once_stays_so() -> None:
    some = join(shape_of({A: INTS}), shape_of({}))
    assert show(join(some, shape_of({A: STRS}))) == "{:a? int|str}"
    assert join(some, some) is some is join(shape_of({}), some)


def test_many_different_keys_are_no_shape() -> None:
    fields = [keyword(f"k{n}") for n in range(MAX_FIELDS + 1)]
    joined = shape_of({})
    for key in fields:
        joined = join(joined, shape_of({key: INTS}))
    assert joined.shape is None and joined.only(MAP) and joined.value is INTS
