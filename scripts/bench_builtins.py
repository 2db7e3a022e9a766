"""Compares builtins with what a Python programmer writes for the same job, at three sizes.

python scripts/bench_builtins.py [NAME ...] [--rounds N] [--lines N] [--markdown]

Each row runs a function written in Sema, compiled as a program, and one written in Python, on equal data; both in this
process, alternating, as CPU time, the best of the rounds. `growth` is by how much the time grows from 10,000 to
100,000, for Python and for Sema: caches make it more than 10 for both. `fold-lines` reads a file of --lines lines
(10,000,000 take a minute) and also shows by how much memory grew.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "runtime")]

from sema_runtime.values.lists import List  # noqa: E402
from semac.pipeline import compile_source  # noqa: E402

SIZES = (1_000, 10_000, 100_000)
LIMIT = 1.5


class Job(NamedTuple):
    """One row: the Sema function's body over `xs`, the Python function, data of a size for each side, and a value of
    the data's type, as a call in the program would show it to the compiler."""

    sema: str
    python: Callable[[Any], Any]
    data: Callable[[int], Any]
    sample: str = "(list 1 2)"
    for_sema: Callable[[Any], Any] = lambda data: List(list(data))


def numbers(n: int) -> list[int]:
    return random.Random(n).sample(range(n * 10), n)


def words(n: int) -> list[str]:
    chosen = random.Random(n)
    return [f"w{chosen.randrange(n // 10)}" for _ in range(n)]


def text(n: int) -> str:
    return ",".join(words(n))


def records(n: int) -> str:
    return json.dumps([{"id": i, "name": f"user-{i}", "tags": ["a", "b"], "score": i / 4} for i in range(n // 10)])


def same(value: Any) -> Any:
    return value


def grown(keys: list[str]) -> dict[str, int]:
    held: dict[str, int] = {}
    for key in keys:
        held[key] = 1
    return held


def grouped(xs: list[int]) -> dict[int, list[int]]:
    groups = defaultdict(list)
    for x in xs:
        groups[x % 10].append(x)
    return groups


WORDS = '(list "a" "b")'

JOBS = {
    "sort": Job("(sort xs)", sorted, numbers),
    "sort strings": Job("(sort xs)", sorted, words, WORDS),
    "sort-by": Job("(sort-by (fn (x) (- x)) xs)", lambda xs: sorted(xs, key=lambda x: -x), numbers),
    "map": Job("(map (fn (x) (* x 2)) xs)", lambda xs: [x * 2 for x in xs], numbers),
    "filter": Job("(filter (fn (x) (> x 500)) xs)", lambda xs: [x for x in xs if x > 500], numbers),
    "filter even?": Job("(filter even? xs)", lambda xs: [x for x in xs if x % 2 == 0], numbers),
    "foldl": Job("(foldl + 0 xs)", lambda xs: reduce(lambda a, x: a + x, xs, 0), numbers),
    "foldl fn": Job(
        "(foldl (fn (acc x) (+ acc (* x x))) 0 xs)", lambda xs: reduce(lambda a, x: a + x * x, xs, 0), numbers
    ),
    "frequencies": Job("(frequencies xs)", Counter, words, WORDS),
    "list/group-by": Job("(list/group-by (fn (x) (mod x 10)) xs)", grouped, numbers),
    "list/unique": Job("(list/unique xs)", lambda xs: list(dict.fromkeys(xs)), words, WORDS),
    "string/split": Job('(string/split xs ",")', lambda xs: xs.split(","), text, '"text"', same),
    "string/join": Job('(string/join xs ",")', lambda xs: ",".join(xs), words, WORDS),
    "string/replace": Job('(string/replace xs "w" "--")', lambda xs: xs.replace("w", "--"), text, '"text"', same),
    "string/upper": Job("(string/upper xs)", lambda xs: xs.upper(), text, '"text"', same),
    "json/decode": Job("(json/decode xs)", json.loads, records, '"[1]"', same),
    "json/encode": Job("(json/encode xs)", lambda xs: json.dumps(xs, separators=(",", ":")), numbers),
    "assoc loop": Job("(foldl (fn (m k) (assoc m k 1)) {} xs)", grown, words, WORDS),
    "assoc distinct": Job("(foldl (fn (m k) (assoc m k 1)) {} xs)", grown, numbers),
}


def sema_function(job: Job) -> Callable[[Any], Any]:
    space: dict[str, Any] = {"__name__": "benchmark"}
    exec(compile_source(f"(define (work xs) {job.sema}) (work {job.sample})", "benchmark.sema", "program").code, space)
    work: Callable[[Any], Any] = space["work"]
    return work


def seconds(work: Callable[[Any], Any], data: Any, repeat: int) -> float:
    """CPU seconds of one call."""
    gc.collect()
    start = time.process_time()
    for _ in range(repeat):
        work(data)
    return (time.process_time() - start) / repeat


def measured(job: Job, size: int, rounds: int) -> tuple[float, float]:
    """The best times of Python and Sema for data of that size."""
    plain = job.data(size)
    data, work = job.for_sema(plain), sema_function(job)
    work(data), job.python(plain)
    repeat = max(1, 200_000 // size // 4)
    pairs = [(seconds(job.python, plain, repeat), seconds(work, data, repeat)) for _ in range(rounds)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def table(names: list[str], rounds: int) -> bool:
    """Prints the rows. Returns False when one is over the limit or grows too fast."""
    headings = [f"{size:,}: Python ms, Sema ms, ratio" for size in SIZES]
    print("| " + " | ".join(["builtin", *headings, "growth: Python, Sema"]) + " |")
    print("|---|" + "---|" * (len(SIZES) + 1))
    good = True
    for name in names:
        times = [measured(JOBS[name], size, rounds) for size in SIZES]
        cells = [f"{a * 1e3:.3f}, {b * 1e3:.3f}, **{b / a:.2f}**" for a, b in times]
        growth = [times[-1][side] / times[-2][side] for side in (0, 1)]
        good = good and all(b <= LIMIT * a for a, b in times) and growth[1] <= LIMIT * growth[0]
        print(f"| `{name}` | " + " | ".join(cells) + f" | {growth[0]:.0f}, {growth[1]:.0f} |", flush=True)
    return good


# Lines of a file


READINGS = """(define (add-reading stats line)
  (let* ((parts (string/split line ";"))
         (station (first parts))
         (reading (string/to-number (nth parts 1)))
         (seen (get stats station)))
    (if (nil? seen)
        (assoc stats station [reading reading reading 1])
        (let (([low high sum count] seen))
          (assoc stats station [(min low reading) (max high reading) (+ sum reading) (+ count 1)])))))
(println (count (file/fold-lines PATH add-reading (hashmap/new))))
"""


def read_stations(path: str) -> int:
    stats: dict[str, list[float]] = {}
    with open(path) as file:
        for line in file:
            station, number = line.split(";")
            reading = float(number)
            seen = stats.get(station)
            if seen is None:
                stats[station] = [reading, reading, reading, 1]
            else:
                if reading < seen[0]:
                    seen[0] = reading
                if reading > seen[1]:
                    seen[1] = reading
                seen[2] += reading
                seen[3] += 1
    return len(stats)


def fold_lines(lines: int, rounds: int) -> None:
    """The billion-row challenge in the small, against the same loop in Python."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "measurements.txt")
        chosen = random.Random(1)
        with open(path, "w") as file:
            for start in range(0, lines, 100_000):
                count = min(100_000, lines - start)
                file.writelines(
                    f"Station{chosen.randrange(400)};{chosen.randrange(-999, 999) / 10}\n" for _ in range(count)
                )
        source = READINGS.replace("PATH", json.dumps(path))
        code = compile_source(source, "benchmark.sema", "program").code
        pairs, before = [], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(rounds):
            python = seconds(read_stations, path, 1)
            pairs.append((python, seconds(lambda _: exec(code, {"__name__": "benchmark"}), path, 1)))
        grown_by = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        a, b = min(a for a, _ in pairs), min(b for _, b in pairs)
        size = os.path.getsize(path) / 1e6
        print(f"file/fold-lines, {lines:,} lines ({size:.0f} MB): Python {a:.2f} s, Sema {b:.2f} s, ratio {b / a:.2f},")
        print(f"peak memory grew by {grown_by:.1f} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="rows to run; all when none is named")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--lines", type=int, default=0, help="also fold over a file of that many lines")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in JOBS]
    if unknown:
        parser.error(f"no such row: {unknown[0]}; there are: {', '.join(JOBS)}")
    good = True
    if options.names or not options.lines:
        good = table(options.names or list(JOBS), options.rounds)
    if options.lines:
        fold_lines(options.lines, min(options.rounds, 3))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
