"""Maps against a model of copied dicts: whatever versions a program goes on with, each keeps its own entries."""

from __future__ import annotations

import pickle
import threading
from collections import namedtuple
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sema_runtime.lib.collections.hofs import list_group_by
from sema_runtime.lib.collections.list_sets import frequencies, list_diff, list_unique
from sema_runtime.lib.collections.map_entries import assoc_in, deep_merge, get_in, map_map_vals, map_update, update_in
from sema_runtime.lib.collections.maps import assoc, dissoc, get, is_contains, keys, merge
from sema_runtime.values.atoms import char, keyword, symbol
from sema_runtime.values.equality import equal
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.map_keys import map_literal
from sema_runtime.values.maps import SMALL, HashMap, Map, MovedDict
from sema_runtime.values.mutable import MutableArray, MutableCell
from sema_runtime.values.ordering import order_key

Step = tuple[str, int, int, int]
KEYS: list[Any] = [*range(SMALL + 20), "a", "b", List([1]), (1, 2), 1.5, True, None, keyword("k")]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(SMALL - 3, SMALL + 10),
    st.lists(
        st.tuples(st.sampled_from("saddrme"), st.integers(0, 60), st.integers(0, len(KEYS) - 1), st.integers(0, 9))
    ),
)
def test_every_version_keeps_its_entries(size: int, steps: list[Step]) -> None:
    versions: list[tuple[Map, dict[str, Any]]] = [
        (Map.of((key, 0) for key in KEYS[:size]), {repr(key): 0 for key in KEYS[:size]})
    ]
    for kind, which, place, value in steps:
        made, model = versions[which % len(versions)]
        key = KEYS[place]
        if kind in "sa":
            versions.append((made.assoc(key, value), {**model, repr(key): value}))
        elif kind == "d":
            versions.append((made.without(key), {k: v for k, v in model.items() if k != repr(key)}))
        elif kind == "m":
            versions.append((made.merged(Map.of([(key, value)])), {**model, repr(key): value}))
        elif kind == "r":
            assert made.lookup(key, "none") == model.get(repr(key), "none")
        else:
            assert len(made) == len(model)
            assert made.has(key) == (repr(key) in model)
    for made, model in versions:
        assert {repr(key): value for key, value in made.pairs()} == model
        assert made == Map.of(made.pairs())


def test_building_a_large_map_ends() -> None:
    """A map that was copied at each step would move a terabyte: the test would not come back."""
    count = 200_000
    made = Map()
    for index in range(count):
        made = made.assoc(index, index)
    for index in range(0, count, 2):
        made = made.without(index)
    assert len(made) == count // 2


def test_an_old_version_does_not_keep_all_its_successors_alive() -> None:
    base = Map.of((index, 0) for index in range(100))
    made = base
    for index in range(10_000):
        made = made.assoc(index % 100, index)
    alive = 0
    here = base
    while type(here.d) is MovedDict:
        here = here.d.source[0]
        alive += 1
    assert alive <= 101
    assert base.lookup(7) == 0
    assert made.lookup(7) == 9907


def test_threads_share_versions() -> None:
    base = Map.of((List([index]), index) for index in range(200))
    failures: list[Any] = []

    def work(seed: int) -> None:
        mine = base
        for step in range(400):
            index = (seed * 7 + step) % 200
            mine = mine.assoc(List([index]), seed)
            if base.lookup(List([index])) != index or mine.lookup(List([index])) != seed or len(base) != 200:
                failures.append((seed, step))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1000, 1006)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all(base.lookup(List([index])) == index for index in range(200))


def test_a_pinned_dict_stays_as_it_was() -> None:
    made = Map.of((index, 0) for index in range(SMALL + 5))
    entries = made.pinned()
    changed = made.assoc(1, "changed").assoc(2, "changed")
    assert entries[1] == 0
    assert changed.lookup(1) == "changed"


def test_keys_that_python_confuses_are_different() -> None:
    made = Map.of([(1, "int"), (1.0, "float"), (True, "bool"), ((1,), "vector"), (List([1]), "list")])
    assert len(made) == 5
    assert made.lookup(1.0) == "float"
    assert made.lookup((1,)) == "vector"
    assert repr(Map.of([(-0.0, 1), (0.0, 2), (float("nan"), 3), (float("nan"), 4)])) == "{-0.0 2 NaN 4}"


CONFUSABLE: list[Any] = [0, 0.0, False, 1, 1.0, True, 1 + 0j, "1", b"1", None, keyword("k"), symbol("k"), char("1"), 2]
Point = namedtuple("Point", ["x", "y"])
confusable = st.recursive(
    st.sampled_from(CONFUSABLE),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.lists(inner, max_size=2).map(List), st.builds(Point, inner, inner)
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(confusable, max_size=12), confusable)
def test_keys_are_told_apart_as_equal_does(values: list[Any], other: Any) -> None:
    """Vectors, nested ones and tuples of Python's own types included, wherever keys are stored."""
    different: list[Any] = []
    for value in values:
        if not any(equal(value, known) for known in different):
            different.append(value)
    last = {id(key): index for index, value in enumerate(values) for key in different if equal(key, value)}
    made = Map.of((value, index) for index, value in enumerate(values))
    grown = Map()
    for index, value in enumerate(values):
        grown = assoc(grown, value, index)
    assert grown == made
    assert len(made) == len(different)
    assert [made.lookup(key) for key in different] == [get(made, key) for key in different] == list(last.values())
    assert is_contains(made, other) == made.has(other) == any(equal(other, key) for key in different)
    keys = made.sorted_keys()
    assert [order_key(key) for key in keys] == sorted(map(order_key, different))
    assert (
        [(key, made.lookup(key)) for key in keys] == made.pairs() == list(zip(keys, made.sorted_values(), strict=True))
    )
    assert dissoc(made, other) == Map.of(pair for pair in made.pairs() if not equal(pair[0], other))
    assert len(frequencies(List(values))) == len(list_unique(List(values))) == len(different)
    assert list_group_by(lambda value: value, List(values)) == list_group_by(lambda value: value, tuple(values))
    assert len(list_diff(List(different), List([other]))) == len(dissoc(made, other))
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(pickle.loads(pickle.dumps(made))) == hash(made)


def test_python_sees_a_mapping() -> None:
    made = Map.of([(keyword("name"), "Ada"), ("plain", 1)])
    assert made["name"] == "Ada"
    assert made["plain"] == 1
    assert made.get("nothing", 7) == 7
    assert "name" in made
    assert dict(made.items()) == dict(made) == {"plain": 1, "name": "Ada"}
    assert pickle.loads(pickle.dumps(made)) == made


def test_kinds_differ_and_are_kept() -> None:
    hashed = HashMap.of([(1, 2)])
    assert hashed != Map.of([(1, 2)])
    assert type(assoc(hashed, 3, 4)) is HashMap
    assert type(merge(hashed, Map())) is HashMap
    assert type(map_map_vals(str, hashed)) is HashMap


def test_python_dicts_are_maps() -> None:
    assert get({"a": 1}, "a") == 1
    assert list(keys({"b": 1, "a": 2})) == ["a", "b"]
    assert dissoc({"a": 1}, "a") == Map()
    assert get_in({"a": {"b": 3}}, ("a", "b")) == 3


def test_mutable_keys_are_refused_where_maps_are_made() -> None:
    array = MutableArray([])
    with pytest.raises(SemaError, match="expected immutable map key, got mutable-array") as caught:
        assoc(Map(), array, 1)
    assert caught.value.hint == "assoc: freeze the key first (mutable-array/->vector or mutable-cell/get)"
    with pytest.raises(SemaError, match="got vector"):
        map_literal([((1, (array,)), 1)])
    with pytest.raises(SemaError, match="got mutable-cell"):
        map_update(Map(), MutableCell(1), str)
    assert get(Map.of([(1, 2)]), array) is None


def test_paths() -> None:
    nested = Map.of([("a", (1, 2))])
    assert assoc_in(nested, ("a", 0), 9) == Map.of([("a", Map.of([(0, 9)]))])
    assert update_in(None, ("x",), lambda old: [old]) == Map.of([("x", [None])])
    assert get_in(nested, ("a", 0), "none") == "none"
    assert deep_merge(Map.of([(1, Map.of([(2, 3)]))]), Map.of([(1, Map.of([(4, 5)]))])) == Map.of(
        [(1, Map.of([(2, 3), (4, 5)]))]
    )


def test_contains_has_two_hints() -> None:
    with pytest.raises(SemaError) as caught:
        is_contains(List([1]), 1)
    assert caught.value.hint == "contains? works on maps; use (nth coll i) to index a list or vector"


def test_assoc_of_several_pairs_leaves_older_versions_alone() -> None:
    for size in (3, SMALL - 1, SMALL, SMALL + 1, SMALL + 5):
        base = Map.of((index, 0) for index in range(size))
        made = assoc(base, 0, 1, "new", 2, 1, 3)
        assert (made.lookup(0), made.lookup("new"), made.lookup(1), len(made)) == (1, 2, 3, size + 1)
        assert base.pairs() == [(index, 0) for index in range(size)]
