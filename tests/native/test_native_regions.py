"""Statements that compute with floats, which native code writes twice, answer as Python for every kind of value."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest

from sema_runtime.conditions.describe import describe
from sema_runtime.values.lists import List
from semac.native.build import build, problem
from semac.native.module import Linked
from semac.pipeline import compile_source

MISSING = problem()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
DEFINITIONS = """
(define-record-type body (make-body x v) body? (x body-x) (v body-v))
(define (body a b) (make-body a b))
(define (fields a b)
  (let* ((p (make-body a b)) (x (body-x p)) (v (body-v p)) (c (+ (* x 1.5) v x)) (d (* c v))) (list x v c d)))
(define (pull p others dt)
  (let loop ((rest-of others) (v (body-v p)) (n 0))
    (if (null? rest-of)
        (list v n (+ (body-x p) (* dt v)))
        (let* ((o (first rest-of)) (d (- (body-x p) (body-x o))) (d2 (+ (* d d) 0.25)))
          (if (= d2 0.25)
              (loop (rest rest-of) v (+ n 1))
              (loop (rest rest-of) (- v (/ (* d dt) (* d2 (sqrt d2)))) n))))))
(define (ratio a b) (let* ((c (+ (* a 2.0) b)) (d (* c c)) (e (/ d (- a b)))) (list c d e)))
(define (root a b) (let* ((c (- (* 1.5 a) b)) (d (sqrt c)) (e (* d c))) (list c d (+ d e))))
(define (branches a b)
  (let* ((c (* a 0.5)) (d (if (< c b) (+ c b) (- c b))) (e (if (and (> d 0.0) (<= a b)) (* d d) (* 3 d))))
    (list c d e)))
(define (some a b) (let* ((c (* a 0.5)) (d (if (>= c b) (* c 2) (str c))) (e (+ 1.5 c c))) (list c d e)))
(define (steps a b)
  (let loop ((i 0) (x a) (y b) (hits 0))
    (if (= i 6) (list x y hits)
        (let* ((z (+ (* x x) (* y 0.5))))
          (cond ((> z 4.0) (loop (+ i 1) (/ x 2.0) y (+ hits 1)))
                ((not (= y 0)) (loop (+ i 1) y (- z x) hits))
                (else (loop (+ i 1) (+ z 1) z hits)))))))
(define (item a b)
  (let ((xs (vector a b 2.5)))
    (let loop ((i 0) (total 0.0))
      (if (= i 3) total (loop (+ i 1) (+ total (* (nth xs i) (nth xs 0)) (* 0.5 (nth xs 2))))))))
(define (caught a b) (try (let* ((c (* 2.0 a)) (d (+ c b)) (e (/ d b))) (list c d e)) (catch e (:message e))))
(define (mixed a b) (let* ((c (if (int? a) (+ a 1) (* a 2))) (d (+ 0.5 (* c b))) (e (- d c))) (list c d e)))
(define (compared a b)
  (let* ((c (* 1.0 a)) (d (+ c b)) (n (if (= c b) 1 2)) (m (if (< d b) 3 4)) (e (* d n))) (list n m e)))
"""
NAMES = ("fields", "ratio", "root", "branches", "some", "steps", "item", "caught", "mixed", "compared")
VALUES = (0, -3, 2.5, -0.0, 1e308, float("nan"), float("-inf"), (1 << 53) + 1, 1 << 70, Fraction(1, 3), None)
USUAL = ((2.5, 1.25), (-1.5, 0.75), (0.5, 8.0))


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """The namespaces of the definitions, natively and plainly."""
    path = tmp_path_factory.mktemp("native") / "sema_native_regions.so"
    unit = compile_source(DEFINITIONS, "regions.sema", "module", is_native=True)
    linked = Linked(unit, path.stem, str(path))
    assert {"pull", *NAMES} <= set(linked.native)
    written = {code.name for code in linked.code.native if any("_missed" in line for line in code.out)}
    assert {"pull", *NAMES} <= written
    build(linked.text, path.stem, str(path))
    natively: dict[str, Any] = {"__name__": "natively"}
    exec(unit.code, natively)
    plainly: dict[str, Any] = {"__name__": "plainly"}
    exec(compile_source(DEFINITIONS, "regions.sema", "module", is_native=True).code, plainly)
    return natively, plainly


def outcome(namespace: dict[str, Any], name: str, *args: Any) -> list[str]:
    """The type and text of each number of an answer; of a failure its message, hint and places."""
    try:
        answer = namespace[name](*args)
    except Exception as error:
        shown = describe(error)
        variables = innermost(error)
        return [
            shown.message,
            str(shown.hint),
            *(f"{each.name} {each.line}:{each.col}" for each in shown.frames),
            variables,
        ]
    return [f"{type(part).__name__} {part!r}" for part in (answer if isinstance(answer, List) else [answer])]


def innermost(error: BaseException) -> str:
    """The variables of the functions of the definitions through which an error went; none of them calls itself, so of
    two frames of a function the first only calls its other form."""
    shown, trace = {}, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.endswith("regions.sema"):
            variables = trace.tb_frame.f_locals.items()
            shown[code.co_name] = {name: repr(value) for name, value in variables if "native" not in name}
        trace = trace.tb_next
    return str(shown)


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_value(ways: tuple[dict[str, Any], dict[str, Any]], name: str) -> None:
    natively, plainly = ways
    usual = [outcome(plainly, name, *args) for args in USUAL]
    for a, b in itertools.product(VALUES, repeat=2):
        for args, expected in zip(USUAL, usual, strict=True):  # so that its region stays worth trying
            assert outcome(natively, name, *args) == expected
        assert outcome(natively, name, a, b) == outcome(plainly, name, a, b), (a, b)


def test_fields_of_records(ways: tuple[dict[str, Any], dict[str, Any]]) -> None:
    def asked(namespace: dict[str, Any], one: tuple[Any, Any], others: list[tuple[Any, Any]], dt: Any) -> list[str]:
        bodies = [namespace["body"](*each) for each in others]
        return outcome(namespace, "pull", namespace["body"](*one), List(bodies), dt)

    natively, plainly = ways
    usual = [(1.0, 0.5), (2.5, 1.0), (-4.0, 0.0)]
    for value, dt in itertools.product(VALUES, (0.5, 2, 1 << 70)):
        for one, others in (
            ((1.0, 0.25), usual),
            ((value, 1.0), usual),
            ((1.0, value), usual),
            (usual[0], [(value, 1.0)]),
        ):
            assert asked(natively, one, [*others, *usual], dt) == asked(plainly, one, [*others, *usual], dt)
    assert outcome(natively, "pull", natively["body"](1.0, 2.0), List([5]), 0.5) == outcome(
        plainly, "pull", plainly["body"](1.0, 2.0), List([5]), 0.5
    )
