"""Bodies of public functions that have a private copy: packed until they are needed."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from fractions import Fraction
from types import CodeType, ModuleType
from typing import Any

import pytest

from sema_runtime.conditions.describe import describe
from sema_runtime.packed_code import PACKED, is_stub, packed_in, whole
from semac.pipeline import compile_source

PROGRAM = """
(define (total items limit)
  "Adds up."
  (let loop ((xs items) (sum 0))
    (cond ((null? xs) sum)
          ((> (car xs) limit) (loop (cdr xs) (+ sum (* 2 (car xs)) limit)))
          ((< (car xs) 0) (loop (cdr xs) (- sum (* (car xs) (car xs)))))
          (else (loop (cdr xs) (- sum (/ (car xs) 2)))))))
(define (deep n acc)
  (cond ((= n 0) (error "bottom" acc))
        ((> n 1000) (deep (- n 1000) (+ acc n)))
        (else (let ((k (+ acc (* n 2)))) (+ 1 (deep (- n 1) k))))))
(define (sum-of first . others) (foldl (fn (a b) (+ a (* b first))) first others))
(define (use) (list (total '(1 2 3) 2) (sum-of 1 2 3)))
(use)
"""


def module() -> ModuleType:
    made = ModuleType("packed_program")
    code = compile_source(PROGRAM, "<input>", "module").code
    exec(code, made.__dict__)
    return made


def test_a_function_gets_its_code_when_its_copy_cannot_serve() -> None:
    packed = module()
    stub = packed.total.__code__
    assert is_stub(stub)
    assert packed.total([3, 1], 2) == 6 + 2 - Fraction(1, 2)
    packed.total([], Fraction(1, 2))
    assert not is_stub(packed.total.__code__)
    assert packed.total([Fraction(7, 2), 1], Fraction(5, 2)) == 7 + Fraction(5, 2) - Fraction(1, 2)
    assert packed.total.__code__ == whole(stub, packed.__dict__)


def test_python_sees_the_function_as_it_is() -> None:
    total = module().total
    assert str(inspect.signature(total)) == "(items, limit)"
    assert total.__doc__ == "Adds up."
    assert total.__code__.co_firstlineno == 2


def test_a_function_behind_another_name_gets_its_code_too() -> None:
    packed = module()
    original = packed.deep

    @functools.wraps(original)
    def wrapper(*args: Any) -> Any:
        return original(*args)

    packed.__dict__["deep"] = wrapper
    with pytest.raises(Exception, match="bottom"):
        packed.deep(2.5 - 0.5, Fraction(1, 2))
    assert not is_stub(original.__code__)


def test_rest_arguments_reach_the_code() -> None:
    assert module().sum_of(2, Fraction(1, 2), 3) == 9


def test_the_first_trace_is_that_of_later_ones() -> None:
    packed = module()
    assert is_stub(packed.deep.__code__)
    first, second = trace(packed), trace(packed)
    assert first == second
    assert [name for name, _, _ in first] == ["deep"] * 4


def trace(packed: ModuleType) -> list[tuple[str, int, int]]:
    with pytest.raises(Exception, match="bottom") as caught:
        packed.deep(3, Fraction(1, 2))
    return [(frame.name, frame.line, frame.col) for frame in describe(caught.value).frames]


def test_threads_may_ask_at_once() -> None:
    packed = module()
    results: list[Any] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda: results.append(packed.total([3], Fraction(5, 2)))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert results == [6 + Fraction(5, 2)] * 8


def test_what_is_packed_is_not_read_before() -> None:
    packed = module()
    assert type(packed.__dict__[PACKED]) is bytes
    packed.deep.__code__ = whole(packed.deep.__code__, packed.__dict__)
    assert all(type(code) is CodeType for code in packed.__dict__[PACKED].values())


def test_coverage_sees_what_is_packed() -> None:
    code = compile_source(PROGRAM, "<input>", "module").code
    assert {"total", "deep"} <= {packed.co_name for packed in packed_in(code)}
