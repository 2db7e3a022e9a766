"""Tests of values that were just made are decided where these are made, and programs answer as before."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

CASES = {
    "a status": (
        "(define (f b n) (let ((r (if (< b n) {:status :refused} {:status :ok :left (- b n)})))"
        " (if (= :ok (:status r)) (:left r) :no))) (list (f 5 3) (f 3 5))",
        "(2 :no)",
    ),
    "cases and a result that is handed on": (
        "(define (f x) (let ((r (cond ((nil? x) {:ok #f :why :nothing}) ((< x 0) {:ok #f :why :small})"
        " (else {:ok #t :v x}))))"
        " (cond ((:ok r) (list (:v r))) ((= :small (:why r)) r) (else (:why r))))) (list (f nil) (f -1) (f 7))",
        "(:nothing {:ok #f :why :small} (7))",
    ),
    "lists that a match takes apart": (
        "(define (f x) (match (if (> x 9) (list :error :big) (if (= x 0) [:none] (list :ok x)))"
        " ([:ok v] (+ v 1)) ([:error why] why) ([:none] 0))) (list (f 3) (f 10) (f 0))",
        "(4 :big 0)",
    ),
    "maps that a match takes apart": (
        "(define (f x) (match (if x {:kind :some :value x} {:kind :none}) ({:kind :none} 0) ({:kind :some :value v} v)"
        " (_ :other))) (list (f 3) (f #f))",
        "(3 0)",
    ),
    "a match that fails": (
        "(define (f x) (try (match (if x [:a 1] :b) ([:a n] n)) (catch e (:message e)))) (list (f 1) (f #f))",
        None,
    ),
    "a value that is not known": (
        "(define (f x g) (let ((r (if x (g x) {:ok #f}))) (if (:ok r) (:v r) :none)))"
        " (list (f 1 (fn (x) {:ok #t :v x})) (f #f nil))",
        "(1 :none)",
    ),
    "a value that is used afterwards": (
        "(define (f x) (let ((r (if x {:ok #t} {:ok #f}))) (list (if (:ok r) 1 2) r))) (list (f 1) (f #f))",
        "((1 {:ok #t}) (2 {:ok #f}))",
    ),
    "effects between": (
        "(define seen '()) (define (note! x) (set! seen (cons x seen)) x)"
        " (define (f x) (let* ((r (if (note! x) {:ok #t} {:ok #f})) (y (note! :between)))"
        " (if (:ok r) (note! y) (note! :no)))) (f 1) (f #f) seen",
        "(:no :between #f :between :between 1)",
    ),
    "and, or, not": (
        "(define (f x) (let ((r (if (> x 0) {:ok #t :v x} {:ok #f}))) (list (if (and (:ok r) (> (:v r) 5)) :big :small)"
        " (if (or (not (:ok r)) (= 1 (:v r))) :a :b)))) (list (f 9) (f 1) (f -1))",
        "((:big :b) (:small :a) (:small :a))",
    ),
    "jumps": (
        "(define (f n) (let loop ((i 0) (s 0) (bad '())) (if (= i n) (list s bad) (let ((r (if (= 0 (mod i 3))"
        " {:err i} {:v (* i 2)}))) (if (contains? r :err) (loop (+ i 1) s (cons (:err r) bad))"
        " (loop (+ i 1) (+ s (:v r)) bad))))))"
        " (f 6)",
        "(24 (3 0))",
    ),
    "functions that keep what a branch gave": (
        "(define (f x) (let ((r (if x {:ok #t :v x} {:ok #f :v 0}))) (if (:ok r) (fn () (:v r)) (fn () r))))"
        " (list ((f 4)) ((f #f)))",
        "(4 {:ok #f :v 0})",
    ),
    "equal and unequal constants": (
        '(define (f x) (let ((k (cond ((= x 1) :a) ((= x 2) "a") ((= x 3) 1) ((= x 4) 1.0) (else nil))))'
        ' (cond ((= k :a) 1) ((= k "a") 2) ((= k 1) 3) ((nil? k) 4) (else 5)))) (map f \'(1 2 3 4 5))',
        None,
    ),
    "patterns of what was just made": (
        "(define (f x) (let (({:keys [a b]} {:a x :c 1}) ([c d] (list x 2))) (list a b c d))) (f 3)",
        "(3 nil 3 2)",
    ),
    "a pattern between": (
        "(define (f x) (let* ((r (if x [:a 1] [:b 2])) ([k n] r) (t (if (= k :a) 10 20))) (list n t)))"
        " (list (f #t) (f #f))",
        "((1 10) (2 20))",
    ),
    "a default": (
        "(define (f x) (let ((r (if x {:v nil} {:w 1}))) (if (get r :v #t) (get r :w 7) (contains? r :v))))"
        " (list (f #t) (f #f))",
        "(#t 1)",
    ),
}


def answer(text: str, mode: str) -> str:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True, watch=Verifier()).code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("skipped", ["", "fields", "threads"])
def test_answers(name: str, mode: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, expected = CASES[name]
    if expected is None:
        monkeypatch.setenv("SEMA_OPT", "0")
        expected = answer(text, mode)
        monkeypatch.delenv("SEMA_OPT")
    monkeypatch.setenv("SEMA_SKIP", skipped)
    assert answer(text, mode) == expected


@pytest.mark.parametrize(
    "name", ["a status", "lists that a match takes apart", "maps that a match takes apart", "jumps"]
)
def test_nothing_is_made_to_be_tested(name: str) -> None:
    python = compile_source(CASES[name][0], "<test>", "program").python_text()
    body = python.split("def f(")[1].split("\n\n")[0]
    assert "Map(" not in body and "List([kw" not in body and "kw_status" not in body
