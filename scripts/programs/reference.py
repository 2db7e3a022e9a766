"""Compares the compiler with the reference implementation on random programs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from programs.compare import reported
from programs.configurations import Configuration, configuration
from programs.generator import Profile
from programs.outcome import PATIENCE, SECONDS, TimeUp, limited
from programs.program import program
from programs.shrink import shrunk
from programs.workers import SILENT, results
from semac.cli.eval.worker import evaluate

BATCH = 100  # programs that the reference answers in one process
PARTS = ("error", "value", "output")
UNCOUNTED = ("timeout", "step limit", "stack overflow", "crash", "maximum call depth")


class Answer(NamedTuple):
    """What the conformance tool compares: the printed value, the printed lines, the first line of the error."""

    value: str | None
    output: list[str]
    error: str | None

    @property
    def countable(self) -> bool:
        shown = " ".join((self.error or "", self.value or "", *self.output))
        return not any(text in shown for text in UNCOUNTED)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others follow")
    parser.add_argument("--oracle", type=Path, required=True, help="the folder of the reference's oracle.mjs")
    parser.add_argument("--option", default="optimized", help="the configuration that is tried (default %(default)s)")
    parser.add_argument("--skip", default="", help="a regex: differences whose text it is found in are known")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shrink", type=float, default=60, help="seconds for reducing a program; 0: don't")
    parser.add_argument("--stop-after", type=int, default=20, help="how many differences end the run")
    parser.add_argument("--out", type=Path, help="a file that gets the differences, as lines {id, src, difference}")


def run(options: Namespace) -> int:
    option = configuration(options.option)
    seeds = range(options.seed, options.seed + options.count, BATCH)

    def check(start: int) -> list[Any]:
        batch = range(start, min(start + BATCH, options.seed + options.count))
        return list(differing(batch, options.oracle, option, options.shrink))

    return reported(one_by_one(results(check, seeds, options.jobs, BATCH * SILENT), options), options)


def one_by_one(batches: Iterator[tuple[int, Any]], options: Namespace) -> Iterator[tuple[int, Any]]:
    """The results of each program from those of batches."""
    for start, found in batches:
        if isinstance(found, dict):  # the worker's own
            yield start, found
            continue
        differ = {result["seed"]: result for result in found}
        for seed in range(start, min(start + BATCH, options.seed + options.count)):
            yield seed, differ.get(seed)


def differing(batch: range, oracle: Path, option: Configuration, seconds: float) -> Iterator[dict[str, Any]]:
    """The programs of some seeds that have another answer than the reference's."""
    sources = [program(seed, Profile(wild=False)).source for seed in batch]
    for seed, (source, part) in zip(batch, differences(sources, oracle, option), strict=True):
        if part is None:
            continue
        small = shrunk(source, partial(first_failing, part, oracle, option), seconds) if seconds else source
        its = asked([small], oracle)[0]
        shown = f"oracle, {part}\n  reference {its}\n  here      {answer(small, option)}"
        yield {"seed": seed, "kind": ("oracle", part), "src": small, "difference": shown, **its._asdict()}


def differences(sources: list[str], oracle: Path, option: Configuration) -> list[tuple[str, str | None]]:
    """Each program with the part of the answer that differs. The reference isn't asked what takes us too long."""
    ours = [answer(source, option) for source in sources]
    asking = [source for source, its in zip(sources, ours, strict=True) if its is not None and its.countable]
    theirs = dict(zip(asking, asked(asking, oracle), strict=True)) if asking else {}
    return [
        (source, part_that_differs(its, theirs[source]) if its is not None and source in theirs else None)
        for source, its in zip(sources, ours, strict=True)
    ]


def first_failing(part: str, oracle: Path, option: Configuration, sources: list[str]) -> int | None:
    found = differences(sources, oracle, option)
    return next((index for index, (_, other) in enumerate(found) if other == part), None)


def part_that_differs(ours: Answer, theirs: Answer) -> str | None:
    if not theirs.countable:
        return None
    return next((part for part in PARTS if getattr(ours, part) != getattr(theirs, part)), None)


def answer(source: str, option: Configuration) -> Answer | None:
    """Our answer; None for an endless program."""
    with option.active(), open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        try:
            with limited(PATIENCE * SECONDS):
                found = evaluate(source)
        except TimeUp:
            return None
    return Answer(found["value"], list(found["output"]), found["error"])


def asked(sources: list[str], oracle: Path) -> list[Answer]:
    """The reference's answers."""
    with tempfile.NamedTemporaryFile("w+", suffix=".jsonl", encoding="utf-8") as file:
        for number, source in enumerate(sources):
            file.write(json.dumps({"id": str(number), "src": source}) + "\n")
        file.flush()
        subprocess.run(
            ["node", "oracle.mjs", "--fill", file.name],
            cwd=oracle,
            check=True,
            capture_output=True,
            start_new_session=True,
        )
        lines = Path(file.name).read_text("utf-8").split("\n")
    answers = [json.loads(line) for line in lines if line]
    return [Answer(its["value"], its["output"], its["error"]) for its in answers]
