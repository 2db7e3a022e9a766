"""Higher-order functions and Sema programs that use them, run through the compiler."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.lib.collections.hofs import (
    apply,
    every,
    flat_map,
    foldl,
    foldr,
    for_each,
    list_group_by,
    map_,
    partition,
    reduce,
)
from sema_runtime.lib.collections.lists import car
from sema_runtime.lib.numbers.arithmetic import plus
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import EMPTY, List
from sema_runtime.values.mutable import MutableArray
from semac.session import Session


def run(text: str) -> str:
    from sema_runtime.values.printer import to_text

    return to_text(Session().run(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(map + '(1 2) [10 20 30])", "(11 22)"),
        ("(map :a (list {:a 1} {:b 2}))", "(1 nil)"),
        ('(filter (fn (x) x) \'(1 nil #f 0 "" ()))', '(1 0 "" ())'),
        ("(foldl list 0 '(1 2))", "((0 1) 2)"),
        ("(foldr list 0 '(1 2))", "(1 (2 0))"),
        ("(apply max 1 '(3 2))", "3"),
        ("(->> (range 10) (filter even?) (map (fn (x) (* x x))) (foldl + 0))", "120"),
        ("(list/group-by even? [1 2 3])", "{#f (1 3) #t (2)}"),
        ("(frequencies '(a b c a b a))", "{a 3 b 2 c 1}"),
        ("(map (fn (n) (let loop ((i 0)) (if (= i n) i (loop (+ i 1))))) '(1 2))", "(1 2)"),
        ("(define (go n f) (if (= n 0) 0 (f (- n 1) f))) (apply go 50000 (list go))", "0"),
        ("(take-while even? '(2 4 5 6))", "(2 4)"),
        ("(map-indexed list '(a b))", "((0 a) (1 b))"),
        ("(sort-by (fn (e) (nth e 1)) (map/entries {:a 3 :b 1}))", "((:b 1) (:a 3))"),
        ("(map (fn ([i x]) (list x i)) (enumerate '(:a :b)))", "((:a 0) (:b 1))"),
        ("(foldl (fn (t [i x]) (+ t (* i x))) 0 (enumerate (rest [4 5 6])))", "6"),
        ("(map reverse (filter (fn (p) (odd? (first p))) (enumerate '(:a :b))))", "((:b 1))"),
        (
            "(map (fn (x) (try (map (fn ([i c]) c) (enumerate x)) (catch e (:message e)))) (list nil '(1)))",
            '("expected list, vector, or mutable-array, got nil in enumerate" (1))',
        ),
        ("(map map/entries (list {} {'b 1 'a 2} {2 1} {\"b\" 1}))", '(() ((a 2) (b 1)) ((2 1)) (("b" 1)))'),
    ],
)
def test_programs(text: str, expected: str) -> None:
    assert run(text) == expected


def test_callbacks_are_checked_only_when_there_is_something_to_call_them_with() -> None:
    assert map_(5, EMPTY) == EMPTY
    assert reduce(5, List([1])) == 1
    assert map_(5, EMPTY, List([1])) == EMPTY
    for call in (
        lambda: map_(5, List([1])),
        lambda: foldl(5, 0, List([1])),
        lambda: every("x", List([1])),
        lambda: apply(5, EMPTY),
    ):
        with pytest.raises(SemaError, match="expected callable, got"):
            call()


def test_what_is_no_sequence_is_named_with_the_function() -> None:
    with pytest.raises(SemaError) as caught:
        foldl(plus, 0, None)
    assert caught.value.message == "expected list, vector, or mutable-array, got nil in foldl"
    assert caught.value.hint == "foldl: expected a list, vector, or mutable-array to iterate over"


def test_the_error_of_car_depends_on_who_calls_it() -> None:
    with pytest.raises(SemaError) as direct:
        car(5)
    assert direct.value.hint is None
    with pytest.raises(SemaError) as mapped:
        map_(car, List([5]))
    assert mapped.value.hint == "first: argument 1 must be a list or vector"


def test_a_callback_may_change_the_array_that_is_iterated() -> None:
    array = MutableArray([1, 2])
    for_each(array.items.append, array)
    assert array.items == [1, 2, 1, 2]


def test_python_sequences_and_callables_work() -> None:
    assert map_(str.upper, ["a", "b"]) == List(["A", "B"])
    assert foldr(max, 0, (1, 5, 2)) == 5
    assert flat_map(lambda x: [x, x], [1]) == List([1, 1])
    assert partition(bool, [0, 3]) == List([List([3]), List([0])])


def test_group_by_keeps_confusable_keys_apart() -> None:
    made = list_group_by(lambda value: value, List([1, 1.0, True]))
    assert repr(made) == "{#t (#t) 1 (1) 1.0 (1.0)}"


def test_keywords_as_functions() -> None:
    key: Any = keyword("a")
    with pytest.raises(SemaError, match="a expects 1 argument, got 2"):
        key(1, 2)
    with pytest.raises(SemaError, match="expected map or hashmap, got nil"):
        key(None)
    assert key({"b": 1}) is None
