"""Loops over keys become operations on sets, and programs answer as before."""

from __future__ import annotations

import pytest
from outcomes import python, run

from semac.verify.unit import Verifier

SETS = (
    "(define (set-of xs) (foldl (fn (s x) (assoc s x #t)) {} xs)) "
    "(define odd (set-of (filter odd? (range 9)))) (define few (set-of (range 4))) (define big (set-of (range 200))) "
)
FILLS = [  # a function of key_sets that is called → programs
    ("fill(", "(define (f n) (set-of (map (fn (i) (mod (* i i) 7)) (range n)))) (f 5)"),
    ("fill(", "(define (f n) (foldl (fn (s x) (assoc s x n)) {7 7} (map (fn (i) [i 1]) (range n)))) (f 3)"),
    ("fill_all(", "(define (f a) (foldl (fn (s x) (assoc s x 1)) {:a 2} (keys a))) (f odd)"),
    ("fill_all(", "(define (f a) (set-of (keys a))) (list (f odd) (f {}))"),
    (
        "fill_common(",
        "(define (f a b) (foldl (fn (s x) (if (contains? b x) (assoc s x #t) s)) {} (keys a))) (f odd few)",
    ),
    (
        "fill_common(",
        "(define (f a b) (set-of (filter (fn (x) (contains? b x)) (keys a)))) (list (f odd big) (f big few))",
    ),
    (
        "fill_others(",
        "(define (f a b) (set-of (filter (fn (x) (not (contains? b x))) (keys a)))) (list (f few odd) (f odd big))",
    ),
    (
        "fill_others(",
        "(define (f a b) (foldl (fn (s x) (if (contains? b x) s (assoc s x 1))) {} (keys a))) (f odd few)",
    ),
    (
        "put_keys(",
        "(define (f a b) (foldl (fn (s x) (assoc s x 0)) a (keys b))) (list (f odd few) (f few {}) odd few (count (f big few)))",
    ),
    (
        "put_keys(",
        "(define (f a b) (foldl (fn (s x) (assoc s x 0)) a (keys b))) (list (f few few) few (count (f few big)) (get (f big big) 3) (get big 3))",
    ),
    (
        "unordered_keys(",
        "(define (f a b) (every (fn (x) (contains? b x)) (keys a))) (list (f odd few) (f few big) (f {} odd))",
    ),
    (
        "unordered_keys(",
        "(define (f a b) (length (filter (fn (x) (contains? b x)) (keys a)))) (list (f odd few) (f few big))",
    ),
]
OTHERS = [
    "(define (f a b) (let* ((ks (keys a)) (c (assoc a 100 #t))) (list (set-of ks) c))) (f odd few)",
    "(define (f a) (foldl (fn (s x) (assoc s x x)) {} (keys a))) (f odd)",
    "(define (f a) (foldl (fn (s x) (if (contains? s (- x 2)) s (assoc s x #t))) {} (keys a))) (f odd)",
    "(define (f a) (foldl (fn (s x) (assoc s (mod x 2) x)) {} (keys a))) (f odd)",
    "(define (f a) (map (fn (x) x) (filter (fn (x) (contains? few x)) (keys a)))) (f odd)",
    "(define (f a) (first (filter (fn (x) (contains? few x)) (keys a)))) (f {3 1 2 1})",
    "(define (f a) (let ((ks (keys a))) (list (set-of ks) ks))) (f odd)",
    "(define (f a b) (list (every (fn (x) (> x 0)) (keys a)) (any (fn (x) (contains? b x)) (keys a)))) (f odd few)",
    '(define (f a) (try (every (fn (x) (< x 5)) (keys a)) (catch e (:message e)))) (list (f {1 1 9 1 "a" 1}) (f {"a" 1}))',
    "(define (f a) (set-of (keys a))) (list (f {1 1 1.0 2 #t 3}) (f {'(1 2) 3}) (f (hashmap/new 2 1 1 1)))",
    "(define (f a b) (set-of (filter (fn (x) (contains? b x)) (keys a)))) (list (f {1.0 1} {1 1}) (f {'(1) 1} {[1] 1}))",
    "(define (f a b) (try (set-of (filter (fn (x) (contains? b x)) (keys a))) (catch e (:message e)))) (list (f {} 1) (f few 1))",
    "(define seen '()) (define (f a) (foldl (fn (s x) (set! seen (cons x seen)) (assoc s x #t)) {} (keys a))) (list (f odd) seen)",
]


@pytest.mark.parametrize("source", [*(text for _, text in FILLS), *OTHERS])
def test_answers_are_those_of_plain_code(source: str) -> None:
    plain = run(SETS + source, optimize=False)
    for mode in ("program", "module"):
        assert run(SETS + source, mode=mode, watch=Verifier()) == plain


@pytest.mark.parametrize(("call", "source"), FILLS)
def test_loops_are_operations_on_sets(call: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call in python(SETS + source)
    monkeypatch.setenv("SEMA_SKIP", "sets")
    assert call not in python(SETS + source)
