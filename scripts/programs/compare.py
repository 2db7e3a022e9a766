"""Compares two configurations of the compiler on random programs, and on calls of their functions from Python."""

from __future__ import annotations

import json
import re
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from programs import calls
from programs.configurations import Configuration, configuration
from programs.generator import Profile
from programs.kinds import Kind
from programs.outcome import MODES, Difference, difference
from programs.program import program
from programs.shrink import one_by_one, shrunk
from programs.workers import SILENT, results

CALLS = "calls"
SESSIONS = 4  # of so many programs one runs as an input of a session, too: little is different there


class Comparison:
    """What is compared with what. modes: of MODES, and CALLS."""

    def __init__(self, option: str, measure: str, modes: tuple[str, ...], ignored: frozenset[str]) -> None:
        self.option: Configuration = configuration(option)
        self.measure: Configuration = configuration(measure)
        self.modes = tuple(mode for mode in modes if mode != CALLS)
        self.calls = CALLS in modes
        self.ignored = ignored

    def difference(self, source: str, seed: int, kinds: Mapping[str, Kind] | None = None) -> Difference | None:
        """The first difference of one program. seed: of the arguments of calls; kinds: of its functions."""
        modes = [mode for mode in self.modes if mode != "session" or seed % SESSIONS == 0]
        found = difference(source, self.option, self.measure, modes, self.ignored) if modes else None
        if found is None and self.calls:
            found = calls.difference(source, seed, self.option, self.measure, self.ignored, kinds)
        return found

    def checked(self, source: str, seed: int, seconds: float, kinds: Mapping[str, Kind] | None = None) -> Any:
        """The report on one program, for the process that collects them: None where there is no difference."""
        found = self.difference(source, seed, kinds)
        if found is None:
            return None
        kind = found.kind

        def fails(text: str) -> bool:
            other = self.difference(text, seed, kinds)
            return other is not None and other.kind == kind

        small = shrunk(source, one_by_one(fails), seconds) if seconds else source
        return {"kind": kind, "src": small, "difference": str(self.difference(small, seed, kinds) or found)}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others follow")
    parser.add_argument("--option", default="optimized", help="the configuration that is tried (default %(default)s)")
    parser.add_argument("--against", default="plain", help="the one that says what is right (default %(default)s)")
    parser.add_argument("--modes", default=",".join((*MODES, CALLS)), help="default %(default)s")
    parser.add_argument("--ignore", default="", help="parts of an outcome that may differ: hint,trace,frames,types")
    parser.add_argument("--skip", default="", help="a regex: differences whose text it is found in are known")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shrink", type=float, default=20, help="seconds for reducing a program; 0: don't")
    parser.add_argument("--stop-after", type=int, default=20, help="how many differences end the run")
    parser.add_argument("--file", type=Path, help="programs to compare in place of random ones: lines {id, src}")
    parser.add_argument("--out", type=Path, help="a file that gets the differences, as lines {id, src, difference}")


def run(options: Namespace) -> int:
    comparison = Comparison(
        options.option,
        options.against,
        tuple(options.modes.split(",")),
        frozenset(filter(None, options.ignore.split(","))),
    )
    texts = [json.loads(line)["src"] for line in options.file.read_text().splitlines()] if options.file else None
    seeds = range(len(texts)) if texts is not None else range(options.seed, options.seed + options.count)

    def check(seed: int) -> Any:
        if texts is not None:
            return comparison.checked(texts[seed], seed, options.shrink)
        made = program(seed, Profile())
        kinds = {function.name: function.kind for function in made.functions}
        return comparison.checked(made.source, seed, options.shrink, kinds)

    return reported(results(check, seeds, options.jobs, SILENT + 3 * options.shrink), options)


def reported(found: Iterator[tuple[int, Any]], options: Namespace) -> int:
    """Prints the differences, each small program once. Returns the status."""
    kinds: Counter[str] = Counter()
    seen: set[str] = set()
    start, count = time.monotonic(), 0
    for seed, result in found:
        count += 1
        if result is None or (options.skip and re.search(options.skip, result.get("difference", ""))):
            continue
        kind = " ".join(result["kind"]) if "kind" in result else next(iter(result))
        kinds[kind] += 1
        source = result.get("src", "")
        if source in seen and source:
            continue
        seen.add(source)
        print(f"--- seed {seed}: {result.get('difference') or result}\n{source}\n", flush=True)
        if options.out is not None:
            with options.out.open("a") as file:
                file.write(json.dumps({"id": f"seed-{seed}", **result}) + "\n")
        if sum(kinds.values()) >= options.stop_after:
            break
    seconds = time.monotonic() - start
    print(f"{count} programs, {sum(kinds.values())} differ, {seconds:.0f} s, {count / max(seconds, 1e-9):.1f} a second")
    for kind, number in kinds.most_common():
        print(f"  {number} {kind}")
    return 1 if kinds else 0
