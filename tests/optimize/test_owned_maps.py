"""Maps that change in place are the maps of the program wherever anybody sees them."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

FIB = (
    "(define (fib n memo) (cond ((< n 2) [n memo]) ((contains? memo n) [(get memo n) memo]) (else "
    "(let* (([a memo] (fib (- n 1) memo)) ([b memo] (fib (- n 2) memo))) [(+ a b) (assoc memo n (+ a b))]))))"
)
FAILING = (  # a function that ends in an error in one of its branches
    "(define (fail k) (throw {:bad k})) (define (of m k) (cond ((contains? m k) [(get m k) m]) ((= k 7) (throw k)) "
    '((= k 8) (fail k)) ((= k 9) (error "nine")) (else (let (([v m] (deeper m (quotient k 2)))) [v (assoc m k v)]))))'
    "(define (deeper m k) (if (< k 2) [k (assoc m k k)] (let (([v m] (of m k))) [(+ 1 v) m])))"
)
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
    ("(define m {:a 1}) (set! m (assoc (dissoc m :a) 0 (count m))) m", "{0 1}"),
    ("(define (g) (let ((n {:a 1})) (set! n (assoc (dissoc n :a) 0 (get n :a) 1 (count n))) n)) (g)", "{0 1 1 1}"),
    ("(define m {:a 1}) (define (f) (let ((old m)) (if old (set! m (assoc m 0 (count m))) 0) (count old))) "
     "(list (f) m)", "(1 {0 1 :a 1})"),
    (f"{FIB} (define (sum n) (let (([v m] (fib n {{}}))) (+ v (count m)))) (list (sum 9) (fib 3 {{1 7}}))",
     "(42 [2 {1 7 2 1 3 2}])"),
    (f"{FIB} (define old {{}}) (define (f n m) (let (([v after] (fib n m))) (list v (count m) (count after)))) "
     "(f 5 old)", "(5 0 4)"),
    ("(define (twice m k) [(assoc m k 1) (assoc m k 2)]) (define (f n) (let (([a b] (twice {} n))) (list (assoc a 0 0) "
     "b))) (f 7)", "({0 0 7 1} {7 2})"),
    ("(define (both m k) (let ((new (assoc m k 1))) [new new])) (define (f n) (let (([a b] (both {} n))) "
     "(list (assoc a 0 0) b))) (f 7)", "({0 0 7 1} {7 1})"),
    ("(define (down n m) (if (= n 0) [m n] (again n (assoc m n n)))) (define (again n m) (down (- n 1) m)) "
     "(define (f n) (let (([m _] (down n {}))) m)) (list (f 2) (f 3))", "({1 1 2 2} {1 1 2 2 3 3})"),
    (f"{FAILING} (define (all ks) (foldl (fn (m k) (let (([_ m] (of m k))) m)) {{}} ks)) (define (tried k) (try (all "
     "(list 4 5 k)) (catch e (list (:value e) (:message e))))) (map tried '(10 14 17 18))",
     '({1 1 2 1 4 2 5 2 10 3} (7 "7") ({:bad 8} "{:bad 8}") (nil "nine"))'),
    (f"{FAILING} (define (f ks) (foldl (fn (m k) (try (let (([v n] (of m k))) (assoc n :v v)) "
     "(catch e (assoc m :failed (count m))))) {} ks)) (f '(4 14 5 18 17 10))",
     "{1 1 2 1 4 2 5 2 10 3 :failed 6 :v 3}"),
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


def test_functions_that_end_in_errors_own_their_maps() -> None:
    text = f"{FAILING} (define (all ks) (foldl (fn (m k) (let (([_ m] (of m k))) m)) {{}} ks)) (println (all '(4 5)))"
    assert "with_entry" not in compile_source(text, "<test>", "program").python_text()


def test_a_form_that_reads_a_global_without_a_value() -> None:
    with pytest.raises(NameError):
        exec(compile_source("(when (= 1 2) (define w 1)) w 1", "<test>", "program").code, {"__name__": "__main__"})


def test_what_a_look_up_of_a_dict_gives_where_there_is_nothing_is_made_once() -> None:
    text = (
        "(define (f n) (let ((t (foldl (fn (t i) (assoc t [i] {:n i})) {} (range n))))"
        " (map (fn (i) (assoc (get t [i] {}) :m (count (get t [(* 2 i)] {})))) (range n))))"
    )
    assert ", Map({}))" not in compile_source(text, "<test>", "program").python_text()
    for optimize in (True, False):
        scope: dict[str, Any] = {"__name__": "__main__"}
        unit = compile_source(f"{text} (list (f 3) (f 2))", "<test>", "program", result=True, optimize=optimize)
        exec(unit.code, scope)
        assert to_text(scope[RESULT]) == "(({:m 1 :n 0} {:m 1 :n 1} {:m 0 :n 2}) ({:m 1 :n 0} {:m 0 :n 1}))"


def test_a_map_thrown_inside_of_an_expression() -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    text = "(define (h a) (+ 1 (if (= a 2) (throw {:id a}) 1))) (try (h 2) (catch e (:value e)))"
    exec(compile_source(text, "<test>", "program", result=True).code, scope)
    assert type(scope[RESULT]) is Map


def test_the_order_of_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(CASES[-1][0], "<test>", "program").code, scope)
    assert capsys.readouterr().out.split("\n")[:2] == ["1", "{:k 1}"]
