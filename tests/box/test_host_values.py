"""What values of the host and of programs become on the other side, and that none of them runs anything there."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import pytest

from sema_runtime.box import Limits, Pool, Session
from sema_runtime.box.codec import decoded
from sema_runtime.values.errors import SemaError


class Word(StrEnum):
    TEA = "tea"


class Text(str):
    def __str__(self) -> str:
        raise RuntimeError("asked for its text")


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"asked for {name}")


class HostileDict(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("asked for its items")


class Endless(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return 1

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        count = 0
        while True:
            count += 1
            yield f"k{count}"


class Own:
    def model_dump(self) -> Any:
        return self


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": {"b": [1, None, True]}}, "{:a {:b [1 nil #t]}}"), ({1: 2, "s": 3}, "{1 2 :s 3}"), ({2, 1}, "[1 2]"),
        (Text("x"), '"x"'), (Word.TEA, '"tea"'), (b"ab", "#u8(97 98)"), (memoryview(b"a"), "#u8(97)"),
        (Fraction(1, 3), "1/3"), (math.nan, "NaN"), (-math.inf, "-inf"), ((1, (2,)), "[1 [2]]"),
        (HostileDict(a=1), '"<HostileDict>"'), (Own, '"<native-fn Own>"'),
    ],
)  # fmt: skip
def test_data_of_the_host_are_values_of_the_program(pool: Pool, value: Any, text: str) -> None:
    assert pool.run("data/x", data={"x": value}).text == text


def test_objects_whose_code_fails_show_their_type_alone(pool: Pool) -> None:
    assert pool.run("data/x", data={"x": [Hostile()]}).text == '["<Hostile>"]'


def test_numbers_and_arrays_of_numpy_are_numbers_and_vectors(pool: Pool) -> None:
    numpy = pytest.importorskip("numpy")
    data = {
        "x": [numpy.float64(1.5), numpy.int64(3), numpy.arange(4).reshape(2, 2), numpy.str_("s"), numpy.bool_(True)]
    }
    assert pool.run("data/x", data=data).text == '[1.5 3 [[0 1] [2 3]] "s" #t]'


def test_what_holds_itself_or_never_ends_is_refused(pool: Pool) -> None:
    cycle: list[Any] = []
    cycle += [cycle, cycle]
    for value, words in (
        (cycle, "nested more than 100 deep"),
        (Own(), "nested more than 100 deep"),
        (Endless(), "more than"),
    ):
        with pytest.raises(SemaError, match=f"data/x .*{words}"):
            pool.run("1", data={"x": value})


@pytest.mark.parametrize(
    ("source", "python", "sema"),
    [
        ("(list (mutable-array/new 2 1) (f64-array 1.5) (bytevector 1 255))", [[1, 1], [1.5], b"\x01\xff"],
         "([1 1] [1.5] #u8(1 255))"),
        ("(define-record-type p (mk x y-z) p? (x px)) (mk 1 (mk :a nil))", {"x": 1, "y-z": {"x": "a", "y-z": None}},
         "{:x 1 :y-z {:x :a :y-z nil}}"),
        ("(list 1/3 (/ 1 (expt 3 900)))", [1 / 3, 3.0**-900], None),
        ("{[1 2] 3 {:a 1} 4}", {"[1, 2]": 3, '{"a": 1}': 4}, None),
        ("{(list (expt 7 9000)) 1}", None, None), ("(hashmap/new :a 1)", {"a": 1}, "{:a 1}"),
        ("(expt 2 12000)", 1 << 12_000, None),
    ],
)  # fmt: skip
def test_values_of_programs_are_data_of_the_host(pool: Pool, source: str, python: Any, sema: str | None) -> None:
    from sema_runtime.values.printer import to_text

    outcome = pool.run(source)
    assert outcome.ok and (python is None or outcome.value == python), outcome
    assert sema is None or to_text(decoded(outcome.encoded)) == sema


@pytest.mark.parametrize(
    "field", ["model-dump", "sema_text", "__repr__", "tolist", "items", "__class__", "value", "name"]
)
def test_no_field_of_a_record_is_called(pool: Pool, field: str) -> None:
    source = (
        f'(define-record-type r (mk {field}) r? ({field} field-of)) (define v (mk (fn (. args) (return "hooked"))))'
    )
    outcome = pool.run(f"{source} (println v (str v) (= v v)) (sort (list v v)) v")
    assert outcome.status == "value" and "hooked" not in repr(outcome), outcome


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("(range 150000)", "has more than 100,000 parts"), ("(/ 1 (pow 3 9000))", "rational"),
        ("(foldl (fn (a _) (list a)) 1 (range 200))", "nested more than 100 deep"), ("(pow 7 350000)", "20000 digits"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_leave_names_the_limit(pool: Pool, source: str, words: str) -> None:
    outcome = pool.run(source, limits=replace(pool.limits, result_bytes=500_000))
    assert outcome.reason == "result_exceeded" and words in (outcome.message or "") and outcome.hint, outcome


def test_inputs_are_no_memory_of_the_program(pool: Pool) -> None:
    rows = [{"id": number, "price": number * 1.5, "name": f"item {number}"} for number in range(25_000)]
    outcome = pool.run("(count data/rows)", {"rows": rows}, limits=Limits(memory_mb=24))
    assert outcome.value == 25_000, outcome


def test_a_fork_of_the_host_has_processes_of_its_own(pool: Pool) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, json.dumps([pool.run("(+ 1 2)").value, pool.run("x").reason]).encode())
            pool.close()
        finally:
            os._exit(0)
    assert pool.run("(+ 1 3)").value == 4
    assert json.loads(os.read(reading, 100)) == [3, "unbound_var"]
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    assert pool.run("(+ 1 4)").value == 5


def test_a_typo_in_a_session_costs_no_process(pool: Pool) -> None:
    with Session(pool) as session:
        assert session.run("(define x 1)").ok
        worker = session.worker
        for source in ("(+ 1", "(nosuch x)", "(let ((a)) a)", '(file/read "x")'):
            assert session.run(source).status == "error" and session.worker is worker
        assert session.run("(define x 2) (car 5)").status == "error" and session.worker is not worker
        assert session.run("x").value == 1


@pytest.mark.parametrize("name", ["a b", "x(", "", 5, "a;b"])
def test_inputs_have_names_that_programs_can_say(pool: Pool, name: Any) -> None:
    with pytest.raises(SemaError, match="can't be called"):
        pool.run("1", data={name: 1})
