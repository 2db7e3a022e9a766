"""Compares programs in Sema with their twins in Python, as programs and as imported modules.

python scripts/bench_speed.py [FOLDER ...] [--rounds N] [--only NAME,NAME] [--jobs N] [--limit SECONDS] [--json FILE]
python scripts/bench_speed.py [FOLDER ...] --native
python scripts/bench_speed.py [FOLDER ...] --check

A FOLDER (default: scripts/speed) holds a folder for each program, with `program.sema` and `program.py`, which print the
same. Each program runs in three ways, alternating, every run a process of its own: the twin (`python program.py`), the
program (`sema program.sema`) and the module (`import program` with the import hook, where nothing is known of the
callers). With --native, in a fourth: a module after `sema compile --native`. A run that fails or prints something else
is an error, and the exit status is 1.

Times are CPU time, the least of the rounds, less what a program that only prints a line takes in the same way. One run
before the first round fills the cache of compiled code. A ratio is such a time divided by the twin's. --check runs
everything once and compares what is printed. Programs run in a copy of the folder; `gen_data.py` writes `data/` there
when a program reads it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
IMPORT = (
    "import sys; from semac.importer import install; install(); sys.path.insert(0, sys.argv[1]); "
    "sys.argv[:] = ['program']; import program"
)
VERSION = sys.version.split()[0]
TWIN, PROGRAM, MODULE, NATIVE = "python", "program", "module", "native"
WAYS = [TWIN, PROGRAM, MODULE]
MEASURABLE = 0.005  # seconds of CPU: below that a twin's net time is noise


@dataclass
class Bench:
    """One program, in its copy: what its twin prints, and the CPU times of each way to run it."""

    name: str
    folder: Path
    cpu: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})
    expected: str | None = None
    failure: str | None = None

    def command(self, way: str) -> list[str]:
        if way == TWIN:
            return [sys.executable, str(self.folder / "program.py")]
        if way == PROGRAM:
            return [str(Path(sys.executable).with_name("sema")), str(self.folder / "program.sema")]
        return [sys.executable, "-c", IMPORT, str(self.folder / way)]

    def run(self, way: str, limit: int) -> float:
        """Runs it once and returns the seconds of CPU time; what goes wrong is in `failure`."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                self.command(way),
                cwd=self.folder.parent,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
            if hasattr(resource, "prlimit"):  # Linux
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit, limit + 1))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            self.judge(way, process.returncode, out.read().decode(), err.read().decode(errors="replace"), limit)
        return usage.ru_utime + usage.ru_stime

    def judge(self, way: str, code: int, out: str, err: str, limit: int) -> None:
        """Compares with the twin, which runs first."""
        printed = out.strip()
        if code < 0:
            self.failure = f"{way} was ended by signal {-code} (--limit is {limit} s)"
        elif code != 0:
            self.failure = f"{way} failed: {err.strip()[-600:] or printed}"
        elif self.expected is None:
            self.expected = printed
        elif printed != self.expected:
            self.failure = f"{way} printed {printed!r} instead of {self.expected!r}"

    def measure(self, rounds: int, limit: int) -> None:
        """One run of each way that is compared but not counted, then the rounds."""
        for number in range(rounds + 1):
            shift = max(number - 1, 0) % len(WAYS)
            for way in WAYS[shift:] + WAYS[:shift]:
                seconds = self.run(way, limit)
                if self.failure:
                    return
                if number:
                    self.cpu[way].append(seconds)

    def net(self, way: str, start: Bench) -> float:
        return min(self.cpu[way]) - min(start.cpu[way])

    def ratio(self, way: str, start: Bench) -> float | None:
        """The time of a way as a multiple of the twin's; None where there is none to speak of."""
        if self.failure or self.net(TWIN, start) < MEASURABLE:
            return None
        return self.net(way, start) / self.net(TWIN, start)


def copied(source: Path, names: list[str] | None, target: Path) -> list[Bench]:
    """Copies the programs of a folder, those of names or all, with what they read."""
    benches = []
    for original in sorted(path.parent for path in source.glob("*/program.sema")):
        if names is not None and original.name not in names:
            continue
        folder = target / original.name
        for way in WAYS[2:]:
            (folder / way).mkdir(parents=True)
        for file in original.iterdir():
            if file.is_file():
                shutil.copy(file, folder)
        for way in WAYS[2:]:
            shutil.copy(original / "program.sema", folder / way)
            if way == NATIVE:
                compile_natively(folder / way)
        benches.append(Bench(original.name, folder))
    if any("data/" in (bench.folder / "program.py").read_text() for bench in benches):
        if (source / "data").is_dir():
            shutil.copytree(source / "data", target / "data")
        elif (source / "gen_data.py").is_file():
            shutil.copy(source / "gen_data.py", target)
            subprocess.run([sys.executable, "gen_data.py"], cwd=target, stdout=sys.stderr, check=True)
    return benches


def compile_natively(folder: Path) -> None:
    sema = Path(sys.executable).with_name("sema")
    subprocess.run([sema, "compile", "--native", "program.sema"], cwd=folder, stdout=sys.stderr, check=True)


def start_up(target: Path) -> Bench:
    """The program whose times are taken off all others."""
    folder = target / "start"
    for way in WAYS[2:]:
        (folder / way).mkdir(parents=True)
    (folder / "program.py").write_text('print("started")\n')
    for place in (folder, *(folder / way for way in WAYS[2:])):
        (place / "program.sema").write_text('(println "started")\n')
    return Bench("start", folder)


def measure_all(benches: list[Bench], rounds: int, limit: int, jobs: int) -> None:
    def one(bench: Bench) -> None:
        bench.measure(rounds, limit)
        print(f"{bench.name}: {bench.failure or (bench.expected or '')[:100]}", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, benches))


def check(benches: list[Bench], limit: int, jobs: int) -> None:
    """Runs each program once in each way."""

    def one(bench: Bench) -> None:
        for way in WAYS:
            if not bench.failure:
                bench.run(way, limit)
        print(f"{bench.name}: {bench.failure or 'the same'}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, benches))


def ratios(benches: list[Bench], start: Bench, way: str) -> dict[str, float]:
    found = {bench.name: bench.ratio(way, start) for bench in benches}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


def show(title: str, benches: list[Bench], start: Bench) -> None:
    width = max(len(bench.name) for bench in benches)
    print(f"\n{title}\n{'':{width}}  python s  {'  '.join(f'{way:>7}' for way in WAYS[1:])}")
    for bench in benches:
        if bench.failure:
            print(f"{bench.name:{width}}  {bench.failure.splitlines()[-1]}")
            continue
        cells = [bench.ratio(way, start) for way in WAYS[1:]]
        texts = ["      -" if ratio is None else f"{ratio:7.2f}" for ratio in cells]
        print(f"{bench.name:{width}}  {bench.net(TWIN, start):8.3f}  {'  '.join(texts)}")
    summarize(benches, start)


def summarize(benches: list[Bench], start: Bench) -> None:
    for way in WAYS[1:]:
        found = ratios(benches, start, way)
        if found:
            worst = max(found, key=lambda name: found[name])
            middle = statistics.median(found.values())
            print(f"{way}: median {middle:.2f}, worst {found[worst]:.2f} ({worst}), of {len(found)}")


def as_json(sets: dict[str, list[Bench]], start: Bench, load: tuple[float, float]) -> dict[str, Any]:
    """Every time and every ratio, by folder and program."""
    programs = {
        folder: {
            bench.name: {
                "cpu": bench.cpu,
                "failure": bench.failure,
                "python_s": None if bench.failure else bench.net(TWIN, start),
                "ratios": {way: bench.ratio(way, start) for way in WAYS[1:]},
            }
            for bench in benches
        }
        for folder, benches in sets.items()
    }
    return {"start": start.cpu, "load": load, "python": VERSION, "programs": programs}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each way that count (default 5)")
    parser.add_argument("--only", metavar="NAME,NAME", help="programs with these names")
    parser.add_argument("--jobs", type=int, default=1, help="programs at the same time; more than 1 disturbs the times")
    parser.add_argument("--limit", type=int, default=120, metavar="SECONDS", help="of CPU time for a run (default 120)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all times and ratios there")
    parser.add_argument("--native", action="store_true", help="a fourth way: as natively compiled modules")
    parser.add_argument("--check", action="store_true", help="only run everything once and compare what is printed")
    return parser.parse_args()


def main() -> int:
    chosen = options()
    if chosen.native:
        WAYS.append(NATIVE)
    names = None if chosen.only is None else chosen.only.split(",")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        start = start_up(Path(temporary))
        sets = {
            str(folder): copied(folder, names, Path(temporary) / str(number))
            for number, folder in enumerate(chosen.folders or [HERE / "speed"])
        }
        sets = {folder: benches for folder, benches in sets.items() if benches}
        everything = [bench for benches in sets.values() for bench in benches]
        if not everything:
            sys.exit("error: no such programs; a folder holds NAME/program.sema and NAME/program.py")
        if chosen.check:
            check(everything, chosen.limit, chosen.jobs)
        else:
            measure_all([start, *everything], chosen.rounds, chosen.limit, chosen.jobs)
            if start.failure:
                sys.exit(f"error: {start.failure}")
            for folder, benches in sets.items():
                show(folder, benches, start)
            if len(sets) > 1:
                print("\nall")
                summarize(everything, start)
            starts = ", ".join(f"{way} {min(start.cpu[way]) * 1000:.0f} ms" for way in WAYS)
            now = os.getloadavg()[0]
            print(f"\nstart: {starts}; load {load:.1f} to {now:.1f}, {os.cpu_count()} cores, Python {VERSION}")
            if chosen.json:
                chosen.json.write_text(json.dumps(as_json(sets, start, (load, now)), indent=1) + "\n")
    return 1 if any(bench.failure for bench in everything) else 0


if __name__ == "__main__":
    sys.exit(main())
