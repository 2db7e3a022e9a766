"""Measures what values and calls cost where they cross between Sema and Python, against what Python alone takes.

    python scripts/bench_borders.py [--rounds N]

Values: 1,000 maps of three keyword keys, read by json, pandas and loops of Python, against dicts; "first" is the first
time that a map crosses, "again" each further time. Calls: microseconds of CPU that a call takes more than the same call
between functions of Python. Each figure is the least of N rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import operator
import time
from collections.abc import Callable
from typing import Any

from semac.pipeline import compile_source

ROWS = 1000
CALLS = 200_000
MAPS = f'(define (rows) (map (fn (i) {{:id i :name (str "n" i) :price (* i 1.5)}}) (range {ROWS})))'
FUNCTIONS = """
(py/import "math") (py/import "operator" :as op)
(define (double n) (* n 2))
(define (roots n) (let loop ((i 0)) (if (< i n) (begin (math.sqrt i) (loop (+ i 1))) i)))
(define (sums n) (let loop ((i 0)) (if (< i n) (begin (op.add i 1) (loop (+ i 1))) i)))
(define (uppers n s) (let loop ((i 0)) (if (< i n) (begin (.upper s) (loop (+ i 1))) i)))
"""


def module(source: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "measured"}
    exec(compile_source(source, "measured.sema", "module").code, scope)
    return scope


def least(run: Callable[[], Any], rounds: int) -> float:
    """The least CPU time of rounds, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def prices(rows: Any) -> float:
    total = 0.0
    for row in rows:
        total += row["price"]
    return total


def entries(rows: Any) -> int:
    count = 0
    for row in rows:
        for _key, _value in row.items():
            count += 1
    return count


def readers() -> dict[str, Callable[[Any], Any]]:
    found: dict[str, Callable[[Any], Any]] = {
        "json.dumps(rows)": json.dumps,
        'row["price"] in a loop': prices,
        "for key, value in row.items()": entries,
        "dict(row)": lambda rows: [dict(row) for row in rows],
    }
    if importlib.util.find_spec("pandas") is not None:
        import pandas

        found["pandas.DataFrame(rows)"] = pandas.DataFrame
    return found


def measure_values(rounds: int) -> None:
    make = module(MAPS)["rows"]
    dicts = [{"id": i, "name": f"n{i}", "price": i * 1.5} for i in range(ROWS)]
    print(f"{ROWS} maps read by             first   again   (multiples of dicts)")
    for name, read in readers().items():
        plain = least(lambda read=read: read(dicts), rounds)
        fresh = [make() for _ in range(rounds)]
        first = min(least(lambda rows=rows, read=read: read(rows), 1) for rows in fresh)
        rows = make()
        again = least(lambda read=read, rows=rows: read(rows), rounds)
        print(f"{name:30} {first / plain:6.2f}  {again / plain:6.2f}")


def measure_calls(rounds: int) -> None:
    sema = module(FUNCTIONS)
    items = list(range(CALLS))

    def double(n: int) -> int:
        return n * 2

    def counted(call: Callable[[int], Any]) -> Callable[[], None]:
        def run() -> None:
            i = 0
            while i < CALLS:
                call(i)
                i += 1

        return run

    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "a function of Sema from Python": (counted(sema["double"]), counted(double)),
        "map(f, items)": (lambda: list(map(sema["double"], items)), lambda: list(map(double, items))),
        "sorted(items, key=f)": (lambda: sorted(items, key=sema["double"]), lambda: sorted(items, key=double)),
        "math.sqrt from Sema": (lambda: sema["roots"](CALLS), counted(math.sqrt)),
        "operator.add from Sema": (lambda: sema["sums"](CALLS), counted(lambda i: operator.add(i, 1))),
        "a method from Sema": (lambda: sema["uppers"](CALLS, "abc"), counted(lambda i: "abc".upper())),
    }
    print("calls: microseconds more than Python's own")
    for name, (ours, theirs) in pairs.items():
        print(f"{name:34} {(least(ours, rounds) - least(theirs, rounds)) / CALLS * 1e6:6.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    measure_values(rounds)
    measure_calls(rounds)


if __name__ == "__main__":
    main()
