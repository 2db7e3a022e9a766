"""`sema eval --jsonl`: answers one program a line, each in a fresh environment."""

from __future__ import annotations

import json
import signal
import sys
from typing import Any


class TimeUp(BaseException):
    """Raised in a program that runs longer than its time limit."""


def jsonl(args: list[str]) -> int:
    """Reads lines {"id","src"} from stdin, writes {"id","value","output","error","hint"}."""
    limit = 5.0
    if args[:1] == ["--timeout"]:
        limit = float(args[1]) / 1000
    signal.signal(signal.SIGALRM, _time_up)
    for line in sys.stdin:
        if line.strip():
            question = json.loads(line)
            answer = {"id": question["id"], **evaluate(question["src"], limit)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    return 0


def _time_up(*_: Any) -> None:
    raise TimeUp


def evaluate(source: str, limit: float) -> dict[str, Any]:
    """The answer for one program."""
    from sema_runtime.lib import output
    from sema_runtime.values.conditions import describe
    from sema_runtime.values.printer import pretty

    from semac.session import Session

    output.sink = lines = []
    session = Session()
    try:
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            value = session.run(source)
            text = None if value is None else pretty(value)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return {"value": text, "output": lines, "error": None}
    except TimeUp:
        return {"value": None, "output": lines, "error": "timeout"}
    except BaseException as error:
        shown = describe(error)
        return {"value": None, "output": lines, "error": shown.message.split("\n")[0], **({"hint": shown.hint} if shown.hint else {})}
    finally:
        output.sink = None
