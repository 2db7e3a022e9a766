"""`member` as a test, and lists of whose items alone is asked: as in plain code, and as Python would have it."""

from __future__ import annotations

import pytest
from outcomes import python, run

from semac.verify.unit import Verifier

SEARCH = "(define (f x) (let ((xs {items})) {body})) (list {calls})"
SEARCHED = [
    SEARCH.format(items='(list "a" "b")', body="(if (member x xs) 1 2)", calls='(f "b") (f "c") (f :b) (f nil)'),
    SEARCH.format(
        items="(list 1 2.0 #t)", body="(if (not (member x xs)) 1 2)", calls="(f 1) (f 1.0) (f 2) (f #t) (f 2.0)"
    ),
    SEARCH.format(
        items="(list 0 #f nil)", body="(and (member x xs) :in)", calls="(f 0) (f #f) (f nil) (f 0.0) (f '())"
    ),
    SEARCH.format(
        items="(list [1] '(1 2) {:a 1})",
        body="(cond ((member x xs) 1) (else 2))",
        calls="(f [1]) (f [1.0]) (f '(1 2)) (f {:a 1})",
    ),
    SEARCH.format(
        items="(list x (/ 0.0 0.0))", body="(if (member x xs) 1 2)", calls="(f (/ 0.0 0.0)) (f 1/2) (f 'a) (f #\\a)"
    ),
    SEARCH.format(items="'()", body="(if (member x xs) 1 2)", calls="(f 1) (f nil)"),
    '(define (f ws) (filter (fn (w) (not (member w (list "the" "a")))) ws)) (f (list "the" "cat" "a"))',
    "(define (f n) (let loop ((i 0) (seen '())) (if (or (member i seen) (> i n)) (length seen) (loop (mod (+ i 3) 7) (cons i seen))))) (f 9)",
    "(define (f xs x) (when (or (member x xs) (member 5 xs)) :yes)) (list (f '(1 2) 2) (f '(5) 1) (f '(1) 2))",
    "(define (f x) (any (fn (xs) (member x xs)) (list (list 1) (list 2 3)))) (list (f 3) (f 4))",
]
VALUED = [  # the part of the list matters
    SEARCH.format(items="(list 1 2 3)", body="(member x xs)", calls="(f 2) (f 5)"),
    SEARCH.format(items="(list 1 2 3)", body="(or (member x xs) :none)", calls="(f 2) (f 5)"),
    SEARCH.format(items="(list 1 2 3)", body="(let ((m (member x xs))) (if m (length m) 0))", calls="(f 2) (f 5)"),
    SEARCH.format(items="(list 1 2 3)", body="(if (> x 1) (member x xs) (member 1 xs))", calls="(f 2) (f 0)"),
    "(define (f x xs) (try (if (member x xs) 1 2) (catch e (:message e)))) (list (f 1 [1]) (f 1 nil) (f 1 5))",
]
BARE = [
    "(define (f n) (let ((xs (map (fn (x) (* x x)) (range n)))) (/ (foldl + 0 xs) (length xs)))) (f 5)",
    "(define (f n) (let ((xs (filter odd? (range n)))) (list (length xs) (map (fn (x) (+ x 1)) xs)))) (f 6)",
    '(define (f t) (let ((ws (map string/upper (string/split t " ")))) (if (member "B" ws) (string/join ws "-") 0))) '
    '(list (f "a b") (f "a"))',
]
SHARED = [
    "(define (f n) (let ((xs (map (fn (x) (* x x)) (range n)))) (list (length xs) xs))) (f 3)",
    "(define (f n) (let ((xs (map (fn (x) (* x x)) (range n)))) (list (length xs) (cdr xs) (list? xs) (fn () xs)))) (car (f 3))",
    "(define (f n) (let ((xs (map (fn (x) (* x x)) (range n)))) (println xs) (length xs))) (f 3)",
    "(define xs (map (fn (x) (* x x)) (range 3))) (length xs)",
    "(define (f n) (let ((xs (map (fn (x) (* x x)) (range n)))) (list (length xs) ((fn () (reverse xs)))))) (f 4)",
]


@pytest.mark.parametrize("source", [*SEARCHED, *VALUED, *BARE, *SHARED])
def test_answers_are_those_of_plain_code(source: str) -> None:
    plain = run(source, optimize=False)
    assert run(source, watch=Verifier()) == plain
    assert run(source, mode="program", watch=Verifier()) == plain


@pytest.mark.parametrize("source", SEARCHED)
def test_no_part_of_the_list_is_made(source: str) -> None:
    assert "member(" not in python(source)


@pytest.mark.parametrize("source", VALUED)
def test_the_part_is_made_where_it_is_wanted(source: str) -> None:
    assert "member(" in python(source)


@pytest.mark.parametrize("source", BARE)
def test_lists_are_those_of_python(source: str) -> None:
    function = python(source).split("def f(")[1].split("\n\n")[0]
    assert "xs = [" in function or "ws = [" in function


@pytest.mark.parametrize("source", SHARED)
def test_lists_that_others_see_stay_lists(source: str) -> None:
    assert "List([" in python(source)
