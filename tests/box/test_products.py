"""Products of ints stay within `integer_bits`, wherever a program multiplies."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from sema_runtime.box import Pool, Session
from semac.box.checker import nodes_of
from semac.box.products import CHECK, bound_products

BIG = "(define b (expt 2 600000)) "


@pytest.mark.parametrize(
    "source",
    [
        BIG + "(* b b)",
        BIG + "(* 2 3 b 5 b)",
        BIG + "(* b (- b))",
        BIG + "(apply * (list b b))",
        BIG + "(reduce * (list b b))",
        BIG + "(foldl * 1 (list b b))",
        BIG + "(map (fn (x) (* x b)) (list 1 b))",
        BIG + "(sort-by (fn (x) (* x x)) (list 1 b))",
        BIG + "(define (f x y) (* x y)) (f b b)",
        BIG + "(let ((times *)) (times b b))",
        BIG + "(set! b (* b b)) 1",
        BIG + "(define i 0) (while (< i 3) (set! b (* b b)) (set! i (+ i 1))) 1",
        BIG + "(define-syntax sqr (syntax-rules () ((_ a) (* a a)))) (sqr b)",
        BIG + "(try (* b b) (catch e (throw (:message e))))",
        BIG + "(await (async (* b b)))",
        BIG + "(lcm b (- b 1))",
        BIG + "(* (/ 1 b) (/ 1 b))",
        BIG + "(+ (/ 1 b) (/ 1 (- b 1)))",
        "(let loop ((i 0) (x 3)) (if (= i 60) x (loop (+ i 1) (* x x))))",
        "(define (square x n) (if (= n 0) x (square (* x x) (- n 1)))) (square 3 60)",
        "(defmacro m () (* (expt 2 600000) (expt 2 600000))) (m)",
        "(expt 3/2 100000000)",
        "(expt 10 -100000000)",
    ],
)
def test_a_product_beyond_the_limit_is_refused(pool: Pool, source: str) -> None:
    outcome = pool.run(source)
    assert outcome.status == "error" and "limit integer_bits is 1,000,000" in (outcome.message or ""), outcome
    assert outcome.line == 1 or "throw" in source


def test_the_limit_is_that_of_the_program(pool: Pool) -> None:
    small = replace(pool.limits, integer_bits=100)
    assert pool.run("(* 1000000000000 1000000000000)", limits=small).value == 10**24
    outcome = pool.run("(define (f x) (* x x x)) (f 1000000000000)", limits=small)
    assert outcome.reason == "runtime_error" and outcome.column == 15


def test_a_program_can_catch_it(pool: Pool) -> None:
    assert pool.run(BIG + "(try (* b b) (catch e 7))").value == 7


def test_what_another_program_makes_large_is_no_small_number(pool: Pool) -> None:
    with Session(pool) as session:
        session.run("(define x 1) (define (grow) (set! x (expt 2 600000)))")
        outcome = session.run("(set! x 7) (grow) (bit/and 1 (* x x))")
    assert "integer_bits" in (outcome.message or "")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("(define (f a b) (* a b)) (list (f 3 4) (f 1.5 2) (f 1/2 4) (f 1/2 1/3) (f -9 100000000000000000000))",
         [12, 3.0, 2, 1 / 6, -900000000000000000000]),
        ("(map (fn (x) (* x x)) (range 4))", [0, 1, 4, 9]),
        ("(define (f x y) (modulo (* x y) 1000)) (f 12345678901234567890 98765)", 850),
        ("(define (f x) (< (* x x) 50)) (list (f 7) (f 8))", [True, False]),
        ("(define (f i) (nth [1 2 3] (* i 2))) (f 1)", 3),
        ("(foldl * 1 (range 1 25))", 620448401733239439360000),
        ("(list (*) (* 5) (* 2 3 4) (apply * '(1 2 3 4.5)))", [1, 5, 24, 27.0]),
        ("(lcm 4 6 10)", 60),
    ],
)  # fmt: skip
def test_other_products_are_as_ever(pool: Pool, source: str, value: object) -> None:
    assert pool.run(source).value == value


@pytest.mark.parametrize(
    "text",
    ["x = a * 2.5", "x = a * b % 7", "x = a * b < c", "x = xs[a * b]", "for i in range(n): x = i * i",
     "x = (a * b + 1) % c", "x = len(a) * 10"],
)  # fmt: skip
def test_what_stays_small_is_not_compared(text: str) -> None:
    tree = ast.parse(text)
    bound_products(nodes_of(tree), {})
    assert CHECK not in ast.unparse(tree)


@pytest.mark.parametrize(
    "text",
    ["x = a * b", "x *= 2", "x = [i * i for i in xs]", "x = 2\nx = x * x", "for i in range(n): x = x * i",
     "x = [i for i in xs if (y := i * b)]", "x = [i for i in f(a * b)]", "f = lambda a: a * 2",
     "def f():\n    global i\n    for i in range(3): g()\n    return i * i", "x = a * b // c"],
)  # fmt: skip
def test_what_may_grow_is_compared(text: str) -> None:
    tree = ast.parse(text)
    bound_products(nodes_of(tree), {})
    assert CHECK in ast.unparse(tree)
    compile(tree, "<test>", "exec")
