"""Functions that give a state back changed take and give its fields; answers are those of plain code."""

from __future__ import annotations

import pytest
from outcomes import python, run

VISIT = (
    "(define (visit graph name s) (if (get (:seen s) name) s (let ((walked (foldl (fn (s next) (visit graph next s))"
    " (assoc s :seen (assoc (:seen s) name #t)) (get graph name '()))))"
    " (assoc walked :order (cons name (:order walked))))))"
    " (define (order graph) (reverse (:order (foldl (fn (s name) (visit graph name s)) {:seen {} :order '()}"
    " (keys graph)))))"
)
STATES = {
    "a walk": f"{VISIT} (list (order {{:a '(:b :c) :b '(:c) :c '()}}) (order {{}}))",
    "one field": (
        "(define (add s x) (if (> x 2) (let ((t (add s (- x 1)))) (assoc t :n (+ x (:n t)))) s))"
        " (define (all s) (foldl add s (range 9)))"
        " (define (go k) (let loop ((i 0) (s {:n 0 :log '()})) (if (= i k) s (loop (+ i 1) (assoc (add s i) :log"
        " (cons i (:log s))))))) (list (go 5) (all {:n 1 :log '()}))"
    ),
    "tail calls in turn": (
        "(define (ping s) (if (= 0 (:left s)) s (pong (assoc s :left (- (:left s) 1)))))"
        " (define (pong s) (if (= 0 (:left s)) s (ping (assoc s :left (- (:left s) 1)"
        " :seen (+ 1 (:seen s))))))"
        " (define (go n) (let ((s (ping {:left n :seen 0 :name :x}))) (list (:seen s) (:name s))))"
        " (list (go 0) (go 50001))"
    ),
    "a state that is shown, too": (
        "(define kept '()) (define (step s n) (set! kept (cons s kept)) (assoc s :n n))"
        " (define (go) (foldl step {:n 0 :m 1} (range 3))) (let ((r (go))) (list r kept))"
    ),
    "a field that is missing": (
        "(define (step s n) (assoc s :n (+ n (or (:n s) 0)))) (define (go s) (foldl step s (range 4)))"
        " (list (go {:m 1}) (go {:n 5}))"
    ),
    "a field that is added": (
        "(define (step s n) (if (= n 2) (assoc s :two #t) (assoc s :n n))) (define (go) (foldl step {:n 0} (range 4)))"
        " (list (go) (step {:n 1} 0))"
    ),
    "nil and other values": (
        "(define (step s n) (cond ((= n 3) nil) ((= n 9) 5) (else (assoc s :n n))))"
        " (define (go k) (let ((s (step {:n 0 :m 2} k))) (if s (:n s) :none)))"
        " (list (go 1) (go 3) (try (go 9) (catch e :no)))"
    ),
    "errors": (
        "(define (step s n) (if (= n 2) (throw {:at n}) (assoc s :n n :m (:n s))))"
        " (define (go s) (foldl (fn (s n) (try (step s n) (catch e (assoc s :bad (:value e))))) s (range 5)))"
        " (go {:n 0 :m 0 :bad nil})"
    ),
    "what it was before": (
        "(define (step s n) (assoc s :n n :log (cons (:n s) (:log s))))"
        " (define (go s) (let* ((t (step s 1)) (u (step s 2)) (v (step t 3))) (list s t u v))) (go {:n 0 :log '()})"
    ),
    "another map of the same fields": (
        "(define (step s n) (if (= n 2) {:n 100 :m 7} (assoc s :n (+ n (:n s)))))"
        " (define (go k) (foldl step {:n 0 :m 1} (range k))) (list (go 2) (go 5))"
    ),
    "a hash map": (
        "(define (step s n) (assoc s :n n)) (define (go s) (foldl step s (range 3)))"
        " (list (go {:n 9 :m 1}) (count (go (hashmap/new))))"
    ),
    "two states": (
        "(define (both a b) (assoc a :n (+ (:n a) (:n b)))) (define (go) (let loop ((i 0) (a {:n 1}) (b {:n 2}))"
        " (if (= i 3) (list a b) (loop (+ i 1) (both a b) (both b a))))) (go)"
    ),
}


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("skipped", ["", "states", "fields", "own", "parts"])
def test_answers_are_those_of_plain_code(name: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(STATES[name], optimize=False)
    monkeypatch.setenv("SEMA_SKIP", skipped)
    for mode in ("program", "module"):
        assert run(STATES[name], mode=mode) == plain


def test_a_walk_hands_its_fields_on() -> None:
    text = python(STATES["a walk"])
    head = text.split("def visit(")[1].split(")")[0]
    assert head.count(",") == 3 and "Owner" not in text and "kw_seen" not in text


def test_one_changed_field_is_given_as_it_is() -> None:
    text = python(STATES["one field"])
    assert "kw_n" not in text.split("def add(")[1].split("def ")[0]


ENTERED = {
    "tail calls": (
        "(define (step s) (if (even? (:n s)) (assoc s :n (quotient (:n s) 2) :steps (+ 1 (:steps s)))"
        " (assoc s :n (+ 1 (* 3 (:n s))) :steps (+ 1 (:steps s)) :odd (cons (:n s) (:odd s)))))"
        " (define (go s limit) (cond ((= 1 (:n s)) s) ((> (:steps s) limit) (assoc s :n -1))"
        " (else (go (step s) limit)))) (define (start n) {:n n :steps 0 :odd '()})"
        " (list (go (start 27) 1000) (map (fn (n) (go (start n) 9)) (range 1 9)))"
    ),
    "a loop that gives a pair": (
        "(define (make n) {:size n :known {} :hits 0}) (define (fetch c k) (if (contains? (:known c) k)"
        " [(get (:known c) k) (assoc c :hits (+ 1 (:hits c)))] [(* k k) (assoc-in c [:known k] (* k k))]))"
        " (define (run c n) (let loop ((i 0) (c c) (sum 0)) (if (= i n) [sum c]"
        " (let (([v c] (fetch c (mod (* i i) 7)))) (loop (+ i 1) c (+ sum v))))))"
        " (list (run (make 3) 9) (first (run (make 1) 20)))"
    ),
    "a state that is read after the loop": (
        "(define (run s n) (let ((t (foldl (fn (t i) (assoc t :n (+ i (:n t)) :m i)) s (range n)))) (list s t (:n s))))"
        " (define (go k) (run {:n k :m 0 :name :x} 4)) (list (go 1) (go 2))"
    ),
    "a state that a closure keeps": (
        "(define (run s n) (let loop ((i 0) (s s) (fs '())) (if (= i n) (map (fn (f) (f)) fs)"
        " (loop (+ i 1) (assoc s :n i) (cons (fn () (:n s)) fs))))) (list (run {:n 7 :m 1} 3))"
    ),
    "an error in a round": (
        "(define (run s n) (let loop ((i 0) (s s)) (if (= i n) s (loop (+ i 1) (assoc s :n (quotient 6 (- 2 i)))))))"
        " (list (run {:n 7 :m 1} 2) (try (run {:n 7 :m 1} 3) (catch e (:message e))))"
    ),
}


@pytest.mark.parametrize("name", ENTERED)
@pytest.mark.parametrize("skipped", ["", "states", "fields"])
def test_loops_are_entered_with_fields(name: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(ENTERED[name], optimize=False)
    monkeypatch.setenv("SEMA_SKIP", skipped)
    for mode in ("program", "module"):
        assert run(ENTERED[name], mode=mode) == plain


@pytest.mark.parametrize("name", ["tail calls", "a loop that gives a pair"])
def test_loops_have_variables_for_fields(name: str) -> None:
    assert "assoc" not in python(ENTERED[name]) and "with_entr" not in python(ENTERED[name])
