"""Answers as `sema eval --jsonl` does, but from the Python text that each program is compiled to as a module."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import warnings

from sema_runtime.values.printer import pretty
from semac.cli.eval import worker as eval_worker
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.process import deepen, grow_stack

SECONDS = 5


def run_text(source: str) -> str | None:
    """The printed value of a program, None for nil. Raises what it raises."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        deepen()
        text = compile_source(source, "<input>", "module", result=True, is_text=True).python_text()
        names = {"__name__": "__main__", "__file__": "<input>"}
        exec(compile(text, "<input>", "exec", dont_inherit=True), names)
        value = names.get(RESULT)
        return None if value is None else pretty(value)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def time_is_up(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    warnings.simplefilter("ignore", SyntaxWarning)  # what Python thinks of `(5)` is not the question here
    eval_worker._run = run_text
    signal.signal(signal.SIGALRM, time_is_up)
    questions = [json.loads(line) for line in sys.stdin]
    with tempfile.TemporaryDirectory() as folder:
        grow_stack()
        workplace = eval_worker.Workplace(folder)
        for question in questions:
            print(json.dumps({"id": question["id"], **eval_worker.evaluate(question["src"])}))
            workplace.restore()


main()
