"""The processes of `sema eval`: what the user started, a supervisor, and the worker that runs programs.

    sema eval  ──fork──>  supervisor  ──fork──>  worker  ──>  whatever a program starts

The supervisor has the compiler loaded, so that a new worker costs a fork. It alone keeps time and counts memory, and it
ends a worker together with all its descendants; the program needn't cooperate. Each process ends when its parent does,
however that died. On Linux the kernel ensures that; elsewhere a worker ends with its questions.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from sema_runtime.support.visible import tell

PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36  # of prctl(2)
STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
END_SECONDS = 10.0  # after which processes that SIGKILL doesn't end are left alone: the system holds them
PAUSE = 0.001
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Stopped(BaseException):
    """A signal asked the supervisor to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def supervised(action: Callable[[], int]) -> int:
    """The exit status of action, which runs as the supervisor. Signals are passed on to it."""
    if not hasattr(os, "fork"):
        tell("Error: sema eval needs processes of its own (fork), which this system lacks; use sema -e or sema FILE")
        return 1
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _supervise(action, parent)

    def pass_on(number: int, _: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in STOPPING:
        signal.signal(number, pass_on)
    _, status = os.waitpid(child, os.WUNTRACED)
    while os.WIFSTOPPED(status):  # by a program that it runs: it must continue, to keep time
        pass_on(signal.SIGCONT, None)
        _, status = os.waitpid(child, os.WUNTRACED)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        _die_of(-code)
    return code


def _die_of(number: int) -> None:
    """Ends this process by the signal that ended its child, as a shell expects."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _supervise(action: Callable[[], int], parent: int) -> NoReturn:
    status = 1
    try:
        os.setsid()  # the terminal's Ctrl-C comes once, from the parent
        _control(PARENT_DEATH_SIGNAL, signal.SIGTERM)
        _control(CHILD_SUBREAPER, 1)  # orphans of the program become children of this process, which ends them
        for number in STOPPING:
            signal.signal(number, _stop)
        if os.getppid() == parent:
            status = action()
        sys.stdout.flush()
    except Stopped as stopped:
        if stopped.number == signal.SIGINT:
            print("Error: interrupted", file=sys.stderr)
        else:
            signal.signal(stopped.number, signal.SIG_DFL)
            os.kill(os.getpid(), stopped.number)
    except BrokenPipeError:
        from semac.cli.exits import pipe_closed

        status = pipe_closed()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(status)


def _stop(number: int, _: object) -> None:
    for other in STOPPING:
        signal.signal(other, signal.SIG_IGN)
    raise Stopped(number)


def _control(option: int, value: int) -> None:
    """prctl(2), where there is one."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


# Workers


def forked(work: Callable[[], object]) -> int:
    """The process id of a new worker, which does the work and must not return from it."""
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        for number in STOPPING:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        os.setsid()
        _control(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        _control(CHILD_SUBREAPER, 1)  # so that the worker knows of processes that a program leaves behind
        if os.getppid() == parent:
            work()
    finally:
        os._exit(1)


def end_all(worker: int) -> int:
    """Ends a worker and everything that descends from it or from this process. Returns the status of the worker.

    A process that starts meanwhile is found in the next round, since orphans become children of this process.
    """
    worker_status = 0
    until = time.monotonic() + END_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            os.killpg(worker, signal.SIGKILL)
        for process in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        try:
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if not process:
                    break
                if process == worker:
                    worker_status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            break
        time.sleep(PAUSE)
    return worker_status


def descendants(process: int) -> list[int]:
    """The ids of all descendants of a process; none where the system doesn't list them."""
    if not os.path.exists("/proc/self/task"):
        return []
    below: list[int] = []
    waiting = [process]
    while waiting:
        children = _children(waiting.pop())
        below += children
        waiting += children
    return below


def _children(process: int) -> list[int]:
    """The children of all threads of a process."""
    folder = f"/proc/{process}/task"
    try:
        threads = os.listdir(folder)
    except OSError:
        return []
    children: list[int] = []
    for thread in threads:
        try:
            with open(f"{folder}/{thread}/children", "rb") as file:
                children += map(int, file.read().split())
        except OSError:
            continue
    return children


def resident(processes: list[int]) -> int:
    """The bytes of memory that processes use together. Shared anonymous mappings count once."""
    return sum(_statm(process, 1) - _statm(process, 2) for process in processes) + max(
        map(_shared, processes), default=0
    )


def _shared(process: int) -> int:
    """The bytes of shareable memory that a process uses, files on disk excluded."""
    try:
        with open(f"/proc/{process}/status", "rb") as file:
            _, _, rest = file.read().partition(b"\nRssShmem:")
        return int(rest.split(maxsplit=1)[0]) << 10
    except (OSError, IndexError, ValueError):
        return 0


def data_size() -> int:
    """The bytes that RLIMIT_DATA counts for this process: those it may have written to. 0 where the system doesn't
    tell."""
    return _statm("self", 5)


def _statm(process: int | str, column: int) -> int:
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return int(file.read().split()[column]) * PAGE
    except (OSError, IndexError, ValueError):
        return 0


def limit_data(extra: int) -> None:
    """Limits the memory of this process, and of each that it starts, to its current size and extra bytes."""
    try:
        import resource
    except ImportError:
        return
    wanted = data_size() + extra
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY or wanted < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, wanted))


def finish(status: int) -> NoReturn:
    """Ends this process as Python does at the end of a program, but without returning to the code that forked it."""
    import atexit

    threading: Any = sys.modules.get("threading")
    with contextlib.suppress(BaseException):
        if threading is not None:
            threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)
