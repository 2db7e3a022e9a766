"""Mutation testing of the compiler's passes: small faults are put into them, one at a time, and what finds them counts.

python -m scripts.mutants --count 300 --seed 1 --out mutants.jsonl

A mutant is judged by golden programs, by the programs of tests/data and random ones (those that become other Python are
verified after each pass, run with types asserted, and compared with what plain code gave before the change), then by
tests. The file gets a line {"mutant", "judge", "objection"} each; judge "" is a survivor, whose objection says whether
it changed any code. A run goes on after the mutants that the file has.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

SCRIPTS = Path(__file__).parent.parent
ROOT = SCRIPTS.parent
sys.path[0] = str(SCRIPTS)

from mutants.judge import Expected, goldens, judged, programs, tests  # noqa: E402
from mutants.mutants import sample  # noqa: E402

WHERE = ("semac/optimize", "semac/anf/build.py", "semac/generate/effects.py", "semac/generate/nest.py")
QUICK = (
    "tests/properties/test_found.py", "tests/optimize", "tests/emit/test_hofs.py", "tests/properties/test_facts.py",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=200, help="random programs for each mutant")
    parser.add_argument("--where", default=",".join(WHERE), help="files and folders (default %(default)s)")
    parser.add_argument("--tests", default=",".join(QUICK), help="tests, or nothing (default %(default)s)")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    os.chdir(ROOT)
    paths = [file for part in options.where.split(",") for file in files(ROOT / part)]
    known = (
        {json.loads(line)["mutant"] for line in options.out.read_text().splitlines()} if options.out.exists() else set()
    )
    expected = answers(options.programs)
    judges = [("golden", goldens(ROOT / "tests" / "golden")), ("programs", programs(expected))]
    if options.tests:
        judges.append(("tests", tests(options.tests.split(","))))
    objection = judged(None, judges)
    if objection != ("", ""):
        print("without any change:", *objection)
        return 2
    for mutant in sample(paths, ROOT, options.count, options.seed):
        if str(mutant) in known:
            continue
        judge, objection = judged(mutant, judges)
        with options.out.open("a") as file:
            file.write(json.dumps({"mutant": str(mutant), "judge": judge, "objection": objection}) + "\n")
    print(Counter(json.loads(line)["judge"] or "survived" for line in options.out.read_text().splitlines()))
    return 0


def files(path: Path) -> list[Path]:
    found = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [file for file in found if file.name != "__init__.py"]


def answers(count: int) -> list[Expected]:
    """Random programs and what they give, asked of another process: this one doesn't import what is mutated."""
    code = f"import sys; sys.path.insert(0, {str(SCRIPTS)!r}); from mutants.answers import main; main({count})"
    lines = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.splitlines()
    return [Expected(text, mode, tuple(values), code) for text, mode, values, code in map(json.loads, lines)]


if __name__ == "__main__":
    sys.exit(main())
