"""`apply` of builtins to a list of lists: answers and errors, and that what comes of it has a type."""

from __future__ import annotations

from typing import Any

import pytest
from outcomes import python, run

from sema_runtime.lib.collections.rows import column_vectors, columns, joined_rows, vector_of
from sema_runtime.values.lists import EMPTY, List, cons
from sema_runtime.values.printer import to_text

ROWS = [
    "'((1 2 3) (4 5))", "[[1 2] [3 4]]", "(list [1 2] '(3 4))", "'((1 2))", "'()", "(list '() '(1))", "'(1 2)", "'((1) 2)",
    "'((1) nil)", "5", "nil", '"ab"', "(list (mutable-array/new 2 7) '(1 2))", "(cons '(1 2) (cons (cdr '(0 3 4)) '()))",
]  # fmt: skip
APPLIED = ["append", "vector", "list", "map list", "map vector", "map +"]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("function", APPLIED)
def test_answers_are_those_of_plain_code(function: str, rows: str) -> None:
    source = (
        f"(define (f rows) (apply {function} rows)) (define (g) (apply {function} {rows}))"
        f" (list (try (f {rows}) (catch e (:message e))) (try (g) (catch e (:message e))))"
    )
    plain = run(source, optimize=False)
    for mode in ("program", "module"):
        assert run(source, mode=mode) == plain


def test_columns_have_the_types_of_the_rows() -> None:
    text = python(
        "(define (f rows) (map (fn (r) (apply + (map (fn (n) (* n n)) r))) (apply map list rows))) (f '((1 2) (3 4)))"
    )
    assert "columns(" in text and "n * n" in text and "type(" not in text


@pytest.mark.parametrize(
    ("function", "rows", "expected"),
    [
        (columns, List([List([1, 2]), cons(3, List([4]))]), "((1 3) (2 4))"),
        (column_vectors, (List([1, 2]), (3, 4)), "([1 3] [2 4])"),
        (joined_rows, List([List([1]), EMPTY, (2,)]), "(1 2)"),
        (joined_rows, EMPTY, "()"),
        (vector_of, cons(1, List([2])), "[1 2]"),
        (vector_of, (1, 2), "[1 2]"),
    ],
)
def test_functions_of_the_runtime(function: Any, rows: Any, expected: str) -> None:
    assert to_text(function(rows)) == expected


def test_a_list_is_turned_after_it_was_counted() -> None:
    """`reverse` takes the place of the list that a loop has made, though it stands before another reader."""
    source = (
        "(define (f xs) (let loop ((xs xs) (out '())) (if (null? xs) (append (reverse out) (list (length out)))"
        " (loop (cdr xs) (cons (car xs) out))))) (f '(1 2))"
    )
    assert "out.append(" in python(source) and "reverse" not in python(source)
    assert run(source) == run(source, optimize=False)
