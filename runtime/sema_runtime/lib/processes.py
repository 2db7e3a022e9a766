"""Other programs that run side by side with this one: `proc/spawn` and what can be done with the process it gives."""

from __future__ import annotations

import os
import subprocess

from sema_runtime.catalogue import builtin
from sema_runtime.lib.system import environment, in_background
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import IoError, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any


class Process:
    """A started program with pipes to its standard streams."""

    __slots__ = ("__weakref__", "handle", "name")
    type_name = "process"

    def __init__(self, name: str, handle: subprocess.Popen[bytes]) -> None:
        self.name = name
        self.handle = handle

    def sema_text(self) -> str:
        return f"<process {self.name} {self.handle.pid}>"


def process_of(value: Any) -> Process:
    """The value, checked to be a process."""
    if type(value) is not Process:
        type_error("process", value)
    return value


@builtin("proc/spawn", cap="process")
def proc_spawn(argv: Any, options: Any = None) -> Process:
    """Starts a program, given with its arguments as a list. options: :cwd, :env (added to the environment)."""
    if not isinstance(argv, (List, tuple, list)):
        type_error("list or vector", argv)
    line = list(argv)
    for part in line:
        if type(part) is not str:
            type_error("string", part)
    if not line:
        raise SemaError("proc/spawn: argv must not be empty")
    settings = options if isinstance(options, Map) else Map()
    pipe = subprocess.PIPE
    try:
        handle = subprocess.Popen(
            line,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=settings.lookup(keyword("cwd")),
            env=environment(settings.lookup(keyword("env"))),
        )
    except OSError as error:
        raise IoError(f"proc/spawn {line[0]}: {error.strerror}") from None
    for stream in (handle.stdout, handle.stderr):
        assert stream is not None
        os.set_blocking(stream.fileno(), False)
    return Process(line[0], handle)


@builtin("proc/write-stdin", returns="nil", cap="process")
def proc_write_stdin(process: Any, text: Any) -> None:
    """Writes text to the input of the process."""
    stdin = process_of(process).handle.stdin
    if type(text) is not str:
        type_error("string", text)
    if stdin is None or stdin.closed:
        raise SemaError("proc/write-stdin: stdin is closed")
    try:
        stdin.write(text.encode())
        stdin.flush()
    except OSError as error:
        raise IoError(f"proc/write-stdin: {error.strerror}") from None


@builtin("proc/close-stdin", returns="nil", cap="process")
def proc_close_stdin(process: Any) -> None:
    """Ends the input of the process."""
    stdin = process_of(process).handle.stdin
    if stdin is not None and not stdin.closed:
        stdin.close()


@builtin("proc/read-stdout", returns="string", cap="process")
def proc_read_stdout(process: Any) -> str:
    """What the process has written to its output since the last time; doesn't wait."""
    return _available(process_of(process).handle.stdout)


@builtin("proc/read-stderr", returns="string", cap="process")
def proc_read_stderr(process: Any) -> str:
    """What the process has written to its error output since the last time; doesn't wait."""
    return _available(process_of(process).handle.stderr)


def _available(stream: IO[bytes] | None) -> str:
    if stream is None or stream.closed:
        return ""
    return (stream.read() or b"").decode(errors="replace")


@builtin("proc/running?", returns="bool", cap="process")
def proc_is_running(process: Any) -> bool:
    """Whether the process has not ended yet."""
    return process_of(process).handle.poll() is None


@builtin("proc/exit-code", returns="int|nil", cap="process")
def proc_exit_code(process: Any) -> int | None:
    """The status that the process ended with, nil while it runs."""
    return process_of(process).handle.poll()


@builtin("proc/wait", returns="int", cap="process")
def proc_wait(process: Any) -> int:
    """Waits until the process ends, other tasks go on meanwhile; gives its status."""
    code: int = in_background(process_of(process).handle.wait)
    return code


@builtin("proc/kill", returns="nil", cap="process")
def proc_kill(process: Any) -> None:
    """Ends the process by force."""
    process_of(process).handle.kill()


@builtin("proc/close", returns="nil", cap="process")
def proc_close(process: Any) -> None:
    """Ends the process if it still runs, and closes its streams."""
    handle = process_of(process).handle
    if handle.poll() is None:
        handle.kill()
        handle.wait()
    for stream in (handle.stdin, handle.stdout, handle.stderr):
        if stream is not None:
            stream.close()
