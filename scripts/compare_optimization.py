"""Compares optimized code with plain code (SEMA_OPT=0) on random programs, as closed programs and as open modules.

    python scripts/compare_optimization.py --count 100000                         programs of many forms
    python scripts/compare_optimization.py --count 20000 --programs nested        nested expressions
    python scripts/compare_optimization.py --file programs.jsonl                  lines {"id","src"}

An outcome is the value, what was printed, and the error with its hint. Prints every program whose outcomes differ, and
ends with `N agree, N differ`; the status is 1 when any differs.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from random_modules import Modules
from random_programs import Programs

from sema_runtime.conditions.describe import describe
from sema_runtime.lib.language import output
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.process import deepen

SECONDS = 0.4  # of CPU time for plain code; a program that takes longer is taken for endless
MODES = ("program", "module")
ENDLESS = ("endless",)


class TimeUp(BaseException):
    """Raised in a program that runs too long; programs can't catch it."""


def outcome(source: str, mode: str, optimize: bool, seconds: float = 10 * SECONDS) -> tuple[str, ...]:
    """The value, the output and the error of a program; ENDLESS when it takes longer than that."""
    try:
        return _outcome(source, mode, optimize, seconds)
    except TimeUp:  # it came while the timer was being stopped
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        output.sink = None
        return ENDLESS


def _outcome(source: str, mode: str, optimize: bool, seconds: float) -> tuple[str, ...]:
    output.sink = lines = []
    signal.signal(signal.SIGVTALRM, stop)
    # A TimeUp in a callback of the collector is lost: the timer repeats, and nothing reports what was lost.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.2)
    sys.unraisablehook, hook = lambda _: None, sys.unraisablehook
    try:
        unit = compile_source(source, "<random>", mode, result=True, optimize=optimize)
        scope: dict[str, Any] = {"__name__": "__main__"}
        deepen()
        exec(unit.code, scope)
        ending = "value", to_text(scope.get(RESULT))
    except TimeUp:
        return ENDLESS
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a deadlock and an exit are outcomes, too
        shown = describe(error)
        ending = "error", f"{shown.message} / {shown.hint}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        sys.unraisablehook = hook
        output.sink = None
    return (*ending, *lines)


def stop(*_: object) -> None:
    raise TimeUp


def difference(source: str, modes: tuple[str, ...] = MODES) -> str | None:
    """The difference between the outcomes of one program in plain code and in optimized code in some modes.

    None where they don't, and for a program that seems to be endless: in a loop, or in a recursion whose effects show
    how deep the stack is.
    """
    plain = outcome(source, "module", optimize=False, seconds=SECONDS)
    if plain == ENDLESS or any("stack overflow" in part for part in plain):
        return None
    for mode in modes:
        optimized = outcome(source, mode, optimize=True)
        if optimized != plain:
            return f"plain:     {plain}\n{mode + ':':10} {optimized}"
    return None


def drawn(kind: str, seed: int, count: int) -> Iterator[str]:
    programs = Modules(seed) if kind == "modules" else Programs(seed)
    for _ in range(count):
        yield programs.program()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", choices=("modules", "nested"), default="modules")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--stop-after", type=int, default=20, help="how many differing programs end the run")
    options = parser.parse_args()
    if options.file:
        sources: Iterator[str] = (json.loads(line)["src"] for line in options.file.read_text().splitlines())
    else:
        sources = drawn(options.programs, options.seed, options.count)
    agree = differ = 0
    start = time.monotonic()
    for source in sources:
        how = difference(source)
        if how is None:
            agree += 1
            continue
        differ += 1
        print(f"--- differs\n{source}\n{how}\n", flush=True)
        if differ >= options.stop_after:
            break
    print(f"{agree} agree, {differ} differ, {time.monotonic() - start:.0f} s")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
