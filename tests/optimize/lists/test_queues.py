"""Lists that grow at their end and shrink at their head are queues of Python."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

QUEUES = [
    ("(define (near n) (filter (fn (m) (< m 20)) (list (+ n 3) (* n 2)))) (define (search start)"
     " (let loop ((todo (list start)) (seen {}) (order '())) (if (null? todo) (reverse order)"
     " (let ((n (first todo))) (if (contains? seen n) (loop (rest todo) seen order)"
     " (loop (append (rest todo) (near n)) (assoc seen n #t) (cons n order))))))) (search 1)",
     "(1 4 2 7 8 5 10 14 11 16 13 17 19)"),
    ("(define (ring n k) (let loop ((q (range n)) (k k)) (if (= k 0) (list (first q) (last q) (length q))"
     " (loop (append (rest q) (list (first q))) (- k 1))))) (list (ring 5 7) (ring 1 3) (ring 0 2))",
     "((2 1 5) (0 0 1) (nil nil 1))"),
    ("(define (f n) (let ((q (list 0))) (dotimes (i n) (set! q (append q (list i))) (when (odd? i) (set! q (rest q))))"
     " q)) (f 6)", "(2 3 4 5)"),
    ("(define (flat xs) (let loop ((q (map (fn (x) x) xs)) (out '())) (if (null? q) (reverse out) (let ((x (first q)))"
     " (if (list? x) (loop (append (rest q) x) out) (loop (rest q) (cons x out))))))) (flat '((1) (2 (3)) 4))",
     "(4 1 2 3)"),
    ("(define (f) (try (let loop ((q (list 1 2 3))) (if (= (first q) 3) (throw q) (loop (append (rest q) (list 9)))))"
     " (catch e (:value e)))) (f)", "(3 9 9)"),
    ("(define (f) (let loop ((q (list 1 2 3 4)) (i 0)) (if (> i 2) q (loop (append (cddr q) (list i (first q)))"
     " (+ i 1))))) (f)", "(1 3 2 0)"),
    ("(define (run s) (if (null? (:todo s)) (:done s) (let ((job (first (:todo s)))) (run (if (> job 0)"
     " (map/update (assoc s :todo (rest (:todo s))) :todo (fn (q) (append q (list (- job 1)))))"
     " (map/update (assoc s :todo (rest (:todo s))) :done (fn (n) (+ n 1))))))))"
     " (map (fn (k) (run {:todo (map (fn (i) (mod i 3)) (range k)) :done 0})) '(0 3 7))", "(0 3 7)"),
]  # fmt: skip
LISTS = [
    ("(define kept '()) (define (f) (let loop ((q (list 1 2)) (i 0)) (if (= i 3) (list kept q)"
     " (begin (set! kept (cons q kept)) (loop (append (rest q) (list i)) (+ i 1)))))) (f)",
     "(((0 1) (2 0) (1 2)) (1 2))"),
    ("(define (f) (let loop ((q (list 1 2)) (i 0)) (if (= i 3) q (let ((new (append (rest q) (list i))))"
     " (loop (if (even? i) new (append new (list (length q)))) (+ i 1)))))) (f)", "(1 2 2)"),
    ("(define (f xs) (let loop ((q xs) (i 0)) (if (= i 3) (list q xs) (loop (append (rest q) (list i)) (+ i 1)))))"
     " (f '(7 8))", "((1 2) (7 8))"),
    ("(define (f) (let loop ((q (list 1 2)) (i 0)) (if (= i 2) (map (fn (g) (g)) q)"
     " (loop (append (rest q) (list (fn () (length q)))) (+ i 1))))) (f)", "(2 2)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), QUEUES + LISTS)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("optimize", [True, False])
def test_answers(text: str, expected: str, mode: str, optimize: bool) -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True, optimize=optimize, watch=Verifier()).code, scope)
    assert to_text(scope[RESULT]) == expected


@pytest.mark.parametrize("text", [text for text, _ in QUEUES])
def test_they_are_queues(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "deque(" in compile_source(text, "<test>", "program").python_text()
    monkeypatch.setenv("SEMA_SKIP", "queues")
    assert "deque(" not in compile_source(text, "<test>", "program").python_text()


def test_they_stay_lists() -> None:
    for text, _ in (LISTS[0], LISTS[2], LISTS[3]):
        assert "deque(" not in compile_source(text, "<test>", "program").python_text()
