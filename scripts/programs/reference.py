"""Compares the compiler with the reference implementation on random programs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import subprocess
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from programs.compare import reported
from programs.configurations import Configuration, configuration
from programs.files import FILE
from programs.generator import Profile
from programs.outcome import Difference, TimeUp, limited
from programs.program import program
from programs.shrink import one_by_one, shrunk
from programs.workers import SILENT, results
from sema_runtime.conditions.describe import describe
from sema_runtime.lib.language import output
from sema_runtime.values.printer import pretty
from semac import process
from semac.cli.eval.worker import evaluate, forget_program
from semac.generate.module import RESULT

WAYS = ("session", "program", "module")  # of compiling ours
PARTS = ("error", "value", "output")
UNCOUNTED = ("timeout", "step limit", "stack overflow", "crash", "maximum call depth")
ENOUGH = 1.0  # seconds of CPU time for ours
PATIENT = 3.0  # seconds for an answer of the reference
RENEWED = 400  # answers after which its process is replaced: its memory only grows
FLOAT = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


class Answer(NamedTuple):
    """What the conformance tool compares: the printed value, the printed lines, the first line of the error."""

    value: str | None
    output: list[str]
    error: str | None

    @property
    def countable(self) -> bool:
        shown = " ".join((self.error or "", self.value or "", *self.output))
        return not any(text in shown for text in UNCOUNTED)

    def __str__(self) -> str:
        return f"error {self.error!r}, value {self.value}, output {self.output}"


TIMEOUT = Answer(None, [], "timeout")


class Reference:
    """A process that answers programs one after the other. folder: where its npm package is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self.served = 0
        self.buffer = b""

    def ask(self, source: str) -> None:
        """Sends a program; the answer is awaited with `answer`."""
        if self.process is None or self.served >= RENEWED or self.process.poll() is not None:
            self.end()
            self.process = subprocess.Popen(
                ["node", str(Path(__file__).with_name("answers.mjs")), str(self.folder.resolve())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.served += 1
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps([self.served, source]).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # it has ended after its last answer
            self.end()
            self.ask(source)

    def answer(self) -> Answer:
        """The answer to the program that was sent last."""
        assert self.process is not None and self.process.stdout is not None
        end = time.monotonic() + PATIENT
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                break
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                break
            self.buffer += data
            *lines, self.buffer = self.buffer.split(b"\n")
            for its in map(json.loads, lines):
                if its["number"] == self.served:  # else of a program whose answer nobody awaited
                    return Answer(its["value"], its["output"], its["error"])
        self.end()
        return TIMEOUT

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process, self.served, self.buffer = None, 0, b""


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others follow")
    parser.add_argument("--file", type=Path, help="programs to compare in place of random ones: lines {id, src}")
    parser.add_argument("--oracle", type=Path, required=True, help="the folder of the reference's oracle.mjs")
    parser.add_argument("--option", default="optimized", help="the configuration that is tried (default %(default)s)")
    parser.add_argument("--skip", default="", help="a regex: differences whose text it is found in are known")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shrink", type=float, default=60, help="seconds for reducing a program; 0: don't")
    parser.add_argument("--stop-after", type=int, default=20, help="how many differences end the run")
    parser.add_argument("--out", type=Path, help="a file that gets the differences, as lines {id, src, difference}")


def run(options: Namespace) -> int:
    option = configuration(options.option)
    texts = [json.loads(line)["src"] for line in options.file.read_text().splitlines()] if options.file else None
    seeds = range(len(texts)) if texts is not None else range(options.seed, options.seed + options.count)
    asked: list[Reference] = []  # one in each worker

    def check(seed: int) -> dict[str, Any] | None:
        if not asked:
            asked.append(Reference(options.oracle))
        text = texts[seed] if texts is not None else program(seed, Profile(wild=False)).source
        return report(text, asked[0], WAYS[seed % len(WAYS)], option, options.shrink)

    return reported(results(check, seeds, options.jobs, SILENT + 3 * options.shrink), options)


def report(source: str, oracle: Reference, way: str, option: Configuration, seconds: float) -> dict[str, Any] | None:
    """What is said of a program that has another answer than the reference's, shrunk; None where it has the same."""
    found = difference(source, oracle, way, option)
    if found is None:
        return None
    kind = found.kind

    def fails(text: str) -> bool:
        other = difference(text, oracle, way, option)
        return other is not None and other.kind == kind

    small = shrunk(source, one_by_one(fails), seconds) if seconds else source
    return {"kind": kind, "src": small, "difference": str(difference(small, oracle, way, option) or found)}


def difference(source: str, oracle: Reference, way: str, option: Configuration) -> Difference | None:
    """How the answer to a program differs from the reference's."""
    ours = answer(source, option, way)
    if ours is None or not ours.countable:  # an endless program would keep the reference busy until it is ended
        return None
    oracle.ask(source)
    theirs = oracle.answer()
    if not theirs.countable:
        return None
    part = next((part for part in PARTS if not same(getattr(ours, part), getattr(theirs, part))), None)
    return part and Difference(f"oracle {way}", part, str(theirs), str(ours))


def same(mine: object, theirs: object) -> bool:
    """Whether two texts, or lists of texts, are equal but for the last digits of floats."""
    if mine == theirs:
        return True
    a, b = json.dumps(mine), json.dumps(theirs)
    if FLOAT.sub("#", a) != FLOAT.sub("#", b):
        return False
    pairs = zip(map(float, FLOAT.findall(a)), map(float, FLOAT.findall(b)), strict=True)
    return all(abs(x - y) <= 1e-12 * max(1.0, abs(y)) for x, y in pairs)


def answer(source: str, option: Configuration, way: str = "session") -> Answer | None:
    """Our answer; None for an endless program. way: of WAYS."""
    with option.active(), open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        try:
            with limited(ENOUGH):
                if way == "session":
                    its = evaluate(source)
                    if its["error"] == TimeUp.__name__:
                        return None
                    return Answer(its["value"], list(its["output"]), its["error"])
                return executed(source, option, way)
        except TimeUp:
            return None


# Called by a module of the compiler, as a file is: traces end there.
RUN = FunctionType((lambda code, scope: exec(code, scope)).__code__, {"__name__": "semac.run", "exec": exec})


def executed(source: str, option: Configuration, mode: str) -> Answer:
    """The answer of a program that is compiled as a file."""
    output.sink = lines = []
    try:
        scope: dict[str, Any] = {"__name__": "__main__"}
        process.deepen()
        RUN(option.code(source, FILE, mode), scope)
        value = scope.get(RESULT)
        return Answer(None if value is None else pretty(value), list(lines), None)
    except (TimeUp, KeyboardInterrupt):
        raise
    except BaseException as error:  # a deadlock and an exit are outcomes, too
        return Answer(None, list(lines), describe(error).message.split("\n", 1)[0])
    finally:
        output.sink = None
        forget_program()
