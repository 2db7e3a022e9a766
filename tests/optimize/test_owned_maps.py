"""Maps that change in place are the maps of the program wherever anybody sees them."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

CASES = [
    ("(define (f a) (assoc {:id (assoc {} :name nil)} :value 1)) (f 0.1)", "{:id {:name nil} :value 1}"),
    ("(define (d f) (up (mk f 1))) (define (up c) (assoc c :k 1)) (define (mk f b) {:k f}) "
     "(d (let ((m {})) (assoc m :a 1)))", "{:k 1}"),
    ("(define (mk n) (assoc (hashmap/new) :k n :n 2)) (map :k (map mk '(3)))", "(3)"),
    ("(let* ((m (assoc {:j 1 :k 5} :k '())) (m2 m)) (count m))", "2"),
    ("(define (mk) (assoc (hashmap/new) 1 2)) (define g (or (mk) foldl)) (list g (type g))", "({1 2} :hashmap)"),
    ("(define (f x) (if x (reduce (fn (a y) a) (list {:j nil})) (assoc {} :j 1))) (f 1)", "{:j nil}"),
    ("(define (f xs c) (map (fn (r) (let ((m (if c (assoc {} :a 1) r))) (assoc m :b 2))) xs)) (list (f '({:q 1}) #f)"
     " (f '(1) #t))", "(({:b 2 :q 1}) ({:a 1 :b 2}))"),
    ("(define (f v c) (let (([x y] v)) (let ((m (if c (assoc {} :a 1) x))) (assoc m :b 2)))) (list (f [{:q 1} 2] #f)"
     " (f [1 2] #t))", "({:b 2 :q 1} {:a 1 :b 2})"),
    ("(define (f v c) (let ((m (match v ([x _] x) (_ (assoc {} :a 1))))) (assoc m :b 2))) (list (f [{:q 1} 2] #f)"
     " (f 1 #t))", "({:b 2 :q 1} {:a 1 :b 2})"),
    ("(define (f c) (let ((m (try (if c (throw {:q 1}) (assoc {} :a 1)) (catch e (:value e))))) (assoc m :b 2)))"
     " (list (f #t) (f #f))", "({:b 2 :q 1} {:a 1 :b 2})"),
    ("(define (f . ms) (foldl (fn (a m) (assoc (if (:q m) m (assoc {} :a 1)) :b 2)) {} ms))"
     " (list (f {:q 1}) (f {:z 1}))", "({:b 2 :q 1} {:a 1 :b 2})"),
    ("(define (pairs n) (let lp ((i 0) (m {})) (if (>= i n) [m i] (lp (+ i 1) (assoc m i (* i i)))))) (pairs 2)",
     "[{0 0 1 1} 2]"),
    ("(define (show m0 m1) (println m1) m1) "
     "(define (mk l) (println 1) (assoc {:k 0} :j (foldl (fn (m b) (assoc m b b)) {} l))) "
     "(show (mk '(1 2)) (show {} {:k 1}))", "{:k 1}"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("optimize", [True, False])
def test_answers(text: str, expected: str, mode: str, optimize: bool) -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    unit = compile_source(text, "<test>", mode, result=True, optimize=optimize, watch=Verifier())
    exec(unit.code, scope)
    assert to_text(scope[RESULT]) == expected


def test_a_map_thrown_inside_of_an_expression() -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    text = "(define (h a) (+ 1 (if (= a 2) (throw {:id a}) 1))) (try (h 2) (catch e (:value e)))"
    exec(compile_source(text, "<test>", "program", result=True).code, scope)
    assert type(scope[RESULT]) is Map


def test_the_order_of_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(CASES[-1][0], "<test>", "program").code, scope)
    assert capsys.readouterr().out.split("\n")[:2] == ["1", "{:k 1}"]
