"""Running a file as a program, from a warm cache without loading the compiler."""

from __future__ import annotations

import os
import sys
from types import CodeType

from semac.limits import deepen

PIPE_CLOSED = 141
NOT_FOUND = "file not found: '{}' (not a file or command)\n\nRun 'sema --help' for available commands."

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def run_file(path: str, arguments: Sequence[str] = ()) -> int:
    """Runs a program; the exit status. arguments: what `(sys/args)` shows behind the path."""
    source = read_source(path)
    if source is None:
        return 1
    return guarded(lambda: _run(path, source, arguments), path)


def read_source(path: str, missing: str = NOT_FOUND) -> bytes | None:
    """The bytes of a source file; None, and a message on stderr, when it can't be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        _tell(f"Error: {missing.format(path)}")
    except OSError as error:
        _tell(f"Error: cannot read '{path}': {error.strerror}")
    return None


def _tell(text: str) -> None:
    from sema_runtime.support.visible import tell

    tell(text)


def _run(path: str, source: bytes, arguments: Sequence[str]) -> None:
    from semac.imports.cache import sandboxed

    if sandboxed():  # no file that the program can write may stand in for a module that is imported late
        del sys.path[:1]
    code = program_code(path, source)
    sys.argv = [path, *arguments]
    look_beside(path)
    deepen()
    exec(code, {"__name__": "__main__", "__file__": path})
    drain()


def look_beside(path: str) -> None:
    """Has imports of Python modules look in the program's folder first, but not in a sandbox."""
    from semac.imports.cache import sandboxed

    if not sandboxed():
        sys.path[:1] = [os.path.dirname(os.path.realpath(path))]


def drain() -> None:
    """Gives tasks that are still running a moment to finish."""
    if "sema_runtime.tasks.scheduler" in sys.modules:
        from sema_runtime.tasks import drain as finish

        finish()


def program_code(path: str, source: bytes) -> CodeType:
    """The code of a file compiled as a whole program, from the cache or fresh. Raises SemaError.

    It is kept beside the code of the same file as a module, under `NAME.run`: a program may be compiled more freely.
    """
    from semac.imports import cache

    real = os.path.realpath(path)
    kept = cache.cache_path(f"{os.path.splitext(real)[0]}.run.sema")
    known = cache.load(kept, path, real, source)
    if known is not None:
        return known
    from semac.imports.finder import decode
    from semac.pipeline import compile_source

    unit = compile_source(decode(source, path), real, "program")
    code = unit.code
    tell_warnings(unit)
    if unit.unit.is_portable and not unit.unit.warnings:  # each run says them
        cache.store(kept, source, code, {file: cache.file_hash(file) for file in unit.macro_files})
    return code


def tell_warnings(unit: Any) -> None:
    """Writes to stderr what compilation found to be a mistake although the language accepts it."""
    if unit.unit.warnings:
        from semac.diagnostics.render import show_warning

        for warning in unit.unit.warnings:
            show_warning(warning, unit.filename, {unit.filename: unit.text})


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
            from semac.diagnostics.render import show_error

            if prefix:
                _tell(prefix)
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


def flush_output() -> str:
    """Writes what was printed. What is wrong, when there is no room for it: nothing is written then from here on.

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
            os.dup2(null, descriptor)  # what is still waiting can be flushed at exit
    os.close(null)
    return PIPE_CLOSED


def _write_nowhere() -> None:
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  keeps the flush at exit from failing again
