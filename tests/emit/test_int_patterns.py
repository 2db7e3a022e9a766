"""Patterns of ints: compared by Python where the place surely holds an int, and never equal to 1.0 or #t."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source

UNKNOWN = """
(define (f x) (match x (1 :one) (2 :two) ([1 y] y) ([[3 a] b] (+ a b)) ({:op 5 :a z} z) (_ :no)))
(map f (list 1 2 1.0 #t [1 9] [1.0 9] [#t 9] [[3 4] 5] {:op 5 :a 7} {:op 5.0 :a 7} (list 4 8) nil
  "1" 2.0 18446744073709551617))
"""
KNOWN = """
(define (g pair) (match pair ([0 x] x) ([1 x] (* 2 x)) ([k x] (+ k x))))
(define (h n) (match [n 2] ([1 x] x) ([a 2] a) (_ :no)))
(list (map g (map (fn (i) [(mod i 3) i]) (range 6))) (map h (range 3)))
"""


def answer(text: str, mode: str, optimize: bool) -> str:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True, optimize=optimize).code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("text", [UNKNOWN, KNOWN])
def test_answers(text: str, mode: str) -> None:
    assert answer(text, mode, optimize=True) == answer(text, mode, optimize=False)


def test_ints_are_told_from_their_equals() -> None:
    assert (
        answer(UNKNOWN, "program", True) == "(:one :two :no :no 9 :no :no 9 7 :no :no :no :no :no :no)"
    )  # as in the reference


def test_known_ints_need_no_function() -> None:
    assert "equal(" not in compile_source(KNOWN, "<test>", "program").python_text()
