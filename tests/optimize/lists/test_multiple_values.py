"""Multiple values that `let-values` alone takes apart leave nothing behind, and programs answer as before."""

from __future__ import annotations

import random

import pytest
from outcomes import python, run

from semac.verify.unit import Verifier

CASES = {
    "a call that is inlined": (
        "(define (divide a b) (values (quotient a b) (mod a b)))"
        "(define (digits n base) (let-values (((q r) (divide n base))) (if (= q 0) (list r) (append (digits q base) (list r)))))"
        "(digits 1234 7)",
        "(3 4 1 2)",
    ),
    "a loop": (
        "(define (ends xs lo hi) (if (null? xs) (values lo hi) (ends (rest xs) (min lo (first xs)) (max hi (first xs)))))"
        "(let-values (((a b) (ends '(3 1 2) 100 0))) (list a b))",
        "(1 3)",
    ),
    "functions that call each other": (
        "(define (f x) (if (even? x) (values x 1) (g (+ x 1)))) (define (g x) (if (odd? x) (f x) (values (* 2 x) 2)))"
        "(let*-values (((a b) (f 3)) ((c d) (g a))) (list a b c d))",
        "(8 2 16 2)",
    ),
    "branches and errors": (
        '(define (f b) (if (= b 0) (error "zero") (values 7 b)))'
        "(define (g x) (let-values (((a b) (if (> x 1) (values x 1) (f x)))) (+ a b))) (list (g 3) (g 1) (try (g 0) (catch e :no)))",
        "(4 8 :no)",
    ),
    "a rest": ("(define (f) (values 1 2 3)) (let-values (((a . r) (f))) (list a r))", "(1 (2 3))"),
}
KEPT = {
    "too many": (
        "(define (f x) (if x (values 1 2) (values 1 2 3)))(try (let-values (((a b) (f #f))) a) (catch e (:message e)))",
        '"<lambda> expects 2 arguments, got 3"',
    ),
    "nil": (
        "(define (f x) (when x (values 1 2))) (try (let-values (((a b) (f #f))) a) (catch e (:message e)))",
        '"<lambda> expects 2 arguments, got 1"',
    ),
    "seen by others": (
        "(define (f x) (values x x)) (list (let-values (((a b) (f 2))) a) (f 2))",
        "(2 #<record %multiple-values% 2 2>)",
    ),
    "one that is several": (
        "(define (f x) (values x)) (let-values (((a b) (f (values 1 2)))) (list a b))",
        "(1 2)",
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["program", "module"])
def test_values_are_vectors(name: str, mode: str) -> None:
    source, expected = CASES[name]
    assert run(source, mode=mode, watch=Verifier()) == run(source, mode=mode, optimize=False) == expected
    assert "values_tuple" not in python(source)


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("mode", ["program", "module"])
def test_what_others_see_stays(name: str, mode: str) -> None:
    source, expected = KEPT[name]
    assert run(source, mode=mode, watch=Verifier()) == run(source, mode=mode, optimize=False) == expected


@pytest.mark.parametrize("seed", range(60))
def test_random_functions_of_several_values(seed: int) -> None:
    source = program(random.Random(seed))
    expected = run(source, mode="program", optimize=False)
    for mode in ("program", "module"):
        assert run(source, mode=mode, watch=Verifier()) == expected, source


def program(chance: random.Random) -> str:
    """Functions that give one to three values in branches, or those of another, and forms that take two, or more."""
    counts = chance.choices([2, 2, 2, 2, 1, 3], k=4)

    def several(depth: int, own: int) -> str:
        kind = chance.randrange(6)
        if depth and kind < 2:
            return f"(if (> x {chance.randrange(4)}) {several(depth - 1, own)} {several(depth - 1, own)})"
        if kind == 2 and own:
            return f"(f{chance.randrange(own)} (+ x {chance.randrange(3)}))"
        if kind == 3:
            return f"(if (> n 0) (f{own} (- x 1)) (values x 0))" if chance.random() < 0.2 else "(values x (* x 2))"
        if kind == 4 and depth:
            return f"(let ((y (* x x))) {several(0, own)})"
        return "(values " + " ".join(f"(+ x {i})" for i in range(counts[own])) + ")"

    functions = [f"(define n 0) (define (f{i} x) {several(2, i)})" for i in range(len(counts))]
    takes = []
    for i in range(len(counts)):
        names, given = chance.choice([("(a b)", "(list b a)"), ("(a . b)", "(list a b)"), ("a", "a")])
        inside = chance.choice([f"(f{i} x)", f"(if (even? x) (f{i} x) (values x 1))", "(values x x)"])
        takes.append(f"(try (let-values (({names} {inside})) {given}) (catch e (:message e)))")
    if chance.random() < 0.2:
        takes.append("(f0 x)")
    return f"{' '.join(functions)} (map (fn (x) (list {' '.join(takes)})) (range 5))"
