"""Functions whose results are taken apart return tuples, and programs answer as before."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

CASES = {
    "a status": (
        "(define (take b n) (if (< b n) {:status :refused} {:status :ok :left (- b n)}))"
        " (define (f b n) (let ((r (take b n))) (if (= :ok (:status r)) (:left r) :no)))"
        " (define (g b) (let ((r (take b 1))) (case (:status r) ((:ok) (:left r)) ((:refused) (contains? r :left)))))"
        " (list (f 5 3) (f 3 5) (g 9) (g 0))",
        "(2 :no 8 #f)",
    ),
    "results that are handed on": (
        "(define (failed why at) {:error why :at at}) (define (one xs i) (if (< i (length xs)) (if (number? (nth xs i))"
        " {:value (nth xs i) :next (+ i 1)} (failed :no-number i)) (failed :end i)))"
        " (define (sum xs i) (let ((a (one xs i))) (if (:error a) a (let ((b (one xs (:next a)))) (if (:error b) b"
        " {:value (+ (:value a) (:value b)) :next (:next b)})))))"
        " (list (:value (sum '(1 2) 0)) (let ((r (sum '(1 x) 0))) (list (:error r) (:at r))) (:error (sum '() 0)))",
        "(3 (:no-number 1) :end)",
    ),
    "functions that call each other": (
        "(define (even n) (if (= n 0) {:ok #t :steps 0} (let ((r (odd (- n 1))))"
        " {:ok (:ok r) :steps (+ 1 (:steps r))})))"
        " (define (odd n) (if (= n 0) {:ok #f :steps 0} (let ((r (even (- n 1))))"
        " {:ok (:ok r) :steps (+ 1 (:steps r))})))"
        " (list (:ok (even 10)) (:steps (odd 7)) (:ok (odd 4)))",
        "(#t 7 #f)",
    ),
    "lists and vectors": (
        "(define (half n) (if (even? n) (list :ok (quotient n 2)) [:error :odd n]))"
        " (define (f n) (match (half n) ([:ok v] v) ([:error why n] (list why n)))) (define (g n) (first (half n)))"
        " (list (f 4) (f 5) (g 4) (g 5))",
        "(2 (:odd 5) :ok :error)",
    ),
    "nil": (
        "(define (find k) (cond ((= k :a) {:name :ann :age 3}) ((= k :b) {:name :bob :age 4}) (else nil)))"
        " (define (f k) (let ((p (find k))) (if p (:name p) :none))) (define (g k) (let ((p (find k)))"
        " (if (nil? p) 0 (:age p)))) (list (f :a) (f :c) (g :b) (g :c) (:name (find :a)))",
        "(:ann :none 4 0 :ann)",
    ),
    "a case in which nothing matches": (
        "(define (find k) (case k ((:a) {:name :ann}) ((:b) {:name :bob}))) (define (f k) (let ((p (find k)))"
        " (if p (:name p) :none))) (define (g k) (:name (find k))) (list (f :a) (f :c) (g :b))",
        "(:ann :none :bob)",
    ),
    "a result that is given on and joined": (
        "(define (mk x) (if x {:v x} {:v 0})) (define (f x) (let* ((r (mk x)) (s (if x r {:v 9}))) (if (= 1 (:v s)) r"
        " {:v (:v s)}))) (define (g x) (:v (f x))) (list (g 1) (g 2) (g #f) (:v (mk 7)))",
        "(1 2 9 7)",
    ),
    "a value that others see": (
        "(define (pair a b) {:a a :b b}) (define (big x) (if (> x 1) (pair x (+ x 1)) {:b 0 :a 0}))"
        " (define (f x) (+ (:a (big x)) (:b (big x)))) (define (g x) (:a (big x)))"
        " (list (f 2) (g 3) (big 5) (map big '(1 7)))",
        "(5 3 {:a 5 :b 6} ({:a 0 :b 0} {:a 7 :b 8}))",
    ),
    "a function that is handed on": (
        "(define (big x) (if (> x 1) {:v x} {:v 0})) (define (f x) (:v (big x))) (list (f 2) (map big '(1 2)))",
        "(2 ({:v 0} {:v 2}))",
    ),
    "errors": (
        '(define (div a b) (if (= b 0) (error "zero") (if (< a 0) (throw :minus) {:q (quotient a b) :r (mod a b)})))'
        " (define (f a b) (try (let ((x (div a b))) (+ (:q x) (:r x))) (catch e (:value e))))"
        " (define (g a b) (:q (div a b))) (list (f 7 2) (f 7 0) (f -1 2) (g 9 3))",
        "(4 nil :minus 3)",
    ),
    "loops": (
        "(define (find xs x) (let loop ((xs xs) (i 0)) (cond ((null? xs) {:found #f}) ((= x (car xs))"
        " {:found #t :at i}) (else (loop (cdr xs) (+ i 1)))))) (define (f xs x) (let ((r (find xs x)))"
        " (if (:found r) (:at r) -1)))"
        " (define (g xs) (:found (find xs 1))) (list (f '(5 6) 6) (f '(5) 6) (g '(1)))",
        "(1 -1 #t)",
    ),
    "tail calls in turn": (
        "(define (ping n) (if (= n 0) {:who :ping :left 0} (pong (- n 1))))"
        " (define (pong n) (if (= n 0) {:who :pong :left 0} (ping (- n 1))))"
        " (list (:who (ping 100000)) (:left (pong 3)) (:who (pong 1)))",
        "(:ping 0 :ping)",
    ),
    "tail calls of what gives other values": (
        "(define (ping n) (if (= n 0) {:who :ping :left 0} (other (- n 1))))"
        " (define (other n) (if (= n 1) 5 (ping n))) (list (:who (ping 0)) (:left (ping 0)) (other 70000) (ping 2))",
        None,
    ),
    "captured results": (
        "(define (mk x) (if x {:v x :w 1} {:v 0 :w 2})) (define (f x) (let ((r (mk x))) (fn () (+ (:v r) (:w r)))))"
        " (list ((f 3)) ((f #f)) (:v (mk 1)))",
        "(4 2 1)",
    ),
}


def answer(text: str, mode: str) -> str:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True, watch=Verifier()).code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("skipped", ["", "fields", "parts", "calls"])
def test_answers(name: str, mode: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, expected = CASES[name]
    if expected is None:
        monkeypatch.setenv("SEMA_OPT", "0")
        expected = answer(text, mode)
        monkeypatch.delenv("SEMA_OPT")
    monkeypatch.setenv("SEMA_SKIP", skipped)
    assert answer(text, mode) == expected


@pytest.mark.parametrize("name", ["a status", "results that are handed on", "functions that call each other", "loops"])
def test_no_map_is_made(name: str) -> None:
    python = compile_source(CASES[name][0], "<test>", "program").python_text()
    assert "Map(" not in python and ".d[" not in python
