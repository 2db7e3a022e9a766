"""Operators, the tower of numbers, mathematics, text and numbers: printed results and messages."""

from __future__ import annotations

import pytest
from outcomes import outcome

TWO_OPERANDS_WRITTEN_OUT = [
    ('(+ "a" "b")', '"ab"'),
    ("(+ 1/2 1/2)", "1"),
    ("(+ 1 2.5)", "3.5"),
    ("(+ (expt 10 400) 1.0)", "inf"),
    ("(- 5 99999999999999999999)", "-99999999999999999994"),
    ("(* 1/3 3)", "1"),
    ("(/ 6 4)", "3/2"),
    ("(/ 6 3)", "2"),
    ("(/ 7.0 0)", "inf"),
    ("(/ 7 -0.0)", "-inf"),
    ("(/ 1/2 0.25)", "2.0"),
    ("(mod -7 2)", "1"),
    ("(mod -7.5 2)", "-1.5"),
    ("(mod 7.5 0)", "NaN"),
    ("(quotient -7 2)", "-3"),
    ("(remainder -7 2)", "-1"),
    ("(- 1/2)", "-1/2"),
    ('(< "a" "b")', "#t"),
    ("(< 1/3 0.5)", "#t"),
    ("(<= nan 1)", "#t"),
    ("(= 1 1.0)", "#t"),
    ("(= 1/2 0.5)", "#t"),
    ("(= 1 #t)", "#f"),
    ("(= :a :a)", "#t"),
    ("(= '(1) '(1.0))", "#f"),
    ("(type (+ 1/2 1/2))", ":int"),
    ("((fn (a b) (mod a b)) -7.5 2.0)", "-1.5"),
    ("((fn (a) (+ a (/ 1 2))) 1/2)", "1"),
]


@pytest.mark.parametrize(("source", "expected"), TWO_OPERANDS_WRITTEN_OUT)
def test_two_operands_written_out(source: str, expected: str) -> None:
    assert outcome(source) == expected


TWO_OPERANDS_REFUSED = [
    ('(+ 1 "a")', "! expected number or string, got int and string"),
    ("(+ nil 1)", "! expected number or string, got nil and int"),
    ('(- "a" 1)', "! expected number, got string and int"),
    ("(* 2 #t)", "! expected number, got int and bool"),
    ("(/ 1 nil)", "! expected number, got int and nil"),
    ("(- :a)", "! expected number, got keyword"),
    ("(/ 1 0)", "! division by zero"),
    ("(/ 1/2 0)", "! /: division by zero"),
    ("(mod 5 0)", "! modulo by zero"),
    ("(mod 7/2 2)", "! expected integer, got rational"),
    ("(mod 1.5 nil)", "! expected integer, got float"),
    ("(quotient 7 2.0)", "! expected integer, got float"),
    ("(quotient 7 0)", "! quotient: division by zero"),
    ("(< 1 nil)", "! expected comparable values, got int and nil"),
    ('(> "3" 2)', "! expected comparable values, got int and string"),
    ('(<= "a" 1)', "! expected comparable values, got int and string"),
    ("(< 1+i 2)", "! cannot order complex numbers"),
]


@pytest.mark.parametrize(("source", "expected"), TWO_OPERANDS_REFUSED)
def test_two_operands_refused(source: str, expected: str) -> None:
    assert outcome(source) == expected


AS_VALUES_AND_WITH_MORE_OPERANDS = [
    ("(+)", "0"),
    ("(*)", "1"),
    ("(+ 5)", "5"),
    ("(+ 1 2.5 3)", "6.5"),
    ("(apply + (list 9223372036854775807 1 1/2))", "18446744073709551617/2"),
    ("(let ((f -)) (list (f 5) (f 5 2) (f 5 2 1)))", "(-5 3 2)"),
    ("(apply / (list 1 2 3))", "1/6"),
    ("(< 1 2 3)", "#t"),
    ('(< 2 1 "x")', "#f"),
    ("(= 1 1.0 1/1)", "#t"),
    ("(= 1 2 nil)", "#f"),
    ("(apply <= '(1 1 nan))", "#f"),
    ("(let ((f =)) (f 1+2i 1+2.0i))", "#t"),
]


@pytest.mark.parametrize(("source", "expected"), AS_VALUES_AND_WITH_MORE_OPERANDS)
def test_as_values_and_with_more_operands(source: str, expected: str) -> None:
    assert outcome(source) == expected


AS_VALUES_REFUSED = [
    ('(+ "a")', "! expected number, got string"),
    ('(+ "a" "b" "c")', "! expected number, got string"),
    ('(apply + \'("a" "b"))', "! expected number, got string"),
    ('(let ((f <)) (f "a" "b"))', "! expected number, got string"),
    ("(let ((f =)) (f :a :a))", "! expected number, got keyword"),
    ("(apply / (list 1.0 0))", "! /: division by zero"),
    ('(< 1 2 "x")', "! expected number, got string"),
    ("(let ((f mod)) (f 5 0))", "! mod: modulo by zero"),
]


@pytest.mark.parametrize(("source", "expected"), AS_VALUES_REFUSED)
def test_as_values_refused(source: str, expected: str) -> None:
    assert outcome(source) == expected


COMPLEX_NUMBERS = [
    ("(list (+ 1+2i 1-2i) (* 2i 2i) (- 1+i 1) (/ 1+i 2))", "(2 -4 0+1i 1/2+1/2i)"),
    ("(list (* 2 1+0.0i) (+ 1/3 1+0.0i) (/ 1 1+2i))", "(2.0+0.0i 4/3+0.0i 1/5-2/5i)"),
    ("(/ 1+i 0.0)", "NaN-NaNi"),
    ("(list (= 1+0.0i 1) (= 1+2i 1+2.0i) (equal? 1+2i 1+2.0i))", "(#f #t #f)"),
    ("(list (sqrt -4) (sqrt -2) (sqrt 3+4i) (sqrt -1/4))", "(0+2i 0+1.4142135623730951i 2.0+1.0i 0+1/2i)"),
    ("(list (expt 1+i 2) (expt 1+i -1) (expt 1.5+i 2))", "(0+2i 1/2-1/2i NaN)"),
    ("(list (exact 1.5+2.0i) (inexact 3+4i) #e1+2.5i)", "(3/2+2i 3.0+4.0i 1+5/2i)"),
    ("(list (real-part 3+4i) (imag-part 2.5) (magnitude 3+4i) (angle -1))", "(3 0 5.0 3.141592653589793)"),
    ("(list (make-rectangular 2 0) (make-rectangular 3 0.0) (make-polar 2 0))", "(2 3+0.0i 2.0+0.0i)"),
    ("(abs 3+4i)", "5.0"),
    ("(floor 1+i)", "! expected real number, got complex"),
    ("(max 1 1+i)", "! max: cannot order these numbers"),
]


@pytest.mark.parametrize(("source", "expected"), COMPLEX_NUMBERS)
def test_complex_numbers(source: str, expected: str) -> None:
    assert outcome(source) == expected


ROUNDING_ROOTS_POWERS = [
    ("(list (round 2.5) (round 7/2) (floor -0.5) (ceil -0.5) (truncate -2.7) (floor 3))", "(2.0 4 -1.0 -0.0 -2.0 3)"),
    ("(list (floor inf) (round nan))", "(inf NaN)"),
    (
        "(list (sqrt 16) (sqrt 2) (sqrt 1/4) (sqrt 2.25) (sqrt (expt 10 40)))",
        "(4 1.4142135623730951 1/2 1.5 100000000000000000000)",
    ),
    ("(exact-integer-sqrt 17)", "(4 1)"),
    ("(exact-integer-sqrt -1)", "! exact-integer-sqrt: argument must be non-negative"),
    (
        "(list (expt 2 100) (expt 2 -2) (expt 2/3 2) (expt 4 1/2) (expt -8 0.5) (expt 0 0.0))",
        "(1267650600228229401496703205376 1/4 4/9 2.0 NaN 1.0)",
    ),
    ("(list (expt 10.0 400) (pow -2.0 3.0) (pow 0.0 -1))", "(inf -8.0 inf)"),
    ("(expt 0 -1)", "! expt: 0 raised to a negative power"),
    ("(list (max 1 2.0) (min 1/2 1) (max 2 1) (min 1.5 2.5))", "(2.0 1/2 2 1.5)"),
    ("(max 1.0 nan)", "! max: cannot order these numbers"),
    ('(max 1 "a")', "! expected number, got string"),
]


@pytest.mark.parametrize(("source", "expected"), ROUNDING_ROOTS_POWERS)
def test_rounding_roots_powers(source: str, expected: str) -> None:
    assert outcome(source) == expected


EXACTNESS_AND_INTEGERS = [
    ("(list (exact 0.5) (exact 2.0) (exact inf))", "(1/2 2 inf)"),
    ("(inexact (/ (expt 10 400) (+ (expt 10 399) 1)))", "10.0"),
    ("(list (numerator 6/4) (denominator 6/4))", "(3 2)"),
    ("(numerator 0.5)", "! expected rational, got float"),
    (
        "(list (rationalize 3/10 1/10) (rationalize 0.3 1/10) (rationalize -5 1) (rationalize 1 inf))",
        "(1/3 0.3333333333333333 -4 0.0)",
    ),
    ("(rationalize 1 nil)", "! expected real, got nil"),
    ("(list (gcd) (gcd 12 -18) (lcm) (lcm 4 6))", "(0 6 1 12)"),
    ("(gcd 1/2 3)", "! expected integer, got rational"),
    ("(list (bit/and 12 10) (bit/or 12 10) (bit/xor 12 10) (bit/not 5))", "(8 14 6 -6)"),
    ("(list (bit/shift-left 1 100) (bit/shift-right -16 2))", "(1267650600228229401496703205376 -4)"),
    ("(bit/and 1.0 1)", "! expected int, got float"),
    ("(bit/shift-left 1 -1)", "! bit/shift-left: expected a non-negative integer, got -1"),
]


@pytest.mark.parametrize(("source", "expected"), EXACTNESS_AND_INTEGERS)
def test_exactness_and_integers(source: str, expected: str) -> None:
    assert outcome(source) == expected


FUNCTIONS_OF_FLOATS = [
    ("(list (log 1) (log 0) (log -1) (log (expt 10 400)))", "(0.0 -inf NaN inf)"),
    ("(log 1+i)", "! expected real number, got complex"),
    ("(list (math/acos 2) (math/exp 1000) (math/sinh -1000))", "(NaN inf -inf)"),
    ('(sin "a")', "! expected number, got string"),
    (
        "(list (math/clamp 15 0 10) (math/clamp 1.5 0 1) (math/lerp 0 100 0.5) (math/map-range 5 0 10 0 100))",
        "(10 1.0 50.0 50.0)",
    ),
    ("(math/clamp 1/2 0 1)", "! expected number, got rational"),
    ("(list (math/round-to 0.125 2) (math/round-to -2.5 0) (math/round-to 12345 -2))", "(0.13 -3.0 12300.0)"),
    ("(list (math/format-fixed 2.5 0) (math/format-fixed -0.001 2) (math/format-fixed nan 2))", '("2" "-0.00" "NaN")'),
    ('(list (math/sign -2.5) (math/nan? nan) (math/infinite? "x"))', "(-1 #t #f)"),
    ("(math/random-int 5 1)", "! math/random-int: lo (5) must be <= hi (1)"),
]


@pytest.mark.parametrize(("source", "expected"), FUNCTIONS_OF_FLOATS)
def test_functions_of_floats(source: str, expected: str) -> None:
    assert outcome(source) == expected


NUMBERS_AND_TEXT = [
    ('(map string->number \'("42" "-1.5e3" " 6/4" "1+2i" "#xff" "nan" "1 ;x"))', "(42 -1500.0 3/2 1+2i 255 NaN 1)"),
    ('(map string->number \'("+42" ".5" "1/0" "" "1_0" "#x"))', "(#f #f #f #f #f #f)"),
    ('(list (string->number "ff" 16) (string->number "1_01" 2) (string->number "0x1" 16))', "(255 5 #f)"),
    ('(string->number "12" 3)', "! string->number: unsupported radix 3 (expected 2, 8, 10, or 16)"),
    (
        "(list (number->string 1/3) (number->string -255 16) (number->string 1e21))",
        '("1/3" "-ff" "1000000000000000000000.0")',
    ),
    ("(number->string 2.5 2)", "! expected exact integer, got float"),
    ('(list (int 3.7) (int -7/2) (int "+5"))', "(3 -3 5)"),
    ('(int "3.7")', "! cannot convert '3.7' to int"),
    (
        "(int 1e30)",
        "! int: cannot convert 1000000000000000000000000000000 to an integer (not finite or out of i64 range)",
    ),
    ("(int :a)", "! expected number or string, got keyword"),
    ('(map float \'("1.5e3" "-inf" "5." 1/4))', "(1500.0 -inf 5.0 0.25)"),
    ('(float "1_0")', "! cannot convert '1_0' to float"),
    ("(float 1+i)", "! expected real number, got complex"),
]


@pytest.mark.parametrize(("source", "expected"), NUMBERS_AND_TEXT)
def test_numbers_and_text(source: str, expected: str) -> None:
    assert outcome(source) == expected
