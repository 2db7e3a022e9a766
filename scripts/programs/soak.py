"""Compares random programs of all sources, plain with optimized and both with the reference, for as long as it is left.

The counts are kept in a file, and a run goes on after the last seed that the file knows. Differences are appended to
another one.
"""

from __future__ import annotations

import json
import random
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from programs import calls, reference
from programs.configurations import Configuration, configuration
from programs.kinds import Kind
from programs.outcome import Difference, difference
from programs.shrink import one_by_one, shrunk
from programs.sources import SOURCES
from programs.workers import SILENT, results
from semac.optimize.passes import PASSES

CHUNK = 1000  # seeds of one process: names that programs use are never forgotten
# How often each check is drawn. calls: of a module's functions from Python; without: with one pass left out; asserted:
# with types asserted and units verified; oracle: with the reference.
CHECKS = {"program": 32, "module": 18, "calls": 8, "session": 3, "without": 8, "asserted": 4, "oracle": 30}
OPTIMIZED, PLAIN = configuration("optimized"), configuration("plain")
ASSERTED = configuration("asserted")
OPTIONAL = [its.name for its in PASSES if its.optional]


class Plan(NamedTuple):
    """What is done with the program of a seed."""

    seed: int
    source: str
    check: str


class Drawing:
    """Draws plans: equal seeds make equal ones."""

    def __init__(self, sources: Mapping[str, int], checks: Mapping[str, int]) -> None:
        self.sources = list(sources), list(sources.values())
        self.checks = list(checks), list(checks.values())

    def plan(self, seed: int) -> Plan:
        chance = random.Random(seed)
        (source,), (check,) = (chance.choices(names, weights) for names, weights in (self.sources, self.checks))
        if source == "divided" and check in ("oracle", "calls", "session"):  # they know programs of one file
            check = "module"
        # The reference loses what closures set (NOTES-programs.md).
        if source in ("assigned", "around") and check == "oracle":
            check = "program"
        return Plan(seed, source, check)


class Comparer:
    """Carries out plans. oracle: the reference, where it is asked."""

    def __init__(self, oracle: reference.Reference | None, seconds: float, ignored: frozenset[str]) -> None:
        self.oracle = oracle
        self.seconds = seconds
        self.ignored = ignored

    def compared(self, plan: Plan) -> dict[str, Any] | None:
        """The report on a plan; None where there is no difference."""
        source = SOURCES[plan.source][1](plan.seed, plan.check != "oracle" and plan.seed % 4 == 0)
        found = self.difference(source.text, plan, source.kinds)
        if found is None or is_known(source.text, plan, found):
            return None
        kind = found.kind

        def fails(text: str) -> bool:
            other = self.difference(text, plan, source.kinds)
            return other is not None and other.kind == kind

        small = shrunk(source.text, one_by_one(fails), self.seconds) if self.seconds else source.text
        shown = self.difference(small, plan, source.kinds) or found
        return {**plan._asdict(), "kind": kind, "src": small, "difference": str(shown)}

    def difference(self, text: str, plan: Plan, kinds: Mapping[str, Kind]) -> Difference | None:
        if plan.check == "oracle":
            assert self.oracle is not None
            return reference.difference(text, self.oracle, reference.WAYS[plan.seed % len(reference.WAYS)], OPTIMIZED)
        if plan.check == "calls":
            return calls.difference(text, plan.seed, OPTIMIZED, PLAIN, self.ignored, kinds)
        option, modes = OPTIMIZED, (plan.check,)
        if plan.check == "without":
            option = without(plan.seed)
            modes = ("program",) if plan.seed % 3 else ("module",)
        elif plan.check == "asserted":
            option = ASSERTED
            modes = ("program",) if plan.seed % 2 else ("module",)
        return difference(text, option, PLAIN, modes, self.ignored)


def is_known(text: str, plan: Plan, found: Difference) -> bool:
    """Whether a difference is one of those that stay: the order of hash maps; programs that assertions make slow."""
    if plan.check == "oracle":
        return "hash" in text and sorted(found.expected) == sorted(found.found)
    return plan.check == "asserted" and found.found.startswith("endless")


def without(seed: int) -> Configuration:
    return configuration(f"without:{OPTIONAL[seed // 3 % len(OPTIONAL)]}")


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--state", type=Path, required=True, help="the file of counts; a run goes on from it")
    parser.add_argument("--out", type=Path, required=True, help="the file that gets differences, as lines of JSON")
    parser.add_argument("--count", type=int, default=1000, help="how many programs more")
    parser.add_argument("--seed", type=int, default=0, help="of the first program, where the file is new")
    parser.add_argument("--oracle", type=Path, help="the folder of the reference's oracle.mjs")
    parser.add_argument("--sources", default=",".join(SOURCES), help="default %(default)s")
    parser.add_argument("--checks", default=",".join(CHECKS), help="default %(default)s")
    parser.add_argument(
        "--ignore", default="trace", help="parts of an outcome that may differ: hint,trace,frames,types"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shrink", type=float, default=15, help="seconds for reducing a program; 0: don't")


def run(options: Namespace) -> int:
    names = set(options.checks.split(",")) - (set() if options.oracle else {"oracle"})
    drawing = Drawing(
        {name: SOURCES[name][0] for name in options.sources.split(",")},
        {name: weight for name, weight in CHECKS.items() if name in names},
    )
    state = State(options.state, options.seed)
    ignored = frozenset(filter(None, options.ignore.split(",")))
    made: list[Comparer] = []  # in each worker, when it first needs one

    def check(seed: int) -> Any:
        if not made:
            made.append(Comparer(reference.Reference(options.oracle), options.shrink, ignored))
        return made[0].compared(drawing.plan(seed))

    differ = 0
    for seed, report in all_results(check, state.next, options.count, options.jobs, SILENT + 5 * options.shrink):
        plan = drawing.plan(seed)
        state.note(plan, report)
        if report is not None:
            differ += 1
            with options.out.open("a") as file:
                file.write(json.dumps({**plan._asdict(), **report}, ensure_ascii=False) + "\n")
    state.save()
    print(state.summary())
    return 1 if differ else 0


def all_results(check: Any, first: int, count: int, jobs: int, silent: float) -> Iterator[tuple[int, Any]]:
    """The results of seeds, from new processes for each chunk of them."""
    for start in range(first, first + count, CHUNK):
        yield from results(check, range(start, min(start + CHUNK, first + count)), jobs, silent)


class State:
    """How far a run is. counts: of programs by source and check; differ: of those that differ; seconds: of all runs."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        known = json.loads(path.read_text()) if path.exists() else {}
        self.next: int = known.get("next", seed)
        self.counts = Counter(known.get("counts", {}))
        self.differ = Counter(known.get("differ", {}))
        self.before: float = known.get("seconds", 0.0)
        self.start = time.monotonic()
        self.saved = self.start
        self.done: set[int] = set()

    @property
    def seconds(self) -> float:
        return self.before + time.monotonic() - self.start

    def note(self, plan: Plan, report: Any) -> None:
        name = f"{plan.source} {plan.check}"
        self.counts[name] += 1
        self.differ[name] += report is not None
        self.done.add(plan.seed)
        while self.next in self.done:
            self.done.remove(self.next)
            self.next += 1
        if time.monotonic() - self.saved > 10:
            self.save()

    def save(self) -> None:
        self.saved = time.monotonic()
        known = {"next": self.next, "seconds": self.seconds, "counts": self.counts, "differ": +self.differ}
        self.path.write_text(json.dumps(known, indent=1))

    def summary(self) -> str:
        total = self.counts.total()
        lines = [f"{total} programs, {self.differ.total()} differ, {total / self.seconds:.1f} a second"]
        for part in (0, 1):
            sums: Counter[str] = Counter()
            for name, count in self.counts.items():
                sums[name.split()[part]] += count
            lines.append("  " + ", ".join(f"{count} {name}" for name, count in sums.most_common()))
        return "\n".join(lines)
