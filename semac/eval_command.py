"""`sema eval`: one program from the command line or stdin, or with `--jsonl` a stream of programs."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import select
import signal
import sys
import tempfile
import time
from importlib import import_module
from typing import Any

GRACE = 3.0  # seconds beyond its limit after which a program that can't be interrupted is killed
LIMIT = 5000  # milliseconds


# A stream of programs


def jsonl(args: list[str]) -> int:
    """Reads lines {"id", "src"} from stdin and answers each with {"id", "value", "output", "error", "hint"}.

    Every program runs in a fresh environment in a worker process, which is replaced when a program brings it down.
    """
    limit = LIMIT
    if args[:1] == ["--timeout"] and len(args) > 1 and args[1].isdecimal():
        limit, args = int(args[1]), args[2:]
    if args:
        print("Usage: sema eval --jsonl [--timeout MS]", file=sys.stderr)
        return 2
    worker = Worker(limit / 1000)
    try:
        for line in sys.stdin:
            if line.strip():
                sys.stdout.write(_answer_line(worker, line) + "\n")
                sys.stdout.flush()
    finally:
        worker.stop()
    return 0


def _answer_line(worker: Worker, line: str) -> str:
    try:
        question = json.loads(line)
        name, source = question["id"], question["src"]
        if not isinstance(source, str):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        return json.dumps(
            {"id": None, "value": None, "output": [], "error": 'expected a line {"id": ..., "src": "..."}'}
        )
    return json.dumps({"id": name, **worker.ask(source)}, ensure_ascii=False)


class Worker:
    """A forked process that evaluates programs; started on first use and again after it died."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.pid = 0
        self.questions = self.answers = -1
        self.pending = b""

    def ask(self, source: str) -> dict[str, Any]:
        """The answer for one program."""
        if not self.pid:
            self.start()
        try:
            _write_all(self.questions, json.dumps(source).encode() + b"\n")
        except BrokenPipeError:
            self.stop()
            return _failed("the program ended the evaluation process")
        line = self._read_line(self.seconds + GRACE if self.seconds else None)
        if line is None:
            self.stop()
            from semac.eval_worker import TIMEOUT

            return _failed(TIMEOUT)
        if not line:
            self.stop()
            return _failed("the program ended the evaluation process")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def start(self) -> None:
        """Forks a process that has the compiler loaded already."""
        import_module("semac.eval_worker")
        import_module("semac.macro_env").prelude()
        questions, self.questions = os.pipe()
        self.answers, answers = os.pipe()
        sys.stdout.flush()
        gc.freeze()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.questions)
            os.close(self.answers)
            _serve(questions, answers, self.seconds)
        os.close(questions)
        os.close(answers)

    def stop(self) -> None:
        """Ends the process."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.questions)
            os.close(self.answers)
        self.pid, self.pending = 0, b""

    def _read_line(self, seconds: float | None) -> bytes | None:
        """A line without its end, empty when the process has died, None when time is up."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self.pending:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self.answers], [], [], left)[0]:
                return None
            data = os.read(self.answers, 1 << 16)
            if not data:
                return b""
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return line


def _failed(error: str) -> dict[str, Any]:
    return {"value": None, "output": [], "error": error}


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _serve(questions: int, answers: int, seconds: float) -> None:
    """The worker process: a JSON text a line in, an answer a line out. Never returns."""
    from semac import eval_worker

    status = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):  # programs must not read our questions or write among our answers
            os.dup2(null, descriptor)
        sys.stdin, sys.stdout, sys.stderr = (open(os.devnull, mode) for mode in "rww")  # noqa: SIM115
        eval_worker.limit_resources()
        with tempfile.TemporaryDirectory() as folder, open(questions, encoding="utf-8") as lines:
            os.chdir(folder)
            for line in lines:
                _write_all(answers, json.dumps(eval_worker.evaluate(json.loads(line), seconds)).encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


# One program


def envelope(source: str, path: str, limit: int) -> dict[str, Any]:
    """What `sema eval --json` prints: elapsedMs, error, ok, stderr, stdout, value. limit: milliseconds, 0 = none."""
    from sema_runtime.values.printer import pretty

    out, err = io.StringIO(), io.StringIO()
    started = time.monotonic()
    value: Any = None
    failure: dict[str, Any] | None = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            value = run_limited(source, path, limit)
        except SystemExit:
            pass
        except BaseException as error:  # whatever a program raises is its answer
            failure = error_entry(error)
    return {
        "elapsedMs": round((time.monotonic() - started) * 1000),
        "error": failure,
        "ok": failure is None,
        "stderr": err.getvalue(),
        "stdout": out.getvalue(),
        "value": None if value is None or failure else pretty(value, 120),
    }


def refusal(problem: str) -> dict[str, Any]:
    """The same report for a program that was not run."""
    return {"elapsedMs": 0, "error": {"message": problem}, "ok": False, "stderr": "", "stdout": "", "value": None}


def run_limited(source: str, path: str, limit: int) -> Any:
    """The value of a program. Raises what it raises, and SemaError when its time is up."""
    from sema_runtime.values.errors import SemaError
    from semac import eval_worker
    from semac.session import Session

    eval_worker.with_limit(limit / 1000)
    try:
        return Session(path).run(source)
    except eval_worker.TimeUp:
        raise SemaError(eval_worker.TIMEOUT) from None
    finally:
        eval_worker.with_limit(0)


def error_entry(error: BaseException) -> dict[str, Any]:
    """{message, hint?, line?, col?} for an error."""
    from sema_runtime.values.conditions import describe

    shown = describe(error)
    entry: dict[str, Any] = {"message": shown.message}
    if shown.hint:
        entry["hint"] = shown.hint
    place = shown.place or next(((frame.line, frame.col) for frame in shown.frames if frame.line), None)
    if place is not None:
        entry["line"], entry["col"] = place
    return entry
