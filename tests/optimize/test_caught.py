"""Handlers that read entries of an error, and use it as a whole only in some of their branches."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source

GUARD = "(define (run g) (guard (p ((keyword? p) (list :kw p)) ((map? p) (list :map p (:message p)))) (g)))"
HANDLERS = {
    GUARD: True,
    "(define (run g) (try (g) (catch e (if (= (:type e) :user) (:value e) (list e (:stack-trace e))))))": True,
    '(define (run g) (try (g) (catch e (let ((m (:message e))) (if (= m "x") 1 (throw e))))))': True,
    "(define (run g) (let loop ((i 0)) (try (g) (catch e (if (< i 2) (loop (+ i 1)) (if (:no e) 0 (keys e)))))))": True,
    "(define (run g) (try (g) (catch e (if (:no e) 0 (list (eq? e e) (= e e))))))": False,  # twice in one place
    "(define (run g) (try (g) (catch e (list e (:type e)))))": False,  # always
    "(define (run g) (try (g) (catch e (if (:no e) 0 (map (fn (i) (get e i)) '(:type :message))))))": False,  # a loop
    "(define (run g) (try (g) (catch e (let loop ((i 0)) (:value e) (if (< i 3) (loop (+ i 1)) i)))))": True,
    "(define (run g) (try (g) (catch e (let ((f (fn () e))) (if (:no e) 0 (list (f) (fn? f)))))))": False,  # a function
}
FAILURES = ["(throw :a)", "(throw {:b 1})", "(throw nil)", "(car 5)", '(error "x")', "(/ 1 0)", "(nth [1] 4)", "5"]


def answer(source: str, **options: Any) -> str:
    unit = compile_source(source, "test.sema", result=True, **options)
    scope: dict[str, Any] = {"__name__": "test"}
    exec(unit.code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("handler", list(HANDLERS))
def test_a_handler_sees_the_same_error(handler: str, failure: str) -> None:
    text = f"{handler} (try (run (fn () {failure})) (catch outer (list (:message outer) (:type outer) (:value outer))))"
    options: list[dict[str, Any]] = [{"mode": "program"}, {"optimize": False}]
    assert len({answer(text, **each) for each in options}) == 1  # from one place, which traces show


@pytest.mark.parametrize("handler", list(HANDLERS))
def test_the_map_is_made_where_it_is_used(handler: str) -> None:
    text = ast.unparse(compile_source(handler, "test.sema", "program").tree)
    is_first = re.search(r"except Exception as \w+:\n +\w+ = condition_map\(", text) is not None
    assert is_first is not HANDLERS[handler]
