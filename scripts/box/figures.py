"""Measures what the box costs, and prints each figure beside its limit.

    python scripts/box/figures.py [--bench FOLDER] [--only PART,PART]

Parts: answer (CPU of a one-line program beyond its compilation, and of one that was run before), checkout (of a fresh
process), deadline (how long a runaway program outlives it), throughput (programs a second, fresh and reused processes),
idle (private memory), speed (processor time of the programs `FOLDER/*/program.sema` inside, as a multiple of the same
without the box).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sema_runtime.box import Limits, Pool, Session
from semac.session import Session as Compiler

ROUNDS = 300
ONE_LINE = "(+ 1 2)"
PROGRAMS = map("(+ {} 2)".format, itertools.count(100))  # no two are the same
TICKS = os.sysconf("SC_CLK_TCK")


def figure(name: str, value: float, unit: str, limit: float, at_least: bool = False) -> None:
    holds = value >= limit if at_least else value <= limit
    print(
        f"{name:42} {value:10.2f} {unit:4} {'>=' if at_least else '<='} {limit:<8g} {'' if holds else 'NO'}", flush=True
    )


def cpu_of(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/schedstat").read_text().split()
    return int(fields[0]) / 1e9


def per_round(work: Callable[[], object], clock: Callable[[], float], rounds: int = ROUNDS) -> float:
    """Milliseconds of a round, the least of five goes."""
    best = float("inf")
    for _ in range(5):
        start = clock()
        for _ in range(rounds):
            work()
        best = min(best, (clock() - start) / rounds * 1000)
    return best


def answer() -> None:
    with Pool() as pool, Session(pool) as session:
        session.run(ONE_LINE)
        assert session.worker is not None
        pid = session.worker.pid
        clock = lambda: time.process_time() + cpu_of(pid)  # noqa: E731
        both = per_round(lambda: session.run(next(PROGRAMS)), clock)
        again = per_round(lambda: session.run(ONE_LINE), clock)
    compiler = Compiler("<program>")
    compiled = per_round(lambda: compiler.compile(ONE_LINE, "<program>", "module").code, time.process_time)
    print(f"{'':42} {both:10.2f} ms in all, {compiled:.2f} of it compiling; {again:.2f} of one that was run before")
    figure("CPU of a one-line program, warm", both - compiled, "ms", 0.2)


def checkout() -> None:
    with Pool() as pool:
        prewarmed, forked = [], []
        for _ in range(100):
            pool.refill()
            for worker in pool.ready:
                if not worker.is_ready:
                    worker.receive(time.monotonic() + 5, 1 << 16)
                    worker.is_ready = True
            for times in (prewarmed, prewarmed, forked):
                start = time.perf_counter()
                worker = pool.take(pool.limits)
                if not worker.is_ready:
                    worker.receive(time.monotonic() + 5, 1 << 16)
                times.append((time.perf_counter() - start) * 1000)
                worker.end()
    figure("checkout of a process of the pool, median", statistics.median(prewarmed), "ms", 1.5)
    print(f"{'':42} {statistics.median(forked):10.2f} ms where none is ready: forked and hardened first")


def deadline() -> None:
    with Pool(Limits(wall_ms=200)) as pool:
        late = []
        for source in ("(let loop () (loop))", "(let loop ((xs '())) (loop (cons 1 xs)))", "(sort (range 30000000))"):
            for _ in range(5):
                start = time.perf_counter()
                pool.run(source)
                late.append((time.perf_counter() - start) * 1000 - 200)
    figure("runaway program after its deadline, worst", max(late), "ms", 20)


def throughput() -> None:
    count = 2_000
    with Pool(spare=8) as pool, ThreadPoolExecutor(2) as threads:
        list(threads.map(pool.run, [ONE_LINE] * 50))
        start = time.perf_counter()
        list(threads.map(pool.run, [ONE_LINE] * count))
        figure("programs a second, fresh processes", count / (time.perf_counter() - start), "/s", 500, True)
        sessions = [Session(pool), Session(pool)]

        for words, programs in (("", PROGRAMS), (", the same", itertools.repeat(ONE_LINE))):

            def many(session: Session, programs: Iterator[str] = programs) -> None:
                for _ in range(count):
                    session.run(next(programs))

            start = time.perf_counter()
            list(threads.map(many, sessions))
            speed = 2 * count / (time.perf_counter() - start)
            figure(f"programs a second, reused processes{words}", speed, "/s", 5_000, True)
        for session in sessions:
            session.close()


def idle() -> None:
    with Pool() as pool:
        worker = pool.take(pool.limits)
        worker.receive(time.monotonic() + 5, 1 << 16)
        try:
            rollup = Path(f"/proc/{worker.pid}/smaps_rollup").read_text().splitlines()
        finally:
            worker.end()
    private = sum(int(line.split()[1]) for line in rollup if line.startswith("Private_"))
    figure("private memory of an idle process", private / 1024, "MB", 5)


def speed(folder: Path) -> None:
    ratios = []
    with Pool(Limits(wall_ms=300_000, memory_mb=2_048)) as pool:
        for path in sorted(folder.glob("*/program.sema")):
            source = path.read_text(encoding="utf-8")
            try:
                inside = min(boxed(pool, source) for _ in range(3))
            except ValueError as problem:
                print(f"  {path.parent.name}: {problem}")
                continue
            outside = min(plainly(source) for _ in range(3))
            ratios.append(inside / outside)
            print(f"  {path.parent.name:14} {inside:8.0f} {outside:8.0f} {inside / outside:6.2f}", flush=True)
    figure(f"speed inside, median of {len(ratios)}", statistics.median(ratios), "x", 1.3)


def boxed(pool: Pool, source: str) -> float:
    """Milliseconds of processor time of a program in the box, compilation included. Raises ValueError if it fails."""
    with Session(pool) as session:
        session.keeps = False
        session.begin()
        assert session.worker is not None
        session.worker.receive(time.monotonic() + 30, 1 << 16)
        session.worker.is_ready = True
        start = cpu_of(session.worker.pid)
        outcome = session.run(source)
        if not outcome.ok or session.worker is None:
            raise ValueError(f"{outcome.reason}: {outcome.message}")
        return (cpu_of(session.worker.pid) - start) * 1000


def plainly(source: str) -> float:
    """The same without the box, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.redirect_stdout(io.StringIO()):
            session = Compiler("<program>")
            start = time.process_time()
            session.execute(session.compile(source, "<program>", "program"))
            os.write(writing, str((time.process_time() - start) * 1000).encode())
        os._exit(0)
    os.close(writing)
    taken = float(os.read(reading, 100))
    os.close(reading)
    os.waitpid(child, 0)
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path, help="the folder of the programs of the part speed")
    parser.add_argument("--only", default="answer,checkout,deadline,throughput,idle,speed", metavar="PART,PART")
    options = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "answer": answer, "checkout": checkout, "deadline": deadline, "throughput": throughput, "idle": idle,
    }  # fmt: skip
    if options.bench is not None:
        parts["speed"] = lambda: speed(options.bench)
    for name in options.only.split(","):
        if name in parts:
            parts[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
