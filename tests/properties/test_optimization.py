"""Optimized code gives the answers of plain code (SEMA_OPT=0): on the corpus, the examples, the benchmarks' programs
and on random programs of many top-level forms. `scripts/compare_optimization.py` runs as many as one likes."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from corpus import FILES, SAMPLE, cases_of, check
from example_runs import PROGRAMS, check_example
from paths import SCRIPTS, SHARED

from semac.pipeline import compile_source

sys.path.insert(0, str(SCRIPTS))

from compare_optimization import difference, outcome
from programs.soak import Comparer, Plan
from programs.sources import SOURCES
from random_modules import Modules
from random_programs import Programs

BENCH = SHARED / "bench"
ESCAPES = {
    "a function whose result is a map, by name through map": (
        "(define (mk l) {:t l}) (define recs (map mk (list 1 2))) (define (up r) (assoc r :a 1))"
        "(map (fn (r) (:t r)) recs)",
        "(1 2)",
    ),
    "the same through a fold, apply, data and sort-by": (
        "(define (mk l) (assoc {} :t l)) (define (up m x) (assoc m x 1))"
        "(list (foldl up (mk 1) '(2)) (apply mk '(3)) ((get {:f mk} :f) 4) (map :t (sort-by :t (map mk '(2 1)))))",
        "({2 1 :t 1} {:t 3} {:t 4} (1 2))",
    ),
    "a map that a loop returns inside of a vector": (
        "(define (f n) (let lp ((i 0) (es {})) (if (= i n) [es (+ i 1)] (lp (+ i 1) (assoc es i i)))))"
        "(let (([es k] (f 2))) [(assoc es :z 1) k])",
        "[{0 0 1 1 :z 1} 3]",
    ),
    "a map given away on one branch only": (
        "(define (f t) (let ((m (assoc {} :a 1))) (if t [m 1] (assoc m :b 2)))) (list (f #t) (f #f))",
        "([{:a 1} 1] {:a 1 :b 2})",
    ),
    "a map that a loop keeps a version of": (
        "(let lp ((i 0) (m {}) (old '())) (if (= i 2) old (lp (+ i 1) (assoc m i i) (cons m old))))",
        "({0 0} {})",
    ),
    "a fold that remembers its accumulator": (
        "(define seen nil) (list (foldl (fn (m x) (begin (set! seen m) (assoc m x 1))) {} '(1 2)) seen)",
        "({1 1 2 1} {1 1})",
    ),
    "an operand changed by a later one": (
        "(define total 1) (define (f) (set! total 10) 5) (define (g) (+ total (f))) (list (g) total)",
        "(6 10)",
    ),
    "a local changed by a later operand": (
        "(define (h a) (define (s) (set! a 10) 5) (list (+ a (s)) (< a (s)) (* a (s) a))) (h 1)",
        "(6 #f 500)",
    ),
    "the error of an inner stage comes before that of an outer one": (
        "(define (f xs) (foldl (fn (a x) (+ a x)) 0 (map (fn (x) (cdr x)) xs)))"
        "(try (f '((1 2) 5)) (catch e (:message e)))",
        '"expected list or vector, got int"',
    ),
    "the name of the innermost stage in the error of its source": (
        "(define (f xs) (foldl (fn (a m) (+ a (get m :k 0))) 0 (map (fn (x) x) xs)))"
        "(try (f {}) (catch e (:message e)))",
        '"expected list, vector, or mutable-array, got map in map"',
    ),
    "a let in front of a loop's test": (
        "(define (f) (let loop ((i 0)) (let ((x (/ 1 (- 2 i)))) (if (= i 2) :done (loop (+ i 1))))))"
        "(try (f) (catch e (:message e)))",
        '"division by zero"',
    ),
    "a loop handed to map": (
        "(define (f n) (let loop ((i n)) (if (> i 2) i (map loop (list (+ i 1) 5))))) (f 1)",
        "((3 5) 5)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "value"), ESCAPES.values(), ids=ESCAPES.keys())
def test_what_once_went_wrong(source: str, value: str) -> None:
    assert outcome(source, "program", optimize=True) == ("value", value)
    assert difference(source) is None


def test_a_loop_that_starts_above_its_bound_never_meets_it() -> None:
    loop = "(define (f n) (let loop ((i 0)) (if (= i n) :met (if (> i 1000) :past (loop (+ i 1))))))"
    assert outcome(f"{loop} (list (f 3) (f 0) (f -1))", "program", optimize=True) == ("value", "(:met :met :past)")
    past = compile_source("(let loop ((i 0)) (if (= i -1) i (loop (+ i 1))))", mode="program").python_text()
    assert "range" not in past


def test_a_long_chain_of_functions_keeps_its_types() -> None:
    links = "".join(f"(define (f{i} a) (f{i + 1} (+ a 1)))" for i in range(400))
    text = compile_source(
        f"(define (area r) (* r r)) {links} (define (f400 a) (* a 2)) (f0 (area 3))", mode="program", is_text=True
    ).python_text()
    assert "return r * r" in text
    assert "return a * 2" in text


# Many programs


CHECKS = ("program", "module", "program", "calls", "module", "session")  # of soak
COUNT = 30  # programs of each source
START = int.from_bytes(os.urandom(4)) if os.environ.get("SEMA_TEST_RANDOM") else 60_000_000


@pytest.mark.parametrize("source", [name for name in SOURCES if name != "corpus" or FILES])
def test_random_programs(source: str) -> None:
    """A few of each source; `scripts/programs soak` compares as many as one likes."""
    comparer = Comparer(None, seconds=0, ignored=frozenset(["trace"]))
    for seed in range(START, START + COUNT):
        check = CHECKS[seed % len(CHECKS)]
        plan = Plan(seed, source, "module" if source == "divided" and check in ("calls", "session") else check)
        tries = 3 if source == "tasks" else 1  # a machine that stands still lets sleeps end in another order
        assert any(comparer.compared(plan) is None for _ in range(tries)), plan


@pytest.mark.parametrize("seed", range(4))
def test_programs_of_many_forms(seed: int) -> None:
    programs = Modules(seed)
    for _ in range(40):
        source = programs.program()
        assert difference(source) is None, source


@pytest.mark.parametrize("seed", range(2))
def test_nested_expressions(seed: int) -> None:
    programs = Programs(1000 + seed)
    for _ in range(50):
        source = programs.program()
        assert difference(source) is None, source


# Programs that are there


@pytest.mark.parametrize("path", FILES or [SAMPLE], ids=lambda path: path.stem)
def test_corpus_without_optimization(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_OPT", "0")
    check(cases_of(path))


@pytest.mark.parametrize("path", [path for path in PROGRAMS if path.suffix == ".sema"], ids=lambda path: path.stem)
def test_example_without_optimization(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_OPT", "0")
    monkeypatch.delenv("SEMA_UPDATE_GOLDEN", raising=False)
    check_example(path, tmp_path)


@pytest.mark.parametrize("path", sorted(BENCH.glob("*/program.sema")), ids=lambda path: path.parent.name)
def test_benchmark(path: Path) -> None:
    """With large numbers made small, which changes what a program computes but not how."""
    source = re.sub(r"(?<![\w.])\d{3,}(?![\w.])", "24", path.read_text())
    assert difference(source) is None
