"""Programs that a session has run before: they mean what they would mean if they were compiled anew."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.box import Limits, Pool, Session


@pytest.mark.parametrize(
    ("sources", "values"),
    [
        (["(define n 1)", "n", "n", "(set! n 2)", "n", "n"], [None, 1, 1, None, 2, 2]),
        (["1", "(+ *1 1)", "(+ *1 1)", "(+ *1 1)"], [1, 2, 3, 4]),
        (["(define (f x) x)", "(f 2)", "(f 2)", "(defmacro f (x) (list '* x 10))", "(f 2)", "(f 2)"],
         [None, 2, 2, None, 20, 20]),
        (["(abs -1)", "(abs -1)", "(define (abs x) 9)", "(abs -1)", "(abs -1)"], [1, 1, None, 9, 9]),
        (["(let ((a (list 1 2))) (length a))"] * 3, [2, 2, 2]),
        (["(let ((a (mutable-array/new 1 0))) (mutable-array/set! a 0 (+ 1 (mutable-array/get a 0))) a)"] * 3,
         [[1], [1], [1]]),
        (["data/x", "data/x", "(define data/x 5)", "data/x", "(+ 1 data/x)"], [1, 1, None, 1, 2]),
        (["(tool/next)", "(tool/next)", "(define (tool/next) 0)", "(tool/next)", "(tool/next)"], [1, 2, None, 3, 4]),
        (["(return 1)", "(return 1)", "(fail 2)", "(return 1)"], [1, 1, 2, 1]),
    ],
)  # fmt: skip
def test_a_program_is_not_stale(pool: Pool, sources: list[str], values: list[Any]) -> None:
    count = 0

    def next_() -> int:
        nonlocal count
        count += 1
        return count

    with Session(pool, {"x": 1}, {"next": next_}) as session:
        for source, value in zip(sources, values, strict=True):
            outcome = session.run(source)
            assert outcome.status != "error", outcome
            if value is not None:
                assert outcome.value == value, source


def test_limits_and_warnings_are_those_of_each_run(pool: Pool) -> None:
    with Session(pool) as session:
        warned = [session.run("(if 1 2 3) (lambda (x) (+ 1))").warnings for _ in range(2)]
        assert warned[0] == warned[1]
        assert [session.run("(pow 2 500)").status for _ in range(2)] == ["value", "value"]
        session.limits = Limits(integer_bits=100)
        assert session.run("(pow 2 500)").message == "pow: the result would have 500 bits, limit integer_bits is 100"


def test_inputs_cross_once_to_each_process(pool: Pool) -> None:
    text = "a" * 100_000
    with Session(pool, {"long": text, "other": [1]}) as session:
        assert session.run("(string-length data/long)").value == len(text)
        assert session.worker is not None
        assert session.worker.told["data"] == {"long"}
        assert session.run("(list (string-length data/long) data/other)").value == [len(text), [1]]
        assert not session.run("(car 5)").ok
        assert session.run("(string-length data/long)").value == len(text)
        assert session.run("data/none").hint == "did you mean data/long? the inputs are data/long, data/other"
