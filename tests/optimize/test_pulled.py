"""Silent tasks that run when somebody needs what they send: the same answers, and which tasks are pulled."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from outcomes import forget_tasks, outcome_of_tasks
from paths import DATA, ROOT

from sema_runtime.tasks import pulled
from semac.generate.python_ops import EFFECT, PYTHON_OPS
from semac.optimize.steps.silent import CHANGES
from semac.pipeline import compile_source

sys.path.insert(0, str(ROOT / "scripts"))

from random_tasks import Quiet

STAGES = """
(define log '())
(define (note x) (set! log (cons x log)) x)
(define (numbers n)
  (let ((out (channel/new 2)))
    (async (for-range (i 0 n) (channel/send out i)) (channel/close out))
    out))
(define (counter)
  (let ((out (channel/new 1))) (async (let loop ((n 0)) (channel/send out n) (loop (+ n 1)))) out))
(define (stage f in)
  (let ((out (channel/new 1)))
    (async
      (let loop ((x (channel/recv in)))
        (if (nil? x) (channel/close out) (begin (channel/send out (f x)) (loop (channel/recv in))))))
    out))
(define (items xs)
  (let ((out (channel/new 1)))
    (async (for-each (fn (x) (channel/send out x)) xs) (channel/close out))
    out))
(define (take-from in n)
  (let loop ((n n) (xs '()))
    (if (= n 0) (reverse xs)
        (let ((x (channel/recv in))) (if (nil? x) (reverse (cons :end xs)) (loop (- n 1) (cons x xs)))))))
(define (alike a b)
  (let loop ((x (channel/recv a)) (y (channel/recv b)) (n 0))
    (cond ((and (nil? x) (nil? y)) n)
          ((equal? x y) (loop (channel/recv a) (channel/recv b) (+ n 1)))
          (else (list n x y)))))
(define (strict in)
  (let ((x (channel/recv in))) (if (nil? x) '() (if (= x 1) (error "one") (cons x (strict in))))))
(define (sets xs out)
  (if (null? xs)
      (channel/send out '())
      (let ((inner (channel/new 1)))
        (async (sets (cdr xs) inner) (channel/close inner))
        (let loop ((set (channel/recv inner)))
          (when (not (nil? set))
            (channel/send out set)
            (channel/send out (cons (first xs) set))
            (loop (channel/recv inner)))))))
(define (subsets xs) (let ((out (channel/new 1))) (async (sets xs out) (channel/close out)) out))
(define (nested n)
  (let ((out (channel/new 1)))
    (async
      (when (> n 0)
        (let ((inner (stage (fn (x) (* x 10)) (nested (- n 1)))))
          (let loop ((x (channel/recv inner)))
            (when (not (nil? x)) (channel/send out x) (loop (channel/recv inner)))))
        (channel/send out n))
      (channel/close out))
    out))
(define (flat tree)
  (let ((out (channel/new 1)))
    (async
      (if (list? tree)
          (for-each (fn (part)
                      (let ((inner (flat part)))
                        (let loop ((x (channel/recv inner)))
                          (when (not (nil? x)) (channel/send out x) (loop (channel/recv inner))))))
                    tree)
          (channel/send out tree))
      (channel/close out))
    out))
(define (broken n)
  (let ((out (channel/new 1)))
    (async
      (when (= n 0) (error "no more"))
      (let ((inner (broken (- n 1)))) (channel/send out n) (channel/send out (channel/recv inner)))
      (channel/close out))
    out))
(define (rows n out)
  (for-each (fn (i) (when (odd? i) (rows (- n 1) out)) (channel/send out (list n i))) (range n)))
(define (triangle n) (let ((out (channel/new 1))) (async (rows n out) (channel/close out)) out))
"""
# Programs after STAGES, their values or errors as the reference has them, how many tasks are pulled, and how often all
# of them are settled.
CASES = [json.loads(line) for line in (DATA / "pulled_tasks.jsonl").read_text().splitlines()]


@pytest.fixture(autouse=True)
def fresh_scheduler() -> Iterator[None]:
    forget_tasks()
    yield
    forget_tasks()


class Counts:
    """How many tasks are pulled, and how often all of them are settled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pulled = self.settled = 0
        add, settle = pulled.Pulled.add, pulled.Pulled.settle

        def counted_add(them: pulled.Pulled, *args: Any) -> None:
            self.pulled += 1
            add(them, *args)

        def counted_settle(them: pulled.Pulled) -> None:
            self.settled += 1
            settle(them)

        monkeypatch.setattr(pulled.Pulled, "add", counted_add)
        monkeypatch.setattr(pulled.Pulled, "settle", counted_settle)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["src"])
def test_answers(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counts(monkeypatch)
    program = STAGES + case["src"]
    assert outcome_of_tasks(program, "program") == case["answer"]
    assert (counts.pulled, counts.settled) == (case["pulled"], case["settled"])
    assert outcome_of_tasks(program, "module") == outcome_of_tasks(program, "program", False) == case["answer"]


def test_random_programs_answer_as_without(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counts(monkeypatch)
    for seed in range(60):
        source = Quiet(seed).program()
        assert outcome_of_tasks(source, "program") == outcome_of_tasks(source, "program", False), seed
    assert counts.pulled > counts.settled > 10


def test_a_pass_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counts(monkeypatch)
    monkeypatch.setenv("SEMA_SKIP", "pulled")
    assert outcome_of_tasks(STAGES + CASES[0]["src"], "program") == CASES[0]["answer"]
    assert counts.pulled == 0


def test_functions_of_another_module_are_called_where_they_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counts(monkeypatch)
    source = STAGES + "(define (run fs) (take-from (foldl (fn (in f) (stage f in)) (numbers 3) fs) 9)) "
    doubled = "(run (list (fn (x) (* x 2)) (fn (x) (+ x 1))))"
    printed = "(run (list (fn (x) (* x 2)) (fn (x) (note x))))"
    assert outcome_of_tasks(source + doubled, "module") == "(1 3 5 :end)"
    assert (counts.pulled, counts.settled) == (3, 0)
    assert outcome_of_tasks(source + printed + " (list (run (list note)) (reverse log))", "module") == (
        "((0 1 2 :end) (0 2 4 0 1 2))"
    )
    assert counts.settled > 0


def test_operations_that_change_their_operand_are_known() -> None:
    raising = {"div", "floordiv", "mod", "item", "array_item", "flat_item", "spread"}
    assert {kind for kind, op in PYTHON_OPS.items() if op.rank == EFFECT} == raising | CHANGES


def test_many_stages_in_a_row() -> None:
    """More than Python's stack has room for: the scheduler runs them."""
    program = (
        "(let loop ((n 0) (in (counter))) (if (= n 3000) (take-from in 2) (loop (+ n 1) (stage (fn (x) (+ x 1)) in))))"
    )
    assert outcome_of_tasks(STAGES + program, "program") == "(3000 3001)"


def test_ctrl_c_in_a_stage_leaves_the_channels_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pulled task computes may be stopped at any time; the scheduler does it again."""
    source = STAGES + "(define in (stage (fn (x) (+ x 1)) (counter))) (define (more) (channel/recv in))"
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(source, "tasks.sema", "module").code, scope)
    assert scope["more"]() == 1
    inner = scope["in_"].source

    def stopped() -> Iterator[Any]:
        yield from ()
        raise KeyboardInterrupt

    scope["in_"].source = stopped()
    with pytest.raises(KeyboardInterrupt):
        scope["more"]()
    inner.close()
    assert [scope["more"](), scope["more"]()] == [2, 3]
