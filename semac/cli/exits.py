"""How a command ends: errors shown, output flushed, closed pipes, the exit status."""

from __future__ import annotations

import os
import sys

from semac.process import flush_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PIPE_CLOSED = 141


def guarded(
    action: Callable[[], Any], file: str = "<input>", sources: dict[str, str] | None = None, prefix: str = ""
) -> int:
    """Runs an action of the command line and turns what it raises into a message and an exit status.

    prefix: a line to write above an error. 0: it ended; 1: an error, shown on stderr, or Ctrl-C; 130: a second Ctrl-C
    during the clean-up; the status given to `(exit N)`; PIPE_CLOSED.
    """
    try:
        try:
            action()
            return _flushed()
        except KeyboardInterrupt:  # tasks still waiting run their clean-up when they are dropped
            from warnings import filterwarnings

            from semac.diagnostics.render import restore_terminal

            filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)  # it was about to begin
            restore_terminal()
            print("Error: interrupted", file=sys.stderr)
            return 1
        except SystemExit as exit_:
            return _flushed() or exit_status(exit_.code)
        except BaseException as error:
            if isinstance(error, BrokenPipeError) and nobody_reads():
                return pipe_closed()
            from sema_runtime.support.visible import tell
            from semac.diagnostics.render import show_error

            if prefix:
                tell(prefix)
            show_error(error, file, sources)
            return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return pipe_closed()


def _flushed() -> int:
    problem = flush_output()
    if problem:
        print(f"Error: {problem}", file=sys.stderr)
    return 1 if problem else 0


def exit_status(code: object) -> int:
    """The status of a SystemExit, as Python counts it."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    from sema_runtime.support.visible import at_error_terminal

    print(at_error_terminal(str(code)), file=sys.stderr)
    return 1


def nobody_reads() -> bool:
    """Whether stdout or stderr is a pipe whose reader is gone; True where the system can't tell."""
    import select

    if not hasattr(select, "poll"):
        return True
    poller = select.poll()
    for descriptor in (1, 2):
        poller.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poller.poll(0))


def pipe_closed() -> int:
    """Ends the output of a program that nobody reads any more, as of `sema ... | head`, without a word; the exit
    status, which is that of other tools in a shell: 128 and the number of SIGPIPE."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(null, descriptor)  # the rest can be flushed at exit
    os.close(null)
    return PIPE_CLOSED
