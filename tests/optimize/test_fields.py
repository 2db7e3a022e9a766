"""Maps of known fields that nobody sees are a variable for each field, and programs answer as before."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

ANT = (
    "(define (step ant) (let* (({:keys [at black]} ant)\n"
    "  (black (if (contains? black at) (dissoc black at) (assoc black at #t)))) {:at (+ at 1) :black black}))\n"
    "(define (walk ant n) (if (zero? n) ant (walk (step ant) (- n 1))))\n"
)
CASES = {
    "a state that is updated": (
        "(define (f xs) (foldl (fn (s x) (-> s (update-in [:by x] (fn (n) (+ 1 (or n 0))))"
        " (map/update :n (fn (n) (+ (or n 0) 1))) (assoc-in [:last :is] x))) {:by {} :last {}} xs)) (f '(:a :b :a))",
        "{:by {:a 2 :b 1} :last {:is :a} :n 3}",
    ),
    "a vector that is updated": (
        "(define (f xs) (foldl (fn (v x) (update-in v [:a] (fn (n) x))) [1 2] xs)) (list (f '(5)) (f '()))",
        "({:a 5} [1 2])",
    ),
    "a function that goes on with the next state": (
        "(define (run s) (if (null? (:todo s)) (:sum s) (run (-> s (map/update :todo rest)"
        " (map/update :sum (fn (n) (+ n (first (:todo s)))))))))"
        " (map (fn (k) (run {:todo (range k) :sum 0})) '(0 1 4))",
        "(0 0 6)",
    ),
    "the state of a fold": (
        "(define (f xs) (foldl (fn (s x) (assoc s :n (+ 1 (:n s)) :last x)) {:n 0 :last nil} xs)) (f '(5 6))",
        "{:last 6 :n 2}",
    ),
    "the state before a change": (
        "(define (f xs) (foldl (fn (s x) {:a (:b s) :b (+ x (:a s))}) {:a 1 :b 2} xs)) (f '(1 2 3))",
        "{:a 4 :b 5}",
    ),
    "a map in a field": (
        "(define (f xs) (foldl (fn (s x) (if (contains? (:seen s) x) s"
        " (assoc s :seen (assoc (:seen s) x (:n s)) :n (+ 1 (:n s))))) {:seen {} :n 0} xs)) (f '(:a :b :a))",
        "{:n 2 :seen {:a 0 :b 1}}",
    ),
    "a fold in a loop": (
        "(define (f n) (let loop ((i 0) (ready '()) (seen {})) (if (= i n) (list ready seen)"
        " (let ((s (foldl (fn (t x) (assoc t :ready (cons x (:ready t)) :seen (assoc (:seen t) x i)))"
        " {:ready ready :seen seen} (range i)))) (loop (+ i 1) (:ready s) (:seen s)))))) (f 3)",
        "((1 0 0) {0 2 1 2})",
    ),
    "a loop with two ends": (
        "(define (f n) (let loop ((i 0) (s {:a 1 :b 1})) (cond ((= i n) s) ((> (:b s) 20) {:stopped s})"
        " (else (loop (+ i 1) {:a (:b s) :b (+ (:a s) (:b s))}))))) (list (f 3) (f 30))",
        "({:a 3 :b 5} {:stopped {:a 13 :b 21}})",
    ),
    "a state that others keep": (
        "(define (f xs) (foldl (fn (s x) (assoc s :n (+ 1 (:n s)) :all (cons s (:all s)))) {:n 0 :all '()} xs))"
        " (map :n (:all (f '(1 2 3))))",
        "(2 1 0)",
    ),
    "a state in a function made in each round": (
        "(define (f n) (let loop ((i 0) (s {:g (fn () 0) :n 0})) (if (= i n) ((:g s))"
        " (loop (+ i 1) {:g (fn () (list i (:n s))) :n (+ i (:n s))})))) (f 3)",
        "(2 1)",
    ),
    "one of two results": (
        "(define (f x) (let ((r (if x {:ok x} {:err :none}))) (list (contains? r :ok) (:ok r) (get r :err 1))))"
        " (list (f 1) (f #f))",
        "((#t 1 1) (#f nil :none))",
    ),
    "a default that is a map of known fields": (
        "(define (f c) (let ((d {:z 1}) (r (if c {:ok 1} {:err 2}))) (list (:z d) (get r :ok d))))"
        " (list (f #t) (f #f))",
        "((1 1) (1 {:z 1}))",
    ),
    "one of two results, or an error": (
        '(define (f x) (let ((r (cond ((= x 0) {:ok x}) ((= x 1) {:err {:n x}}) (else (error "neither")))))'
        " (list (contains? r :ok) (:ok r) (get-in r [:err :n]) (get-in r [:err :m] 7) (get-in r [:none] 8))))"
        " (list (f 0) (f 1) (try (f 2) (catch e (:message e))))",
        '((#t 0 nil 7 8) (#f nil 1 7 8) "neither")',
    ),
    "the result of a handler with clauses": (
        "(define (f x)"
        " (let ((r (guard (e ((number? e) {:again e}) ((string? e) {:dead e})) {:done (if x (throw x) 0)})))"
        " (cond ((contains? r :done) (:done r)) ((contains? r :dead) (list (:dead r))) (else (+ 1 (:again r))))))"
        ' (list (f #f) (f 4) (f "x") (try (f :k) (catch e (:value e))))',
        '(0 5 ("x") :k)',
    ),
    "the result of a handler": (
        "(define (f x) (let ((r (try {:ok (/ 10 x)} (catch e {:err (:message e)})))) (or (:ok r) (:err r))))"
        " (list (f 5) (f 0))",
        '(2 "division by zero")',
    ),
    "a handler keeps what was before": (
        "(define (f xs) (foldl (fn (s x) (try (assoc s :n (+ (:n s) (/ 10 x))) (catch e (assoc s :bad x))))"
        " {:n 0 :bad nil} xs)) (f '(5 0 2))",
        "{:bad 0 :n 7}",
    ),
    "a match with kinds": (
        "(define (f v) (let ((r (match v ([a] {:kind :one :v a}) ([a b] {:kind :two :v (+ a b)}) (_ {:kind :none}))))"
        " (if (= :none (:kind r)) (list (contains? r :v) (:v r)) (:v r)))) (list (f [1]) (f [1 2]) (f 1))",
        "(1 3 (#f nil))",
    ),
    "a pattern": (
        "(define (parse xs) (if (null? xs) {:value nil :rest '()} {:value (car xs) :rest (cdr xs)}))"
        " (define (go xs) (let loop ((xs xs) (n 0)) (if (null? xs) n"
        " (let (({:keys [value rest other]} (parse xs))) (loop rest (+ n value (if other 1 0))))))) (go '(1 2 3))",
        "6",
    ),
    "a map that only a local function reads": (
        "(define (f x) (define ops {:add (fn (a) (+ a x))}) (define (do k) ((get ops k) 1)) (map do '(:add))) (f 2)",
        "(3)",
    ),
    "the same map twice": ("(define (f x) (let ((m {:a x})) (list (:a m) (eq? m m) m))) (f 1)", "(1 #t {:a 1})"),
    "vectors that loops take apart": (
        "(define (next xs) (if (null? xs) [nil '()] [(car xs) (cdr xs)]))"
        " (define (f xs) (let loop ((s [0 '()]) (xs xs)) (let (([n out] s)) (if (null? xs) (list n out)"
        " (let (([x more] (next xs))) (loop [(+ n x) (cons x out)] more)))))) (f '(1 2 3))",
        "(6 (3 2 1))",
    ),
    "a vector of another length": (
        "(define (f x) (let ((v (if x [1 2] [1 2 3]))) (try (let (([a b] v)) (+ a b)) (catch e (length v)))))"
        " (list (f #t) (f #f))",
        "(3 3)",
    ),
    "an item that a vector hasn't": (
        "(define (f q) (let ((v [q 1])) (list (nth v 1) (try (nth v 5) (catch e (:message e)))"
        " (try (:a v) (catch e (:message e)))))) (f 3)",
        '(1 "index 5 out of bounds (length 2)" "expected map or hashmap, got vector")',
    ),
    "the ends of a loop": (
        "(define (f xs) (let (([how n] (let loop ((xs xs) (n 0)) (cond ((null? xs) [:end n]) ((car xs) [:at n])"
        " (else (loop (cdr xs) (+ n 1))))))) (list how n))) (list (f '(#f #f)) (f '(#f 1)))",
        "((:end 2) (:at 1))",
    ),
    "a key that comes later": (
        "(define (f xs) (foldl (fn (s x) (assoc s :k x)) {:a 1} xs)) (list (f '()) (f '(1)))",
        "({:a 1} {:a 1 :k 1})",
    ),
    "a key that is computed": (
        "(define (f ks) (foldl (fn (s k) (assoc s k 1 :a k)) {:a nil} ks)) (f '(:x :a))",
        "{:a :a :x 1}",
    ),
    "a function that is called once": (
        "(define (step s x) (if (> x 1) (assoc s :n (+ (:n s) x)) (let ((b (:bad s))) (assoc s :bad (cons x b)))))"
        " (define (run xs) (foldl (fn (s x) (step s x)) {:n 0 :bad '()} xs)) (run '(1 2 3))",
        "{:bad (1) :n 5}",
    ),
    "a result of a loop in which a branch only goes on": (
        "(define (sow board pit kept) (let loop ((left (get board pit)) (i pit) (b (assoc board pit 0)) (kept kept))"
        " (if (= left 0) {:b b :last i :kept kept} (let ((j (mod (+ i 1) 5))) (if (= j 4) (loop left j b kept)"
        " (loop (- left 1) j (assoc b j (+ 1 (get b j))) (cons b kept)))))))"
        " (define (play b pit) (let ((r (sow b pit '()))) [(:last r) (:b r) (first (:kept r)) b]))"
        " (play {0 1 1 1 2 3 3 0 4 9} 2)",
        "[1 {0 2 1 2 2 0 3 1 4 9} {0 2 1 1 2 0 3 1 4 9} {0 1 1 1 2 3 3 0 4 9}]",
    ),
    "a result of a loop that fails or throws": (
        "(define (f n m) (try (let ((r (let loop ((i 0) (m m)) (cond ((= i n) {:m m :i i}) ((= i 4) (throw {:at m}))"
        " (else (if (odd? i) (loop (+ i 1) (assoc m i 1)) (loop (+ i 1) (assoc m :k i))))))))"
        " (list (:m r) (:i r) m)) (catch e (list (:at (:value e)) m)))) (list (f 3 {}) (f 9 {:z 1}))",
        "(({1 1 :k 2} 3 {}) ({1 1 3 1 :k 2 :z 1} {:z 1}))",
    ),
    "functions that read fields": (
        "(define (a s k) (let loop ((i 0) (n 0)) (if (= i k) n (loop (+ i 1) (+ n (:a s) (or (:missing s) 0))))))"
        " (define (b s k) (let loop ((i 0) (n (:b s))) (if (= i k) n (loop (+ i 1) (+ n (a s i))))))"
        " (define (c s k) (if (= k 0) (:a s) (+ (:c s) (c s (- k 1)) (c s (- k 1)))))"
        " (define (d s k) (let (({:keys [a b]} s)) (let loop ((i 0)) (if (= i k) (list a b) (loop (+ i 1))))))"
        " (define (run n) (let loop ((s {:a 1 :b 2 :c 0}) (i 0) (out '())) (if (= i n) (list s out)"
        " (let ((x (+ (a s 3) (a s i) (b s 2) (b s i) (c s 2) (c s 1)))) (loop (assoc s :a (+ 1 (:a s)) :c (mod x 7))"
        " (+ i 1) (cons (list x (d s 2) (d s i)) out)))))) (run 3)",
        "({:a 4 :b 2 :c 0} ((63 (3 2) (3 2)) (26 (2 2) (2 2)) (14 (1 2) (1 2))))",
    ),
    "functions that read fields, and others that keep the map": (
        "(define (total s k) (let loop ((i 0) (n 0)) (if (= i k) n (loop (+ i 1) (+ n (:a s))))))"
        " (define (same s k) (let loop ((i 0)) (if (= i k) s (loop (+ i 1)))))"
        " (define (later s k) (let loop ((i 0) (fs '())) (if (= i k) (map (fn (f) (f)) fs)"
        " (loop (+ i 1) (cons (fn () (+ i (:a s))) fs)))))"
        " (define (run n) (let loop ((s {:a 1}) (i 0) (out '())) (if (= i n) out"
        " (loop (assoc s :a (* 2 (:a s))) (+ i 1)"
        " (cons (list (total s i) (total s 2) (:a (same s i)) (same s 1) (later s 2) (later s i)) out))))) (run 3)",
        "((8 8 4 {:a 4} (5 4) (5 4)) (2 4 2 {:a 2} (3 2) (2)) (0 2 1 {:a 1} (2 1) ()))",
    ),
    "an error in a function that is called once": (
        "(define (step s x f) (let ((y (f x))) (assoc s :n (+ (:n s) y))))\n"
        "(define (run xs) (foldl (fn (s x) (step s x (fn (k) (/ 10 k)))) {:n 0} xs))\n"
        "(try (run '(1 0)) (catch e (map (fn (f) [(:name f) (:line f)]) (:stack-trace e))))",
        '(["/" 2] ["<lambda>" 2] ["step" 1] ["<lambda>" 2])',
    ),
    "a result that a handler hands on, beside what is no map": (
        "(define (made n) (println n) {:id (list n)})\n"
        "(define (tried n) (println n) (try (made n) (catch e (println e) n)))\n"
        "(list (match (made 7) ({:id x} x)) (:id (made 6)) (tried 1) (tried 2))",
        "((7) (6) {:id (1)} {:id (2)})",
    ),
    "a state that the top level hands to a loop": (
        ANT + "(define ant (walk {:at 0 :black {}} 5)) (list (:at ant) (count (:black ant)) ant)",
        "(5 5 {:at 5 :black {0 #t 1 #t 2 #t 3 #t 4 #t}})",
    ),
    "states that two places hand to a loop": (
        ANT
        + "(define (two n) (list (:at (walk {:at 0 :black {2 #t}} n)) (count (:black (walk {:at n :black {}} 3)))))\n"
        "(list (two 4) (two 0) (try (two nil) (catch e (:message e))))",
        '((4 3) (0 3) "expected number, got nil")',
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("skipped", ["", "fields", "calls", "arguments"])
def test_answers(name: str, mode: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, expected = CASES[name]
    monkeypatch.setenv("SEMA_SKIP", skipped)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True, watch=Verifier()).code, scope)
    assert to_text(scope[RESULT]) == expected


@pytest.mark.parametrize(
    "name",
    [
        "a state that is updated",
        "the state of a fold",
        "a map in a field",
        "a fold in a loop",
        "a pattern",
        "a state that the top level hands to a loop",
        "states that two places hand to a loop",
    ],
)
def test_no_map_is_made_in_a_round(name: str) -> None:
    python = compile_source(CASES[name][0], "<test>", "program").python_text()
    rounds = [part for part in python.split("\n") if part.startswith("        ")]
    assert rounds and not any("assoc(" in line or "with_entr" in line for line in rounds)


def test_a_module_hands_states_to_loops_of_its_own() -> None:
    text = ANT + "(define (far n) (:at (walk {:at 0 :black {}} n)))"
    python = compile_source(text, "<test>", "module").python_text()
    assert "Map(" not in python[python.index("def far(") :]


def test_a_pattern_of_keywords_reads_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    text = ANT + (
        "(define ants (map (fn (n) (walk (if (even? n) {:at n :black {}} {:at 1 :black {3 #t}}) n)) (list 1 2)))\n"
        "(println ants)"
    )
    assert "entries" not in compile_source(text, "<test>", "program").python_text()
    monkeypatch.setenv("SEMA_SKIP", "patterns")
    assert "entries" in compile_source(text, "<test>", "program").python_text()


def test_a_result_of_a_loop_in_which_a_branch_only_goes_on_is_no_map() -> None:
    text = CASES["a result of a loop in which a branch only goes on"][0]
    assert "kw_last" not in compile_source(text, "<test>", "program").python_text()


def test_functions_that_read_fields_get_these(monkeypatch: pytest.MonkeyPatch) -> None:
    text = CASES["functions that read fields"][0]
    assert "def c(s, k):" not in compile_source(text, "<test>", "program").python_text()
    monkeypatch.setenv("SEMA_SKIP", "arguments")
    assert "def c(s, k):" in compile_source(text, "<test>", "program").python_text()


@pytest.mark.parametrize("name", ["one of two results, or an error", "the result of a handler with clauses"])
def test_results_that_errors_stand_beside_are_no_maps(name: str) -> None:
    python = compile_source(CASES[name][0], "<test>", "program").python_text()
    assert "Map({kw_ok" not in python and "Map({kw_done" not in python


def test_people_who_stop_in_a_loop_see_its_state() -> None:
    text = "(define (f xs) (foldl (fn (s x) (breakpoint) (assoc s :n (+ (:n s) x))) {:n 0} xs)) (f '(1))"
    assert "s[kw_n]" in compile_source(text, "<test>", "program").python_text()
