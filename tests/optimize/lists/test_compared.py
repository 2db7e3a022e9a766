"""Lists that Python compares, and entries of bare dicts that it puts in order."""

from __future__ import annotations

import pytest
from outcomes import python, run

from semac.verify.unit import Verifier

COMPARED = [
    "(define (f n) (= (map (fn (i) (mod i 3)) (range n)) '(0 1 2 0))) (list (f 3) (f 4) (f 5))",
    '(define (f t) (= (string/split t ",") (list "a" "b"))) (list (f "a,b") (f "a") (f "b,a"))',
    '(define (f t) (let ((cs (string->list t))) (equal? cs (reverse cs)))) (list (f "abba") (f "ab") (f ""))',
    "(define (f n) (let loop ((i 0) (acc '())) (if (= i n) (= acc '(2 1 0)) (loop (+ i 1) (cons i acc))))) (list (f 2) (f 3))",
]
OTHERS = [  # Python would take 1 for 1.0 and #t
    "(define (f x) (= (list x 2) '(1 2))) (list (f 1) (f 1.0) (f #t) (f nil))",
    "(define (f n) (= (map (fn (i) (/ i 2)) (range n)) '(0 1/2))) (list (f 2) (f 3))",
    "(define (f n) (= (map (fn (i) (list i)) (range n)) '((0) (1)))) (list (f 2) (f 3))",
    "(define (f n) (= (map (fn (i) (= i 1)) (range n)) '(#f #t))) (list (f 2) (f 3))",
]
ORDERED = [
    "(define (f d) (foldl (fn (acc c) (let ((k (car c)) (v (cadr c))) (+ acc (/ v 2.0)))) 0 (map/entries {#t d 1 3}))) (f 4)",
    "(define (f n) (let ((m (foldl (fn (m i) (assoc m (mod (* i 7) n) i)) {} (range n)))) "
    "(foldl (fn (acc [k v]) (cons (+ k v) acc)) '() (map/entries m)))) (list (f 5) (f 0))",
    "(define (f xs) (let ((m (foldl (fn (m x) (assoc m x (list x {}))) {} xs))) (map (fn ([k v]) (list k v)) (map/entries m)))) "
    '(f (list "b" "a" "c" "b"))',
    "(define (f n) (let ((m (foldl (fn (m i) (assoc m (if (odd? i) i (* 1.0 i)) i)) {} (range n)))) "
    "(foldl (fn (acc [k v]) (cons k acc)) '() (map/entries m)))) (f 5)",
    "(define (f n) (let ((m (foldl (fn (m i) (assoc m i (fn () i))) (hashmap/new) (range n 0 -1)))) "
    "(map (fn ([k v]) (v)) (map/entries m)))) (f 3)",
]


SORTED = [
    "(define (f n) (sort (map (fn (i) (mod (* i 7) 5)) (range n)) >)) (list (f 6) (f 1) (f 0))",
    "(define (f n) (first (sort (map (fn (i) (mod (* i 7) 5)) (range n)) <=))) (list (f 6) (f 0))",
    '(define (f ws) (sort-by (fn (w) [(- (string-length w)) w]) ws)) (f (list "a" "cc" "bb" "b"))',
    "(define (f n) (sort-by (fn ([a b]) [(- b) a]) (map (fn (i) [i (mod i 3)]) (range n)))) (f 7)",
]
CHECKED = [  # the runtime looks at the keys
    "(define (f n) (sort (map (fn (i) (if (= i 2) 1.0 i)) (range n)) >)) (f 4)",
    '(define (f ws) (sort-by (fn (w) [(if (= w "a") 1.5 (- (string-length w))) w]) ws)) (f (list "a" "cc" "b"))',
    '(define (f ws) (sort-by (fn (w) (if (= w "a") [1] [1 2])) ws)) (f (list "a" "cc" "b" "a"))',
    "(define (f xs) (sort-by (fn (x) [(= x 1) x]) xs)) (f (list 2 1 3 1))",
    '(define (f ws) (sort-by (fn (w) [(try (throw w) (catch e 1)) (string-length w)]) ws)) (f (list "bb" "a"))',
]


@pytest.mark.parametrize("source", [*COMPARED, *OTHERS, *ORDERED, *SORTED, *CHECKED])
def test_answers_are_those_of_plain_code(source: str) -> None:
    ways = [{"optimize": False}, *({"mode": m, "watch": Verifier()} for m in ("program", "module"))]
    assert len({run(source, **way) for way in ways}) == 1


@pytest.mark.parametrize("source", COMPARED)
def test_python_compares(source: str) -> None:
    assert "same_plain(" in python(source)


@pytest.mark.parametrize("source", OTHERS)
def test_python_does_not(source: str) -> None:
    assert "same_plain(" not in python(source)


def test_entries_of_bare_dicts_are_sorted_at_once() -> None:
    text = python(
        "(define (f xs) (let ((m (foldl (fn (m x) (assoc m x (+ 1 (get m x 0)))) {} xs))) "
        "(map (fn ([k v]) (str k v)) (map/entries m)))) (f (list 3 1 2 1))"
    )
    assert "sorted(m.items())" in text
    assert "sorted(" not in python(ORDERED[3])


@pytest.mark.parametrize("source", SORTED)
def test_python_sorts(source: str) -> None:
    text = python(source)
    assert "sort(" not in text and "sorted_by(" not in text


@pytest.mark.parametrize("source", CHECKED[:4])
def test_python_does_not_sort(source: str) -> None:
    text = python(source)
    assert "sort(" in text or "sorted_by(" in text
