"""Comparators of a key of both elements sort by that key, and programs answer as before."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sema_runtime.lib.collections.sorting import sort, sorted_as
from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

ROWS = (
    '(define rows (map (fn (i) {:id i :n (mod (* i 37) 7) :t (str "n" (mod i 5)) :f (/ (mod (* i 7) 5) 2.0)'
    " :v [(mod i 3) i] :x (if (even? i) i 0.5)}) (range 23))) (define-record-type pt (mk x y) pt? (x px) (y py))"
    " (define points (map (fn (i) (mk i (mod (* i 5) 7))) (range 20)))"
)
KEYED = {
    "difference": "(sort rows (fn (a b) (- (:n a) (:n b))))",
    "difference, largest first": "(sort rows (fn (a b) (- (:n b) (:n a))))",
    "less": "(sort rows (fn (a b) (< (:n a) (:n b))))",
    "less, other way round": "(sort rows (fn (a b) (< (:n b) (:n a))))",
    "greater": "(sort rows (fn (a b) (> (:n a) (:n b))))",
    "at most, texts": "(sort rows (fn (a b) (<= (:t a) (:t b))))",
    "at least, floats": "(sort rows (fn (a b) (>= (:f a) (:f b))))",
    "difference of floats": "(sort rows (fn (a b) (- (:f a) (:f b))))",
    "ints and floats": "(sort rows (fn (a b) (< (:x a) (:x b))))",
    "a function of the program": (
        "(define (score r) (+ (* 2 (:n r)) (if (> (:id r) 9) 1 0))) (sort rows (fn (a b) (> (score a) (score b))))"
    ),
    "records": "(map px (sort points (fn (a b) (< (- (py a) (px a)) (- (py b) (px b))))))",
    "a named comparator": "(define (before a b) (< (:t a) (:t b))) (sort rows before)",
    "a captured key": "(define (f k rs) (sort rs (fn (a b) (- (get a k) (get b k))))) (list (f :n rows) (f :id rows))",
    "a key that is given": "(define (by key) (sort rows (fn (a b) (- (key a) (key b))))) (list (by :n) (by :id))",
    "elements themselves": "(sort '(3 1 2 1) (fn (a b) (> a b)))",
    "nothing to sort": "(list (sort '() (fn (a b) (- a b))) (sort '(1) (fn (a b) (- a b))))",
    "elements that differ": '(try (sort \'(3 "a" 2) (fn (a b) (> a b))) (catch e (:message e)))',
    "a key that fails": '(try (sort (list 1 "a" 2) (fn (a b) (< (* 2 a) (* 2 b)))) (catch e (:message e)))',
}
OTHERS = {
    "other keys": "(sort rows (fn (a b) (- (:n a) (:id b))))",
    "one element": "(sort rows (fn (a b) (- (:n a) (:n a))))",
    "effects": "(define seen '()) (sort rows (fn (a b) (set! seen (cons (:id a) seen)) (- (:n a) (:n b)))) seen",
    "a function that is given": (
        "(define seen 0) (define (by key) (sort rows (fn (a b) (- (key a) (key b)))))"
        " (list (by :n) (by (fn (r) (set! seen (+ seen 1)) (:id r))) seen)"
    ),
    "effects of a key": (
        "(define seen 0) (define (key r) (set! seen (+ seen 1)) (:n r))"
        " (list (sort rows (fn (a b) (- (key a) (key b)))) seen)"
    ),
}


def answer(text: str, mode: str = "program", **options: Any) -> str:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(ROWS + text, "<test>", mode, result=True, watch=Verifier(), **options).code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("text", [*KEYED.values(), *OTHERS.values()], ids=[*KEYED, *OTHERS])
def test_answers(text: str, mode: str) -> None:
    assert answer(text, mode) == answer(text, mode, optimize=False)


@pytest.mark.parametrize("text", [*KEYED.values(), *OTHERS.values()], ids=[*KEYED, *OTHERS])
def test_which_sort_by_a_key(text: str) -> None:
    assert ("sorted_as(" in compile_source(ROWS + text, "<test>", "program").python_text()) is (text in KEYED.values())


@pytest.mark.parametrize("kind", ["int", "float", "str", "nan", "mixed", "large"])
def test_keys_sort_as_the_comparator_does(kind: str) -> None:
    rng = random.Random(kind)
    makers = {
        "int": lambda: rng.randrange(5),
        "float": lambda: rng.randrange(5) / 2,
        "nan": lambda: rng.choice([1.0, 2.0, float("nan")]),
        "str": lambda: rng.choice(["a", "b", "é", "", "B"]),
        "mixed": lambda: rng.choice([1, 2, 1.0, 1.5, True]),
        "large": lambda: rng.randrange(-3, 3) * 10**30,
    }
    comparators: list[tuple[Any, bool, bool]] = [
        (lambda a, b: a[0] < b[0], False, True),
        (lambda a, b: a[0] <= b[0], False, False),
        (lambda a, b: a[0] > b[0], True, True),
        (lambda a, b: a[0] >= b[0], True, False),
    ]
    for size in [0, 1, 2, 3, 7, 30, 100]:
        items = List([(makers[kind](), index) for index in range(size)])
        for comparator, is_down, is_turned in comparators:
            expected = sort(items, comparator).items
            assert sorted_as(items, comparator, lambda item: item[0], is_down, is_turned, False).items == expected
