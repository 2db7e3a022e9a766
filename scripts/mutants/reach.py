"""What can find a mutant: golden files, programs and tests, with the lines of the compiler that each of them reaches.

It takes minutes to find out and is kept in a file, under a digest of everything that it depends on. Of random programs
those are kept that reach a line which few others reach. Processes that judge mutants import this module, but compile
nothing before their mutant is in place.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from programs.configurations import configuration
from programs.files import on_disk
from programs.outcome import MODES, SECONDS, Outcome, different, limited, outcome
from programs.sources import SOURCES

sys.path.append(str(Path(__file__).parents[2] / "tests" / "support"))

from golden_files import GOLDEN, read

from semac import fingerprint, process
from semac.pipeline import compile_source
from semac.session import Session

ROOT = Path(__file__).parents[2]
OPTIONS = ("-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist")  # of pytest
PLACE = ROOT / ".venv" / "mutants"
COMPILER = ("semac", "runtime/sema_runtime", "scripts/programs", "scripts/mutants/reach.py")
PROGRAMS = ("tests/golden", "tests/data/found_programs.jsonl", "tests/data/tried_programs.jsonl")
SAMPLE = "tests/conformance/corpus_sample.jsonl"
Numbers = dict[str, dict[int, list[int]]]  # of cases, by file and line
IGNORED = frozenset(("hint", "trace", "frames"))  # parts of an outcome
FIRST = 5_000_000  # seed of the first program
FEW = 12  # random programs that reach a line, after which no more are looked for
MOST = {"golden": 100, "written": 60, "random": 60, "test": 200}  # that are kept for a line, in the order of judging
COMPILING = 5.0  # seconds of CPU time


class Case(NamedTuple):
    """kind: golden, written, random or test. name: of the file, the program or the test. text, mode: of the program.
    outcome: what plain code gives. code: a digest of the Python that it becomes. seconds: how long it takes."""

    kind: str
    name: str
    text: str = ""
    mode: str = ""
    outcome: tuple[Any, ...] = ()
    code: str = ""
    seconds: float = 0.0

    @property
    def expected(self) -> Outcome:
        return Outcome(*self.outcome[:-1], tuple(self.outcome[-1]))


class Reach(NamedTuple):
    """cases: what can find mutants. lines: by file and line, the numbers of those that get there."""

    cases: list[Case]
    lines: dict[str, dict[str, list[int]]]

    def of(self, path: Path, *lines: int) -> list[Case]:
        """What reaches the first of these lines of a file that anything reaches: quick ones first."""
        known = self.lines.get(str(path), {})
        found = next((known[str(line)] for line in lines if str(line) in known), [])
        return sorted((self.cases[number] for number in found), key=lambda case: case.seconds)


def kept(name: str, parts: Iterable[str], make: Callable[[], tuple[list[Case], Numbers]]) -> Reach:
    """What is in the file of this name; made anew by another process if something has changed."""
    digest = hashlib.sha256(name.encode())
    for part in (*COMPILER, *parts):
        path = ROOT / part
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.suffix in (".py", ".sema", ".txt", ".jsonl"):
                digest.update(f"{file} {file.stat().st_size}".encode() + file.read_bytes())
    place = PLACE / f"{name.partition(' ')[0]}-{digest.hexdigest()[:16]}.json"
    if not place.exists():
        PLACE.mkdir(exist_ok=True)
        child = os.fork()
        if child == 0:
            try:
                cases, lines = make()
                place.write_text(json.dumps([cases, lines]))
            finally:
                sys.stdout.flush()
                os._exit(0)
        os.waitpid(child, 0)
    cases, lines = json.loads(place.read_text())
    return Reach([Case(*case) for case in cases], lines)


class Lines:
    """The lines of some folders that are executed, in the context of a number each."""

    def __init__(self, where: Sequence[str]) -> None:
        import coverage

        include = [str(ROOT / part / "*") if (ROOT / part).is_dir() else str(ROOT / part) for part in where]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=include)
        fingerprint.is_traced.__code__ = (lambda: False).__code__  # passes don't stay out while lines are counted

    def of(self, number: int) -> None:
        """What is executed from now on belongs to this number."""
        if number == 0:
            self.coverage.start()
        self.coverage.switch_context(str(number))

    def found(self) -> Numbers:
        self.coverage.stop()
        data = self.coverage.get_data()
        return {
            str(Path(file).relative_to(ROOT)): {
                line: sorted(int(number) for number in numbers if number)
                for line, numbers in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }


# Programs


def programs(where: Sequence[str], count: int) -> Reach:
    """Golden files, programs of the tests and random ones."""
    return kept(f"programs {count} {where}", (*PROGRAMS, SAMPLE), lambda: chosen(where, count))


def drawn(count: int) -> Iterator[Case]:
    """All programs that may be chosen, as programs, modules and inputs of sessions alternately."""
    for path in GOLDEN:
        golden = read(path)
        yield Case("golden", path.name, golden.source, golden.mode)
    lines = [line for part in (*PROGRAMS[1:], SAMPLE) for line in (ROOT / part).read_text("utf-8").splitlines()]
    for number, case in enumerate(map(json.loads, lines)):
        yield Case("written", case["id"], case["src"], MODES[number % 3])
    names = [name for name, (share, _) in SOURCES.items() for _ in range(share)]
    for seed in range(FIRST, FIRST + count):
        name = random.Random(seed).choice(names)
        yield Case("random", f"{name} {seed}", SOURCES[name][1](seed, False).text, MODES[seed % 3])


def chosen(where: Sequence[str], count: int) -> tuple[list[Case], Numbers]:
    """Those that are kept of the programs that are drawn, and what they reach."""
    counted = Lines(where)
    drawn_ones = []
    for number, case in enumerate(drawn(count)):
        counted.of(number)
        start = time.process_time()
        code = code_of(case)
        drawn_ones.append(case._replace(code=code, seconds=round(time.process_time() - start, 4)))
        progress(number, "programs compiled")
    lines = counted.found()
    reached: list[list[tuple[str, int]]] = [[] for _ in drawn_ones]
    for file, its in lines.items():
        for line, numbers in its.items():
            for number in numbers:
                reached[number].append((file, line))
    often: Counter[tuple[str, int]] = Counter()
    new: dict[int, int] = {}
    cases: list[Case] = []
    for number, case in enumerate(drawn_ones):
        if case.kind != "random" or any(often[place] < FEW for place in reached[number]):
            known = answered(case)
            if known is not None:
                new[number] = len(cases)
                cases.append(known)
                often.update(reached[number] if case.kind == "random" else ())
                progress(len(cases), "programs run")
    return cases, some_of_each_kind(lines, new, cases)


def some_of_each_kind(lines: Numbers, new: dict[int, int], cases: list[Case]) -> Numbers:
    """At random, at most MOST cases of a kind for each line. new: the numbers of those that are left."""
    choice = random.Random(0)

    def some(numbers: list[int]) -> list[int]:
        known = [new[number] for number in numbers if number in new]
        choice.shuffle(known)
        return [one for kind, most in MOST.items() for one in [one for one in known if cases[one].kind == kind][:most]]

    return {file: {line: some(numbers) for line, numbers in its.items()} for file, its in lines.items()}


def progress(number: int, what: str) -> None:
    if number and number % 500 == 0:
        print(number, what, flush=True)


def answered(case: Case) -> Case | None:
    """A program with what plain code gives; None where nothing can be said, or passes already give something else."""
    if case.kind == "golden":
        return case
    given = outcome(case.text, "module" if case.mode == "program" else case.mode, configuration("plain"), SECONDS)
    found = outcome(case.text, case.mode, configuration("asserted")) if given.countable else given
    if not found.countable or different(case.mode, given, found, IGNORED) is not None:
        return None
    return case._replace(outcome=given)


def code_of(case: Case) -> str:
    """A digest of the Python that a program becomes; of the error of one that can't be compiled."""
    with on_disk(case.text) as (text, path), limited(COMPILING):
        process.deepen()
        try:
            if case.kind == "golden":
                code = compile_source(text, "example.sema", case.mode, is_text=True).python_text()
            elif case.mode == "session":
                code = ast.dump(Session(path).compile(text, path, "program").tree)
            else:
                code = ast.dump(compile_source(text, path, case.mode, result=True).tree)
        except Exception as error:
            code = repr(error)
        folder = os.path.dirname(path)
        return hashlib.sha256((code.replace(folder, "") if folder else code).encode()).hexdigest()[:16]


# Tests


def tests(where: Sequence[str], paths: Sequence[str]) -> Reach:
    """Tests that pass."""
    return kept(f"tests {paths} {where}", ["tests"], lambda: passed(where, paths)) if paths else Reach([], {})


def passed(where: Sequence[str], paths: Sequence[str]) -> tuple[list[Case], Numbers]:
    """Tests of these files that pass, and what they reach."""
    import pytest

    counted = Lines(where)
    names: list[str] = []
    seconds: Counter[str] = Counter()
    failed: set[str] = set()

    class Watcher:
        def pytest_runtest_logstart(self, nodeid: str) -> None:
            counted.of(len(names))
            progress(len(names), "tests run")
            names.append(nodeid)

        def pytest_runtest_logreport(self, report: Any) -> None:
            seconds[report.nodeid] += report.duration
            if not report.passed:
                failed.add(report.nodeid)

    pytest.main([*OPTIONS, "-s", *paths], plugins=[Watcher()])
    cases = [Case("test", name, seconds=round(seconds[name], 4)) for name in names]
    new = {number: number for number, name in enumerate(names) if name not in failed}
    print(len(new), "of", len(names), "tests pass", flush=True)
    return cases, some_of_each_kind(counted.found(), new, cases)
