"""Indices that only Python tests: the errors are those of the builtins, wherever they are caught, and told of the same
operands, on every way in which the instructions of an operand can look."""

from __future__ import annotations

import ast
import sys
from typing import Any

import pytest

from sema_runtime.conditions.translate import translated
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source

# (program whose `run` fails, what reads the item, in the emitted Python)
PROGRAMS = {
    "(define (run v n) (let loop ((i 0) (s 0)) (if (> i n) s (loop (+ i 1) (+ s (nth v i))))))": "[i]",
    "(define (run v n) (let loop ((i 0) (s 0)) (if (> i n) s (loop (+ i 1) (+ s (nth v (+ i 1)))))))": "[i + 1]",
    "(define (run v n) (let loop ((i 0) (s 0)) (if (> i n) s (loop (+ i 1) (+ s (nth v (* i i)))))))": "[i * i]",
    "(define (run v n) (let loop ((i 0) (s 0)) (if (> i 9) s (loop (+ i 1) (+ s (nth v (mod (* i 7) 9)))))))": (
        "[i * 7 % 9]"
    ),
    "(define (run v n) (let loop ((i 0) (s 0)) (if (> i 9) s (loop (+ i 1) (+ s (nth v (quotient i 2)))))))": (
        "[i // 2]"
    ),
    "(define (run v n) (let loop ((i 0) (s 0)) (if (> i n) s (loop (+ i 1) (+ s (nth (nth [v v] 1) i))))))": "[i]",
    "(define (run v n) (map (fn (i) (nth v i)) (range (+ n 1))))": "[i]",
    "(define (run v n) (let ((f (fn (x) (foldl (fn (a i) (+ a x (nth v i))) 0 (range n))))) (f n)))": "[i]",
    """(define (run v n) (let ((a (mutable-array/new 2 0)))
         (dotimes (i (+ n 1)) (mutable-array/set! a i (nth v 0))) a))""": "a.items[i]",
    """(define (run v n) (let ((a (mutable-array/new 2 0)))
         (foldl (fn (s i) (+ s (mutable-array/get a (+ i 1)))) 0 (range n))))""": "a.items[i + 1]",
    """(define (run v n) (let ((a (mutable-array/new 2 0)) (b (mutable-array/new 9 7)))
         (foldl (fn (s i) (+ s (mutable-array/get a (mutable-array/get b i)))) 0 (range n))))""": "a.items[b.items[i]]",
    '(define (run v n) (let loop ((i 0)) (if (char=? (string-ref "abc" i) #\\d) i (loop (+ i 1)))))': '"abc"[i]',
    # an index of which the sign isn't known is compared with 0
    "(define (run v n) (let loop ((i n) (s 0)) (if (> i 20) s (loop (+ i 1) (+ s (nth v (- i n)))))))": ">= 0",
    "(define (run v n) (let loop ((i n) (s 0)) (if (< i -9) s (loop (- i 1) (+ s (nth v (- n i)))))))": ">= 0",
    """(define (run v n) (let ((a (mutable-array/new 2 0)))
         (dotimes (i (+ n 1)) (mutable-array/set! a (- (* 2 i) i) 5)) a))""": ">= 0",
    """(define (run v n) (let ((a (mutable-array/new 2 0)) (at (- n 6)))
         (set! at (+ at 2)) (mutable-array/get a at) (mutable-array/get a (+ at 1))))""": ">= 0",
    """(define t [[1 2] [3 4]])
       (define (run v n) (foldl (fn (s j) (+ s (nth (nth t 1) j))) 0 (range (+ n 3))))""": "t[1][j]",
}  # fmt: skip
CALLER = """
(define (shown) (try (run [1 2 3] 5) (catch e (list (:type e) (:message e) (:hint e) (take 2 (:stack-trace e))))))
(shown)
"""
NEAR = [
    # what stays a test: the function goes on after an error, and its variables with it
    "(define (f v i) (try (nth v i) (catch e (begin (set! i 0) (:message e))))) (f [1] 5)",
    "(define (f v) (let loop ((i 0)) (if (try (nth v i) (catch e #f)) (loop (+ i 1)) i))) (f [1 2 3])",
    # an index that may be negative, or no int
    "(define (f v i) (try (nth v i) (catch e (:message e)))) (list (f [1] -1) (f [1] 0.0) (f [1] nil) (f [1] 0))",
    "(define (f v) (let loop ((i 2) (s 0)) (if (< i -3) s (loop (- i 1) (+ s (nth v i)))))) (try (f [1 2 3])"
    " (catch e (:message e)))",
    "(define (f a i) (mutable-array/set! a (- i 1) i)) (define a (mutable-array/new 1 0))"
    " (list (f a 1) (try (f a 0) (catch e (:message e))) (try (f a 2) (catch e (:message e))))",
    "(define (f v i) (list (nth v (- i 1)) (try (nth v (- i 1)) (catch e (begin (set! i 0) (:message e))))))"
    " (list (f [1] 1) (try (f [1] 0) (catch e (:message e))) (try (f [1] 3) (catch e (:message e))))",
    "(define (f v) (map (fn (i) (try (nth v (- i 2)) (catch e (:message e)))) (range 6))) (f [1 2 3])",
    "(define (f v) (map (fn (i) (nth v (- i 2))) (range 2 9))) (try (f [1 2 3]) (catch e (:message e)))",
    # what was an index isn't negative
    "(define (f v i) (list (nth v i) (quotient i 2))) (list (f [1 2 3] 2) (try (f [1] -1) (catch e (:message e))))",
    # a literal that is an index only once its call is folded
    "(define (f s) (nth s (floor -1))) (try (map f '([1] [2])) (catch e (:message e)))",
    # a literal that is no int, once passes know it
    "(define (f) (mutable-array/get (let ((a (mutable-array/new))) (if 1 a)) (cadr (list 0)) 1))"
    " (try (f) (catch e (:message e)))",
    # an error that crosses a task, after which the array has grown
    "(define a (mutable-array/new 1 0)) (define (g n) (foldl (fn (s i) (+ s (mutable-array/get a i))) 0 (range n)))"
    " (define p (async (g 3))) (define r (try (await p) (catch e (:message e)))) (mutable-array/push! a 1) r",
    # Python's own subscripts keep Python's own error
    "(define (f t) (py/get t 7)) (try (f [1 2]) (catch e (list (:type e) (:message e))))",
]


def answer(source: str, **options: Any) -> str:
    unit = compile_source(source, "test.sema", result=True, **options)
    scope: dict[str, Any] = {"__name__": "test"}
    exec(unit.code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize("text", list(PROGRAMS))
def test_the_error_is_that_of_the_builtin(text: str) -> None:
    python = ast.unparse(compile_source(text + CALLER, "test.sema", "program").tree).replace("'", '"')
    is_bare = sys.version_info < (3, 12) or "(map " not in text
    assert PROGRAMS[text] in python and ("< len(" in python) is not is_bare
    plain = answer(text + CALLER, optimize=False)
    assert "out of bounds" in plain
    assert answer(text + CALLER, mode="program") == plain
    assert answer(text + CALLER, mode="module") == plain


@pytest.mark.parametrize("text", NEAR)
def test_what_else_an_index_can_be(text: str) -> None:
    assert answer(text, mode="program") == answer(text, mode="module") == answer(text, optimize=False)


@pytest.mark.parametrize("text", ["(define (run p) (string-ref (str) p))", "(define (run p) (nth [1 2] p))"])
@pytest.mark.parametrize("index", [10**20, 5, -1])
def test_callers_in_python_are_told_the_same(text: str, index: int) -> None:
    told = []
    for optimize in (True, False):
        scope: dict[str, Any] = {"__name__": "test"}
        exec(compile_source(text, "test.sema", "module", optimize=optimize).code, scope)
        with pytest.raises(Exception) as raised:  # which class it is differs
            scope["run"](index)
        told.append(translated(raised.value).message)
    assert told[0] == told[1]
