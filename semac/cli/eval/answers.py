"""`sema eval`: one program from the command line or stdin, or with `--jsonl` a stream of programs.

Programs run in a process of their own, which is ended when they pass a limit: see `processes.py`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from sema_runtime.support.visible import json_at_terminal, tell
from semac.cli.eval.limits import Limits
from semac.cli.eval.processes import finish, supervised
from semac.cli.eval.supervisor import PATIENCE, Overrun, Watched, Worker, load_compiler

# A stream of programs


def jsonl(limits: Limits) -> int:
    """Reads lines {"id", "src"} from stdin and answers each with {"id", "value", "output", "error", "hint"}.

    Every program runs in a fresh environment in a worker process, which is replaced when a program brings it down or
    leaves something behind.
    """
    return supervised(lambda: _answer_lines(limits))


def _answer_lines(limits: Limits) -> int:
    load_compiler()
    worker = Worker(limits)
    try:
        for line in sys.stdin.buffer:
            if line.strip():
                sys.stdout.buffer.write(_answer_line(worker, line))
                sys.stdout.buffer.flush()
    finally:
        worker.close()
    return 0


def _answer_line(worker: Worker, line: bytes) -> bytes:
    try:
        question = json.loads(line)
        name, source = question["id"], question["src"]
        if not isinstance(source, str):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        problem = 'expected a line {"id": ..., "src": "..."}'
        answer: dict[str, Any] = {"id": None, "value": None, "output": [], "error": problem}
    else:
        answer = {"id": name, **worker.ask(source)}
    text = json_at_terminal(json.dumps(answer, ensure_ascii=False))
    return text.encode("utf-8", "backslashreplace") + b"\n"  # which is how JSON writes half a surrogate pair


# One program


def report(source: str, path: str, limits: Limits) -> dict[str, Any]:
    """The answer that `sema eval --json` prints: elapsedMs, error, ok, stderr, stdout, value. Runs in a supervisor."""
    load_compiler()
    started = time.monotonic()
    deadline = started + limits.seconds if limits.seconds else None
    watched = Watched(limits, lambda ends: _report_to(ends, source, path, limits), ("answer", "stdout", "stderr"))
    answer = watched.collected["answer"]
    outcome: dict[str, Any] = {"value": None, "error": None}
    ended = started
    try:
        watched.wait(lambda: answer[-1:] == b"\n", deadline)
        ended = time.monotonic()
        if answer[-1:] == b"\n":
            outcome = json.loads(answer)
            watched.wait(lambda: False, ended + PATIENCE)
        else:
            outcome["error"] = {"message": watched.reason()}
    except Overrun as overrun:
        if ended == started:
            ended = time.monotonic()
            outcome["error"] = {"message": overrun.message}
        elif overrun.message == limits.too_much_output():
            outcome = {"value": None, "error": {"message": overrun.message}}
    except ValueError:
        outcome = {"value": None, "error": {"message": watched.reason()}}
    finally:
        watched.end()
    return {
        "elapsedMs": round((ended - started) * 1000),
        "ok": outcome["error"] is None,
        **{name: watched.collected[name].decode("utf-8", "replace") for name in ("stderr", "stdout")},
        **outcome,
    }


def _report_to(ends: dict[str, int], source: str, path: str, limits: Limits) -> None:
    """In the process of the program: answers with {"value", "error"} when it has ended."""
    from semac.cli.eval.worker import MEMORY_STATUS, OUTPUT_STATUS, is_out_of_memory

    os.dup2(ends["stdout"], 1)
    os.dup2(ends["stderr"], 2)
    os.close(ends["stdout"])
    os.close(ends["stderr"])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    outcome: dict[str, Any] = {"value": None, "error": None}
    try:
        outcome["value"] = _printed_value(source, path, 120)
    except SystemExit:
        pass
    except BaseException as error:  # whatever a program raises is its answer
        if is_out_of_memory(error):
            os._exit(MEMORY_STATUS)
        outcome["error"] = error_entry(error)
    sys.stdout.flush()
    sys.stderr.flush()
    text = json.dumps(outcome).encode() + b"\n"
    if limits.output and len(text) > limits.output:
        os._exit(OUTPUT_STATUS)
    while text:
        text = text[os.write(ends["answer"], text) :]
    os.close(ends["answer"])
    finish(0)


def _printed_value(source: str, path: str, width: int) -> str | None:
    from sema_runtime.values.printer import pretty
    from semac.session import Session

    value = Session(path).run(source)
    return None if value is None else pretty(value, width)


def refusal(problem: str) -> dict[str, Any]:
    """The same answer for a program that was not run."""
    return {"elapsedMs": 0, "error": {"message": problem}, "ok": False, "stderr": "", "stdout": "", "value": None}


def plain(source: str, path: str, limits: Limits) -> int:
    """Runs a program with the standard streams of this process, prints its value and returns the exit status. Runs in a
    supervisor."""
    from semac.cli.eval.processes import Stopped

    load_compiler()
    deadline = time.monotonic() + limits.seconds if limits.seconds else None
    watched = Watched(limits, lambda ends: _print_value(ends["answer"], source, path, limits), ("answer",))
    try:
        watched.wait(lambda: bool(watched.collected["answer"]), deadline)
        if watched.collected["answer"]:
            watched.ended_by_itself(PATIENCE)
            watched.end()
            return watched.collected["answer"][0]
        message = watched.reason()
    except Overrun as overrun:
        message = overrun.message
    except Stopped as stopped:
        if stopped.number != 2 or not _interrupted(watched):
            watched.end()
            raise
        return watched.collected["answer"][0] if watched.collected["answer"] else 1
    finally:
        watched.end()
    tell(f"Error: {message}")
    return 1


def _interrupted(watched: Watched) -> bool:
    """Lets the program clean up after Ctrl-C. Returns whether that has ended it."""
    from signal import SIGINT

    os.kill(watched.process, SIGINT)
    ended = watched.ended_by_itself(PATIENCE)
    watched.drain()
    return ended


def _print_value(answer: int, source: str, path: str, limits: Limits) -> None:
    """In the process of the program."""
    from sema_runtime.support.visible import at_terminal
    from sema_runtime.values.errors import SemaError
    from semac.cli.eval.worker import is_out_of_memory
    from semac.cli.exits import guarded

    def run() -> None:
        try:
            shown = _printed_value(source, path, 80)
        except BaseException as error:
            if is_out_of_memory(error):
                raise SemaError(limits.out_of_memory()) from None
            raise
        if shown is not None:
            print(at_terminal(shown))

    status = guarded(run, path, {path: source})
    os.write(answer, bytes([status & 0xFF]))
    finish(status)


def error_entry(error: BaseException) -> dict[str, Any]:
    """The JSON of an error: {message, hint?, line?, col?}."""
    from sema_runtime.conditions.describe import describe

    shown = describe(error)
    entry: dict[str, Any] = {"message": shown.message}
    if shown.hint:
        entry["hint"] = shown.hint
    place = shown.place or next(((frame.line, frame.col) for frame in shown.frames if frame.line), None)
    if place is not None:
        entry["line"], entry["col"] = place
    return entry
