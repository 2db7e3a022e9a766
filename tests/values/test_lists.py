"""The list class: its two faces, the cost of walking, and the functions on lists that have something to get wrong."""

from __future__ import annotations

import copy
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sema_runtime.lib.collections.list_sets import list_mode, list_unique
from sema_runtime.lib.collections.list_slices import flatten_deep, list_sliding, take
from sema_runtime.lib.collections.list_stats import list_avg, list_sum
from sema_runtime.lib.collections.lists import append, caddr, cadr, car, cdr, cons, length, nth, range_
from sema_runtime.lib.collections.sorting import sort, sort_by
from sema_runtime.values.atoms import symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import EMPTY, List
from sema_runtime.values.lists import cons as raw_cons


def consed(values: list[int]) -> List:
    made = EMPTY
    for value in reversed(values):
        made = raw_cons(value, made)
    return made


@given(st.lists(st.integers(), max_size=30), st.lists(st.sampled_from("acifl"), max_size=40))
def test_a_list_behaves_alike_however_it_was_made(values: list[int], steps: list[str]) -> None:
    flat, linked = List(list(values)), consed(values)
    model = values
    for step in steps:
        if step == "a":
            expected = model[0] if model else None
            assert flat.car == linked.car == expected
        elif step == "c":
            flat, linked, model = flat.cdr, linked.cdr, model[1:]
        elif step == "i":
            assert list(flat.items) == list(linked.items) == model
        elif step == "f":
            flat, linked, model = raw_cons(7, flat), raw_cons(7, linked), [7, *model]
        else:
            assert len(flat) == len(linked) == len(model)
        assert flat.empty == linked.empty == (not model)
    assert flat == linked
    assert hash(flat) == hash(linked)


def test_walking_a_long_list_ends() -> None:
    """A walk that copied the rest at each step would move terabytes: the test would not come back."""
    count = 1_000_000
    here, total = List(range(count)), 0
    while not here.empty:
        total += here.car
        here = here.cdr
    assert total == count * (count - 1) // 2


def test_measuring_a_growing_list_keeps_one_copy_of_its_items() -> None:
    made = EMPTY
    cells = []
    for value in range(300):
        made = raw_cons(value, made)
        cells.append(made)
        assert len(made) == value + 1
    assert sum(len(cell.flat or ()) for cell in cells) < 700
    assert [cell.items[0] for cell in cells] == list(range(300))


def test_lists_copy_and_pickle() -> None:
    made = raw_cons(1, List([2, List([3])]))
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.copy(made) == made


def test_a_very_long_consed_list_can_be_dropped_and_compared() -> None:
    one, other = consed(list(range(200_000))), consed(list(range(200_000)))
    assert one == other
    del one, other


def test_nth_and_cadr_work_on_both_faces_and_on_python_sequences() -> None:
    for made in (List([1, 2, 3]), consed([1, 2, 3]), (1, 2, 3), [1, 2, 3]):
        assert nth(made, 2) == 3
        assert cadr(made) == 2
        assert caddr(made) == 3
        assert car(made) == 1
        assert list(cdr(made)) == [2, 3]
    assert cadr(consed([1])) is None
    with pytest.raises(SemaError, match=r"index 3 out of bounds \(length 3\)"):
        nth(List([1, 2, 3]), 3)
    with pytest.raises(SemaError, match="must be non-negative"):
        nth(List([1, 2, 3]), -1)
    with pytest.raises(SemaError, match="expected int, got bool"):
        nth(List([1, 2, 3]), True)


def test_cons_onto_something_else() -> None:
    assert cons(1, 2) == List([1, 2])
    assert cons(1, None) == List([1])
    assert cons(1, (2,)) == List([1, (2,)])


def test_ranges_stay_sequences() -> None:
    made = range_(10**9)
    assert length(made) == 10**9
    assert nth(made, 5) == 5
    assert append(range_(2), range_(2)) == List([0, 1, 0, 1])
    assert take(2, made) == List([0, 1])


def test_flatten_deep_takes_any_depth() -> None:
    deep = List([1])
    for _ in range(5000):
        deep = List([deep])
    assert flatten_deep(deep) == List([1])


def test_windows_and_statistics() -> None:
    assert list_sliding(List([1, 2, 3, 4]), 3, 2) == List([List([1, 2, 3])])
    assert list_sum(List([1, 2.5])) == 3.5
    with pytest.raises(SemaError, match="expected number, got bool"):
        list_sum(List([1, True]))
    with pytest.raises(SemaError, match="list/avg: empty list"):
        list_avg(EMPTY)
    assert list_mode(List(["b", "a", "b", "a", "c"])) == List(["a", "b"])


def test_unique_tells_equal_looking_numbers_apart() -> None:
    assert repr(list_unique(List([1, 1.0, True, 1]))) == "(1 1.0 #t)"


@given(st.lists(st.integers(-5, 5)))
def test_sorting_by_a_comparator_agrees_with_sorted(values: list[int]) -> None:
    assert list(sort(List(values), lambda a, b: a - b)) == sorted(values)
    assert list(sort(List(values), lambda a, b: a > b)) == sorted(values, reverse=True)
    assert list(sort_by(lambda x: -x, List(values))) == sorted(values, reverse=True)


def test_strict_comparators_reverse_equal_elements_and_loose_ones_keep_them() -> None:
    pairs = List([(1, "a"), (0, "b"), (1, "c"), (0, "d")])
    assert [text for _, text in sort(pairs, lambda x, y: x[0] < y[0])] == ["d", "b", "c", "a"]
    assert [text for _, text in sort(pairs, lambda x, y: x[0] <= y[0])] == ["b", "d", "a", "c"]


def test_sort_refuses_mixed_types() -> None:
    with pytest.raises(SemaError, match="expected int, got string"):
        sort(List([1, "a", symbol("b")]))
    assert list(sort(List([2.5, 1, 2]))) == [1, 2, 2.5]


def test_equal_lists_hash_alike() -> None:
    keys = [
        [1, "a", symbol("b"), None], [b"a", "x"], [1.5, 2], [(1, "a"), "b"], [List([1]), "b"], [True, 1],
        [10**30, "n"],
    ]  # fmt: skip
    for items in keys:
        assert hash(List(items)) == hash(cons(items[0], List(items[1:]))) == hash(List(tuple(items)))
    assert hash(List([b"a", "x"])) == hash(List([bytearray(b"a"), "x"]))
    assert hash(List([List([1, "a"])])) == hash(List([[1, "a"]]))
    assert len({List(items): 0 for items in keys}) == len(keys)


def test_take_of_lists_of_all_kinds() -> None:
    chooser = random.Random(1)
    for _ in range(2000):
        wanted = [chooser.randrange(9) for _ in range(chooser.randrange(30))]
        made = List(list(wanted))
        for _ in range(chooser.randrange(5)):
            if chooser.random() < 0.5 or not wanted:
                made, wanted = raw_cons(7, made), [7, *wanted]
            else:
                made, wanted = made.cdr, wanted[1:]
            if chooser.random() < 0.2:
                assert list(made.items) == wanted
        count = chooser.randrange(35)
        assert list(take(count, made)) == wanted[:count]
        assert list(made.items) == wanted
