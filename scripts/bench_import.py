"""Imports of a compiled module from the cache, beside Python's import of the same module in Python.

    python scripts/bench_import.py FOLDER [ROUNDS]      FOLDER holds gen_module.py, which writes both modules

Both alternate, many times, in one process; the first import of a process is measured in fresh ones, as CPU time with
the garbage collector off (where it strikes is chance). There the parts of the runtime that the module imports are
loaded before, and in the last line they aren't. On Python's side the hook is not installed. Best and median of all
rounds. For the figures of an installed compiler, run it with that environment's Python outside of the checkout.
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

HOOK = "import semac.importer"
NEEDED = """
import sys
import semac.importer
semac.importer.install()
sys.path.insert(0, sys.argv[1])
import bigmod
print(", ".join(name for name in sys.modules if name.startswith("sema_runtime.")))
"""
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
        run(NEEDED, os.path.join(folder, "sema"))  # compiles it
        runtime = f"{HOOK}, {run(NEEDED, os.path.join(folder, 'sema'))}"
        show("same process", in_turn(folder, rounds * 10))
        show("first of a process", first(folder, rounds, runtime))
        show("the same, compiler loaded", first(folder, rounds, f"{runtime}, semac.pipeline"))
        show("the same, runtime to be loaded", first(folder, rounds, HOOK))


def in_turn(folder: str, rounds: int) -> Times:
    """Nanoseconds of each import, without the first two."""
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
    """Nanoseconds of the import in fresh processes, which have the modules named by loaded."""
    times: Times = {"py": [], "sema": []}
    for _ in range(rounds + 2):
        for kind, durations in times.items():
            durations.append(int(run(FIRST.format(loaded=loaded), os.path.join(folder, kind), kind)))
    return {kind: durations[2:] for kind, durations in times.items()}


def run(program: str, *arguments: str) -> str:
    """What a fresh process prints that keeps compiled code."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()


def show(label: str, times: Times) -> None:
    for name, of in (("best", min), ("median", statistics.median)):
        python, ours = (of(times[kind]) / 1e6 for kind in ("py", "sema"))
        print(f"{label:38} {name:7} Python {python:.3f} ms, Sema {ours:.3f} ms, {ours / python:.2f} times")


if __name__ == "__main__":
    sys.dont_write_bytecode = False
    main()
