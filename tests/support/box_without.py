"""The zygote of the box with layers switched off, for tests of the layers behind them. Run as `python FILE LAYERS FD`.

LAYERS: keys of SWITCHES, with commas. `hash/md5` becomes a builtin that does harm, as a mistake of the library would.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from sema_runtime.box import hardening
from sema_runtime.box.codec import Encoder
from sema_runtime.box.hardening import PIPE
from sema_runtime.lib.text import crypto
from sema_runtime.lib.text import format as formatting
from sema_runtime.support.regex import compiled
from semac.box import worker, zygote
from semac.generate import session_names
from semac.syntax import reader

OUTSIDE = (
    "sema_runtime.lib.files.files", "sema_runtime.lib.system.system", "sema_runtime.lib.time.datetime",
    "sema_runtime.lib.network.http_client", "subprocess", "socket", "_thread",
)  # fmt: skip


def harm(kind: str) -> Any:
    """What native code that a program has taken over might do."""
    acts: dict[str, Callable[[], Any]] = {
        "fault": lambda: ctypes.string_at(0),
        "limit": lambda: os.kill(os.getpid(), signal.SIGXCPU),
        "exit": lambda: os._exit(0),
        "half": lambda: (os.write(PIPE, b"\0\0\1\0{"), os._exit(0)),
        "garbage": lambda: (os.write(PIPE, b"\0\0\0\4\xff\xfe{]"), os._exit(0)),
        "huge": lambda: os.write(PIPE, b"\xff\xff\xff\xff"),
        "deep": lambda: os.write(PIPE, (2_000_000).to_bytes(4, "big") + b"[" * 2_000_000),
        "forged": forge,
        "forever": lambda: sum(itertools.repeat(1)),
        "pollute": pollute,
        "polluted": lambda: hasattr(crypto, "polluted") or sys.getrecursionlimit() == 5_000,
        "read": lambda: os.read(os.open("/etc/passwd", os.O_RDONLY), 10).decode(),
        "list": lambda: os.listdir("/"),
        "fork": lambda: os.fork(),
        "connect": lambda: socket.create_connection(("127.0.0.1", 9), 1),
        "kill": lambda: os.kill(os.getppid(), signal.SIGKILL),
        "thread": lambda: __import__("_thread").start_new_thread(print, ()),
        "environment": lambda: repr(dict(os.environ)),
        "descriptors": lambda: sum(1 for number in range(64) if is_open(number)),
        "memory": lambda: len(bytearray(1 << 30)),
        "processor": lambda: resource.getrlimit(resource.RLIMIT_CPU)[0],
        "address-space": lambda: resource.setrlimit(resource.RLIMIT_AS, resource.getrlimit(resource.RLIMIT_AS)),
    }
    return acts[kind]()


def forge() -> None:
    """Calls of tools that nobody granted, and an outcome with things that no program has."""
    os.write(PIPE, worker.to_frame({"call": 10**30, "asked": [["__import__", [{"x": "os"}]]]}))


def pollute() -> bool:
    crypto.polluted = True
    sys.setrecursionlimit(5_000)
    return True


def is_open(number: int) -> bool:
    try:
        os.lseek(number, 0, os.SEEK_CUR)
    except OSError as problem:
        return problem.errno != 9
    return True


def without_profile() -> None:
    worker.admit = lambda *_: None  # type: ignore[assignment]
    zygote.restrict_forms = lambda: None  # type: ignore[assignment]


def without_memory_limit() -> None:
    limit = hardening.limit
    hardening.limit = lambda name, most: None if name == "AS" else limit(name, most)  # type: ignore[assignment]


def deep_recursion() -> None:
    harden = zygote.harden

    def hardened(*how: Any) -> None:
        harden(*how)
        sys.setrecursionlimit(10**8)

    zygote.harden = hardened  # type: ignore[attr-defined]


def plain_names() -> None:
    session_names.SharedNames.global_name = lambda self, sema: sema  # type: ignore[method-assign]


def plain_regex() -> None:
    compiled.Compiled.is_safe = lambda self, text: True  # type: ignore[method-assign]


def python_format() -> None:
    formatting.format_ = lambda template, *values: template.format(*values)  # type: ignore[assignment]


def boundless_encoder() -> None:
    worker.Encoder = lambda nodes: Encoder(10**12)  # type: ignore[misc,assignment]


SWITCHES: dict[str, Callable[[], None]] = {
    "profile": without_profile,
    "check": lambda: setattr(worker, "check_tree", lambda *_: None),
    "names": plain_names,
    "integers": lambda: setattr(zygote, "guard_integers", lambda: None),
    "digits": lambda: setattr(zygote, "MOST_DIGITS", 0),
    "regex": plain_regex,
    "format": python_format,
    "recursion": deep_recursion,
    "nesting": lambda: setattr(reader, "DEPTH_LIMIT", 10**9),
    "handlers": lambda: setattr(worker, "ask_first", lambda nodes: None),
    "prints": lambda: setattr(worker.Prints, "append", list.append),
    "encoder": boundless_encoder,
    "memory": without_memory_limit,
    "visible": lambda: setattr(worker.sys.modules["semac.box.verdicts"], "visible", lambda text: text),
}


def main() -> None:
    for name in filter(None, sys.argv.pop(1).split(",")):
        SWITCHES[name]()
    crypto.hash_md5 = harm
    for module in OUTSIDE:
        import_module(module)
    zygote.main()


if __name__ == "__main__":
    main()
