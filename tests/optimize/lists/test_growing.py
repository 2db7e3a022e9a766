"""Lists that grow at their end are lists of Python inside, and those of the program wherever anybody sees them."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

GROWN = [
    ("(define (f xs) (foldl (fn (acc x) (append acc (list x))) '() xs)) (list (f '()) (f '(1 2 3)))", "(() (1 2 3))"),
    ("(define (f xs) (foldl (fn (acc x) (if (or (null? acc) (> x (last acc))) (append acc (list x) [x]) acc)) '() xs))"
     " (f '(2 1 3))", "(2 2 3 3)"),
    ("(define (f xs) (foldl (fn (acc x) (append (list/drop-last 1 acc) (list x 0))) '() xs)) (f '(7 8 9))",
     "(7 8 9 0)"),
    ("(define (f n) (let loop ((i 0) (rows '()) (row '(0))) (cond ((= i n) (append rows (list row))) ((even? i)"
     " (loop (+ i 1) (append rows (list row)) '(0))) (else (loop (+ i 1) rows (append row (list i))))))) (f 4)",
     "((0) (0 1) (0 3))"),
    ("(define (add acc x) (append acc (list x))) (define (f xs) (foldl (fn (acc x) (add (add acc x) 0)) '() xs))"
     " (f '(1 2))", "(1 0 2 0)"),
    ("(define (f xs) (let ((acc '())) (for-each (fn (x) (set! acc (append acc (list x)))) xs) acc)) (f '(1 2))",
     "(1 2)"),
    ("(define (f xs) (foldl (fn (s x) (assoc s :all (append (:all s) (list x)) :n (+ x (:n s)))) {:all '() :n 0} xs))"
     " (f '(1 2))", "{:all (1 2) :n 3}"),
    ("(define (f xs) (foldl (fn (acc x) (append acc (list (* x x)))) [] xs)) (list (f '()) (f '(1 2)))", "([] (1 4))"),
    ("(define (f xs) (foldl (fn (acc x) (if (odd? x) (append acc [x]) acc)) [] xs)) (list (f '(2)) (f '(1 2 3)))",
     "([] (1 3))"),
    ("(define (f n) (let loop ((i 0) (out [])) (if (= i n) out (loop (+ i 1) (if (> (count out) 3) out"
     " (append out (list (length out) i))))))) (list (f 0) (f 4))", "([] (0 0 2 1))"),
]  # fmt: skip
SHARED = [
    ("(define (f xs n acc) (if (= n 3) acc (f (if (odd? n) '() [n n]) (+ n 1) (append acc xs)))) (f [1 2] 0 '())",
     "(1 2 0 0)"),
    ("(define (f n) (let loop ((i 0) (out []) (seen '())) (if (= i n) (list out seen) (let ((o (if (odd? i) (append out"
     " (list i)) out))) (loop (+ i 1) o (cons o seen)))))) (f 3)", "((1) ((1) (1) []))"),
    ("(define (f n) (let loop ((i 0) (out [])) (if (= i n) (list (vector? out) out) (let ((g (fn () out))) (loop (+ i 1)"
     " (append out (list (vector? (g))))))))) (list (f 0) (f 2))", "((#t []) (#f (#t #f)))"),
    ("(define (f n) (let loop ((i 0) (out [])) (if (= i n) (list (vector? out) out) (loop (+ i 1) (append out (list"
     " (vector? out) (first out))))))) (list (f 0) (f 2))", "((#t []) (#f (#t nil #f #t)))"),
    ("(define (f xs) (foldl (fn (s x) (append s x)) [] xs)) (list (f '()) (f '(())) (f '((1) ())))", "([] () (1))"),
    ("(define (f xs) (foldl (fn (s x) (append s (list x))) [] xs)) (list (= (f '()) []) (= (f '()) '())"
     " (map str (f '(1))) (null? (f '())))", "(#t #f (\"1\") #f)"),
    ("(define (f xs) (foldl (fn (acc x) (append (list/drop-last 1 acc) (list x (length acc)))) '() xs)) (f '(7 8 9))",
     "(7 8 9 3)"),
    ("(define (f xs) (foldl (fn (acc x) (append acc (list (length acc) acc))) '() xs)) (f '(1 2))", "(0 () 2 (0 ()))"),
    ("(define (f xs) (foldl (fn (s x) [(append (nth s 0) (list x)) (cons (nth s 0) (nth s 1))]) ['() '()] xs))"
     " (f '(1 2))", "[(1 2) ((1) ())]"),
    ("(define (f xs) (foldl (fn (acc x) (let ((more (append acc (list x)))) (if (= x 2) acc more))) '() xs))"
     " (f '(1 2 3))", "(1 3)"),
    ("(define (f xs) (foldl (fn (acc x) (append acc acc (list x))) '(0) xs)) (f '(1 2))", "(0 0 1 0 0 1 2)"),
    ("(define (f xs) (let ((kept (append '() xs))) (list (append kept (list 1)) (append kept (list 2))))) (f '(0))",
     "((0 1) (0 2))"),
    ("(define (f xs) (let loop ((xs xs) (acc '())) (if (null? xs) acc (loop (rest xs) (try (let ((more (append acc"
     " (list (first xs))))) (if (= 2 (last more)) (throw 1) more)) (catch e acc)))))) (f '(1 2 3))", "(1 3)"),
    ("(define (f xs) (foldl (fn (acc x) (append acc (list (fn () (length acc))))) '() xs))"
     " (map (fn (g) (g)) (f '(1 2)))", "(0 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [*GROWN, *SHARED])
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("skipped", ["", "growing", "fields,stacks"])
def test_answers(text: str, expected: str, mode: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_SKIP", skipped)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True, watch=Verifier()).code, scope)
    assert to_text(scope[RESULT]) == expected


@pytest.mark.parametrize("text", [text for text, _ in GROWN])
def test_nothing_is_copied(text: str) -> None:
    python = compile_source(text, "<test>", "program").python_text()
    assert ".append(" in python and "List([*" not in python


def test_a_million_items_are_collected_at_once() -> None:
    text = "(define (f n) (let loop ((i 0) (acc '())) (if (= i n) (length acc) (loop (+ i 1) (append acc (list i))))))"
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(f"{text} (f 1000000)", "<test>", "program", result=True).code, scope)
    assert scope[RESULT] == 1000000
