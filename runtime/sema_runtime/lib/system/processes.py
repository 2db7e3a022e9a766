"""Other programs that run concurrently with this one: `proc/spawn` and the functions of its handles."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.handles import Handles
from sema_runtime.support.text_arguments import text_of
from sema_runtime.tasks.children import Child, Settings, arguments, piped, refusal, write_all
from sema_runtime.tasks.threads import in_background
from sema_runtime.values.errors import IoError, SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Lock
    from typing import Any


class Process:
    """A program with pipes to its standard streams."""

    __slots__ = ("child", "writing")

    def __init__(self, child: Child, writing: Lock) -> None:
        self.child = child
        self.writing = writing  # held while something is written to its input


processes = Handles("integer (proc handle)", "no such handle")


def proc_child(function: str, handle: Any) -> Child:
    """The program of a handle."""
    process: Process = processes.get(function, handle)
    return process.child


@builtin("proc/spawn", type="seq str, dict? -> int", cap="process")
def proc_spawn(argv: Any, options: Any = None) -> int:
    """Starts a program, given with its arguments as a list or vector, and returns a handle.

    options: :cwd, :env (a map, added to the environment). The program's output is collected until it is read. A program
    with 256 MiB of unread output is ended; so are programs that still run when this one ends.

    (define p (proc/spawn ["cat"]))
    (proc/write-stdin p "meow")
    (proc/close-stdin p)
    (proc/wait p) => 0
    (proc/read-stdout p) => "meow"
    (proc/close p)
    (proc/spawn ["no-such-program"]) ! proc/spawn no-such-program: No such file or directory
    """
    from threading import Lock

    line = arguments("proc/spawn", argv)
    settings = Settings("proc/spawn", options)
    try:
        child = piped(line, settings, with_input=True)
    except (OSError, ValueError) as error:
        raise SemaError(refusal("proc/spawn", line[0], settings, error)) from None
    return processes.add(Process(child, Lock()))


@builtin("proc/write-stdin", type="int, str -> nil", cap="process")
def proc_write_stdin(proc: Any, text: Any) -> None:
    """Writes text to the stdin of a process, and waits until the process or its pipe has taken everything.

    Cancelling the waiting task ends the process, which has read only part of the text.

    (define p (proc/spawn ["cat"]))
    (proc/write-stdin p "meow")
    (proc/close-stdin p)
    (proc/wait p)
    (proc/read-stdout p) => "meow"
    """
    process: Process = processes.get("proc/write-stdin", proc)
    data = text_of(text).encode(errors="surrogateescape")
    stdin = process.child.handle.stdin
    assert stdin is not None

    def write() -> None:
        with process.writing:
            if stdin.closed:
                raise SemaError("proc/write-stdin: stdin already closed")
            write_all(stdin, data)

    try:
        in_background(write, stop=process.child.kill)
    except OSError as error:
        raise IoError(f"proc/write-stdin: {error.strerror}") from None


@builtin("proc/close-stdin", type="int -> nil", cap="process")
def proc_close_stdin(proc: Any) -> None:
    """Closes the stdin of a process.

    (define p (proc/spawn ["wc" "-c"]))
    (proc/close-stdin p)
    (proc/wait p) => 0
    """
    process = processes.get("proc/close-stdin", proc)
    if not process.writing.acquire(blocking=False):
        raise SemaError(f"proc/close-stdin: handle {proc} is busy — a proc/write-stdin is in flight on it")
    try:
        _close_stdin(process)
    finally:
        process.writing.release()


def _close_stdin(process: Process) -> None:
    stdin = process.child.handle.stdin
    assert stdin is not None
    stdin.close()


@builtin("proc/read-stdout", type="int -> str", cap="process")
def proc_read_stdout(proc: Any) -> str:
    """The text that a process has written to stdout since the last call, without waiting. Bytes that aren't UTF-8
    become `�`.

    (define p (proc/spawn ["echo" "hello"]))
    (proc/wait p)
    (proc/read-stdout p) => "hello\\n"
    (proc/read-stdout p) => ""
    """
    return _taken("proc/read-stdout", proc, 0)


@builtin("proc/read-stderr", type="int -> str", cap="process")
def proc_read_stderr(proc: Any) -> str:
    """The text that a process has written to stderr since the last call, without waiting.

    (define p (proc/spawn ["sh" "-c" "echo oops >&2"]))
    (proc/wait p)
    (proc/read-stderr p) => "oops\\n"
    """
    return _taken("proc/read-stderr", proc, 1)


def _taken(function: str, handle: Any, stream: int) -> str:
    child = proc_child(function, handle)
    if child.exceeded:
        raise SemaError(f"{function}: unread output of handle {handle} exceeded the {child.limit}-byte limit")
    return child.text(stream)


@builtin("proc/running?", type="int -> bool", cap="process")
def proc_is_running(proc: Any) -> bool:
    """Whether a process is still running.

    (define p (proc/spawn ["sleep" "60"]))
    (proc/running? p) => #t
    (proc/kill p)
    """
    return proc_child("proc/running?", proc).status() is None


@builtin("proc/exit-code", type="int -> int|nil", cap="process")
def proc_exit_code(proc: Any) -> int | None:
    """The exit status of a process: -1 when a signal ended it, nil while it runs.

    (define p (proc/spawn ["sh" "-c" "exit 2"]))
    (proc/wait p)
    (proc/exit-code p) => 2
    """
    return proc_child("proc/exit-code", proc).status()


@builtin("proc/wait", type="int -> int", cap="process")
def proc_wait(proc: Any) -> int:
    """Waits until a process ends and returns its exit status, -1 when a signal ended it; other tasks run meanwhile.

    Afterwards all its output can be read. Cancelling the waiting task ends the process.

    (define p (proc/spawn ["sh" "-c" "echo done; exit 2"]))
    (proc/wait p) => 2
    (proc/read-stdout p) => "done\\n"
    """
    child = proc_child("proc/wait", proc)
    code: int = in_background(child.wait, stop=child.kill)
    return code


@builtin("proc/kill", type="int -> nil", cap="process")
def proc_kill(proc: Any) -> None:
    """Kills a process and the processes it has started.

    (define p (proc/spawn ["sleep" "60"]))
    (proc/kill p)
    (proc/wait p) => -1
    """
    proc_child("proc/kill", proc).kill()


@builtin("proc/close", type="int -> nil", cap="process")
def proc_close(proc: Any) -> None:
    """Ends a process if it still runs, closes its streams and forgets the handle. Unknown handles are ignored.

    (define p (proc/spawn ["sleep" "60"]))
    (proc/close p)
    (try (proc/running? p) (catch e :gone)) => :gone
    """
    process: Process | None = processes.forget(proc)
    if process is None:
        return
    child = process.child
    child.closed = True
    child.kill()

    def finish() -> None:
        child.wait()
        with process.writing:
            _close_stdin(process)

    in_background(finish)
