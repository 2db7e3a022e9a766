"""Calls on what was made for them: `merge` of a map that is written out, `take` of a list that was just consed, rows
that are joined, maps that are merged in place."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.lib.collections.list_slices import take, take_consed
from sema_runtime.lib.collections.lists import cons
from sema_runtime.values.lists import EMPTY, List
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

CASES = [
    ("(define (h xs) (foldl (fn (h x) (take 3 (cons x h))) '() xs)) (list (h (range 9)) (h '()))", "((8 7 6) ())"),
    ("(define (h x t) (take 2 (cons x t))) (list (h 1 2) (h 1 nil) (h 1 [2 3]) (h 1 '(2 3)))", "((1 2) (1) (1 [2 3]) (1 2))"),
    ("(define (both xs) (let ((ys (cons 0 xs))) (list (take 2 ys) ys))) (both '(1 2))", "((0 1) (0 1 2))"),
    ("(define (h n x t) (take n (cons x t))) (list (h 0 1 '(2)) (try (h -1 1 '(2)) (catch e :negative)))", "(() :negative)"),
    ("(define (all ms) (foldl (fn (out m) (merge out m)) {} ms)) (define a {:x 1})"
     " (list (all (list a {:y 2} {:x 3})) a (all (list a)) (all '()))", "({:x 3 :y 2} {:x 1} {:x 1} {})"),
    ("(define (all ms) (foldl (fn (out m) (merge out m)) {} ms)) (try (all (list {:a 1} 5)) (catch e (:message e)))",
     '"expected map or hashmap, got int"'),
    ("(define (f h) (merge h {1 :a 1.0 :b})) (list (f (hashmap/new)) (f {1 0}))", "({1 :a 1.0 :b} {1 :a 1.0 :b})"),
    ("(define (f m i) (merge m {:a i :b (throw i)})) (try (f {} 1) (catch e (:value e)))", "1"),
    ("(define (f m) (let ((out (assoc {} :a 1))) (merge out out))) (f {})", "{:a 1}"),
    ("(define (f n) (apply append (map (fn (i) (if (even? i) (list i [i]) '())) (range n)))) (list (f 0) (f 3))",
     "(() (0 [0] 2 [2]))"),
    ("(define (f xs) (apply append (map (fn (x) (if (integer? x) (list x x) x)) xs))) (list (f '(1 [2])) (try (f '(1 \"a\"))"
     " (catch e (:message e))))", '((1 1 2) "expected list or vector, got string")'),
    ("(define (f text) (map (fn (c) (list->string (list c))) (string->list text))) (f \"ab\")", '("a" "b")'),
    ("(define (f c) (try (list->string (list c)) (catch e (:message e)))) (list (f #\\a) (f \"a\"))",
     '("a" "expected char, got string")'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("optimize", [True, False])
def test_answers(text: str, expected: str, mode: str, optimize: bool) -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True, optimize=optimize, watch=Verifier()).code, scope)
    assert to_text(scope[RESULT]) == expected


def test_calls_are_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(define (f xs) (foldl (fn (h x) (take 3 (cons x h))) '() xs)) (println (f (range 9)))"
    assert "take_consed(" in compile_source(text, "<test>", "program").python_text()
    monkeypatch.setenv("SEMA_SKIP", "fused")
    assert "take_consed(" not in compile_source(text, "<test>", "program").python_text()


def test_rows_are_joined_where_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(define (f n) (apply append (map (fn (i) (list i (* i i))) (range n)))) (println (f 3))"
    assert "for item in [i, i * i]" in compile_source(text, "<test>", "program").python_text()
    monkeypatch.setenv("SEMA_SKIP", "fused")
    assert "joined_rows(" in compile_source(text, "<test>", "program").python_text()


def test_maps_are_merged_in_place() -> None:
    text = "(define (all ms) (foldl (fn (out m) (merge out m)) {} ms)) (println (all (list {:a 1} {:b 2})))"
    assert "merge_into(" in compile_source(text, "<test>", "program").python_text()


@pytest.mark.parametrize(
    "tail", [EMPTY, List([2, 3, 4]), cons(2, List([3])), cons(2, cons(3, EMPTY)), None, 5, (2, 3), [2]]
)
@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_the_beginning_of_a_consed_list(tail: Any, count: int) -> None:
    assert to_text(take_consed(count, 1, tail)) == to_text(take(count, cons(1, tail)))  # type: ignore[arg-type]
