"""Compiling takes time in proportion to the number of top-level forms, whatever they have in common.

What is counted are calls of functions, which don't depend on the machine.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from semac.pipeline import compile_source

FORMS = {
    "loops": "(let loop ((i 0) (s 0)) (if (= i 3) (println s) (loop (+ i 1) (+ s {n}))))",
    "variables of forms": "(let* ((a {n}) (m {{:a a :b (list a {n})}})) (println (:a m) (:b m)))",
    "records as data": '(define c{n} {{:id {n} :name "n{n}" :tags \'(a b {n})}})',
    "a map that grows": "(set! m (assoc m :k{n} {n}))",
    "functions over lists": "(define (f{n} xs) (map (fn (x) (+ x {n})) (filter odd? xs)))",
    "calls of one function": "(define (g{n} m) (update m :k{n} (fn (x) (+ {n} (or x 0)))))",
}


def calls_to_compile(form: str, count: int, mode: str) -> int:
    """How many functions are called, of Python and of C, while so many forms are compiled."""
    text = "(define m {})\n" + "\n".join(form.format(n=n) for n in range(count)) + "\n(println (count m))\n"
    calls = 0

    def note(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    profiler = sys.getprofile()
    sys.setprofile(note)
    try:
        compile_source(text, "many.sema", mode)
    finally:
        sys.setprofile(profiler)
    return calls


@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_four_times_the_forms_take_four_times_the_calls(form: str, mode: str) -> None:
    calls_to_compile(form, 2, mode)  # what is made once
    assert calls_to_compile(form, 160, mode) < 5 * calls_to_compile(form, 40, mode)
