"""Imports of a compiled module from the cache, beside Python's import of the same module in Python.

    python scripts/bench_import.py FOLDER [ROUNDS]      FOLDER holds gen_module.py, which writes both modules

Both alternate, many times, in one process; the first import of a process is measured in fresh ones, as CPU time with
the garbage collector off (where it strikes is chance). On Python's side the hook is not installed. Best and median of
all rounds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import semac.importer

LOADED = (
    "import sema_runtime.lib.numbers.arithmetic, sema_runtime.lib.collections.lists, "
    "sema_runtime.values.matching, semac.importer"
)
FIRST = """
import gc, sys, time
{loaded}
if sys.argv[2] == "sema":
    semac.importer.install()
sys.path.insert(0, sys.argv[1])
gc.disable()
started = time.process_time_ns()
import bigmod
print(time.process_time_ns() - started)
"""
Times = dict[str, list[int]]


def main() -> None:
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, Path(sys.argv[1]) / "gen_module.py", folder], check=True)
        for kind in ("py", "sema"):
            (Path(folder) / kind).mkdir()
            (Path(folder) / f"bigmod.{kind}").rename(Path(folder) / kind / f"bigmod.{kind}")
        time.sleep(0.1)  # until the times of the files say that they are complete
        show("same process", in_turn(folder, rounds * 10))
        show("first of a process, compiler loaded", first(folder, rounds, f"{LOADED}, semac.pipeline"))
        show("first of a process", first(folder, rounds, LOADED))


def in_turn(folder: str, rounds: int) -> Times:
    """Nanoseconds of each import, without the first two."""
    exec(LOADED, {})
    times: Times = {"py": [], "sema": []}
    for _ in range(rounds):
        for kind, durations in times.items():
            if kind == "sema":
                semac.importer.install()
            sys.path.insert(0, os.path.join(folder, kind))
            sys.modules.pop("bigmod", None)
            started = time.perf_counter_ns()
            __import__("bigmod")
            durations.append(time.perf_counter_ns() - started)
            del sys.path[0]
            semac.importer.uninstall()
    return {kind: durations[2:] for kind, durations in times.items()}


def first(folder: str, rounds: int, loaded: str) -> Times:
    times: Times = {"py": [], "sema": []}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(rounds + 2):
        for kind, durations in times.items():
            command = [sys.executable, "-c", FIRST.format(loaded=loaded), os.path.join(folder, kind), kind]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            durations.append(int(done.stdout))
    return {kind: durations[2:] for kind, durations in times.items()}


def show(label: str, times: Times) -> None:
    for name, of in (("best", min), ("median", statistics.median)):
        python, ours = (of(times[kind]) / 1e6 for kind in ("py", "sema"))
        print(f"{label:38} {name:7} Python {python:.3f} ms, Sema {ours:.3f} ms, {ours / python:.2f} times")


if __name__ == "__main__":
    sys.dont_write_bytecode = False
    main()
