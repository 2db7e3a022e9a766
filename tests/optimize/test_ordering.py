"""Comparators of a key of both elements sort by that key, and programs answer as before."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sema_runtime.lib.collections.sorting import sort, sorted_as, sorted_in_turn
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
SEVERAL = {
    "one after the other": (
        "(sort rows (fn (a b) (cond ((not (= (:n a) (:n b))) (- (:n b) (:n a)))"
        " ((not (= (:t a) (:t b))) (< (:t a) (:t b))) (else (> (:id a) (:id b))))))"
    ),
    "signs": (
        "(sort rows (fn (a b) (cond ((< (:t a) (:t b)) -1) ((> (:t a) (:t b)) 1) ((< (:n a) (:n b)) 1)"
        " ((> (:n a) (:n b)) -1) (else 0))))"
    ),
    "and, or": "(sort rows (fn (a b) (or (> (:t a) (:t b)) (and (= (:t a) (:t b)) (< (:f a) (:f b))))))",
    "equal first": "(sort rows (fn (a b) (if (= (:n a) (:n b)) (<= (:t b) (:t a)) (> (:n a) (:n b)))))",
    "keys in variables": (
        "(define ranks {0 2 1 0 2 1}) (sort rows (fn (a b) (let ((x (get ranks (nth (:v a) 0)))"
        " (y (get ranks (nth (:v b) 0)))) (if (not (= x y)) (< x y) (> (:id a) (:id b))))))"
    ),
    "texts up and down": (
        "(define (name r) (str (:n r))) (sort rows (fn (a b) (cond ((< (:t a) (:t b)) #t) ((> (:t a) (:t b)) #f)"
        " ((= (name a) (name b)) (< (:f a) (:f b))) (else (> (name a) (name b))))))"
    ),
    "equal ones stay": (
        "(sort rows (fn (a b) (cond ((< (:t a) (:t b)) -1) ((< (:t b) (:t a)) 1) (else (- (:n a) (:n b))))))"
    ),
    "equal ones change places": (
        "(sort rows (fn (a b) (cond ((not (= (:n a) (:n b))) (- (:n a) (:n b))) ((< (:t a) (:t b)) -1) (else 1))))"
    ),
    "a key that fails at last": (
        "(try (sort rows (fn (a b) (if (= (:n a) (:n b)) (< (string-length (:x a)) (string-length (:x b)))"
        " (< (:n a) (:n b))))) (catch e (:message e)))"
    ),
    "kinds that differ": "(sort rows (fn (a b) (if (= (:n a) (:n b)) (< (:x a) (:x b)) (< (:n a) (:n b)))))",
    "differences of floats": "(sort rows (fn (a b) (if (= (:n a) (:n b)) (- (:f a) (:f b)) (- (:n a) (:n b)))))",
}
ONE = {
    "signs of one": "(sort rows (fn (a b) (if (< (:n a) (:n b)) -1 1)))",
    "zero for equal": "(sort rows (fn (a b) (cond ((> (:n a) (:n b)) -1) ((= (:n a) (:n b)) 0) (else 1))))",
}
OTHERS = {
    "same for before and after": "(sort rows (fn (a b) (if (= (:n a) (:n b)) #f #t)))",
    "a choice of another kind": "(sort rows (fn (a b) (if (even? (:n a)) (< (:n a) (:n b)) (> (:n a) (:n b)))))",
    "an effect in one case": (
        "(define seen 0) (list (sort rows (fn (a b) (if (= (:n a) (:n b)) (begin (set! seen (+ seen 1)) #t)"
        " (< (:n a) (:n b))))) seen)"
    ),
    "a loop behind the first key": (
        "(define (late r) (let loop ((i (:id r))) (if (< i 9) i (loop (- i 9)))))"
        " (sort rows (fn (a b) (if (= (:n a) (:n b)) (< (late a) (late b)) (< (:n a) (:n b)))))"
    ),
    "an error that is thrown": (
        '(try (sort rows (fn (a b) (cond ((= (:n a) (:n b)) (error "same")) (else (< (:n a) (:n b))))))'
        " (catch e (:message e)))"
    ),
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
BY = (
    "(define (by . keys) (fn (a b) (let loop ((keys keys)) (if (null? keys) {} (let* ((key (first keys)) (x (key a)) "
    "(y (key b))) (cond ((< x y) {}) ((> x y) {}) (else (loop (rest keys)))))))))"
)
EACH = {
    "signs": f"{BY.format(0, -1, 1)} (list (sort rows (by :n :f :id)) (sort rows (by :n)) (sort rows (by)))",
    "larger ones first": f"{BY.format(0, '#f', '#t')} (sort rows (by :n :f))",
    "equal ones change places": f"{BY.format('#f', '#t', '#f')} (list (sort rows (by :n :f)) (sort rows (by)))",
    "kinds that differ": f"{BY.format(0, -1, 1)} (try (sort rows (by :n :x)) (catch e (:message e)))",
    "a key that no map has": f"{BY.format(0, -1, 1)} (try (sort rows (by :none)) (catch e (:message e)))",
    "no maps": f"{BY.format(0, -1, 1)} (try (sort '(2 1) (by :n)) (catch e (:message e)))",
    "a key with effects": (
        f"{BY.format(0, -1, 1)} (define seen 0) (define (noted r) (set! seen (+ seen 1)) (:n r))"
        " (list (sort rows (by noted :id)) seen)"
    ),
}
OTHERS |= {
    "each key says the same": f"{BY.format(0, -1, -1)} (sort rows (by :n :id))",
    "each key twice": (
        "(define (by keys) (fn (a b) (let loop ((keys keys)) (if (null? keys) 0 (let ((x ((first keys) a))"
        " (y ((first keys) b))) (cond ((< x y) -1) ((> x (+ y 1)) 1) (else (loop (rest keys)))))))))"
        " (sort rows (by '(:n)))"
    ),
}
ALL = KEYED | SEVERAL | ONE | OTHERS | EACH


def answer(text: str, mode: str = "program", **options: Any) -> str:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(ROWS + text, "<test>", mode, result=True, watch=Verifier(), **options).code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("text", [*ALL.values()], ids=[*ALL])
def test_answers(text: str, mode: str) -> None:
    assert answer(text, mode) == answer(text, mode, optimize=False)


@pytest.mark.parametrize("text", [*ALL.values()], ids=[*ALL])
def test_which_sort_by_a_key(text: str) -> None:
    python = compile_source(ROWS + text, "<test>", "program").python_text()
    assert ("sorted_as(" in python) is (text in (KEYED | ONE).values())
    assert ("sorted_in_turn(" in python) is (text in SEVERAL.values())
    assert ("ordered_by_each(" in python) is (text in EACH.values())


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


@pytest.mark.parametrize("kinds", ["ii", "is", "si", "ss", "sis", "fi", "im", "in"])
def test_several_keys_sort_as_the_comparator_does(kinds: str) -> None:
    rng = random.Random(kinds)
    makers: dict[str, Any] = {
        "i": lambda: rng.randrange(3),
        "s": lambda: rng.choice(["a", "b", "é"]),
        "f": lambda: rng.randrange(3) / 2,
        "m": lambda: rng.choice([1, 1.0, True]),
        "n": lambda: rng.choice([1.0, float("nan")]),
    }
    for size in [0, 1, 2, 7, 60]:
        items = List([(*(makers[kind]() for kind in kinds), index) for index in range(size)])
        for case in range(2 ** (len(kinds) + 1)):
            downs = tuple(bool(case >> index & 1) for index in range(len(kinds)))
            is_turned = bool(case >> len(kinds))

            def comparator(a: Any, b: Any, downs: Any = downs, is_turned: bool = is_turned) -> bool:
                for x, y, is_down in zip(a[:-1], b[:-1], downs, strict=True):
                    if x != y:
                        return bool(x > y if is_down else x < y)
                return not is_turned

            got = sorted_in_turn(items, comparator, lambda item: item[:-1], downs, is_turned, (False,) * len(kinds))
            assert repr(got.items) == repr(sort(items, comparator).items)
