"""Loops that compute their items themselves, where nobody can tell; elsewhere the items are computed before."""

from __future__ import annotations

import ast

import pytest
from outcomes import run

from semac.pipeline import compile_source
from semac.verify.unit import Verifier

LED = [  # one loop each, without a list
    "(define (f n) (->> (range n) (map (fn (x) (* x x))) (filter (fn (x) (= 1 (mod x 3)))) (foldl (fn (acc x) (mod (+ acc x) 101)) 0))) (f 30)",
    "(define (f xs) (foldl (fn (acc x) (if (> x 50) (throw x) (mod (+ acc x) 7))) 0 (map (fn (x) (* x 2)) xs))) "
    "(list (f (range 5)) (try (f (range 30)) (catch e (:value e))))",
    "(define seen '()) (define (f n) (for-each (fn (x) (set! seen (cons x seen))) (map (fn (x) (+ x 1)) (filter even? (range n))))) (f 9) seen",
    "(define (f n) (let outer ((i 0) (s 0)) (if (= i n) s (let inner ((ys (map (fn (x) (* x i)) (range i))) (s s)) "
    "(if (null? ys) (outer (+ i 1) s) (if (> (car ys) 20) (outer (+ i 1) (+ s 1000)) (inner (cdr ys) (+ s (car ys))))))))) (f 10)",
    "(define (f n y) (+ y (foldl (fn (acc x) (mod (+ acc x y) 1000)) 0 (map (fn (q) (* q y)) (range n))))) (f 9 5)",
]
BEFORE = [  # what makes the items happens before the loop
    "(define (f xs) (foldl (fn (acc x) (println x) (mod (+ acc x) 9)) 0 (map (fn (x) (println :item x) (* x x)) xs))) (f (list 1 2))",
    "(define (f n) (let ((t 0)) (for-each (fn (x) (set! t (+ t x))) (map (fn (x) (+ x t)) (range n))) t)) (f 5)",
    "(define (f n) (let ((t 0)) (for-each (fn (x) (set! t (+ t x)) (set! n 1)) (map (fn (x) (+ x n)) (range n))) t)) (f 5)",
    "(define log '()) (define (f xs) (for-each (fn (x) (set! log (cons x log))) (map (fn (x) (/ 6 x)) xs))) "
    "(list (try (f (list 1 2 0)) (catch e :failed)) log)",
    "(define (f n) (map (fn (g) (g)) (foldl (fn (acc g) (cons g acc)) '() (map (fn (x) (fn () x)) (range n))))) (f 4)",
]


@pytest.mark.parametrize("source", [*LED, *BEFORE])
def test_answers_are_those_of_plain_code(source: str) -> None:
    plain = run(source, optimize=False)
    assert run(source, watch=Verifier()) == plain
    assert run(source, mode="program", watch=Verifier()) == plain


def makes_lists(source: str) -> bool:
    """Whether what a loop runs over is a list that a comprehension or another loop makes."""
    tree = compile_source(source, "test.sema", "program", result=True).tree
    calls = [
        node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    return any(isinstance(node, ast.ListComp) for node in ast.walk(tree)) or "append" in calls


@pytest.mark.parametrize("source", LED)
def test_no_list_is_made(source: str) -> None:
    assert not makes_lists(source)


@pytest.mark.parametrize("source", BEFORE)
def test_a_list_is_made_where_the_order_matters(source: str) -> None:
    assert makes_lists(source)
