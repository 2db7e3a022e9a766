"""The commands `sema` and `semac`. Running a file from a warm cache doesn't load the command-line library."""

from __future__ import annotations

import _thread
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def main() -> int:
    """Runs `sema` and returns the exit status."""
    return guarding_pipes(_main)


def guarding_pipes(action: Callable[[], int]) -> int:
    """Runs an action and returns its exit status, or that of a command whose output nobody reads any more."""
    try:
        return action()
    except BrokenPipeError:
        from semac.cli.exits import pipe_closed

        return pipe_closed()


def prepare_process() -> None:
    """Settings of Python for a process that runs Sema programs."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        open_closed_streams()
    sys.set_int_max_str_digits(0)  # Sema's integers are read and printed whatever their size
    sys.unraisablehook = unraisable
    _thread._excepthook = thread_failed  # `threading` takes its hook from there when it is imported


def _main() -> int:
    prepare_process()
    args = sys.argv[1:]
    if len(args) == 1 and args[0].endswith(".sema"):
        from semac.cli.running import run_file

        return run_file(args[0])
    if not args:
        from semac.cli.repl.start import main as repl

        return repl()
    if args == ["eval", "--jsonl"]:
        from semac.cli.eval.answers import jsonl
        from semac.cli.eval.limits import Limits

        return jsonl(Limits())
    if args[:2] == ["workflow", "check"]:
        from sema_runtime.support.visible import escape_terminal
        from semac.cli.exits import guarded
        from semac.cli.workflow.check import main as check

        escape_terminal("--json" in args)

        status = 0

        def run() -> None:
            nonlocal status
            status = check(args[2:])

        return guarded(run) or status
    from semac.cli.main import main as full

    return full(args)


def open_closed_streams() -> None:
    """Replaces standard streams that were closed before the start. Reading them finds the end; writes are discarded."""
    import os

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - for as long as the program runs


def unraisable(problem: sys.UnraisableHookArgs) -> None:
    """Sends a Ctrl-C again that arrived where nothing can be raised: in `__del__`, or in the callback of a weak
    reference, of which imports make many. Python would show it and continue. Other errors are shown."""
    if problem.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(problem)
        return
    import os
    from _thread import start_new_thread
    from signal import SIGINT

    while True:
        try:
            start_new_thread(lambda: os.kill(os.getpid(), SIGINT), ())
            return
        except KeyboardInterrupt:  # the signal came before this hook ended, where it would be lost again
            continue


def thread_failed(args: Any) -> None:
    """Shows the error that ended a thread of the program (`threading.excepthook`)."""
    if args.exc_type is not SystemExit and sys.stderr is not None:
        from semac.diagnostics.tracebacks import thread_error

        sys.stderr.write(thread_error(args))
        sys.stderr.flush()


def main_compile() -> int:
    """Runs `semac`, which is `sema compile`, and returns the exit status."""
    sys.argv[1:1] = ["compile"]
    return main()


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        # A Ctrl-C that came while some library evaluated a text, as namedtuple does, has Python end `python -m ...` by
        # SIGINT, though it was handled long ago; it forgets that when a text is evaluated again.
        exec("")
