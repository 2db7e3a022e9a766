"""Feeds random and mutated programs to the box, and random and mutated frames to what reads the bytes of workers.

    python scripts/box/fuzz.py [--frames N] [--programs N] [--seed S] [--corpus FOLDER] [--processes N]

Programs are those of a folder of `{"src"}` lines, of the tests of the box, and random forms, cut, doubled, nested and
spliced. The host must answer each with an outcome, in time, and stay as large as it was; what is no outcome is a
finding. A frame must be read as a message or refused, and each value in it decoded or refused. The exit status is 1
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
from pathlib import Path
from typing import Any

from sema_runtime.box import Limits, Pool, Session
from sema_runtime.box.codec import Encoder, decoded, for_python, to_frame
from sema_runtime.box.workers import Died, Late, Worker
from sema_runtime.values.atoms import char, keyword, symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

ROOT = Path(__file__).resolve().parent.parent.parent
MOST_BYTES = 1 << 20
LIMITS = Limits(wall_ms=150)
TURNS = 4  # programs of one session
PIECES = [
    "(", ")", "[", "]", "{", "}", "'", "`", ",", '"', "#(", ":k", "x", "1", "1e308", "99999999999999999999", "nil",
    "(fn", "(let", "(loop", "(define", "(try", "(catch", "e", "(map", "(str", "(eval", "(read", "(apply", "(tool/act",
    "data/x", "(set!", "(throw", "__class__", "(async", "(await", "(range 100000000)", "(string/repeat", "λ", " ",
    "(expt 10 100000)", "(mutable-array/new 100000000)", "(return", "(fail", "(dir)", "(apropos", "(defmacro", "(match",
]  # fmt: skip


def sources(corpus: Path | None) -> list[str]:
    found = [
        text for path in (ROOT / "tests/box").glob("*.py") for text in re.findall(r'"(\(.*?\))"', path.read_text())
    ]
    for path in sorted(corpus.glob("*.jsonl")) if corpus is not None else []:
        found += [json.loads(line)["src"] for line in path.read_text(encoding="utf-8").splitlines()[::10]]
    return [text for text in found if len(text) < 4000] or ["(+ 1 2)"]


def mutated(random_: random.Random, texts: list[str]) -> str:
    text = random_.choice(texts)
    for _ in range(random_.randrange(4)):
        at = random_.randrange(len(text) + 1)
        change = random_.randrange(5)
        if change == 0:
            text = text[:at] + random_.choice(PIECES) + text[at:]
        elif change == 1:
            text = text[:at] + text[at + random_.randrange(1, 8) :]
        elif change == 2:
            other = random_.choice(texts)
            text = text[:at] + other[random_.randrange(len(other)) :]
        elif change == 3:
            most = 200 if random_.random() < 0.95 else 10**9
            text = f"(let loop ((i 0)) {text} (if (< i {most}) (loop (+ i 1))))"
        else:
            text = "(" * random_.randrange(60) + text
    return text if random_.random() < 0.9 else " ".join(random_.choices(PIECES, k=random_.randrange(1, 60)))


# Frames


def value(random_: random.Random, depth: int = 4) -> Any:
    atoms: list[Any] = [
        None, True, False, 0, -1, 10**30, 0.5, float("nan"), float("inf"), "text", "\ud800", char("x"), keyword("k"),
        symbol("s"), b"bytes",
    ]  # fmt: skip
    if depth == 0 or random_.random() < 0.4:
        return random_.choice(atoms)
    parts = [value(random_, depth - 1) for _ in range(random_.randrange(4))]
    if random_.random() < 0.3:
        return Map.of((keyword(f"k{index}"), part) for index, part in enumerate(parts))
    return List(parts) if random_.random() < 0.5 else tuple(parts)


def frame(random_: random.Random) -> bytes:
    encoded = Encoder().encode(value(random_))
    message = {"status": random_.choice(["value", "error", "x", 1]), "value": encoded}
    if random_.random() < 0.3:
        name = random_.choice(["add", "no", 1])
        message = {"call": random_.choice([1, "1", None, 10**30]), "asked": [[name, encoded]]}
    data = bytearray(to_frame(message))
    for _ in range(random_.randrange(5)):
        at = random_.randrange(len(data))
        if random_.random() < 0.5:
            data[at] = random_.randrange(256)
        else:
            data[at:at] = random_.choice([b"[" * 2000, b'{"m":[', b'"', b"1" * 5000, b"\xff", b'{"l":', b"}", b"null"])
    if random_.random() < 0.8:
        data[:4] = (len(data) - 4).to_bytes(4, "big")
    return bytes(data[: random_.randrange(len(data))]) if random_.random() < 0.1 else bytes(data)


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


def fuzz_frames(count: int, seed: int) -> int:
    random_ = random.Random(seed)
    ends: Counter[str] = Counter()
    for _ in range(count):
        data = frame(random_)
        end = read_frame(data)
        if end not in ("read", "refused") and not ends[end]:
            print(f"finding: {end} of {data[:300]!r}")
        ends[end] += 1
    print("frames", dict(ends))
    return sum(number for end, number in ends.items() if end not in ("read", "refused"))


# Programs


def fuzz_programs(count: int, seed: int, corpus: Path | None, processes: int) -> int:
    random_ = random.Random(seed)
    texts = sources(corpus)
    ends: Counter[str] = Counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.monotonic()
    with Pool(LIMITS) as pool, ThreadPoolExecutor(processes) as threads:

        def run(turns: list[str]) -> list[tuple[str, str]]:
            """The ends of the programs of one session."""
            found = []
            with Session(pool, tools={"act": lambda **_: 1}, data={"x": [1, 2]}) as session:
                for source in turns:
                    try:
                        outcome = session.run(source)
                        found.append((outcome.reason or outcome.status, source))
                    except Exception as error:
                        found.append((f"host error {type(error).__name__}: {error}"[:200], source))
            return found

        for first in range(0, count, 1000):
            batch = [mutated(random_, texts) for _ in range(min(1000, count - first))]
            turns = [batch[at : at + TURNS] for at in range(0, len(batch), TURNS)]
            for end, source in (one for part in threads.map(run, turns) for one in part):
                if (end.startswith("host error") or end == "internal_error") and not ends[end]:
                    print(f"finding: {end} of {source!r}")
                ends[end] += 1
            print(
                f"{first + len(batch)} programs, {(first + len(batch)) / (time.monotonic() - start):.0f} a second",
                end="\r",
            )
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"programs {dict(ends.most_common())}; the host grew by {grown:.0f} MB")
    findings = sum(number for end, number in ends.items() if end.startswith("host error") or end == "internal_error")
    return findings + (grown > 100)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()
    findings = fuzz_frames(options.frames, options.seed)
    if options.programs:
        findings += fuzz_programs(options.programs, options.seed, options.corpus, options.processes)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
