"""Names that Python sees: those of the program, with `_` for `-`; the compiler's own use of builtins steps aside."""

from __future__ import annotations

import builtins
import inspect
import pydoc
import sys
from keyword import iskeyword
from pathlib import Path
from typing import Any

import pytest

from sema_runtime.interop import keyword
from semac import importer
from semac.session import Session

PREDEFINED = sorted(name for name in dir(builtins) if name.isascii() and name[0].islower() and not iskeyword(name))

# Forms whose Python uses len, type, tuple, range, zip, enumerate, reversed, sorted, sum, next, any, all, Exception ...
BUSY = """
(list (length xs) (sort xs) (map (fn (a b) (+ a b)) xs xs) (foldl + 0 xs) (reverse xs) (any even? xs) (every odd? xs)
  (match [1 2 3] ([a b & c] (list a b c))) (try (car 5) (catch e (:type e))) (for-range (i 0 2) i)
  (let loop ((i 0) (s "")) (if (= i 3) s (loop (+ i 1) (string-append s (str i)))))
  (string-length "abc") (abs -3) (max 1 2) (vector->list [1 2]) {:a 1})
"""
EXPECTED = [
    3,
    [1, 2, 3],
    [6, 2, 4],
    6,
    [2, 1, 3],
    True,
    False,
    [1, 2, [3]],
    keyword("type-error"),
    None,
    "012",
    3,
    3,
    2,
    [1, 2],
    {"a": 1},
]


def answer(program: str) -> Any:
    from sema_runtime.values.printer import to_text

    session = Session()
    value = None
    for form in program.strip().split("\n\n"):
        value = session.execute(session.compile(form, "<input>"))
    return to_text(value)


@pytest.mark.parametrize("name", PREDEFINED)
def test_any_builtin_of_python_is_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = f"""
(define (plain xs) {BUSY})
(define ({name}-of {name} . xs) [{name} xs])
(define (as-local xs) (let (({name} 7)) (for-each (fn (x) x) xs) {name}))
"""
    module_name = f"predefined_{name}"
    (tmp_path / f"{module_name}.sema").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    importer.install()
    module = __import__(module_name)
    try:
        xs = [3, 1, 2]
        expected = module.plain(xs)
        assert list(expected[:-1]) == EXPECTED[:-1] and expected[-1] == EXPECTED[-1]
        function = getattr(module, f"{name}_of")
        assert function(**{name: 7}) == (7, []) and module.as_local(xs) == 7
        assert list(inspect.signature(function).parameters) == [name, "xs"]
    finally:
        sys.modules.pop(module_name)


def test_a_global_of_such_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "has_len.sema").write_text(
        "(define (len x) (list :mine x))\n(define (size x) (length x))\n(define (type x) 1)\n"
        "(define (twice n) (if (integer? n) (* n 2) (type n)))\n(define (sorted x) (sort x))"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importer.install()
    import has_len  # type: ignore[import-not-found]

    assert has_len.size([1, 2]) == 2 and has_len.len(1)[1] == 1 and has_len.type(0) == 1
    assert has_len.twice(4) == 8 and has_len.twice("a") == 1 and has_len.sorted([2, 1]) == [1, 2]


def test_help_and_star_show_what_the_program_defines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shown_module.sema").write_text(
        '(define table \'(1 2))\n(define (greet name format) "Greets." (str name format))\n(define (_hidden) 1)\n'
        '(let ((z 1)) (+ z 1))\n(py/import "json")\n(define counter (let ((n 0)) (fn () (set! n (+ n 1)) n)))'
    )
    (tmp_path / "exporting.sema").write_text(
        "(module m (export b empty?) (define a 1) (define b a) (define (empty? x) x))"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importer.install()
    import exporting  # type: ignore[import-not-found]
    import shown_module  # type: ignore[import-not-found]

    assert shown_module.__all__ == ["counter", "greet", "table"]
    assert exporting.__all__ == ["b", "is_empty"]
    text = pydoc.plain(pydoc.render_doc(shown_module))
    assert "greet(name, format)" in text and "Greets." in text
    assert not any(word in text for word in ("main()", "NUMBERS", "make_counter", "import json"))


def test_in_a_session_builtins_defined_later_change_no_earlier_input() -> None:
    assert answer("(define (f xs type) (list (length xs) type))\n\n(define (len x) 99)\n\n(f '(1 2) :t)") == "(2 :t)"
