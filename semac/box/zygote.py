"""The process that forks workers: small, single-threaded, with everything loaded and no secret in it.

It reads one message a worker from its control socket (the worker's end of a pipe, and its limits) and answers
with the worker's process id. It never runs what a program says.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import pkgutil
import signal
import socket
import struct
import sys
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

from sema_runtime.box import landlock, seccomp
from sema_runtime.box.hardening import PIPE, address_space, harden
from sema_runtime.box.limits import Limits
from sema_runtime.box.probe import layers
from sema_runtime.values.digits import MOST_DIGITS
from semac.box import worker
from semac.box.compact import Census, close_gaps, gather, share_large_pages
from semac.box.discovery import load_texts
from semac.box.guards import guard_integers, guard_patterns
from semac.box.profile import MODULES, restrict_forms
from semac.box.suggestions import load_advice
from semac.fingerprint import DEBUGGERS
from semac.process import deepen

MOST_MESSAGE = 4096
DESCRIPTOR_SIZE = struct.calcsize("i")
DESCRIPTOR_SPACE = socket.CMSG_LEN(DESCRIPTOR_SIZE)
SLACK = 1 << 20  # bytes of the stack that are not reserved: its limit counts what the kernel keeps at its top
LOADED = (
    "sema_runtime.values", "sema_runtime.conditions", "sema_runtime.support", "sema_runtime.lib.collections",
    "sema_runtime.lib.language", "sema_runtime.lib.numbers", "sema_runtime.lib.text", "sema_runtime.lib.time",
    "semac.analyze", "semac.anf", "semac.expand", "semac.generate", "semac.ir", "semac.optimize",
    "semac.syntax", "semac.types", "semac.diagnostics",
)  # fmt: skip
EXTRA = (
    "sema_runtime.form_layout",
    "sema_runtime.lib.time.datetime", "sema_runtime.lib.text.crypto", "sema_runtime.lib.text.diff",
    "sema_runtime.lib.tasks.channels", "sema_runtime.lib.tasks.concurrency", "sema_runtime.tasks.callbacks",
    "sema_runtime.lib.language.control", "sema_runtime.lib.language.multimethods", "sema_runtime.values.promises",
    "unicodedata", "binascii", "difflib", "decimal", "fractions", "csv", "tomllib", "hashlib", "hmac", "array",
    "traceback",
)  # fmt: skip
WARM_UP = (
    "(define (f x) (* x 2)) (println (map f '(1 2))) (sort '(3 1 2)) {:a [1 2.5 \"x\" #\\a]}",
    "(try (car 5) (catch e (list (:message e) (:stack-trace e))))",
    "(define-record-type p (mk x) p? (x px)) (px (mk 1))",
    "(match [1 {:a 2}] ([x {:a y}] (+ x y)) (_ 0))",
    "(defmulti area (fn (s) (:k s))) (defmethod area :sq (fn (s) 1)) (area {:k :sq})",
    "(let loop ((i 0) (acc '())) (if (= i 3) (reverse acc) (loop (+ i 1) (cons i acc))))",
    "(list (regex/match \"a+\" \"caat\") (json/decode \"[1, {\\\"a\\\": null}]\") (json/encode {:a [1 2]}))",
    "(list (format \"~a ~s\" 1 2) (string/split \"a b\" \" \") (math/format-fixed 1.5 2) (time/format 0 \"%Y\"))",
    "(defmacro twice (x) (list '+ x x)) (twice 4)",
    "(foldl + 0 (range 10)) (error \"no\")",
    "(nosuch 1 2)", "(+ 1", "(car)", "(\"x\" 1)", "(/ 1 0)", "(nth [1] 5)", "(throw {:a 1})", "(return 5)", "(f 1 2 3",
    "(let ((x 1) (y)) x)", "(string-append 1 2)", "(file/read \"x\")", "(delay 1)", "(force (delay 1))", "(/ 1 3)",
    "(define (deep n) (+ 1 (deep n))) (deep 1)", "(list/sum '(1 2)) (sort-by first '((2) (1)))",
    "(string->number \"1/2\")", "(async/pool-map (fn (x) (* x 2)) (list 1 2) 2)", "(await (async (car 5)))",
)  # fmt: skip


def load_everything() -> None:
    """Imports all that a program may need: a hardened process can't."""
    for package in LOADED:
        folder = import_module(package)
        for part in pkgutil.walk_packages(folder.__path__, f"{package}."):
            if part.name not in DEBUGGERS:  # one that is loaded has the compiler leave code as it is
                load(part.name)
    for name in (*(f"sema_runtime.{module}" for module in MODULES), *EXTRA):
        load(name)


def load(name: str) -> None:
    try:
        import_module(name)
    except ImportError:  # an extra that isn't installed here
        return


def reserve_stack() -> None:
    """Takes the address space of the whole C stack now: a stack that can't grow, because a program has used up its
    memory, ends in a fault in place of an error. One page of it is written to; the others take no memory."""
    import ctypes
    import resource

    if not os.path.exists("/proc/self/maps"):
        return
    with open("/proc/self/maps") as regions:
        stack = next((line for line in regions if line.rstrip().endswith("[stack]")), None)
    most, _ = resource.getrlimit(resource.RLIMIT_STACK)
    if stack is not None and most != resource.RLIM_INFINITY:
        _, _, end = stack.split()[0].partition("-")
        ctypes.memset(int(end, 16) - most + SLACK, 0, 1)


def warm_up() -> None:
    """Runs programs of many kinds, for what they load at first use, and for code that has adapted to what it meets."""
    census = Census()
    for source in WARM_UP:
        census.run(lambda source=source: run(source))  # type: ignore[misc]
    gather(census.ordered())
    for source in WARM_UP:
        run(source)


def run(source: str) -> None:
    request = {"source": source, "data": {}, "inputs": [], "keeps": False, "tools": {}, "limits": vars(Limits())}
    worker.Runner(None).run(request)


def main(give_back: Callable[[], object] = bool) -> None:
    """give_back: called when all is loaded."""
    control = socket.socket(fileno=int(sys.argv[1]))
    os.environ.clear()
    sys.set_int_max_str_digits(MOST_DIGITS)
    sys.dont_write_bytecode = True
    available = layers()
    deepen()
    reserve_stack()
    load_everything()
    load_texts()
    load_advice()
    guard_integers()
    guard_patterns()
    restrict_forms()
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fork = forking()
    filter_ = seccomp.program() if "seccomp" in available else b""
    denied = landlock.ruleset() if "landlock" in available else None
    gc.collect()
    runner = worker.prepared()
    gc.collect()
    close_gaps()
    give_back()
    taken = address_space()
    gc.freeze()
    share_large_pages()
    control.sendall(json.dumps({"layers": sorted(available)}).encode() + b"\n")
    while True:
        message, ancillary, _, _ = control.recvmsg(MOST_MESSAGE, DESCRIPTOR_SPACE)
        if not message:
            os._exit(0)
        descriptor = int.from_bytes(ancillary[0][2][:DESCRIPTOR_SIZE], sys.byteorder)
        child = fork()
        if not child:
            become_worker(runner, descriptor, limits_of(message, taken), available, filter_, denied)
        os.close(descriptor)
        control.sendall(child.to_bytes(4, "big"))


def forking() -> Callable[[], int]:
    """What forks this process. What Python's own function does besides is for processes that have threads, and takes
    half a millisecond."""
    if not sys.platform.startswith("linux"):
        return os.fork
    function: Callable[[], int] = ctypes.PyDLL(None).fork
    return function


def limits_of(message: bytes, taken: int) -> tuple[int, int]:
    """Bytes of memory, 0 for no limit, and seconds of the processor, from a message of megabytes and seconds.

    taken: bytes of address space that this process has; 0 where the system doesn't say.
    """
    memory, seconds = message.split()
    return (taken + (int(memory) << 20) if taken else 0), int(seconds)


def become_worker(
    runner: worker.Runner,
    descriptor: int,
    limits: tuple[int, int],
    available: frozenset[str],
    filter_: bytes,
    denied: int | None,
) -> NoReturn:
    try:
        harden(descriptor, *limits, available, filter_, denied)
        worker.serve(runner, PIPE)
    except BaseException:
        os._exit(70)


if __name__ == "__main__":
    main()
