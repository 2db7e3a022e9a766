"""What a process that runs Sema code needs: deep recursion, flushed output, time for tasks that are left.

Imports nothing that is slow to load.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEPTH = 22_000  # Python frames: non-tail recursion works some 20,000 deep and then ends in a condition
STACK = 100 << 20  # bytes of C stack, for recursion through builtins


def deepen() -> None:
    """Allows deep recursion of Sema functions, also of those that builtins call back, but in WebAssembly: its stack is
    what the browser gives."""
    if sys.getrecursionlimit() < DEPTH and sys.platform != "emscripten":
        sys.setrecursionlimit(DEPTH)
        grow_stack()


def grow_stack() -> None:
    """Lets the C stack of the main thread grow beyond the usual 8 MB, where the system knows of such a limit."""
    try:
        import resource
    except ImportError:
        return
    soft, most = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = STACK if most == resource.RLIM_INFINITY else min(STACK, most)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_STACK, (wanted, most))


def drain_tasks() -> None:
    """Gives tasks that are still running a moment to finish."""
    if "sema_runtime.tasks.scheduler" in sys.modules:
        from sema_runtime.tasks import drain

        drain()


def called_back(function: Callable[[], Any]) -> Any:
    """The value of a function that a builtin calls: tasks take their turns around it (`tasks/callbacks.py`)."""
    if "sema_runtime.tasks.scheduler" in sys.modules:
        from sema_runtime.tasks.callbacks import call_native

        return call_native(_call, False, function)
    try:
        return function()
    finally:
        if "sema_runtime.tasks.scheduler" in sys.modules:  # it has started the first tasks
            from sema_runtime.tasks.scheduler import scheduler

            scheduler().pause()


def _call(function: Callable[[], Any]) -> Any:
    return function()


def flush_output() -> str:
    """Flushes stdout. Returns the problem when there is no room for the output: later output is then dropped.

    Raises BrokenPipeError where nobody reads.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _write_nowhere()
        return f"cannot write to stdout: {error.strerror}"
    return ""


def _write_nowhere() -> None:
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  keeps the flush at exit from failing again
