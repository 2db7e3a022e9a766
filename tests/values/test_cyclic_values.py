"""Mutable containers that hold themselves, and values nested very deeply: compared, ordered, counted, printed."""

from __future__ import annotations

import pytest

from semac.session import Session

RINGS = """
(define (ring) (let ((m (mutable-array/new))) (mutable-array/push! m m) m))
(define a (ring))
(define b (ring))
(define c (mutable-array/new))
(define d (mutable-array/new))
(mutable-array/push! c d)
(mutable-array/push! d c)
(define x (mutable-cell/new 1))
(define y (mutable-cell/new 1))
(mutable-cell/set! x (list x))
(mutable-cell/set! y (list y))
(define (tagged n) (let ((m (ring))) (mutable-array/push! m n) m))
(define (nested n leaf) (if (= n 0) leaf (nested (- n 1) (list leaf))))
"""


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("(map (fn (f) (f a b)) (list equal? eq? (fn (x y) (= x y))))", "(#t #t #t)"),
        ("(list (equal? a c) (equal? c d) (equal? x y))", "(#t #t #t)"),
        ("(list (equal? (tagged 1) (tagged 1)) (equal? (tagged 1) (tagged 2)))", "(#t #f)"),
        ("(let ((m (mutable-array/new))) (mutable-array/push! m (list m)) (equal? a m))", "#f"),
        ("(equal? {:k [a]} {:k [b]})", "#t"),
        ("(equal? (hashmap/new :k a) (hashmap/new :k b))", "#t"),
        ("(list (member a (list b)) (list/index-of (list 1 a) b))", "((<mutable-array 1>) 1)"),
        ("(list (count (list/unique (list a b c))) (count (list/dedupe (list a b))))", "(1 1)"),
        ("(list/diff (list a) (list b))", "()"),
        ("(frequencies (list a b x y))", "{<mutable-array 1> 2 <mutable-cell> 2}"),
        ("(map (fn (m) (mutable-array/get m 1)) (sort (list (tagged 2) (tagged 1))))", "(1 2)"),
        ("(map (fn (m) (mutable-array/get m 1)) (sort-by (fn (m) m) (list (tagged 2) (tagged 1))))", "(1 2)"),
        ("(str (list a {:k x}))", '"(<mutable-array 1> {:k <mutable-cell>})"'),
        ("(assert= a b)", "#t"),
        ("(get {:a 1} a)", "nil"),
        ("(list (equal? (nested 20000 1) (nested 20000 1)) (equal? (nested 20000 1) (nested 20000 2)))", "(#t #f)"),
    ],
)
def test_cyclic_and_deep_values_compare(source: str, printed: str) -> None:
    from sema_runtime.values.printer import to_text

    session = Session()
    session.run(RINGS)
    assert to_text(session.run(source)) == printed


def test_shared_parts_are_compared_once() -> None:
    build = """(define (tree n)
      (let ((m (mutable-array/new)))
        (when (> n 0) (let ((part (tree (- n 1)))) (mutable-array/push! m part) (mutable-array/push! m part)))
        m))"""
    session = Session()
    session.run(build)
    assert session.run("(equal? (tree 200) (tree 200))") is True


def test_python_lists_that_hold_themselves_compare() -> None:
    from sema_runtime.values.equality import equal_deep

    one: list[object] = [1]
    other: list[object] = [1]
    one.append(one)
    other.append(other)
    assert equal_deep(one, other)
