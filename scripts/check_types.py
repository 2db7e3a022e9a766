"""Asserts inferred types at run time: every operand and variable whose type is known is checked whenever it is used.

    python scripts/check_types.py --corpus ../shared/conformance         programs of the corpus
    python scripts/check_types.py --count 5000 --seed 1                  random programs
    python scripts/check_types.py --files '../shared/bench/*/program.sema'

Each program is compiled as a program and as a module. Prints every claim that a value contradicts, with the program.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import compare_optimization

from sema_runtime.values.printer import to_text
from semac.anf import assertions

SECONDS = 3
faults: list[str] = []


def note(value: Any, claim: int) -> None:
    """Stands for `assertions.check`: goes on after a false claim."""
    type_, where = assertions.claims[claim]
    if not assertions.admits(type_, value):
        faults.append(f"{where}: {to_text(value)[:80]} isn't {type_}")


@contextmanager
def asserting() -> Iterator[None]:
    """Programs that are compiled meanwhile check their types, and go on after a false claim."""
    before = assertions.check
    assertions.check = note  # the code of programs imports `check` when it starts
    os.environ["SEMA_ASSERT_TYPES"] = "1"
    try:
        yield
    finally:
        assertions.check = before
        del os.environ["SEMA_ASSERT_TYPES"]


def faults_of(source: str, modes: tuple[str, ...] = compare_optimization.MODES) -> list[str]:
    """What values contradict in a program."""
    faults.clear()
    with asserting():
        for mode in modes:
            compare_optimization.outcome(source, mode, optimize=True, seconds=SECONDS)
    return list(dict.fromkeys(faults))


def programs(options: argparse.Namespace) -> Iterator[str]:
    if options.corpus:
        for file in sorted(options.corpus.glob("*.jsonl")):
            yield from (json.loads(line)["src"] for line in file.read_text().split("\n") if line)
    elif options.files:
        yield from (Path(path).read_text() for path in sorted(glob(options.files)))
    else:
        yield from compare_optimization.drawn(options.programs, options.seed, options.count)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--files", help="a pattern of file names; run where the programs find their data")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", choices=("modules", "nested"), default="modules")
    options = parser.parse_args()
    right = wrong = 0
    for source in programs(options):
        found = faults_of(source)
        right += not found
        if found:
            wrong += 1
            print(f"--- {source[:3000]}\n{chr(10).join(found)[:600]}", flush=True)
    print(f"{right} as inferred, {wrong} not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
