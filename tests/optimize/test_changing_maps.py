"""Maps of variables that `set!` changes, and updates along paths: in place where nobody can tell, and never elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from outcomes import python, run

from semac.pipeline import compile_source
from semac.verify.unit import Verifier

IN_PLACE = [
    "(define memo {}) (define (fib n) (if (< n 2) n (if (contains? memo n) (get memo n) (let ((v (+ (fib (- n 1)) (fib (- n 2))))) "
    "(set! memo (assoc memo n v)) v)))) (list (fib 50) (count memo))",
    "(define (f words) (define counts {}) (define (note! w) (set! counts (map/update counts w (fn (n) (+ 1 (or n 0)))))) "
    '(for-each note! words) (get counts "a")) (f (list "a" "b" "a"))',
    "(define (f n) (let ((seen {})) (for-range (i 0 n) (set! seen (assoc seen [i (mod i 2)] i))) (list (count seen) (get seen [1 1])))) (f 4)",
    "(define table (hashmap/new)) (define (put! k v) (set! table (assoc table k v))) (put! :a 1) (put! :b 2) (get table :b)",
    "(define m {:a 1}) (define (drop! k) (set! m (dissoc m k))) (set! m (assoc m :b 2)) (drop! :a) (list (get m :a) (count m))",
    "(define m {}) (define (reset!) (set! m {})) (set! m (assoc m 1 2)) (reset!) (set! m (assoc m 3 4)) (list (get m 1) (get m 3))",
]
SHARED = [
    "(define m {}) (define (add k) (let ((old m)) (set! m (assoc m k 1)) (list (count old) (count m)))) (list (add 1) (add 2))",
    "(define m {}) (define (add k) (set! m (assoc m k (begin (set! m (assoc m :other 1)) 2)))) (add 1) (list (get m :other) (get m 1))",
    "(define m {}) (define all '()) (define (add k) (set! m (assoc m k 1)) (set! all (cons m all))) (add 1) (add 2) all",
    "(define m {}) (define (add k) (set! m (assoc m k m)) m) (add 1) (add 2)",
    "(define m {:a 1}) (define (f) (let ((x (assoc m :b 2))) (list x m))) (f)",
    "(define (f x) (set! x (assoc x :k 1)) x) (define m {:a 1}) (list (f m) m)",
    "(define m {}) (define (get-it) m) (set! m (assoc m :a 1)) (define old (get-it)) (set! m (assoc m :a 2)) (list old m)",
    "(define m {}) (define (f g) (set! m (assoc m :n (g)))) (f (fn () (set! m (assoc m :z 1)) 5)) m",
    "(define (f) (let ((m {})) (let loop ((i 0) (out '())) (if (= i 3) out (begin (set! m (assoc m i i)) (loop (+ i 1) (cons m out))))))) (f)",
    "(define m {:a 1}) (define (f) (try (begin (set! m (assoc m :b (/ 1 0))) 1) (catch e m))) (f)",
]
BUILT = "(define (built n) (let loop ((i n) (m {})) (if (<= i 0) m (loop (- i 1) (assoc m :k 2)))))"
KEYS = [
    f"{BUILT} (define (f n) (get (assoc (hashmap/new) {{:k 2}} 5) (built n) :none)) (list (f 0) (f 1))",
    f"{BUILT} (define (f n) (get (assoc (hashmap/new) 1 2) n (built n))) (list (f 0) (f 1))",
    f"{BUILT} (define (f n) (assoc {{:a 1}} (built n) 2)) (list (f 0) (get (f 1) {{:k 2}}))",
    f"{BUILT} (define (f n) (let ((m {{(built n) 5}})) (assoc m :a (get m {{}})))) (list (f 0) (f 1))",
    f"{BUILT} (define (f n) (dissoc (assoc {{:a 1}} {{:k 2}} 5) (built n))) (list (f 0) (f 1))",
    f"{BUILT} (define (f n) (contains? (assoc {{:a 1}} {{:k 2}} 5) (built n))) (list (f 0) (f 1))",
    "(define (f) (let ((c (assoc (hashmap/new) :k (mutable-array/new 2)))) (assoc (assoc {} 1 2) c 3))) "
    "(try (f) (catch e (:message e)))",
]
UPDATES = [
    "(define (f m k) (map/update m k (fn (n) (if n (+ n 1) 0)))) (list (f {:a 1} :a) (f {} :b) (f {[1 2] 3} [1 2]))",
    "(define (f m) (try (map/update m :a (fn (n) n)) (catch e (list (:message e) (:type e))))) (list (f 5) (f nil) (f '(1)))",
    "(define (f m a b) (update-in m [a b] (fn (n) (+ 1 (or n 0))))) (list (f {} :x :y) (f {:x {:y 4}} :x :y) (f {:x 7} :x :y))",
    "(define (f m a b v) (assoc-in m [a b :deep] v)) (list (f {} 1 2 3) (f {1 {2 {:deep 0 :kept 1}}} 1 2 3) (f {1 nil} 1 2 3))",
    "(define (f m a) (list (get-in m [a :b]) (get-in m [:a a]) (get-in m [:a :b] :none))) "
    "(list (f {:a {:b 1}} :a) (f {:a nil} :a) (f {} 1) (f {:a 5} :a))",
    "(define (f m) (try (update-in m [:a :b] (fn (n) (/ 1 n))) (catch e (:message e)))) (list (f {:a {:b 0}}) (f {:a {:b 2}}))",
    "(define (f m k) (try (assoc-in m [k] 1) (catch e (:message e)))) (list (f {} (mutable-array/new 2 0)) (f {} 1.0))",
    "(define (f m) (let ((p [:a :b])) (list (get-in m p) (assoc-in m p 2) (update-in m p (fn (x) (list x)))))) (f {:a {:b 1}})",
    "(define (inc n) (+ 1 (or n 0))) (define (f m) (map/update (map/update m :a inc) :b inc)) (list (f {}) (f {:a 1}))",
    "(define (f m) (map/update m :fs (fn (fs) (cons (fn (x) (+ x 1)) (or fs '()))))) ((car (:fs (f (f {})))) 4)",
    "(define (f xs) (foldl (fn (m x) (update-in m [(mod x 3) :n] (fn (n) (+ x (or n 0))))) {} xs)) (f (range 10))",
]


@pytest.mark.parametrize("source", [*IN_PLACE, *SHARED, *KEYS, *UPDATES])
def test_answers_are_those_of_plain_code(source: str) -> None:
    ways: list[dict[str, Any]] = [
        {"optimize": False},
        *({"mode": m, "watch": Verifier()} for m in ("program", "module")),
    ]
    assert len({run(source, **way) for way in ways}) == 1


@pytest.mark.parametrize("source", IN_PLACE)
def test_nothing_is_copied(source: str) -> None:
    text = python(source)
    assert "assoc(" not in text and "dissoc(" not in text


@pytest.mark.parametrize("source", UPDATES)
def test_stack_traces_are_those_of_plain_code(source: str) -> None:
    traced = source.replace("(:message e)", "(list (:message e) (:stack-trace e))")
    ways: list[dict[str, Any]] = [{"optimize": False}, {"mode": "program"}]
    assert len({run(traced, **way) for way in ways}) == 1  # called from one place, which traces show


def test_modules_show_maps() -> None:
    scope: dict[str, Any] = {"__name__": "test"}
    exec(compile_source("(define m {}) (define (add k) (set! m (assoc m k 1)))", "test.sema").code, scope)
    scope["add"](1)
    before = scope["m"]
    scope["add"](2)
    assert (len(before), len(scope["m"])) == (1, 2)
