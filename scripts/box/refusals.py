"""Finds Python that the compiler makes of programs of the box, and that its second check refuses without reason.

    python scripts/box/refusals.py [FOLDER ...] [--random COUNT] [--seed S]

FOLDER has programs: `.sema` files, and `.jsonl` files of `{"src"}`. Each is compiled as a worker does, as a program and
as a part of a session; nothing of it runs but its macros. Programs that the first check refuses, or that don't compile,
are left out. --random adds programs of each kind that scripts/ makes. The exit status is 1 after a finding.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "box")]

from boxed_programs import corpus, program  # noqa: E402
from programs.program import program as of_many_forms  # noqa: E402
from random_modules import Modules  # noqa: E402
from random_tasks import Pipelines, Programs  # noqa: E402

from semac import pipeline  # noqa: E402
from semac.box.admission import Refused  # noqa: E402
from semac.box.checker import Unsafe  # noqa: E402
from semac.box.guards import guard_integers, guard_patterns  # noqa: E402
from semac.box.profile import restrict_forms  # noqa: E402
from semac.box.worker import FILE, Runner, guard_compiler  # noqa: E402
from semac.process import deepen  # noqa: E402

KINDS = ("program", "module")
SHOWN = 3  # programs of each finding


def of_folder(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.sema")):
        yield path.read_text(encoding="utf-8")
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            source = json.loads(line).get("src") if line else None
            if isinstance(source, str):
                yield source


def of_chance(count: int, seed: int) -> Iterator[str]:
    makers = [Modules(seed), Programs(seed), Pipelines(seed)]
    texts = corpus(None)
    for number in range(count):
        yield of_many_forms(seed + number).source
        yield from (maker.program() for maker in makers)
        yield program(random.Random(f"{seed} {number}"), texts)


def end_of(source: str, kind: str) -> str:
    """How a compilation ends: "admitted", "not of the box", "not compiled", "refused: " and why."""
    pipeline.CHECKS.units.clear()
    pipeline.CHECKS.trees.clear()
    runner = Runner(None)
    guard_compiler(runner)
    runner.granted = frozenset(runner.session.names)
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # warnings
            return "admitted" if runner.session.compile(source, FILE, kind).code else ""
    except Unsafe as problem:
        return f"refused: {problem}"
    except Refused:
        return "not of the box"
    except BaseException:  # whatever a macro raises
        return "not compiled"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    deepen()
    guard_integers()
    guard_patterns()
    restrict_forms()
    ends: Counter[str] = Counter()
    sources = itertools.chain(*map(of_folder, options.folders), of_chance(options.random, options.seed))
    for source in sources:
        for kind in KINDS:
            end = end_of(source, kind)
            if end.startswith("refused") and ends[end] < SHOWN:
                print(f"{end} ({kind}): {source!r}"[:2000], flush=True)
            ends[end] += 1
    print(dict(ends))
    return 1 if any(end.startswith("refused") for end in ends) else 0


if __name__ == "__main__":
    sys.exit(main())
