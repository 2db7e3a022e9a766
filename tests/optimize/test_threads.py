"""Tests of values that were just made are decided where these are made, functions whose results are taken apart return
tuples, and programs answer as before."""

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
    "a clause that several values take, behind one with a loop in its guard": (
        "(define (f x xs) (match (cond ((= x 1) [:a]) ((= x 2) [:a 1]) (else x))"
        " ([:b] when (foldl (fn (found y) (or found (> y 2))) #f xs) 5) ([:a] 3) (_ 4)))"
        " (list (f 1 '(1)) (f 2 '(1)) (f [:b] '(1 3)) (f [:b] '(1)))",
        "(3 4 5 4)",
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


PARTS = {
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


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("skipped", ["", "fields", "parts", "calls"])
def test_answers_of_parts(name: str, mode: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, expected = PARTS[name]
    if expected is None:
        monkeypatch.setenv("SEMA_OPT", "0")
        expected = answer(text, mode)
        monkeypatch.delenv("SEMA_OPT")
    monkeypatch.setenv("SEMA_SKIP", skipped)
    assert answer(text, mode) == expected


@pytest.mark.parametrize("name", ["a status", "results that are handed on", "functions that call each other", "loops"])
def test_no_map_is_made(name: str) -> None:
    python = compile_source(PARTS[name][0], "<test>", "program").python_text()
    assert "Map(" not in python and ".d[" not in python


def test_copies_of_a_module_return_tuples() -> None:
    python = compile_source(PARTS["functions that call each other"][0], "<test>", "module").python_text()
    private, public = python.split("def _fast_odd(")[1].split("def odd(")
    assert "Map(" not in private and ".d[" not in private
    assert "Map(" in public


def test_a_form_of_a_module_has_the_function_that_it_alone_calls() -> None:
    text = (
        "(define (step s i) (if (= 0 (mod i 7)) (assoc s :bad (+ 1 (:bad s))) (assoc s :sum (+ i (:sum s)) :last i)))"
        " (define end (foldl (fn (s i) (step s i)) {:sum 0 :bad 0 :last nil} (range 100)))"
    )
    python = compile_source(text, "<test>", "module").python_text()
    assert "def step(" in python and "step(" not in python.split("def make_end(")[1]
