"""Native functions answer, fail, recur and wait as their Python twins do: programs run both ways in this process."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sema_runtime.conditions.describe import condition_map, describe
from sema_runtime.values.atoms import keyword
from sema_runtime.values.printer import to_text
from semac.native.build import build, problem
from semac.native.module import Linked
from semac.pipeline import compile_source
from semac.process import deepen

MISSING = problem()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
FILE = "twins.sema"
TRACE = keyword("stack-trace")
DEFINITIONS = """
(define-record-type point (make-point x y) point? (x point-x) (y point-y))
(define total 0)
(define (add! n) (set! total (+ total n)) total)
(define (norm p) (+ (* (point-x p) (point-x p)) (* (point-y p) (point-y p))))
(define (factorial n) (if (= n 0) 1 (* n (factorial (- n 1)))))
(define (depth n) (if (= n 0) 0 (+ 1 (depth (- n 1)))))
(define (through-map n) (if (= n 0) 0 (+ 1 (apply + (map through-map (list (- n 1)))))))
(define (even-steps n) (if (= n 0) :even (odd-steps (- n 1))))
(define (odd-steps n) (if (= n 0) :odd (even-steps (- n 1))))
(define (swap f a b) (f b a))
(define (chain f n) (if (= n 0) f (chain (fn (x) (f (+ x 1))) (- n 1))))
(define (counter) (let ((n 0)) (fn () (set! n (+ n 1)) n)))
(define (make-class methods)
  (fn (state) (define self (fn (m . args) (apply (get methods m) self state args))) self))
(define animal (make-class {:name (fn (self st) (:name st))
                            :pair (fn (self st other) f"${(self :name)} ${(other :name)}")}))
(define (safely f . args) (try (apply f args) (catch e (list (:type e) (:message e)))))
(define (nested n) (try (try (/ n 0) (catch e (throw (list :inner n)))) (catch e (:value e))))
(define (shape x) (match x ({:a a :b [b c]} (list a b c)) ([x & r] (cons x r)) (5 :five) (_ :other)))
(define (sums xs) (foldl (fn (m x) (assoc m x (+ x (get m x 0)))) {} xs))
(define (mixed n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (if (even? i) (+ s 0.5) (* s 2))))))
(define (text n)
  (let loop ((i 0) (out '())) (if (= i n) (string/join (reverse out) "-") (loop (+ i 1) (cons (str i) out)))))
(define (sent ch n) (let loop ((i 0)) (if (= i n) :done (begin (channel/send ch i) (loop (+ i 1))))))
(define (received ch n) (if (= n 0) 0 (+ (channel/recv ch) (received ch (- n 1)))))
(define (sorted xs) (sort xs (fn (a b) (> (norm a) (norm b)))))
(define (kept n) (try (throw {:n n}) (catch e {:err e})))
(define (late n)
  (let* ((a (* 0.25 1.5)) (c (nth (list n) n)) (d (* 0.5 1.5)) (e (sqrt d))) (list a c d e)))
(define-record-type branch (make-branch key left right) branch?
  (key branch-key) (left branch-left) (right branch-right))
(define (range-sum t low high)
  (if (nil? t) 0
    (+ (if (> (branch-key t) low) (range-sum (branch-left t) low high) 0)
       (if (<= low (branch-key t) high) (branch-key t) 0)
       (if (< (branch-key t) high) (range-sum (branch-right t) low high) 0))))
(define (miscounts f xs) (map (fn (x) (= f)) xs))
(define (grown n seed) (if (< n 2) (list seed n) (append (grown (- n 1) seed) (grown (- n 2) seed))))
(define (climbed n low) (if (< n low) low (+ n (climbed (- n 1) low))))
(define (sunk n low) (if (< n low) (- low n) (+ (sunk (- n 1) low) (/ 6 (- n 3)))))
(define (inner-fails n) (+ 1 (norm (if (> n 2) n (make-point n n)))))
"""
ANSWERS = (
    "(list (norm (make-point 3 4.5)) (norm (make-point 10000000000 1/2)) (factorial 30))",
    "(list (depth 15000) (through-map 500) (even-steps 10001))",
    "(list (safely depth 30000) (safely through-map 30000) (safely norm 5) (safely factorial :x) (safely norm))",
    "(list (swap - 1 10) ((chain (fn (x) (* x x)) 50) 1) (let ((c (counter))) (c) (c) (c)))",
    '(let ((a (animal {:name "Rex"})) (b (animal {:name "Tom"}))) (list (a :pair b) (safely a :none)))',
    "(list (safely miscounts 1 '(1 2)) (safely (fn (f xs) (map (fn (x) (< f)) xs)) 1 '(1 2)))",
    "(list (nested 7) (shape {:a 1 :b [2 3]}) (shape [1 2 3]) (shape 5) (shape nil))",
    "(list (sums '(1 2 1 3.5 2)) (mixed 20) (text 12) (add! 5) (add! 0.5) total)",
    "(let ((ch (channel/new 2))) (let ((t (async (sent ch 50)))) (list (received ch 50) (await t))))",
    "(map (fn (p) (point-x p)) (sorted (list (make-point 1 1) (make-point 5 0) (make-point 2 2))))",
    "(range-sum (make-branch 3 (make-branch 1.5 nil nil) (make-branch 7 (make-branch 5 nil nil) nil)) 1 6)",
    "(async/with-timeout 20 (fn () (received (channel/new 1) 3)))",
    '(list (grown 6 "a") (climbed 5 2) (climbed 10000000000000000000003 10000000000000000000000) (sunk 9 4))',
)
FAILURES = (
    "(inner-fails 5)",
    "(map inner-fails '(1 2 3))",
    "((chain (fn (x) (car x)) 3) 1)",
    "(sorted (list (make-point 1 1) 7))",
    "(factorial :x)",
    "(list (received 5 2))",
    "(sunk 5 1)",
)


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The namespaces of the definitions with all expressions as functions, natively and plainly."""
    deepen()
    text = DEFINITIONS + "".join(f"(define (ask-{at}) {part})\n" for at, part in enumerate(ANSWERS + FAILURES))
    path = tmp_path_factory.mktemp("native") / "sema_native_twins.so"
    unit = compile_source(text, FILE, "module", is_native=True)
    linked = Linked(unit, path.stem, str(path))
    assert {"norm", "depth", "ask_3"} <= set(linked.native)
    with options("-O0"):
        build(linked.text, path.stem, str(path))
    natively: dict[str, Any] = {"__name__": "natively"}
    exec(unit.code, natively)
    plainly: dict[str, Any] = {"__name__": "plainly"}
    exec(compile_source(text, FILE, "module", is_native=True).code, plainly)
    return {"natively": natively, "plainly": plainly}


@contextlib.contextmanager
def options(flags: str) -> Iterator[None]:
    before = os.environ.get("CFLAGS")
    os.environ["CFLAGS"] = flags
    try:
        yield
    finally:
        os.environ.pop("CFLAGS")
        if before is not None:
            os.environ["CFLAGS"] = before


def outcome(namespace: dict[str, Any], at: int) -> list[str]:
    """What a function prints and gives; of a failure its message, hint, places and `:stack-trace`."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            return [to_text(namespace[f"ask_{at}"]()), out.getvalue()]
        except Exception as error:
            shown = describe(error)
            places = [f"{frame.name} {frame.line}:{frame.col}" for frame in shown.frames]
            trace = to_text(condition_map(error).lookup(TRACE)).partition('"outcome"')[0]  # whose callers are pytest's
            return [shown.message, str(shown.hint), *places, trace.rpartition("{")[0], out.getvalue()]


@pytest.mark.parametrize("at", range(len(ANSWERS + FAILURES)), ids=(ANSWERS + FAILURES).__getitem__)
def test_twins_agree(ways: dict[str, Any], at: int) -> None:
    assert outcome(ways["natively"], at) == outcome(ways["plainly"], at)


@pytest.mark.skipif(sys.gettrace() is not None, reason="functions run as Python while coverage is measured")
def test_native_code_ran(ways: dict[str, Any]) -> None:
    assert type(ways["natively"]["__sema_native_depth"]).__name__ == "builtin_function_or_method"


def test_references_are_given_back(ways: dict[str, Any]) -> None:
    import gc
    import sys

    def blocks() -> int:
        for _ in range(20):
            for at in (0, 3, 5, 6, 8, 10, 11, 12):
                outcome(ways["natively"], at)
        gc.collect()
        return sys.getallocatedblocks()

    blocks()
    before = blocks()
    assert blocks() - before < 60


def test_caught_errors_are_given_back_at_once(ways: dict[str, Any]) -> None:
    import gc

    ways["natively"]["kept"](0)
    gc.collect()
    gc.disable()
    try:
        for n in range(100):
            ways["natively"]["kept"](n)
        assert gc.collect() < 100
    finally:
        gc.enable()


def test_a_traceback_has_the_variables_that_have_values(ways: dict[str, Any]) -> None:
    for namespace in ways.values():
        with pytest.raises(IndexError) as caught:
            namespace["late"](3)
        variables = caught.traceback[-1].frame.f_locals
        assert (variables["a"], variables["n"]) == (0.375, 3)
        assert not {"c", "d", "e"} & set(variables)


@pytest.mark.skipif(sys.gettrace() is not None, reason="tasks are no generators while coverage is measured")
def test_what_stays_python_says_why(tmp_path: Path) -> None:
    """Tasks over channels that become generators are left to Python, their neighbours aren't."""
    text = """(define (double n) (if (< n 0) (double (- n)) (* n 2)))
(define (numbers n)
  (let ((out (channel/new 1))) (async (for-range (i 0 n) (channel/send out i)) (channel/close out)) out))
(println (let loop ((c (numbers 3)) (s 0)) (let ((x (channel/recv c))) (if (nil? x) s (loop c (+ s (double x)))))))"""
    linked = Linked(compile_source(text, FILE, "program", is_native=True), "none", str(tmp_path / "none.so"))
    assert "double" in linked.native
    assert linked.code.reasons == {"numbers": "a generator"}
