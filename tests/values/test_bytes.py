"""Bytevectors, UTF-8 and typed arrays."""

from __future__ import annotations

import pytest
from outcomes import outcome

BYTEVECTORS = [
    ("(bytevector 1 2 255)", "#u8(1 2 255)"),
    ("(bytevector 256)", "! bytevector: byte value 256 at index 0 out of range 0..255"),
    ("(bytevector 1.5)", "! expected int, got float"),
    ("(make-bytevector 2 7)", "#u8(7 7)"),
    ("(bytevector/new -1)", "! make-bytevector: size must be non-negative, got -1"),
    ("(bytevector/ref #u8(1 2) 1)", "2"),
    ("(bytevector/ref #u8(1) 1)", "! bytevector-u8-ref: index 1 out of range for bytevector of length 1"),
    ("(let ((b #u8(1 2))) (list (bytevector/set! b 0 9) b))", "(#u8(9 2) #u8(1 2))"),
    ("(bytevector/set! #u8(1) 0 256)", "! bytevector-u8-set!: byte value 256 out of range 0..255"),
    ("(bytevector/copy #u8(1 2 3) 1)", "#u8(2 3)"),
    ("(bytevector/copy #u8(1 2 3) 2 1)", "! bytevector-copy: range 2..1 out of bounds for bytevector of length 3"),
    ("(bytevector/append #u8(1) #u8() #u8(2))", "#u8(1 2)"),
    ("(list->bytevector '(1 300))", "! list->bytevector: byte value 300 out of range 0..255"),
    ("(list->bytevector [1])", "! expected list, got vector"),
    ("(bytevector->list #u8(1 2))", "(1 2)"),
    ("(bytevector/new)", "! make-bytevector expects 1 to 2 arguments, got 0"),
]


@pytest.mark.parametrize(("source", "expected"), BYTEVECTORS)
def test_bytevectors(source: str, expected: str) -> None:
    assert outcome(source) == expected


UTF_8 = [
    ('(string->utf8 "é")', "#u8(195 169)"),
    ("(utf8->string #u8(195 169))", '"é"'),
    (
        "(utf8->string #u8(97 226 130 97))",
        "! utf8->string: invalid UTF-8: invalid utf-8 sequence of 2 bytes from index 1",
    ),
    (
        "(utf8->string #u8(237 160 128))",
        "! utf8->string: invalid UTF-8: invalid utf-8 sequence of 1 bytes from index 0",
    ),
    ("(utf8->string #u8(97 240 159))", "! utf8->string: invalid UTF-8: incomplete utf-8 byte sequence from index 1"),
    ('(utf8->string "a")', "! expected bytevector, got string"),
]


@pytest.mark.parametrize(("source", "expected"), UTF_8)
def test_utf_8(source: str, expected: str) -> None:
    assert outcome(source) == expected


SCANNING = [
    ("(bytes/slice #u8(1 2 3) 1 2)", "#u8(2)"),
    ("(bytes/slice #u8(1 2 3) 4)", "! bytes/slice: range 4..3 out of bounds for 3 bytes"),
    ("(bytes/slice #u8(1 2 3) -1)", "! bytes/slice: expected a non-negative integer, got -1"),
    ("(bytes/->string #u8(97 98 99) 1)", '"bc"'),
    ("(bytes/find #u8(1 2 3) #u8(2 3))", "1"),
    ('(bytes/find #u8(97 98) "b")', "1"),
    ("(bytes/find #u8(1 2) 9)", "nil"),
    ("(bytes/find #u8(1 2) 300)", "! bytes/find: byte value 300 out of range 0..255"),
    ("(bytes/find #u8(1) nil)", "! expected int, bytevector, or string, got nil"),
    ("(bytes/ref #u8(1 2) 5)", "! bytes/ref: index 5 out of bounds (length 2)"),
    (
        '(map (fn (s) (bytes/parse-int10 (string->utf8 s))) \'("-12.3" "5" "0.0" "922337203685477580.7"))',
        "(-123 50 0 9223372036854775807)",
    ),
    ('(bytes/parse-int10 (string->utf8 "12.34"))', "! bytes/parse-int10: expected exactly one digit after '.'"),
    ('(bytes/parse-int10 (string->utf8 "1a"))', "! bytes/parse-int10: invalid digit 'a' at byte 1"),
    ('(bytes/parse-int10 (string->utf8 ".5"))', "! bytes/parse-int10: expected at least one digit"),
    ('(bytes/parse-int10 (string->utf8 "922337203685477580.8"))', "! bytes/parse-int10: value overflows an int"),
]


@pytest.mark.parametrize(("source", "expected"), SCANNING)
def test_scanning(source: str, expected: str) -> None:
    assert outcome(source) == expected


TYPED_ARRAYS = [
    (
        "(list (f64-array 1 2.5) (i64-array 1 2) (f64-array nan 1e21))",
        "(#f64(1 2.5) #i64(1 2) #f64(NaN 1000000000000000000000))",
    ),
    ("(f64-array 1/2)", "! expected number, got rational"),
    ("(i64-array 1.0)", "! expected integer, got float"),
    ("(list (f64-array/make 2) (i64-array/make 2 7))", "(#f64(0 0) #i64(7 7))"),
    ("(f64-array/make -1)", "! f64-array/make: length must be non-negative, got -1"),
    ("(list (f64-array/range 0 1 0.25) (i64-array/range 5 0 -2))", "(#f64(0 0.25 0.5 0.75) #i64(5 3 1))"),
    ("(f64-array/range 0 5 0)", "! f64-array/range: step cannot be zero"),
    ("(let ((a (f64-array 1 2))) (list (f64-array/set! a 0 9) a (f64-array/ref a 1)))", "(#f64(9 2) #f64(1 2) 2.0)"),
    ("(f64-array/ref (f64-array 1) 3)", "! index 3 out of bounds (len 1)"),
    ("(f64-array/ref (i64-array 1) 0)", "! expected f64-array, got i64-array"),
    ("(list (f64-array/sum (f64-array 1 2.5)) (f64-array/dot (f64-array 1 2) (f64-array 3 4)))", "(3.5 11.0)"),
    ("(i64-array/sum (i64-array 9223372036854775807 1))", "-9223372036854775808"),
    ("(f64-array/dot (f64-array 1) (f64-array))", "! f64-array/dot: length mismatch (1 vs 0)"),
    ("(list (f64-array/map (fn (x) (* x 2)) (f64-array 1 2)) (i64-array/fold * 1 (i64-array 3 4)))", "(#f64(2 4) 12)"),
    (
        '(f64-array/map (fn (x) "a") (f64-array 1))',
        "! expected number (f64-array/map callback must return number), got string",
    ),
    ("(sort (list (f64-array 2) (f64-array 1)))", "(#f64(1) #f64(2))"),
]


@pytest.mark.parametrize(("source", "expected"), TYPED_ARRAYS)
def test_typed_arrays(source: str, expected: str) -> None:
    assert outcome(source) == expected
