"""Hashes of maps agree with equality, and tell maps of the same keys apart."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.lib.collections.owned_maps import Owner, put
from sema_runtime.values.atoms import char, keyword
from sema_runtime.values.equality import equal
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map

K = keyword("k")


def of(value: Any) -> Map:
    return Map({K: value})


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (0.0, -0.0),
        (b"x", bytearray(b"x")),
        (List([1, char("a")]), [1, char("a")]),
        (List([b"x"]), [bytearray(b"x")]),
        ((1, (2,)), (1, (2,))),
        (List(range(3)), List([0, 1, 2])),
        (of(of(1)), of(of(1))),
        (of(1), {"k": 1}),
    ],
)
def test_equal_maps_have_one_hash(a: Any, b: Any) -> None:
    if equal(of(a), of(b)):
        assert hash(of(a)) == hash(of(b))
        assert hash(List([of(a)])) == hash(List([of(b)]))


@pytest.mark.parametrize("make", [lambda i: i, str, lambda i: (i, 0), lambda i: List([i]), float])
def test_maps_of_the_same_keys_differ(make: Any) -> None:
    assert len({hash(of(make(i))) for i in range(100)}) > 90
    assert hash(of(1)) != hash(HashMap({K: 1}))


def test_a_map_that_changes_in_place_has_the_hash_of_what_it_holds() -> None:
    owner = Owner()
    own = put(owner, of(1), K, 2)
    assert hash(own) == hash(of(2))
    assert hash(put(owner, own, K, 3)) == hash(of(3))
