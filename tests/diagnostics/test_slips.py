"""The commonest slips: each is answered at the right place, with the right shape."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.conditions.describe import describe
from sema_runtime.values.errors import SemaError
from semac.checks.program import check_text
from semac.session import Session


def error_of(text: str) -> Exception:
    with pytest.raises((SemaError, NameError)) as caught:
        Session().run(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "column", "written"),
    [
        ("(let ([x 1]) x)", 7, "(let ((x 1)) ...)"),
        ("(let* ([x 1] [y 2]) x)", 8, "(let* ((x 1) (y 2)) ...)"),
        ("(let ((x 1) [y 2]) x)", 13, "(let ((x 1) (y 2)) ...)"),
        ("(let [x 1 y 2] x)", 6, "(let ((x 1) (y 2)) ...)"),
        ("(letrec ([f 1]) f)", 10, "(letrec ((f 1)) ...)"),
        ("(let loop ([i 0]) i)", 12, "(let loop ((i 0)) ...)"),
        ("(defn add [a b] (+ a b))", 11, "(defn add (a b) body ...)"),
    ],
)
def test_bindings_and_parameters_in_brackets(text: str, column: int, written: str) -> None:
    shown = describe(error_of(text))
    assert shown.place == (1, column) and written in (shown.hint or "")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("(define (f)\n  (let ((s 1)\n    (g s)\n    s))\n\n(define (g x)\n  x)", "line 3 it is missing at 2:14"),
        ("(define (f)\n  (g [1 2)\n\n(define (g x) x)", None),
        ("(define (f)\n  (g [1 2\n\n(define (g x) x)", "`]`: by the indentation of line 4 it is missing at 2:10"),
        ("(define (f\n  1)\n(define x 2)", "`)`: by the indentation of line 2 it is missing at 1:11"),
        ('(define s "(\n(")\n(define (f)\n  (g 1)\n(define x 2)', "of line 5 it is missing at 4:8"),
        ("(f (g 1)", "add a closing `)`"),
        ("(define (f)\n  (let ((a 1)))\n    a))", "by the indentation of line 3 the `)` at 2:15 is one too many"),
        ("(define (f)\n  1))", "no matching opening parenthesis"),
    ],
)
def test_brackets_are_placed_by_indentation(text: str, advice: str | None) -> None:
    hint = describe(error_of(text)).hint or ""
    assert "indentation" not in hint if advice is None else hint.endswith(advice)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("(define (f) (let ((counter 1)) (+ countr 1)))", "counter"),
        ("(define (f total) (for-each (fn (x) (display x)) '()) (map (fn (x) (+ x totl)) '(1)))", "total"),
        ("(define (f total-price) (let loop ((index 0)) (if (= index 1) 1 (loop (+ indx 1)))))", "index"),
    ],
)
def test_hints_consider_local_names(text: str, near: str) -> None:
    assert describe(error_of(f"{text} (f {'' if '(f)' in text else 1})")).hint == f"Did you mean '{near}'?"
    assert [finding.hint for finding in check_text(text)] == [f"Did you mean '{near}'?"]


def test_short_names_get_no_operator_as_advice() -> None:
    for name in "xyzn":
        assert describe(error_of(f"(+ 1 {name})")).hint is None


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('println "x", "y"', '(println "x" "y")'),
        ('println("x", "y")', '(println "x" "y")'),
        ("x = 5", "(define x 5)"),
        ("define x 5", "(define x 5)"),
        ("(define (f a) a)\nf 1", "(f 1)"),
    ],
)
def test_lines_without_brackets(text: str, written: str, capsys: Any) -> None:
    assert written in [finding.hint.removeprefix("write ") for finding in check_text(text) if finding.hint]


def test_lines_that_are_meant_so() -> None:
    assert check_text("(define f 1)\nf\n(f) f\n1 2\n'a 'b") == []


def test_a_comma_is_no_separator() -> None:
    assert 'spaces alone stand between arguments: (println "x" "y")' in (
        describe(error_of('(str "x", "y")')).hint or ""
    )


@pytest.mark.parametrize(
    ("text", "column", "written"),
    [
        ("{a: 1}", 3, "{:a 1}"),
        ("(map (lambda x: (+ x 1)) xs)", 15, "(fn (x) (+ x 1))"),
        ('(println "abc)', 10, "no closing"),
        ("(define (f #:key x) x)", 12, "(f {:key 1})"),
    ],
)
def test_marks_of_other_languages(text: str, column: int, written: str) -> None:
    shown = describe(error_of(text))
    assert shown.place == (1, column) and written in (shown.hint or "")
