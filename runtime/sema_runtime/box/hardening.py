"""Hardens a process before it sees a program: in this order, each layer by itself.

descriptors → own user → resource limits → no new privileges → landlock → seccomp. Whoever can't have a layer learns so
from `probe.py` and decides; a layer that was promised and fails ends the process.
"""

from __future__ import annotations

import ctypes
import os
import time
from contextlib import suppress

from sema_runtime.box.libc import system_library

PIPE = 2  # the descriptor that is left: native libraries write their last words there
NOBODY = 65534
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
SIGKILL = 9

_end = 0  # the limit of this process, in seconds of the processor


def harden(
    pipe: int, memory: int, cpu_seconds: int, layers: frozenset[str], filter_: bytes, denied: int | None = None
) -> None:
    """memory: bytes of address space, 0 for no limit. layers: of probe.LAYERS, those to apply. denied: the descriptor
    of landlock's ruleset, where there is one already.

    Raises OSError without them.
    """
    import resource  # noqa: F401  not every system has it, and the user that this process becomes may not read it

    keep_only(pipe, denied)
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    prctl = getattr(system_library(), "prctl", None)  # Linux's
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if memory:
        limit("AS", memory)
        limit("DATA", memory)
    allow_processor_seconds(cpu_seconds)
    limit("CORE", 0)
    limit("FSIZE", 0)
    limit("NPROC", 0)
    limit("MEMLOCK", 0)
    if prctl is not None and prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no new privileges: refused")
    if "landlock" in layers:
        from sema_runtime.box import landlock

        landlock.restrict(denied)
    limit("NOFILE", PIPE + 1)
    if "seccomp" in layers:
        from sema_runtime.box import seccomp

        seccomp.restrict(filter_)


def allow_processor_seconds(seconds: int) -> None:
    """Ends this process by a signal once it has used that much more of the processor."""
    global _end
    end = int(time.process_time()) + 1 + seconds
    if end == _end:
        return
    import resource

    with suppress(OSError, ValueError):  # a C library that asks the kernel otherwise than the filter allows
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        _end = end


def keep_only(pipe: int, other: int | None = None) -> None:
    """Closes all descriptors but one, which becomes PIPE, and another one above that. What writes to those that were
    closed gets an error."""
    if pipe != PIPE:
        os.dup2(pipe, PIPE)
    last = PIPE if other is None else other
    os.closerange(0, PIPE)
    os.closerange(PIPE + 1, last)
    os.closerange(last + 1, 1 << 16)


def limit(name: str, most: int) -> None:
    """Sets a limit of the process; name: what follows `RLIMIT_` in the name of its kind."""
    import resource

    kind = getattr(resource, f"RLIMIT_{name}", None)
    if kind is None:
        return
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(kind, (most, most))


def address_space() -> int:
    """The bytes of address space that this process uses; 0 where the system doesn't say."""
    try:
        with open("/proc/self/statm") as facts:
            return int(facts.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
