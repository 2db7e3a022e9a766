"""A pipeline of generators: lines of a log are parsed, filtered, enriched and summed up by service."""

from collections import defaultdict
from dataclasses import dataclass

SERVICES = ["api", "web", "db", "cache", "auth"]
LEVELS = ["info", "warn", "error", "debug"]


@dataclass
class Entry:
    time: int
    level: str
    service: str
    ms: int
    cost: int = 0


def log_line(i):
    return f"{1000 + i} {LEVELS[i * 7 % 4]} {SERVICES[i * 3 % 5]} {i * 37 % 500}"


def lines(n):
    for i in range(n):
        yield log_line(i)


def parse(source):
    for line in source:
        time, level, service, ms = line.split(" ")
        yield Entry(int(time), level, service, int(ms))


def without_debug(entries):
    for entry in entries:
        if entry.level != "debug":
            yield entry


def slow(entries):
    for entry in entries:
        if entry.ms > 100:
            yield entry


def with_cost(entries):
    for entry in entries:
        entry.cost = entry.ms * (5 if entry.level == "error" else 1)
        yield entry


def summarize(entries):
    totals = defaultdict(int)
    count = 0
    for entry in entries:
        totals[entry.service] += entry.cost
        count += 1
    return totals, count


totals, count = summarize(with_cost(slow(without_debug(parse(lines(60000))))))
print(f"stages: {count} {' '.join(f'{s}={totals[s]}' for s in SERVICES)}")
