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
