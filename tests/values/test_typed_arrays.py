"""Typed arrays share the memory of what they were made from: no array may see the changes of another."""

from __future__ import annotations

import copy
import random
import sys
import threading

import pytest
from outcomes import outcome

from sema_runtime.lib.numbers.typed_arrays import f64_array_fold, f64_array_ref, f64_array_set_mut, i64_array_set_mut
from sema_runtime.values import typed_arrays
from sema_runtime.values.typed_arrays import FloatArray, IntArray


@pytest.mark.parametrize("seed", range(40))
def test_versions_keep_their_items(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_arrays, "thread_count", lambda: 0)  # the runner of tests may have some
    chance = random.Random(seed)
    size = chance.randrange(1, 9)
    versions = [(IntArray(range(size)), list(range(size)))]
    for _ in range(300):
        array, items = versions[-1] if chance.random() < 0.6 else chance.choice(versions)
        if chance.random() < 0.3:
            assert list(array.items) == items
        index, number = chance.randrange(size), chance.randrange(100)
        items = items.copy()
        items[index] = number
        versions.append((i64_array_set_mut(array, index, number), items))
        if chance.random() < 0.1:
            del versions[chance.randrange(len(versions))]
            versions = versions or [(IntArray(range(size)), list(range(size)))]
    for array, items in versions:
        assert list(array) == items
        assert array == IntArray(items)
        assert hash(array) == hash(IntArray(items))


def test_copies_have_their_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_arrays, "thread_count", lambda: 0)
    array = FloatArray([1, 2])
    for made in (copy.copy(array), copy.deepcopy(array)):
        changed = f64_array_set_mut(array, 0, 9.0)
        assert (list(made), list(array), list(changed)) == ([1, 2], [1, 2], [9, 2])


def test_functions_see_an_array_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold goes through the items that the array had, whatever its function makes of it meanwhile."""
    monkeypatch.setattr(typed_arrays, "thread_count", lambda: 0)
    source = """
      (define a (i64-array 1 2 3))
      (define b a)
      (list (i64-array/fold (fn (sum x) (set! b (i64-array/set! b 2 100)) (+ sum x)) 0 a)
            (i64-array/map (fn (x) (set! b (i64-array/set! b 0 x)) (i64-array/ref b 0)) b) a b)
    """
    assert outcome(source) == "(6 #i64(1 2 100) #i64(1 2 3) #i64(100 2 100))"
    array = FloatArray([1, 2, 3])
    items = iter(array)
    f64_array_set_mut(array, 1, 7.0)
    assert list(items) == [1, 2, 3]
    assert f64_array_fold(lambda total, x: total + x, 0, array) == 6


def test_other_threads_read_what_was_there() -> None:
    array = FloatArray([0.0] * 50)
    wrong: list[float] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            wrong.extend(x for x in (f64_array_ref(array, 7), array.items[7]) if x != 0.0)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for number in range(3000):
        f64_array_set_mut(array, 7, float(number + 1))
    sys.setswitchinterval(interval)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_changed_copies_take_over_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that filling an array takes time for each item; but after as many steps as items there is one copy."""
    monkeypatch.setattr(typed_arrays, "thread_count", lambda: 0)
    array = IntArray([0] * 100)
    memory, taken = array.own, 0
    for index in range(1000):
        array = i64_array_set_mut(array, index % 100, index)
        taken += array.own is memory
        memory = array.own
    assert taken == 991
    assert array == IntArray(range(900, 1000))
