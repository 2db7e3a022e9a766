"""Programs that random testing found to differ give one answer, in whichever way they are compiled and verified."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

CONFIGURATIONS = {
    "plain": {"optimize": False},
    "plain text": {"optimize": False, "is_text": True},
    "program": {"mode": "program"},
    "module": {},
    "text": {"is_text": True},
}
PROGRAMS = {
    "a further test leaves a walk with the rest of the list": (
        "(let lp ((i (cons 3 '(1))) (j 1)) (if (and (not (empty? i)) nil) (lp (rest i) 1) i))",
        "(3 1)",
    ),
    "a test shows that a value is a list, which others have": (
        "(define (f i m) (or (and (<= 3 i) m) (letrec ((v 1)) (cons v (f (+ i 2) '()))))) (f 2 '())",
        "(1)",
    ),
    "the same of a map": (
        "(define (f i m) (or (and (<= 3 i) m) (assoc (f (+ i 2) {}) :n i))) (f 2 {})",
        "{:n 2}",
    ),
    "a variable that a throw leaves unbound, changed by a function": (
        "(define (f) (let ((x (throw 1))) (for-each (fn (y) (set! x 1)) 1))) (try (f) (catch e (:value e)))",
        "1",
    ),
    "the same in the value of a function": (
        "(define (f c) (let ((x (if c (throw 1) (throw 2)))) (fn () (set! x 2) x)))"
        "(list (try (f #t) (catch e (:value e))) (try (f #f) (catch e (:value e))))",
        "(1 2)",
    ),
    "a guard that throws": (
        "(define (f v) (match v (a when (throw v) a) (_ 1))) (try (f 2) (catch e (:value e)))",
        "2",
    ),
    "a loop as the head of a call": (
        "(define (mk) (fn () 5)) (define (f h) ((let lp ((i 0)) (if (< i 3) (lp (+ i 1)) (h))))) (f mk)",
        "5",
    ),
    "a function that changes a variable of a try outside of functions": (
        "(define g (try (let ((x 1)) (fn () (set! x (+ x 1)) x)) (catch e 0))) (list (g) (g))",
        "(2 3)",
    ),
    "a long map that a condition names": (
        '(and 1 {"b" {:name 12345678901234567890 :next 1000000007 :right 123456789 :width 12345678901234567890}} 2)',
        "2",
    ),
    "a map in code that never runs": (
        "(define (f m) (cond ((if #t m)) ((g m)))) (define (g m) 1)"
        "(list (g (assoc {} :id 1)) (f (assoc {:v {:id 1}} :next {})))",
        "(1 #t)",
    ),
}


def answer(text: str, configuration: dict[str, Any]) -> str:
    options: dict[str, Any] = {"mode": "module", **configuration}
    unit = compile_source(text, "found.sema", result=True, watch=Verifier(), **options)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(unit.python_text(), "found.py", "exec") if options.get("is_text") else unit.code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("way", CONFIGURATIONS)
def test_answers(name: str, way: str) -> None:
    text, expected = PROGRAMS[name]
    assert answer(text, CONFIGURATIONS[way]) == expected
