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
