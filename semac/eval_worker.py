"""Evaluates programs one after the other, each in a fresh environment, and keeps them from harming the next one."""

from __future__ import annotations

import contextvars
import os
import shutil
import signal
import sys
from typing import Any

from sema_runtime.lib import output
from sema_runtime.values.conditions import describe
from sema_runtime.values.printer import pretty
from semac.limits import grow_stack
from semac.session import Session

Answer = dict[str, Any]
TIMEOUT = "evaluation exceeded time budget (looks like an infinite loop?)"
MEMORY = 4 << 30  # bytes of address space a program may use


class TimeUp(BaseException):
    """Raised in a program that runs longer than its time limit; programs can't catch it."""


def evaluate(source: str, seconds: float) -> Answer:
    """{"value", "output", "error"} and, with some errors, "hint" for one program; seconds: time limit, 0 = none.

    value: printed form wrapped at 80 bytes, None for nil. output: one entry for each call that printed. error: the
    first line of the message.
    """
    lines: list[str] = []
    output.sink = lines
    answer: Answer = {"value": None, "output": lines, "error": None}
    try:
        answer["value"] = contextvars.Context().run(_run, source, seconds)
    except SystemExit:
        pass
    except TimeUp:
        answer["error"] = TIMEOUT
    except BaseException as error:  # whatever a program raises is its answer
        shown = describe(error)
        answer["error"] = shown.message.split("\n", 1)[0]
        if shown.hint:
            answer["hint"] = shown.hint
    finally:
        output.sink = None
        _forget()
    return answer


def _run(source: str, seconds: float) -> str | None:
    with_limit(seconds)
    try:
        value = Session().run(source, drain=False)
        return None if value is None else pretty(value)
    finally:
        with_limit(0)


_environment = dict(os.environ)


def with_limit(seconds: float) -> None:
    """Starts the clock (0 stops it): when it has run down, TimeUp is raised in the main thread."""
    if seconds:
        signal.signal(signal.SIGALRM, _time_up)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5 if seconds else 0)


def _time_up(*_: Any) -> None:
    raise TimeUp


def _forget() -> None:
    """Drops what a program left behind outside of its environment."""
    if os.environ != _environment:
        os.environ.clear()
        os.environ.update(_environment)
    tasks = sys.modules.get("sema_runtime.tasks.scheduler")
    if tasks is not None:
        vars(tasks._here).clear()
    seam = sys.modules.get("sema_runtime.seam")
    if seam is not None:
        seam.forget()
    for name in os.listdir():
        if os.path.isdir(name) and not os.path.islink(name):
            shutil.rmtree(name, ignore_errors=True)
        else:
            os.unlink(name)


def limit_resources() -> None:
    """Bounds the memory of this process and gives it the stack that deep recursion needs."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most), most))
    grow_stack()
