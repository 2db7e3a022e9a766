"""Takes away what Windows doesn't have: run as a script, it then runs `sema ARGS`; `--import` imports every module.

What the standard library and other packages take from there when they are imported is theirs, so they come first.
"""

from __future__ import annotations

import asyncio
import importlib
import multiprocessing
import os
import select
import selectors
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

USED_BY_OTHERS = (asyncio, multiprocessing, selectors, shutil, subprocess, tarfile, tempfile, zipfile)
CALLS = [
    "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "O_NOCTTY", "O_SYNC", "O_DSYNC", "O_NOATIME", "O_PATH",
    "O_TMPFILE", "fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "getpgid", "getpgrp", "setpgid",
    "setsid", "getsid", "killpg", "mkfifo", "mknod", "openpty", "sysconf", "fchmod", "fchown", "chown", "lchown",
    "tcgetpgrp", "tcsetpgrp", "ttyname", "ctermid", "wait", "wait3", "wait4", "waitid", "WIFEXITED", "WNOHANG",
    "WEXITSTATUS", "WIFSIGNALED", "WTERMSIG", "register_at_fork", "pread", "pwrite", "preadv", "pwritev",
    "posix_spawn", "sched_getaffinity", "sched_yield", "statvfs", "fstatvfs", "uname", "sendfile", "getloadavg",
    "nice", "chroot", "pathconf", "fpathconf", "getxattr", "listxattr", "pipe2", "readv", "writev", "sync",
    "fdatasync", "lockf", "getgroups", "get_blocking", "set_blocking", "fchdir",
]  # fmt: skip
SIGNALS = ("SIGINT", "SIGTERM", "SIGABRT", "SIGFPE", "SIGILL", "SIGSEGV", "SIG_DFL", "SIG_IGN")
SIGNAL_CALLS = [
    "alarm", "setitimer", "getitimer", "pthread_kill", "pthread_sigmask", "sigwait", "sigpending", "siginterrupt",
    "pause",
]  # fmt: skip
MODULES = {"fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "posix", "curses", "readline", "syslog"}
OTHERS = (
    "uvicorn", "ipykernel.kernelapp", "jupyter_client", "mcp.server", "pygls.lsp.server", "pytest",
    "prompt_toolkit.shortcuts",
)  # fmt: skip
PACKAGES = ("sema_runtime", "semac")


class Missing:
    """The first finder: these modules aren't there."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return None


def take_away() -> None:
    for module, names in ((os, CALLS), (signal, SIGNAL_CALLS), (select, ["poll", "epoll", "kqueue"])):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in [name for name in vars(signal) if name.startswith("SIG") and name not in SIGNALS]:
        delattr(signal, name)
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Missing())  # type: ignore[arg-type]


def import_all() -> None:
    """Imports every module of ours whose own dependencies are there."""
    for package in PACKAGES:
        root = Path(importlib.import_module(package).__file__ or "").parent
        for path in sorted(root.rglob("[a-z]*.py")):
            importlib.import_module(".".join([package, *path.relative_to(root).with_suffix("").parts]))


if __name__ == "__main__":
    import click  # noqa: F401
    import httpx  # noqa: F401

    for name in OTHERS:
        importlib.import_module(name)
    take_away()
    if sys.argv[1:] == ["--import"]:
        import_all()
    else:
        from semac.cli.entry import main

        sys.exit(main())
