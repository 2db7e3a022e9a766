"""Any iterable of Python in the builtins over sequences, any number in arithmetic."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.session import Session

SOURCES: dict[str, Any] = {
    "generator": lambda: (n for n in (1, 2, 3)),
    "set": lambda: {1, 2, 3},
    "view": lambda: {1: 0, 2: 0, 3: 0}.keys(),
    "range": lambda: range(1, 4),
    "map": lambda: map(int, "123"),
}
FORMS = {
    "(map (fn (x) (* 2 x)) xs)": "(2 4 6)",
    "(filter odd? xs)": "(1 3)",
    "(foldl + 0 xs)": "6",
    "(begin (define out (py/list)) (for-each (fn (x) (.append out x)) xs) out)": "(1 2 3)",
    "(apply + xs)": "6",
    "(length xs)": "3",
    "(count xs)": "3",
    "(first xs)": "1",
    "(nth xs 1)": "2",
    "(take 2 xs)": "(1 2)",
    "(sort xs)": "(1 2 3)",
    "(reverse xs)": "(3 2 1)",
    "(append '(0) xs)": "(0 1 2 3)",
    '(string/join xs ",")': '"1,2,3"',
    "(any odd? xs)": "#t",
    "(map-indexed (fn (i x) (+ i x)) xs)": "(1 3 5)",
    "(let (([a b c] xs)) (+ a b c))": "6",
    "(empty? xs)": "#f",
}


def sema(form: str, **globals_: Any) -> str:
    session = Session()
    session.run(f"(define (f {' '.join(globals_)}) {form})")
    return to_text(session.globals["f"](*globals_.values()))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("form", FORMS)
def test_iterables(form: str, source: str) -> None:
    assert sema(form, xs=SOURCES[source]()) == FORMS[form]


def test_what_is_no_list_stays_none() -> None:
    for value in ({"a": 1}, "text", b"bytes", int, 5):
        assert sema("(try (map (fn (x) x) v) (catch e (:type e)))", v=value) == ":type-error"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("(+ 1 2 1/2)", "7/2"),
        ("(foldl + 0 '(1/2 1/3))", "5/6"),
        ("(- 1 1/2 1/4)", "1/4"),
        ("(/ 1 2 3)", "1/6"),
        ("(< 1/4 1/2 0.75)", "#t"),
        ("(py/str (+ d 1 2))", '"4.5"'),
        ("(py/str (apply * (list d 2 2)))", '"6.0"'),
        ("(py/str (- d))", '"-1.5"'),
        ("(< d 2 3)", "#t"),
        ('(try (+ 1 "a" 2) (catch e (:message e)))', '"expected number, got string"'),
    ],
)
def test_numbers(form: str, expected: str) -> None:
    assert sema(form, d=Decimal("1.5"), half=Fraction(1, 2)) == expected


def test_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    a = numpy.array([1, 2])
    assert sema("(py/str (* 2 a 2))", a=a) == '"[4 8]"' and sema("(py/str (foldl + 0 (list a 1)))", a=a) == '"[2 3]"'
    assert sema("(map (fn (row) (foldl + 0 row)) a)", a=numpy.array([[1.5, 2], [3, 4]])).count("3.5") == 1
    assert sema("(py/str (+ 1 x 2.5))", x=numpy.int64(3)) == '"6.5"'


def test_columns_of_pandas() -> None:
    pandas = pytest.importorskip("pandas", reason="pip install 'semac[dev-interop]'")
    assert sema("(foldl + 0 xs)", xs=pandas.Series([1, 2])) in ("3", "np.int64(3)")
