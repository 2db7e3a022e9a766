"""Dicts of Python that a module's functions change: plain and optimised code make the same maps, and no dict changes."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import pytest
from outcomes import module_scope

from sema_runtime.values.atoms import keyword
from sema_runtime.values.printer import to_text

MODULE = """
(define (summed m xs) (foldl (fn (m x) (assoc m :count (+ x (or (:count m) 0)))) m xs))
(define (counted m xs) (foldl (fn (m x) (assoc m x (+ 1 (get m x 0)))) m xs))
(define (added m) (let ((n (assoc m :a 1))) (list (:a n) (:b n) (get n "a") (keys n) (dissoc n :a))))
(define (chained m) (-> m (assoc :a 1) (update-in [:b] (fn (x) (list x))) (assoc-in [:c :d] 2)))
(define (updated m xs)
  (let loop ((m m) (xs xs))
    (if (null? xs) m (loop (map/update m (car xs) (fn (v) (+ 1 (or v 0)))) (cdr xs)))))
(define (totals ms) (map (fn (m) (assoc m :total (+ (or (:a m) 0) (or (:b m) 0)))) ms))
(define (merged m) (list (merge {:z 1} m {:a 5}) (merge m {"a" 1})))
(define (parts m) (let (({:keys [a b]} (assoc m :b 7))) (list a b)))
(define (under m k) (list (assoc m k 1) (contains? (assoc m k 1) :a) (get (assoc m k 1) :a)))
(define (played state events)
  (foldl (fn (s e) (match e ([:inc n] (assoc s :count (+ (:count s) n))) ([:log t] (assoc s :log (cons t (or (:log s) '())))) (_ s)))
         state events))
(define (twice m) (let ((n (assoc m :a 1)) (o (assoc m :b 2))) (list n o m)))
(define (put m path v) (list (assoc-in m path v) (get-in (assoc-in m path v) path)))
"""
A, B, C, D, N = map(keyword, "abcdn")
DICTS: list[Any] = [
    {}, {"a": 1, "b": 2}, {"count": 3, "log": None}, {"a": 1, 2: 3}, {A: 4, "a": 1}, {B: 4}, {"b": {"d": 1}},
    OrderedDict(b=1, a=2), {True: 1, "a": 2}, {"c": {"d": 5, "e": 6}},
]  # fmt: skip
EVENTS = [(keyword("inc"), 2), (keyword("log"), "x")]
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    *((name, (d,)) for name in ("added", "chained", "merged", "parts", "twice") for d in DICTS),
    *(("summed", (d, [1, 2, 3])) for d in DICTS),
    *(("counted", (d, keys)) for d in DICTS for keys in (["a", "b", "a"], [1, 2], [A, N], ["q", keyword("q")])),
    *(("updated", (d, keys)) for d in DICTS for keys in (["a"], [A, A], [N, "a"])),
    ("totals", (DICTS,)),
    *(("under", (d, key)) for d in DICTS for key in (A, "a", N, 3, 1.5, None, (1, 2))),
    *(("played", (d, EVENTS)) for d in DICTS),
    *(("put", (d, path, 9)) for d in DICTS for path in ((A,), (C, D), ("c", D), (C, "d"), ())),
]  # fmt: skip


def outcome(function: Any, args: tuple[Any, ...]) -> tuple[str, str]:
    args = copy.deepcopy(args)
    try:
        answer = to_text(function(*args))
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    return answer, to_text(list(args))


def functions(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    return module_scope(MODULE, monkeypatch, **environment)


@pytest.mark.parametrize("skipped", ["", "own", "versions", "updates,loops"])
def test_answers_are_those_of_plain_code(skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, fast = functions(monkeypatch, SEMA_OPT="0"), functions(monkeypatch, SEMA_SKIP=skipped)
    for name, args in CALLS:
        expected = outcome(plain[name], args)
        assert outcome(fast[name], args) == expected, (name, args)
        assert expected[1] == to_text(list(args))


def test_changes_under_keywords_give_keywords(monkeypatch: pytest.MonkeyPatch) -> None:
    m = functions(monkeypatch)
    assert to_text(m["chained"]({"a": 0, "b": 2})) == "{:a 1 :b (2) :c {:d 2}}"
    assert m["played"]({"count": 3, "log": None}, EVENTS) == {"count": 5, "log": ["x"]}
