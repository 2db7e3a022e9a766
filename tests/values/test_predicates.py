"""Types, equality and emptiness of values of every kind."""

from __future__ import annotations

import pytest
from outcomes import outcome

NUMBERS = '(list 1 1.0 1.5 1/2 1+i 1+0.0i inf nan 99999999999999999999 "1" nil #t)'


KINDS_OF_NUMBERS = [
    ("number?", "(#t #t #t #t #t #t #t #t #t #f #f #f)"),
    ("integer?", "(#t #t #f #f #f #f #f #f #t #f #f #f)"),
    ("rational?", "(#t #f #f #t #f #f #f #f #t #f #f #f)"),
    ("real?", "(#t #t #t #t #f #f #t #t #t #f #f #f)"),
    ("complex?", "(#t #t #t #t #t #t #t #t #t #f #f #f)"),
    ("float?", "(#f #t #t #f #f #f #t #t #f #f #f #f)"),
    ("exact?", "(#t #f #f #t #t #f #f #f #t #f #f #f)"),
    ("inexact?", "(#f #t #t #f #f #t #t #t #f #f #f #f)"),
    ("exact-integer?", "(#t #f #f #f #f #f #f #f #t #f #f #f)"),
]


@pytest.mark.parametrize(("source", "expected"), KINDS_OF_NUMBERS)
def test_kinds_of_numbers(source: str, expected: str) -> None:
    assert outcome(f"(map {source} {NUMBERS})") == expected


PROPERTIES_OF_NUMBERS = [
    ("(map zero? '(0 0.0 1/2 1+i nan))", "(#t #t #f #f #f)"),
    ("(map positive? '(1 0 1/2 1+i nan))", "(#t #f #t #f #f)"),
    ("(map negative? '(-1 0 -1/2 nan))", "(#t #f #t #f)"),
    ("(map even? '(4 3 0 100000000000000000000))", "(#t #f #t #t)"),
    ("(odd? 1.0)", "! expected integer, got float"),
    ('(zero? "0")', "! expected number, got string"),
    ("(even? #t)", "! expected integer, got bool"),
]


@pytest.mark.parametrize(("source", "expected"), PROPERTIES_OF_NUMBERS)
def test_properties_of_numbers(source: str, expected: str) -> None:
    assert outcome(source) == expected


TYPES = [
    (
        "(map type (list 1 1.5 1/2 1+i \"a\" #\\a :a 'a nil #t '() [] {} (hashmap/new)))",
        "(:int :float :rational :complex :string :char :keyword :symbol :nil :bool :list :vector :map :hashmap)",
    ),
    (
        "(map type (list car (fn () 1) (delay 1) #u8() (f64-array) (i64-array) (make-parameter 1)))",
        "(:native-fn :lambda :promise :bytevector :f64-array :i64-array :lambda)",
    ),
    (
        "(define-record-type point (make-point x) point? (x point-x)) (map type (list (make-point 1) make-point))",
        "(:point :native-fn)",
    ),
    ("(map fn? (list car (fn () 1) :a 'a (make-parameter 1) {}))", "(#t #t #f #f #t #f)"),
    ("(map list? (list '() '(1) [1] nil))", "(#t #t #f #f)"),
    ("(map pair? (list '() '(1) [1]))", "(#f #t #f)"),
    ("(map map? (list {} (hashmap/new) nil))", "(#t #f #f)"),
    ("(map bool? (list #t #f nil 0))", "(#t #t #f #f)"),
    ("(type-of)", "! type expects 1 argument, got 0"),
]


@pytest.mark.parametrize(("source", "expected"), TYPES)
def test_types(source: str, expected: str) -> None:
    assert outcome(source) == expected


EMPTINESS = [
    ('(map empty? (list nil \'() [] {} "" \'(1) "a" (hashmap/new)))', "(#t #t #t #t #t #f #f #t)"),
    ('(map null? (list nil \'() [] ""))', "(#t #t #f #f)"),
    ("(map nil? (list nil '() #f))", "(#t #f #f)"),
    ("(empty? 5)", "! expected collection, got int"),
    ("(empty? #u8())", "! expected collection, got bytevector"),
]


@pytest.mark.parametrize(("source", "expected"), EMPTINESS)
def test_emptiness(source: str, expected: str) -> None:
    assert outcome(source) == expected


EQUALITY = [
    ("(list (eq? 1 1.0) (equal? '(1) '(1)) (equal? '(1) [1]) (equal? nil #f) (equal? #t 1))", "(#f #t #f #f #f)"),
    ("(list (equal? [1 #t] [1 1]) (= {1 :a} {1.0 :a}) (equal? {:a 1} (hashmap/new :a 1)))", "(#f #f #f)"),
    ("(list (equal? nan nan) (equal? [nan] [nan]) (let ((x [nan])) (eq? x x)) (equal? 0.0 (- 0.0)))", "(#f #f #t #t)"),
    ("(list (= car car) (eq? car cdr) (= (fn (x) x) (fn (x) x)))", "(#t #f #f)"),
    ("(define-record-type p (mk x) p? (x px)) (list (= (mk 1) (mk 1)) (= (mk 1) (mk 1.0)))", "(#t #f)"),
    ("(equal? #u8(1) (bytevector 1))", "#t"),
    ("(list (equal? (f64-array nan) (f64-array nan)) (equal? (f64-array 1) (i64-array 1)))", "(#t #f)"),
    ("(list (get {nan 1} nan) (get {1 :int} 1.0) (get {1+i :c} 1+i))", "(1 nil :c)"),
    ("(equal? 1 1 1)", "! equal? expects 2 arguments, got 3"),
]


@pytest.mark.parametrize(("source", "expected"), EQUALITY)
def test_equality(source: str, expected: str) -> None:
    assert outcome(source) == expected
