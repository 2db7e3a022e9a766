"""Variables that a function made inside assigns, and whose own value is never reached."""

from __future__ import annotations

from typing import Any

import pytest

from semac.generate.module import RESULT
from semac.pipeline import compile_source


@pytest.mark.parametrize("optimize", [True, False])
def test_a_variable_whose_value_is_never_reached(optimize: bool) -> None:
    source = """(define (f) (let ((x (let loop () (throw 1)))) (for-each (fn (y) (set! x 1)) '(1))))
                (try (f) (catch e (:value e)))"""
    scope: dict[str, Any] = {"__name__": "test"}
    exec(compile_source(source, "test.sema", result=True, optimize=optimize).code, scope)
    assert scope[RESULT] == 1


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("is_text", [True, False])
def test_a_variable_of_a_top_level_letrec_that_a_function_assigns(optimize: bool, is_text: bool) -> None:
    source = """(define n 5)
                (define made (list (letrec ((n 1)) (list (fn () (set! n (+ n 1)) n)))))
                (list n ((car (car made))) ((car (car made))) n)"""
    unit = compile_source(source, "test.sema", result=True, optimize=optimize, is_text=is_text)
    scope: dict[str, Any] = {"__name__": "test"}
    exec(unit.python_text() if is_text else unit.code, scope)
    assert list(scope[RESULT]) == [5, 2, 3, 5]
