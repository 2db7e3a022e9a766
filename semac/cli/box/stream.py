"""`sema box eval --jsonl`: a stream of programs, each in a fresh state, answered in order.

Lines are read in a thread, and programs run in as many as there are processors, a few ahead of the answers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from semac.cli.box.options import entry, limit_options, opened

if TYPE_CHECKING:
    from sema_runtime.box import Limits, Pool

WIDEST = 6  # bytes of JSON for a byte of text
EXTRA = 1 << 16  # bytes of a line beyond its program and its data
AHEAD = 2  # programs a processor
EXPECTED = 'expected a line {"id": ..., "src": "...", "data": {...}}'
Answers = Queue[Future[dict[str, Any]] | None]


@click.command("eval")
@click.option("--jsonl", is_flag=True, required=True, help='Answer lines {"id", "src", "data"?} from stdin.')
@limit_options
def evaluate(jsonl: bool, limits: tuple[str, ...], allow_missing_layers: bool) -> int:
    """Evaluate a stream of programs, each in a fresh process and state, answered in order.

    An answer has id, status (value, return, fail, error), value, reason, message, line, column, prints, duration_ms.
    """
    at_once = os.cpu_count() or 1
    with opened(limits, allow_missing_layers) as pool, ThreadPoolExecutor(at_once) as executor:
        pool.spare = max(pool.spare, at_once)
        pending: Answers = Queue(AHEAD * at_once)
        Thread(target=submit_all, args=(sys.stdin.buffer, pool, executor, pending), daemon=True).start()
        try:
            while (future := pending.get()) is not None:
                sys.stdout.write(json.dumps(future.result()) + "\n")
                sys.stdout.flush()
        except BrokenPipeError:  # nobody reads the answers any more
            sys.stdout = None
            os._exit(1)
    return 0


def submit_all(source: BinaryIO, pool: Pool, executor: ThreadPoolExecutor, pending: Answers) -> None:
    """Has each line answered, in a thread; then says that there are no more."""
    try:
        for line in lines(source, longest(pool.limits)):
            pending.put(executor.submit(answer, pool, line))
    finally:
        pending.put(None)


def longest(limits: Limits) -> int:
    return WIDEST * (limits.source_bytes + limits.data_bytes) + EXTRA


def lines(source: BinaryIO, most: int) -> Iterator[bytes | None]:
    """The lines of a stream that aren't empty; None in place of one of more than most bytes."""
    while line := source.readline(most + 1):
        if len(line) > most:
            while line and not line.endswith(b"\n"):
                line = source.readline(1 << 20)
            yield None
        elif line.strip():
            yield line


def answer(pool: Pool, line: bytes | None) -> dict[str, Any]:
    """The answer to one line."""
    from sema_runtime.box.codec import nodes_in
    from sema_runtime.box.workers import is_within
    from sema_runtime.values.errors import SemaError

    if line is None:
        return refusal(None, f"a line of more than {longest(pool.limits)} bytes; give less data, or raise data_bytes")
    if not is_within(line, 2 * nodes_in(pool.limits.data_bytes)):
        return refusal(None, "the data of the line have too many parts; give less data, or raise data_bytes")
    name = None
    try:
        question = json.loads(line)
        name = json.loads(json.dumps(question["id"], allow_nan=False))
        source, data = question["src"], question.get("data") or {}
    except (ValueError, RecursionError):
        return refusal(name, f"not JSON: {EXPECTED}")
    except (KeyError, TypeError, AttributeError) as problem:
        missing = f"{problem.args[0]} is missing: " if isinstance(problem, KeyError) else ""
        return refusal(name, f"{missing}{EXPECTED}")
    if type(source) is not str:
        return refusal(name, f"src must be a text: {EXPECTED}")
    if type(data) is not dict:
        return refusal(name, f"data must be an object: {EXPECTED}")
    try:
        outcome = pool.run(source, data)
    except SemaError as problem:  # of the data
        return refusal(name, problem.message)
    return {"id": name, **entry(outcome)}


def refusal(name: Any, problem: str) -> dict[str, Any]:
    from sema_runtime.box import Outcome

    return {"id": name, **entry(Outcome("error", reason="invalid_request", message=problem))}
