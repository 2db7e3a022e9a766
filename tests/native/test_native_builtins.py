"""What native code does itself in place of builtins answers, and fails, as these do, for values of every kind."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from sema_runtime.conditions.describe import describe
from sema_runtime.values.printer import to_text
from semac.native.build import build, problem
from semac.native.module import Linked
from semac.pipeline import compile_source
from semac.process import deepen

MISSING = problem()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
ONE = (
    "car cdr cadr caddr cddr length count last reverse null? range string-length string->list string->keyword "
    "string->number number->string char-numeric? char-alphabetic? char-whitespace? char->string char->integer "
    "zero? positive? negative? even? odd? integer? number? abs sqrt keys vals str list "
    "pair? symbol->string list->string"
)
TWO = (
    "cons nth append range get contains? string-ref substring string/split string/join string/contains? "
    "string/pad-left string/pad-right + - * / = < > <= >= max min mod modulo quotient remainder "
    "str map filter for-each equal? eq? char<? char>? char<=? char>=? char=?"
)
THREE = "get assoc substring string/pad-left + max min str foldl"
CALLS = [
    (name, count) for count, names in ((1, ONE), (2, TWO), (3, THREE), (5, "assoc + str")) for name in names.split()
]
VALUES = """(list nil #t #f 0 1 -3 7 4611686018427387904 100000000000000000000 1/2 2.5 -0.0 1e300 "" "abc"
 "12" "-4.25" "é" #\\a #\\7 :name 'sym '() '(1 2 3) (cons 1 (cons :b '())) (range 30) [] [1 "a" :k] [1 [2]] {}
 {:name 1 "abc" 2}
 (foldl (fn (m i) (assoc m i i)) {} (range 60)) (hashmap/new :name 5 1 2) + car list :missing (fn (x) x) (fn (x y) y)
 (mutable-array/new 2) (string->list "ab")
 (cons 1 '(2 3)) (list 1 [2] 2.5 :b) (list 1 [2] 2.5 :b) [math/nan] (list #\\é))"""
FEW = (0, 3, 4, 6, 10, 13, 14, 18, 20, 23, 27, 30, 31, 33)  # of VALUES, for calls with many arguments
LETTERS = "abcde"


def program() -> str:
    lines = [f"(define (values) {VALUES})"]
    for at, (name, count) in enumerate(CALLS):
        args = " ".join(LETTERS[:count])
        lines.append(f"(define (call-{at} {args}) ({name} {args}))")
    lines.append("(define (parts x) (match x ([a b & more] (list a b more)) ({:name n} n) ([] :none) (_ :other)))")
    lines.append("(define (taken x) (let (([a & more] x)) (list a more)))")
    ends = "((null? xs) :none) ((nil? (car xs)) :nil) ((= (car xs) 2) xs)"
    lines.append(f"(define (walked x) (let loop ((xs x)) (cond {ends} (else (loop (cdr xs))))))")
    grows = "(loop (assoc m (mod i 60) i) (+ i 1))"
    lines.append(f"(define (counted x) (let loop ((m {{}}) (i 0)) (if (= i 90) (get m x) {grows})))")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The namespaces of the program, natively and plainly."""
    deepen()
    path = tmp_path_factory.mktemp("native") / "sema_native_builtins.so"
    unit = compile_source(program(), "builtins.sema", "module", is_native=True)
    linked = Linked(unit, path.stem, str(path))
    before = os.environ.get("CFLAGS")
    os.environ["CFLAGS"] = "-O0"
    build(linked.text, path.stem, str(path))
    os.environ.pop("CFLAGS")
    if before is not None:
        os.environ["CFLAGS"] = before
    natively: dict[str, Any] = {"__name__": "natively"}
    exec(unit.code, natively)
    plainly: dict[str, Any] = {"__name__": "plainly"}
    exec(compile_source(program(), "builtins.sema", "module", is_native=True).code, plainly)
    return {"natively": natively, "plainly": plainly}


def outcome(function: Any, args: tuple[Any, ...]) -> tuple[str, ...]:
    """What a call from C gives, or the message and the hint of its error."""
    try:
        return (to_text(next(map(function, *([arg] for arg in args)))),)
    except Exception as error:
        shown = describe(error)
        return shown.message, str(shown.hint)


def arguments(values: list[Any], name: str, count: int) -> Iterator[tuple[Any, ...]]:
    if name == "range":  # of what can be printed
        values = [value for value in values if type(value) is not int or not 1 << 20 < value < 1 << 63]
    if count == 1:
        return zip(values)
    few = [values[min(at, len(values) - 1)] for at in FEW]
    if count == 2:
        return itertools.product(values, few)
    return itertools.product(few, few, *[few[:3]] * (count - 2))


@pytest.mark.parametrize("at", range(len(CALLS)), ids=[f"{name}-{count}" for name, count in CALLS])
def test_calls_agree(ways: dict[str, dict[str, Any]], at: int) -> None:
    name = f"call_{at}"
    ours, theirs = ways["natively"], ways["plainly"]
    pairs = zip(
        arguments(list(ours["values"]()), *CALLS[at]), arguments(list(theirs["values"]()), *CALLS[at]), strict=True
    )
    both = ((mine, outcome(ours[name], mine), outcome(theirs[name], other)) for mine, other in pairs)
    assert [(to_text(list(mine)), answer, theirs) for mine, answer, theirs in both if answer != theirs] == []


@pytest.mark.parametrize("name", ["parts", "taken", "walked", "counted"])
def test_patterns_and_loops_agree(ways: dict[str, dict[str, Any]], name: str) -> None:
    ours, theirs = ways["natively"], ways["plainly"]
    for mine, other in zip(ours["values"](), theirs["values"](), strict=True):
        assert outcome(ours[name], (mine,)) == outcome(theirs[name], (other,))


def test_references_are_given_back(ways: dict[str, dict[str, Any]]) -> None:
    ours = ways["natively"]
    values = list(ours["values"]())

    def blocks() -> int:
        for at, (name, count) in enumerate(CALLS):
            if count < 3:
                for args in itertools.islice(arguments(values, name, count), 0, None, 7):
                    outcome(ours[f"call_{at}"], args)
        gc.collect()
        return sys.getallocatedblocks()

    blocks()
    blocks()
    before = blocks()
    assert blocks() - before < 60
