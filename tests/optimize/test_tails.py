"""Tail calls: endless chains keep the stack flat, calls that can't be part of one are plain calls."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source

DEEP = [
    "(define (a n) (if (= n 0) :done (b (- n 1)))) (define (b n) (c n)) (define (c n) (d n)) (define (d n) (e n)) "
    "(define (e n) (f n)) (define (f n) (a n)) (a 100000)",
    "(define (go n f) (if (= n 0) :done (f (- n 1) f))) (go 100000 go)",
    "(define (go n) (if (= n 0) :done (again n))) (define (again n) (apply go (list (- n 1)))) (go 100000)",
    "(define (go n k) (if (= n 0) (k :done) (go (- n 1) (fn (x) (k x))))) (go 100000 (fn (x) x))",
    "(define-record-type p (mk f) p? (f pf)) "
    "(define (go n r) (if (= n 0) :done ((pf r) (- n 1) r))) (go 100000 (mk go))",
    "(define (pick n) (if (even? n) left right)) (define (left n) (if (= n 0) :done ((pick (- n 1)) (- n 1)))) "
    "(define (right n) ((pick (- n 1)) (- n 1))) (left 100000)",
    "(define table {:a (fn (n) (if (= n 0) :done (step n)))}) (define (step n) ((:a table) (- n 1))) (step 100000)",
    "(define (go n) (define (inner m) (if (= m 0) :done (go (- m 1)))) (inner n)) (go 100000)",
    "(define (go n) (let ((next (fn () (go (- n 1))))) (if (= n 0) :done (next)))) (go 100000)",
    "(define hook nil) (define (go n) (if (= n 0) :done (hook n))) (set! hook (fn (n) (go (- n 1)))) (go 100000)",
]
PLAIN = [
    "(define (twice x) (* 2 x)) (define (f x) (twice x)) (println (f 1))",
    "(define (f x) (g x)) (define (g x) (h x)) (define (h x) (println x)) (f 1)",
    "(define (f g x) (g x)) (println (f (fn (x) (* x 2)) 1))",
    "(define (counter n) (fn () (+ n 1))) (define c (counter 1)) (define (next) (c)) (println (next))",
    "(define-record-type p (mk x) p? (x px)) (define (f x) (mk x)) (define (g x) (px x)) (println (g (f 1)))",
]


@pytest.mark.parametrize("text", DEEP)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("skipped", ["", "tails", "infer"])
def test_endless_chains_stay_flat(text: str, mode: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_SKIP", skipped)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True).code, scope)
    assert to_text(scope[RESULT]) == ":done"


@pytest.mark.parametrize("text", PLAIN)
def test_calls_that_end_are_plain(text: str) -> None:
    assert "tail_call" not in compile_source(text, "<test>", "program").python_text()


def test_a_chain_into_the_unknown_is_not_plain() -> None:
    text = compile_source("(define (f g x) (g x)) (define (h g) (f g 1))", "<test>", "module").python_text()
    assert text.count("return tail_call(") == 2


LEAVING = [  # where a closure is made, no other round follows
    ("(define (f n) (let loop ((i 0)) (if (= i n) (fn () i) (loop (+ i 1))))) ((f 3))", "3"),
    ("(define (next s) (if (even? (first s)) (list (first s) (fn () (next (rest s)))) (next (rest s)))) "
     "(first ((cadr (next '(1 2 3 4)))))", "4"),
    ("(define (f n) (let loop ((i 0)) (let in ((j 0)) (cond ((> (* j j) n) (fn () (list i j))) "
     "((> j i) (loop (+ i 1))) (else (in (+ j 1))))))) ((f 9))", "(3 4)"),
]  # fmt: skip
STAYING = [  # here one may
    ("(define (f n) (let loop ((i 0) (fs '())) (if (= i n) (map (fn (g) (g)) fs) (loop (+ i 1) (cons (fn () i) fs))))) "
     "(f 3)", "(2 1 0)"),
    ("(define (f n) (let loop ((i 0) (g nil)) (let ((h (fn () i))) (if (= i n) (list (g) (h)) (loop (+ i 1) h))))) "
     "(f 3)", "(2 3)"),
    ("(define (f n) (let loop ((i 0) (fs '())) (if (= i n) (map (fn (g) (g)) fs) (let ((g (let in ((j 0)) "
     "(if (> j i) (fn () (list i j)) (in (+ j 1)))))) (loop (+ i 1) (cons g fs)))))) (f 3)", "((2 3) (1 2) (0 1))"),
    ("(define (f n) (map (fn (k) (let loop ((i 0)) (if (= i k) (fn () i) (loop (+ i 1))))) (range n))) "
     "(map (fn (g) (g)) (f 3))", "(0 1 2)"),
    ("(let ((fs '())) (do ((i 0 (+ i 1))) ((= i 3)) (let loop ((k i)) (set! fs (cons (fn () k) fs)))) "
     "(map (fn (f) (f)) fs))", "(2 1 0)"),  # corpus: core-closures/072
    ("(define (f n) (let ((fs '())) (dotimes (i n) (set! fs (cons (let loop ((k (* i i))) (if (> k 3) (fn () (+ k i)) "
     "(loop (+ k 2)))) fs))) (map (fn (g) (g)) fs))) (f 4)", "(13 8 9 8)"),
    ("(define (f n) (let lp ((i 0) (acc '())) (if (= i n) acc (lp (+ i 1) (cons (let loop ((k i)) (if (even? k) "
     "(fn () k) (loop (+ k 1)))) acc))))) (map (fn (g) (g)) (f 4))", "(4 2 2 0)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), LEAVING + STAYING)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("skipped", ["", "leaving"])
def test_closures_see_their_own_round(
    text: str, expected: str, mode: str, skipped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMA_SKIP", skipped)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True).code, scope)
    assert to_text(scope[RESULT]) == expected


@pytest.mark.parametrize(("text", "expected"), LEAVING)
def test_closures_that_leave_keep_a_loop_a_loop(text: str, expected: str) -> None:
    emitted = compile_source(text, "<test>", "program").python_text()
    assert "tail_call" not in emitted
    assert "def loop" not in emitted
