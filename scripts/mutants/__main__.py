"""Mutation testing of the compiler's passes: small faults are put into them, one at a time, and what finds them counts.

python -m scripts.mutants --minutes 30 --seed 1 --out mutants.jsonl
python -m scripts.mutants --again --out mutants.jsonl       judges the survivors once more, after tests were added

What reaches the line that a mutant changes judges it: golden files, programs of tests/data, random programs, tests. A
program that becomes other Python is verified after each pass and has to give what plain code gave before the change,
also with types asserted; of random ones more are drawn from the same sources. The first run finds out what reaches each
line. That takes ten minutes or more, and is kept in .venv/mutants until a file changes on which it depends; then a
mutant takes some seconds.

The file gets a line for each mutant: judge "" is a survivor, "changed" says how many programs became other Python, and
"example" is one. A further run continues after the mutants that the file has.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent.parent
ROOT = SCRIPTS.parent
sys.path[0] = str(SCRIPTS)

from mutants import reach  # noqa: E402
from mutants.judge import judged  # noqa: E402
from mutants.mutants import Mutant, drawn, named  # noqa: E402

WHERE = ("semac/optimize", "semac/anf/build.py", "semac/generate", "semac/analyze")
TESTS = (
    "tests/optimize", "tests/emit", "tests/expand", "tests/golden/test_golden.py", "tests/diagnostics/test_check.py",
    "tests/diagnostics/test_habits.py",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=60.0, help="after which no more mutants are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="judge the survivors of the file")
    parser.add_argument("--programs", type=int, default=4000, help="random programs to choose from")
    parser.add_argument("--where", default=",".join(WHERE), help="files and folders (default %(default)s)")
    parser.add_argument("--tests", default=",".join(TESTS), help="tests, or nothing (default %(default)s)")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    os.chdir(ROOT)
    programs = reach.programs(WHERE, options.programs)
    tests = reach.tests(WHERE, list(filter(None, options.tests.split(","))))
    sound = judged(None, programs, tests)
    if sound.judge or sound.changed:
        print("without any change:", *sound)
        return 2
    lines = {}
    if options.out.exists():
        lines = {line["mutant"]: line for line in map(json.loads, options.out.read_text().splitlines())}
    end = time.monotonic() + 60 * options.minutes
    for mutant in mutants(options, lines):
        start = time.monotonic()
        verdict = judged(mutant, programs, tests)
        lines[str(mutant)] = {"mutant": str(mutant), **verdict._asdict()}
        options.out.write_text("".join(json.dumps(line) + "\n" for line in lines.values()))
        said = verdict.judge or f"SURVIVES {verdict.changed}/{verdict.tried}"
        print(f"{time.monotonic() - start:5.1f} s  {said:18}  {mutant}"[:160], flush=True)
        if time.monotonic() > end:
            break
    print(*summary(list(lines.values())), sep="\n")
    return 0


def mutants(options: argparse.Namespace, known: dict[str, dict[str, Any]]) -> Iterator[Mutant]:
    """New mutants, until there are as many as asked for; with --again those that have survived."""
    if options.again:
        yield from named({name for name, line in known.items() if not line["judge"]}, ROOT)
        return
    paths = [file for part in options.where.split(",") for file in files(ROOT / part)]
    made = len(known)
    for mutant in drawn(paths, ROOT, options.seed):
        if made == options.count:
            return
        if str(mutant) not in known:
            made += 1
            yield mutant


def files(path: Path) -> list[Path]:
    found = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [file for file in found if file.name != "__init__.py"]


def summary(lines: list[dict[str, Any]]) -> Iterator[str]:
    """How many of some mutants were found by what, and what is left."""
    for judge, count in Counter(line["judge"] for line in lines).most_common():
        yield f"{count:5} {count / len(lines):4.0%}  {judge or 'survive'}"
    left = [line for line in lines if not line["judge"]]
    yield f"{sum(not line['tried'] for line in left)} survivors are reached by nothing"
    yield f"{sum(line['changed'] == 0 < line['tried'] for line in left)} change nothing in what reaches them"


if __name__ == "__main__":
    sys.exit(main())
