"""Parts that are read again are read once, and what a call that returned has shown holds behind it."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from sema_runtime.conditions.translate import translated
from sema_runtime.values.atoms import keyword
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

ANSWERS = [
    "(define (f xs) (if (> (first xs) 1) (list (first xs) (first xs)) (first xs))) (list (f '(1 2)) (f '(3)))",
    "(define (f m) (+ (:a m) (:b m) (:a m))) (f {:a 1 :b 2})",
    "(define (f m k) (if (get m k) (* (get m k) (get m k)) (get m k))) (list (f {:a 3} :a) (f {:a 3} :b))",
    '(define (f m) (list (get m 1) (get m 1.0) (get m #t) (get m "1"))) (f {1 :int 1.0 :float #t :true "1" :text})',
    "(define (f xs) (let loop ((ys xs) (n 0)) (if (null? ys) n (loop (cdr ys) (+ n (car ys) (car xs)))))) (f '(1 2 3))",
    "(define (f x) (try (+ 1 (first x)) (catch e (list (:message e) (try (first x) (catch e2 :again)))))) "
    "(list (f '(1)) (f 5) (f '()))",
    "(define (f xs) (map (fn (p) (+ (first p) (first p) (nth p 1))) xs)) (f '((1 2) (3 4)))",
    "(define (f xs) (filter (fn (m) (and (> (:n m) 1) (< (:n m) 5))) xs)) (f (list {:n 1} {:n 3} {:n 7}))",
    "(define (f x) (set! x (list 2 3)) (list (first x) (begin (set! x (list 4)) (first x)))) (f '(1))",
    "(define (f xs) (let ((g (fn () (first xs)))) (list (first xs) (g) (first xs)))) (f '(1 2))",
    "(define (f a b) (cond ((and (pair? a) (= (car a) (car b))) (list (car a) (cadr b))) (else (car b)))) "
    "(list (f '(1) '(1 2)) (f '() '(3)))",
    "(define (f xs) (let loop ((i 0) (xs xs)) (if (or (= i 3) (null? (rest xs))) (list i (first (rest xs)) (rest xs)) "
    "(loop (+ i 1) (rest xs))))) (list (f '(1 2)) (f '(1 2 3 4 5)))",
    "(define (f row other) (let loop ((above (rest row)) (last (first row)) (cs other) (out '())) (if (null? cs) "
    "(list last (reverse out) above) (loop (rest above) (first above) (rest cs) (cons (list (car cs) last) out))))) "
    "(list (f (range 5) (list 1 2)) (f (range 2) (list 1 2 3)) (f (range 0) (list 1)))",
]
ARRAYS = "(define (put a i x) (mutable-array/set! a i x)) (define a (mutable-array/new 3 1)) "
ANSWERS += [
    ARRAYS + source
    for source in (
        "(define (f a i) (list (nth a i) (begin (mutable-array/set! a i 9) (nth a i)) (nth a i))) (f a 0)",
        "(define (f a i) (list (nth a i) (put a i 7) (nth a i))) (map (fn (x) (if (number? x) x :array)) (f a 1))",
        "(define (f a i) (let loop ((n 0) (s 0)) (if (= n 3) (list s (nth a i)) (begin (put a i (+ 1 (nth a i))) "
        "(mutable-array/set! a i (+ 1 (nth a i))) (loop (+ n 1) (+ s (nth a i))))))) (f a 2)",
        "(define (f a i) (when (> (nth a i) 0) (mutable-array/set! a i -1)) (nth a i)) (list (f a 0) (f a 0))",
        "(define (f a i) (list (nth a i) (try (begin (mutable-array/set! a i 5) (nth a 9)) (catch e 1)) (nth a i))) "
        "(f a 0)",
        "(define (f a i g) (list (nth a i) (g) (nth a i))) (f a 0 (fn () (mutable-array/set! a 0 5) 1))",
        "(define (f ps i) (list (nth (nth ps i) 0) (+ (nth (nth ps i) 1) (nth (nth ps i) 0)))) "
        "(list (f '((1 2) (3 4)) 1) (f [[1 2]] 0))",
    )
]
ERRORS = [  # the first operation that can't do with nil says so
    "(define (f xs) (let ((a (first xs))) (let ((b (+ a 1)) (c (* a 2))) (list c b)))) (f (filter odd? (list 2)))",
    "(define (f xs) (let ((a (first xs))) (let ((b (abs a))) (- (* a 2) b)))) (f (filter odd? (list 2)))",
    '(define (f m) (let* ((a (:n m)) (b (string-length a)) (c (string-append a "!"))) (list c b))) (f {:n nil})',
    "(define (f m) (list (+ (:n m) 1) (- (:n m) 1))) (f {:m 1})",
]


def run(source: str, **options: Any) -> str:
    unit = compile_source(source, "test.sema", result=True, **options)
    scope: dict[str, Any] = {"__name__": "test"}
    try:
        exec(unit.code, scope)
    except Exception as error:
        return translated(error).message
    return to_text(scope[RESULT])


@pytest.mark.parametrize("source", [*ANSWERS, *ERRORS])
def test_answers_are_those_of_plain_code(source: str) -> None:
    plain = run(source, optimize=False)
    assert run(source, watch=Verifier()) == plain
    assert run(source, mode="program", watch=Verifier()) == plain


@pytest.mark.parametrize("source", ERRORS)
def test_these_fail(source: str) -> None:
    assert "expected" in run(source, mode="program")


def python(source: str, mode: str = "program") -> str:
    return ast.unparse(compile_source(source, "test.sema", mode, result=True).tree)


def test_entries_are_looked_up_once() -> None:
    text = python(
        "(define (f m) (if (> (:age m) 120) (throw (:age m)) (* 2 (:age m)))) "
        "(define m {:age (read-line)}) (println (keys m)) (f m)"
    )
    assert text.count("kw_age") == 3  # the keyword, the map and one look-up


def test_what_was_added_to_needs_no_second_test() -> None:
    text = python("(define (f xs) (let ((a (first xs))) (list (+ a 1) (* a 2)))) (f (filter odd? (range 3)))")
    assert text.count("is not None") == 1


def test_loops_over_items_hold_an_index_of_other_lists() -> None:
    assert ".next" not in python(ANSWERS[-1])


CHANGING = """
(define (both m change) (let ((before (:n m))) (change m) (list before (:n m))))
(define (rounds m change)
  (let loop ((i 0) (out '())) (if (= i 3) out (begin (change m) (loop (+ i 1) (cons (:n m) out))))))
(define (firsts xs change) (list (first xs) (begin (map change (list xs)) (first xs))))
"""


def test_what_python_may_change_is_read_again() -> None:
    scope: dict[str, Any] = {"__name__": "test"}
    exec(compile_source(CHANGING, "test.sema").code, scope)

    def change(m: Any) -> None:
        m[keyword("n")] += 1

    assert list(scope["both"]({keyword("n"): 1}, change)) == [1, 2]
    assert list(scope["rounds"]({keyword("n"): 1}, change)) == [4, 3, 2]
    assert list(scope["firsts"]([1], lambda xs: xs.insert(0, 5))) == [1, 5]
