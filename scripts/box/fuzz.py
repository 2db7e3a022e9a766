"""Feeds random and mutated programs to the box, and random and mutated frames to what reads the bytes of workers.

    python scripts/box/fuzz.py [--frames N] [--programs N] [--seed S] [--corpus FOLDER] [--state FILE]

The programs are those of `boxed_programs.py`, run as sessions. The host must answer each with an outcome, in time, and
stay as large as it was; what is no outcome is a finding, as are a process that dies without a limit's name and words of
Python in an answer. A frame must be read as a message or refused, and each value in it decoded or refused. With --state
a run that was stopped goes on where it was; each batch depends on the seed and its number alone. The exit status is 1
after a finding.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import socket
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from boxed_programs import NAMES, TOKEN, corpus, program

from sema_runtime.box import Limits, Pool, Session
from sema_runtime.box.codec import Encoder, decoded, for_python, to_frame
from sema_runtime.box.workers import Died, Late, Worker
from sema_runtime.values.atoms import char, keyword, symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

MOST_BYTES = 1 << 20
LIMITS = Limits(wall_ms=2_000, cpu_ms=40, memory_mb=48)  # endless programs end soon, on busy machines, too
TURNS = 40  # programs of one session
BATCH = 1_000
PRELUDE = '(define x \'(1 2 3)) (define y 2) (define z "z") (define a-b {:a 1}) (define e 1) (define (f . args) args)'
FRAMES = 10_000  # of a batch
SHOWN = 5  # findings of a kind
LEAKS = re.compile(
    r"<(class|module|function|frame|built-in|bound method|code) |0x[0-9a-f]{8}|site-packages|sema_runtime|semac\b"
    r"|Traceback"
)


WORDS_OF_PYTHON = re.compile(r"\b[A-Z]\w*(Error|Exception|Warning): |internal error")


@dataclass
class State:
    """What has been run. ends: of programs, by reason or status. covered: builtins in programs that succeeded."""

    frames: int = 0
    programs: int = 0
    findings: int = 0
    frame_ends: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    covered: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def save(self, path: Path | None) -> None:
        if path is not None:
            beside = path.with_suffix(".new")
            beside.write_text(json.dumps(vars(self)), encoding="utf-8")
            beside.replace(path)

    def find(self, what: str) -> None:
        self.findings += 1
        if sum(example.startswith(what[:12]) for example in self.examples) < SHOWN:
            self.examples.append(what)
            print(f"finding: {what!a}", flush=True)


def loaded(path: Path | None) -> State:
    if path is None or not path.exists():
        return State()
    kept = json.loads(path.read_text(encoding="utf-8"))
    for name in ("frame_ends", "ends", "covered"):
        kept[name] = Counter(kept[name])
    return State(**kept)


# Frames


def value(chance: random.Random, depth: int = 4) -> Any:
    atoms: list[Any] = [
        None, True, False, 0, -1, 10**30, 0.5, float("nan"), float("inf"), "text", "\ud800", char("x"), keyword("k"),
        symbol("s"), b"bytes", 1 << 20_000, Fraction(-1, 3), bytearray(b"\0\xff"),
    ]  # fmt: skip
    if depth == 0 or chance.random() < 0.4:
        return chance.choice(atoms)
    parts = [value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if chance.random() < 0.3:
        return Map.of((keyword(f"k{index}"), part) for index, part in enumerate(parts))
    return List(parts) if chance.random() < 0.5 else tuple(parts)


def frame(chance: random.Random) -> bytes:
    encoded = Encoder().encode(value(chance))
    message = {"status": chance.choice(["value", "error", "x", 1]), "value": encoded}
    if chance.random() < 0.3:
        name = chance.choice(["add", "no", 1])
        message = {"call": chance.choice([1, "1", None, 10**30]), "asked": [[name, encoded]]}
    data = bytearray(to_frame(message))
    for _ in range(chance.randrange(5)):
        at = chance.randrange(len(data))
        if chance.random() < 0.5:
            data[at] = chance.randrange(256)
        else:
            data[at:at] = chance.choice([b"[" * 2000, b'{"m":[', b'"', b"1" * 5000, b"\xff", b'{"l":', b"}", b"null"])
    if chance.random() < 0.8:
        data[:4] = (len(data) - 4).to_bytes(4, "big")
    return bytes(data[: chance.randrange(len(data))]) if chance.random() < 0.1 else bytes(data)


def read_frame(data: bytes) -> str:
    """How a worker's bytes end: "read", "refused", or the name of an exception that the host doesn't expect."""
    ours, theirs = socket.socketpair()
    worker = Worker(os.getpid(), ours, LIMITS)
    try:
        theirs.setblocking(False)
        theirs.send(data)
        theirs.close()
        message = worker.receive(time.monotonic() + 1, MOST_BYTES)
        for part in message.values():
            for decode in (decoded, for_python):
                decode(part)
    except (Died, Late, SemaError):
        return "refused"
    except Exception as error:
        return type(error).__name__
    finally:
        ours.close()
        if worker.handle >= 0:
            os.close(worker.handle)
    return "read"


def fuzz_frames(state: State, count: int, seed: int, path: Path | None) -> None:
    while state.frames < count:
        chance = random.Random(f"frames {seed} {state.frames}")
        for _ in range(min(FRAMES, count - state.frames)):
            data = frame(chance)
            end = read_frame(data)
            if end not in ("read", "refused"):
                state.find(f"{end} of frame {data[:300]!r}")
            state.frame_ends[end] += 1
            state.frames += 1
        state.save(path)
        print(f"{state.frames} frames {dict(state.frame_ends)}", end="\r", flush=True)


# Programs


def act(a: Any = None) -> Any:
    return a


def bad(**arguments: Any) -> Any:
    raise ValueError(f"no {list(arguments)}")


def fuzz_programs(state: State, count: int, seed: int, texts: list[str], threads: int, path: Path | None) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun, start = state.programs, time.monotonic()
    data = {"x": [1, 2, "c"], "m": {"a": 1, "b": [None, 1.5]}}
    tools = {"act": act, "bad": bad}
    with Pool(LIMITS, spare=threads) as pool, ThreadPoolExecutor(threads) as executor:

        def run(turns: list[str]) -> list[tuple[str, str, str]]:
            """The ends of the programs of one session, their sources, and what they said."""
            found = []
            with Session(pool, data, tools) as session:
                session.run(PRELUDE)
                for source in turns:
                    try:
                        outcome = session.run(source)
                        if session.worker is None:  # running the others again would be most of the work
                            session.history.clear()
                        said = [outcome.text, outcome.message, outcome.hint, *outcome.prints, *outcome.defined.values()]
                        found.append((outcome.reason or outcome.status, source, "\n".join(text or "" for text in said)))
                    except Exception as error:
                        found.append((f"host error {type(error).__name__}: {error}"[:200], source, ""))
            return found

        while state.programs < count:
            chance = random.Random(f"programs {seed} {state.programs}")
            batch = [program(chance, texts) for _ in range(min(BATCH, count - state.programs))]
            turns = [batch[at : at + TURNS] for at in range(0, len(batch), TURNS)]
            for part in executor.map(run, turns):
                for number, (end, source, said) in enumerate(part):
                    judge(state, end, source, said, [turn[1] for turn in part[:number]])
            state.programs += len(batch)
            state.save(path)
            speed = (state.programs - begun) / (time.monotonic() - start)
            print(f"{state.programs} programs, {speed:.0f} a second, {state.findings} findings", end="\r", flush=True)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if grown > 100:
        state.find(f"the host grew by {grown:.0f} MB")


def judge(state: State, end: str, source: str, said: str, before: list[str]) -> None:
    """Counts a program, and notes what is wrong with its end. before: the earlier programs of its session."""
    findings = state.findings
    if end.startswith("host error") or end in ("internal_error", "worker_died"):
        state.find(f"{end} of {source!r}: {said[:300]}")
    elif WORDS_OF_PYTHON.search(said.replace("tool/bad: ValueError", "")) and not WORDS_OF_PYTHON.search(source):
        state.find(f"words of Python of {source!r}: {said[:300]}")
    elif LEAKS.search(said) and not LEAKS.search(source):
        state.find(f"leak of {source!r}: {said[:300]}")
    elif end in ("value", "return"):
        state.covered.update({token for token in TOKEN.findall(source) if token in NAMES})
    if state.findings > findings and before and state.examples:
        state.examples[-1] += f"\nafter {before}"
    state.ends[end if not end.startswith("host error") else "host error"] += 1


def report(state: State) -> None:
    print(f"\n{state.frames} frames: {dict(state.frame_ends)}")
    print(f"{state.programs} programs: {dict(state.ends.most_common())}")
    missing = [name for name in NAMES if name not in state.covered]
    print(f"builtins in programs that succeeded: {len(NAMES) - len(missing)} of {len(NAMES)}")
    print(f"not: {', '.join(missing[:40])}")
    print(f"{state.findings} findings")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help="a folder of .jsonl files with programs as src")
    parser.add_argument("--state", type=Path, help="where counts are kept; a run that was stopped goes on")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()
    state = loaded(options.state)
    try:
        fuzz_frames(state, options.frames, options.seed, options.state)
        fuzz_programs(state, options.programs, options.seed, corpus(options.corpus), options.threads, options.state)
    finally:
        report(state)
    return 1 if state.findings else 0


if __name__ == "__main__":
    sys.exit(main())
