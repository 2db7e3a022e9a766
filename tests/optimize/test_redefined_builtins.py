"""A builtin that `eval` or a later input of a session defines anew is what its callers call from then on."""

from __future__ import annotations

import pytest

from sema_runtime.values.printer import to_text
from semac.session import Session

CALLS = {
    "map": "(map (fn (x) x) (list 1 2))", "foldl": "(foldl (fn (a x) x) 0 (list 1 2))", "abs": "(abs -1)",
    "for-each": "(for-each (fn (x) x) (list 1))", "assoc": "(assoc {:a 1} :b 2)", "list": "(list 1 2)",
    "sort-by": "(sort-by (fn (x) x) (list 2 1))", "equal?": "(equal? 1 1)", "any": "(any (fn (x) x) (list 1))",
    "reverse": "(reverse (list 1 2))", "keys": "(keys {:a 1})", "max": "(max 1 2)",
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("optimize", ["0", "1"])
def test_eval_defines_a_builtin_anew(name: str, optimize: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_OPT", optimize)
    body = f"(let lp ((i 0) (r nil)) (if (= i 2) r (lp (+ i 1) {CALLS[name]})))"
    source = f"(define (f) {body}) (f) (eval '(define ({name} . xs) :mine)) (f)"
    assert to_text(Session(closed=True).run(source)) == ":mine"


@pytest.mark.parametrize("name", CALLS)
def test_a_later_input_defines_a_builtin_anew(name: str) -> None:
    session = Session()
    session.run(f"(define (f) {CALLS[name]})")
    session.run("(f)")
    session.run(f"(define ({name} . xs) :mine)")
    assert to_text(session.run("(f)")) == ":mine"


INNER = {  # calls in a body that defines the operator with whatever arguments → their values, as the reference has them
    "(+ x 3)": "(:mine 5 3)", "(+ 5 3)": "8", "(+ 1.5 1)": "(:mine 1.5 1)", "(+ 1 2 3)": "(:mine 1 2 3)",
    "(+ 9223372036854775807 1)": "(:mine 9223372036854775807 1)", "(- 4)": "-4", "(- x)": "(:mine 5)",
    "(= nil x)": "(:mine nil 5)", "(= 1 1)": "#t", "(< x 9)": "(:mine 5 9)", "(/ 4 0)": "(:mine 4 0)", "(/ 4 2)": "2",
    "(not x)": "(:mine 5)", "(not nil)": "#t", "(not '())": "(:mine ())", "(not ())": "#t",
    "(map (fn (y) (* x y)) (list 1 2))": "((:mine 5 1) (:mine 5 2))",
    "(let loop ((i 0)) (if (>= i 3) i (loop (+ i 1))))": "0",
}  # fmt: skip


@pytest.mark.parametrize("call", INNER)
@pytest.mark.parametrize("optimize", ["0", "1"])
def test_a_body_defines_an_operator_anew(call: str, optimize: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_OPT", optimize)
    name = "*" if "map" in call else ">=" if "loop" in call else call[1 : call.index(" ")]
    source = f"(define (f x) (define ({name} . xs) (cons :mine xs)) {call}) (f 5)"
    assert to_text(Session(closed=True).run(source)) == INNER[call]
