"""A filter of system calls: a process that has it can compute, use its memory, and read and write what is open.

Written for the machine's own instruction set; other calls fail with EPERM, those of another set end the process.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

from sema_runtime.box.libc import system_library

ALLOWED = {  # by machine: audit architecture, and the numbers of system calls
    "x86_64": (
        0xC000003E,
        {
            "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9, "mprotect": 10,
            "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24,
            "mremap": 25, "madvise": 28, "nanosleep": 35, "getpid": 39, "exit": 60, "gettimeofday": 96, "getrusage": 98,
            "sigaltstack": 131, "gettid": 186, "futex": 202, "restart_syscall": 219, "clock_gettime": 228,
            "clock_nanosleep": 230, "exit_group": 231, "prlimit64": 302, "getrandom": 318,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "close": 57, "lseek": 62, "read": 63, "write": 64, "ppoll": 73, "fstat": 80, "exit": 93, "exit_group": 94,
            "futex": 98, "nanosleep": 101, "clock_gettime": 113, "clock_nanosleep": 115, "sched_yield": 124,
            "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139,
            "getrusage": 165, "gettimeofday": 169, "getpid": 172, "gettid": 178, "brk": 214, "munmap": 215,
            "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233, "prlimit64": 261, "getrandom": 278,
        },
    ),
}  # fmt: skip
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050001, 0x80000000  # 0x50001: EPERM
NUMBER_AT, ARCHITECTURE_AT = 0, 4  # in what the kernel shows of a call
FIRST_AT, SECOND_AT = 16, 24  # the lower halves of its first arguments
OWN_LIMIT = ("prlimit64", 0, 0)  # allowed of this process alone, and of its processor time alone
OTHER_TABLE = 0x40000000  # calls of x86's x32 table
PR_SET_SECCOMP, MODE_FILTER = 22, 2


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def is_known() -> bool:
    """Whether there is a filter for this machine."""
    return platform.system() == "Linux" and platform.machine() in ALLOWED


def program() -> bytes:
    """The filter for this machine, as the kernel takes it."""
    architecture, calls = ALLOWED[platform.machine()]

    def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("HBBI", code, if_true, if_false, value)

    parts = [
        instruction(LOAD, ARCHITECTURE_AT),
        instruction(JUMP_EQUAL, architecture, 1, 0),
        instruction(RETURN, KILL),
        instruction(LOAD, NUMBER_AT),
        instruction(JUMP_AT_LEAST, OTHER_TABLE, 0, 1),
        instruction(RETURN, REFUSE),
    ]
    limited, process, resource = OWN_LIMIT
    for name, number in calls.items():
        if name != limited:
            parts += [instruction(JUMP_EQUAL, number, 0, 1), instruction(RETURN, ALLOW)]
    parts += [
        instruction(JUMP_EQUAL, calls[limited], 1, 0),
        instruction(RETURN, REFUSE),
        instruction(LOAD, FIRST_AT),
        instruction(JUMP_EQUAL, process, 1, 0),
        instruction(RETURN, REFUSE),
        instruction(LOAD, SECOND_AT),
        instruction(JUMP_EQUAL, resource, 1, 0),
        instruction(RETURN, REFUSE),
        instruction(RETURN, ALLOW),
    ]
    return b"".join(parts)


def restrict(filter_: bytes) -> None:
    """Puts the filter on this process for ever. Raises OSError where the kernel refuses."""
    held = _Program(len(filter_) // 8, filter_)
    if system_library().prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(held), 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"seccomp: {os.strerror(error)}")
