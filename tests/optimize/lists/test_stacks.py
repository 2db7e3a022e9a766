"""Lists that are stacks of Python inside are the lists of the program wherever anybody sees them."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

COLLECT = "(define (f n) (let loop ((i 0) (acc '())) (if (= i n) (reverse acc) (loop (+ i 1) (cons i acc)))))"
STACKS = [
    (f"{COLLECT} (list (f 0) (f 3))", "(() (0 1 2))"),
    ("(define (f n) (let loop ((i 0) (acc '())) (if (= i n) acc (loop (+ i 1) (cons i acc))))) (f 3)", "(2 1 0)"),
    ("(define (f n) (if (= n 0) '() (cons n (f (- n 1))))) (f 3)", "(3 2 1)"),
    ("(define (f xs) (let loop ((xs xs) (a '()) (b '())) (if (null? xs) (list (reverse a) b) (if (odd? (car xs)) "
     "(loop (cdr xs) (cons (car xs) a) b) (loop (cdr xs) a (cons (car xs) b)))))) (f '(1 2 3 4 5))", "((1 3 5) (4 2))"),
    ("(define (f n) (let loop ((i 0) (row '()) (rows '())) (cond ((= i n) (reverse (cons (reverse row) rows))) "
     "((= 0 (mod i 3)) (loop (+ i 1) '() (cons (reverse row) rows))) (else (loop (+ i 1) (cons i row) rows))))) (f 8)",
     "(() (1 2) (4 5) (7))"),
    ("(define (run ops) (let loop ((ops ops) (s '())) (if (null? ops) (car s) (loop (cdr ops) "
     "(if (number? (car ops)) (cons (car ops) s) (cons (+ (car s) (cadr s)) (cdr (cdr s)))))))) (run '(1 2 :+ 4 :+))",
     "7"),
    ("(define (f n) (let loop ((i 0) (s (list 9 8))) (if (= i n) (list (length s) (car s) (cadr s) (null? s) "
     "(pair? s)) (loop (+ i 1) (cons i s))))) (list (f 0) (f 2))", "((2 9 8 #f #t) (4 1 0 #f #t))"),
    ("(define (f) (let loop ((i 0) (s '())) (if (= i 3) (list (car s) (cadr s) (cdr s)) (loop (+ i 1) (cdr s))))) (f)",
     "(nil nil ())"),
    # short literal lists are made anew for each stack
    ("(define (f xs) (let loop ((xs xs) (row '(0)) (n 0)) (if (null? xs) (reverse row) (loop (rest xs) "
     "(cons (+ n (first xs)) row) (+ n 1))))) (list (f '(1 2 3)) (f '()) (f '(4)))", "((0 1 3 5) (0) (0 4))"),
    ("(define (g n) (let loop ((n n) (acc '(\"a\" :b nil))) (if (= n 0) acc (loop (- n 1) (if (even? n) (cons n acc) "
     "'(7 8)))))) (list (g 0) (g 3) (g 4) (g 0))", '(("a" :b nil) (7 8) (7 8) ("a" :b nil))'),
    ("(define (f n) (foldl (fn (acc i) (cons (+ i (car acc)) acc)) '(1) (range n))) (list (f 0) (f 4) (f 2))",
     "((1) (7 4 2 1 1) (2 1 1))"),
    # read after it was changed, as the arguments stand: the change moves behind
    ("(define (f ops) (let loop ((pc 0) (s '()) (x 0)) (if (= pc (count ops)) [x s] (let ((op (nth ops pc))) (case op "
     "((:add) (loop (+ pc 1) (cons (+ (cadr s) (first s)) (cddr s)) x)) ((:set) (loop (+ pc 1) (rest s) (first s))) "
     "((:three) (loop (+ pc 1) (cons (* (caddr s) (cadr s)) (cdddr s)) (car s))) "
     "(else (loop (+ pc 1) (cons op s) x))))))) (list (f [1 2 :add :set]) (f [2 3 4 :three 8]) (f [5 :set :set]))",
     "([3 ()] [4 (8 6)] [nil ()])"),
    ("(define (f n) (let loop ((s (list n)) (out 0)) (cond ((null? s) out) ((zero? (first s)) (loop (rest s) "
     "(+ out 1))) (else (let ((more (rest s)) (top (first s))) (if (even? top) (loop (cons (quotient top 2) more) out) "
     "(loop (cons (- top 1) (cons 0 more)) out))))))) (f 11)", "4"),
    # several items at once
    ("(define (f n) (let loop ((todo (list 1)) (out 0)) (cond ((null? todo) out) ((> (first todo) n) (loop (rest todo)"
     " (+ out 1))) (else (loop (append (map (fn (k) (+ k (first todo))) [1 2 4]) (rest todo)) out))))) (f 4)", "15"),
    ("(define (f n) (let loop ((i 0) (a '()) (b (list :x))) (if (= i n) [(append a b) i] (loop (+ i 1) (cons i a) "
     "(append [i (- i)] b))))) (list (f 0) (f 2))", "([(:x) 0] [(1 0 1 -1 0 0 :x) 2])"),
    ("(define (leaves t) (if (number? t) (list t) (append (leaves (nth t 0)) (leaves (nth t 1))))) "
     "(leaves [1 [[2 3] 4]])", "(1 2 3 4)"),
]  # fmt: skip
SHARED = [
    ("(define (f n) (let loop ((i 0) (s '())) (let ((more (cdr s))) (if (= i n) (list i (length s) more) "
     "(loop (+ i 1) (if (= i 3) more (cons i s))))))) (f 5)", "(5 3 (1 0))"),
    ("(define (f s) (try (let loop ((s s) (i 0)) (let ((top (first s)) (more (rest s))) (if (= i 2) (throw s) "
     "(loop (cons top (cons i more)) (+ i 1))))) (catch e (:value e)))) (f (list 7))", "(7 1 0)"),
    ("(define (f n) (let loop ((s (list 1 2 3)) (i 0)) (if (= i n) s (loop (try (let ((t (car s)) (r (cdr s))) "
     "(if (odd? t) (throw r) (cons t r))) (catch e (cons 9 s))) (+ i 1))))) (f 2)", "(9 9 1 2 3)"),
    ("(define (f n) (let loop ((i 0) (acc '()) (old '())) (if (= i n) (list acc old) (loop (+ i 1) (cons i acc) "
     "acc)))) (f 3)", "((2 1 0) (1 0))"),
    ("(define (f n acc) (if (= n 0) (list acc) (append (f (- n 1) (cons n acc)) (f (- n 1) acc)))) (f 2 '())",
     "((1 2) (2) (1) ())"),
    ("(define (f n) (let loop ((i 0) (acc '()) (fs '())) (if (= i n) (map (fn (g) (g)) fs) "
     "(loop (+ i 1) (cons i acc) (cons (fn () acc) fs))))) (f 3)", "((1 0) (0) ())"),
    ("(define (f n) (let loop ((i 0) (acc '())) (if (= i n) (try (begin (cons 1 acc) (throw 1)) (catch e acc)) "
     "(loop (+ i 1) (cons i acc))))) (f 2)", "(1 0)"),
    ("(reduce + (cons 0 (list 1 2)))", "3"),
    ("(define (f n) (let loop ((i 0) (s (list 7))) (if (= i n) s (loop (+ i 1) (append s s))))) (list (f 0) (f 2))",
     "((7) (7 7 7 7))"),
    ("(define (f n) (let loop ((i 0) (s (list 7)) (old '())) (if (= i n) (list s old) (loop (+ i 1) (append (list i) s) "
     "s)))) (f 2)", "((1 0 7) (0 7))"),
    ("(define (f x) (let loop ((i 0) (s (list 7))) (if (= i 2) s (loop (+ i 1) (append x s))))) (list (f [1]) (f '(2 3))"
     " (try (f 5) (catch e (:message e))))", '((1 1 7) (2 3 2 3 7) "expected list or vector, got int")'),
    ("(define (f n) (let loop ((i 0) (q (list 0))) (if (= i n) q (loop (+ i 1) (append (rest q) (list i (* i i))))))) "
     "(f 3)", "(1 1 2 4)"),
    # work that is left: what was found goes in front of the rest of a flat list
    ("(define (f n) (let loop ((todo (list n)) (seen '())) (if (null? todo) (reverse seen) (let* ((x (first todo)) "
     "(new (map (fn (d) (- x d)) (filter (fn (d) (<= d x)) '(2 3))))) (loop (append new (rest todo)) (cons (list x new) "
     "seen)))))) (f 4)", "((4 (2 1)) (2 (0)) (0 ()) (1 ()))"),
    ("(define (f n) (let loop ((i 0) (acc '())) (if (= i n) (list->string (reverse acc)) (loop (+ i 1) "
     "(append (string->list \"ab\") (cons #\\c acc)))))) (list (f 0) (f 2))", '("" "cbacba")'),
    ("(define (d i) (or (and (null? i) '()) (cons 1 (d '())))) "
     "(try (d '(1)) (catch e (list :err e)))", "(1)"),
    ("(define (d i) (or (and (null? i) {}) (assoc (d '()) :a 1))) (d '(1))", "{:a 1}"),
    ("(define f (fn () (let ((x (throw 0))) (for-each (fn (y) (set! x 1)) 1)))) (try (f) (catch e (:value e)))", "0"),
]  # fmt: skip


def answer(text: str, mode: str, optimize: bool) -> str:
    scope: dict[str, Any] = {"__name__": "__main__"}
    unit = compile_source(text, "<test>", mode, result=True, optimize=optimize, watch=Verifier())
    exec(unit.code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize(("text", "expected"), STACKS + SHARED)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("optimize", [True, False])
def test_answers(text: str, expected: str, mode: str, optimize: bool) -> None:
    assert answer(text, mode, optimize) == expected


@pytest.mark.parametrize("text", [text for text, _ in STACKS])
def test_no_cells_are_made(text: str) -> None:
    assert "cons(" not in compile_source(text, "<test>", "program", is_text=True).python_text()


def test_local_functions_of_a_round_leave_a_loop_a_loop() -> None:
    text = "(define (f n) (let loop ((i 0)) (define (twice) (* 2 i)) (if (> (twice) n) i (loop (+ i 1))))) (f 9)"
    assert "while" in compile_source(text, "<test>", "program", is_text=True).python_text()
    assert answer(text, "program", True) == "5"


def test_local_functions_that_outlive_a_round_see_its_variables() -> None:
    text = (
        "(define (f n) (let loop ((i 0) (out '())) (define (twice) (* 2 i)) "
        "(if (= i n) (map (fn (g) (g)) out) (loop (+ i 1) (cons (fn () (twice)) out))))) (f 3)"
    )
    assert answer(text, "program", True) == "(4 2 0)"


def test_public_functions_take_lists_of_others() -> None:
    text = "(define (f xs) (let loop ((xs xs)) (if (null? xs) 1 (cdr xs)))) (f '())"
    scope: dict[str, Any] = {"__name__": "m"}
    exec(compile_source(text, "<test>", "module", watch=Verifier()).code, scope)
    assert to_text(scope["f"](List([1, 2, 3]))) == "(2 3)"
