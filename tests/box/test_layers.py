"""Each layer of the process's hardening by itself: what native code in it can't do, even if all other checks failed."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from paths import ROOT

from sema_runtime.box import (
    Limits,
    Pool,
    Session,
    Unprotected,
    UnprotectedWarning,
    policy,
    probe,
    seccomp,
    workers,
)
from sema_runtime.box.hardening import PIPE, address_space, harden
from sema_runtime.values.errors import SemaError
from semac.box.compact import Census, gather

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the layers are Linux's")
LAYERS = probe.layers() if sys.platform.startswith("linux") else frozenset()


def connects() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.connect(("127.0.0.1", 9))


def forks() -> None:
    if not os.fork():
        os._exit(0)


ATTEMPTS: dict[str, tuple[Callable[[], object], set[str]]] = {  # what is tried, and the layers that stop it
    "read a file": (lambda: os.open("/etc/passwd", os.O_RDONLY), {"landlock", "seccomp"}),
    "make a file": (lambda: os.open("/tmp/escaped", os.O_CREAT | os.O_WRONLY), {"landlock", "seccomp"}),
    "list a folder": (lambda: os.listdir("/"), {"landlock", "seccomp"}),
    "read the environment of the host": (lambda: Path("/proc/self/environ").read_bytes(), {"landlock", "seccomp"}),
    "connect": (connects, {"landlock", "seccomp"}),
    "look at a file": (lambda: os.stat("/etc/passwd"), {"seccomp"}),
    "start a process": (forks, {"seccomp"}),
    "execute": (lambda: os.execv("/bin/true", ["true"]), {"landlock", "seccomp"}),
    "signal the host": (lambda: os.kill(os.getppid(), signal.SIGTERM), {"landlock", "seccomp"}),
    "trace": (lambda: refused(ctypes.CDLL(None).ptrace(0, 0, 0, 0)), {"seccomp"}),
}


def refused(result: int) -> None:
    if result < 0:
        raise OSError(result, "refused")


def outcome_of(attempt: Callable[[], object], layers: frozenset[str]) -> str:
    """What comes of an attempt in a hardened child: "done", or the name of an error."""
    ours, theirs = socket.socketpair()
    filter_ = seccomp.program() if "seccomp" in layers else b""
    child = os.fork()
    if not child:
        try:
            harden(theirs.fileno(), address_space() + (256 << 20), 5, layers, filter_)
            try:
                attempt()
                text = "done"
            except BaseException as error:
                text = type(error).__name__
            os.write(PIPE, text.encode())
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        answer = ours.recv(100).decode()
    os.waitpid(child, 0)
    return answer


@pytest.mark.parametrize("name", ATTEMPTS)
@pytest.mark.parametrize("layer", ["landlock", "seccomp"])
def test_a_layer_alone_stops_what_it_is_for(name: str, layer: str) -> None:
    attempt, stops = ATTEMPTS[name]
    if layer not in LAYERS:
        pytest.skip(f"this machine lacks {layer}")
    if layer in stops:
        assert outcome_of(attempt, frozenset((layer,))) in {"PermissionError", "OSError"}


def test_only_the_pipe_is_open() -> None:
    secret = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(secret, True)
    try:
        assert outcome_of(lambda: os.fstat(secret if secret > PIPE else 0), LAYERS) in {"OSError", "PermissionError"}
    finally:
        os.close(secret)


def test_what_is_missing_is_refused_or_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for layers, needs, words in (
        (frozenset(("seccomp",)), {"landlock", "seccomp"}, "lacks landlock (Linux 5.13"),
        (frozenset[str](), {"seccomp"}, "lacks seccomp (Linux on x86-64"),
    ):
        with pytest.raises(Unprotected, match=re.escape(words)) as refused:
            policy.check(layers, frozenset(needs))
        assert "SEMA_BOX_NEEDS=none" in (refused.value.hint or "")
        with pytest.warns(UnprotectedWarning, match="this machine lacks"):
            policy.check(layers, frozenset())
    policy.check(frozenset(probe.LAYERS), frozenset(probe.LAYERS))
    for said, needs in (("", set(probe.LAYERS)), ("none", set()), ("seccomp", {"seccomp"})):
        monkeypatch.setenv(policy.VARIABLE, said)
        assert policy.needed() == needs
    monkeypatch.setenv(policy.VARIABLE, "walls")
    with pytest.raises(SemaError, match="there is no layer walls"):
        policy.needed()


def test_a_system_without_forks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    with pytest.raises(Unprotected, match="can't fork"):
        Pool()


def test_it_runs_with_less_on_systems_that_are_no_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    script = str(ROOT / "tests/support/box_like_macos.py")
    monkeypatch.setattr(workers, "zygote_command", lambda: [sys.executable, "-s", "-P", script])
    monkeypatch.delattr(os, "pidfd_open")
    with pytest.raises(Unprotected):
        Pool()
    with pytest.warns(UnprotectedWarning, match="nothing but the checks of the language"):
        pool = Pool(Limits(wall_ms=3_000), needs=frozenset())
    with pool, Session(pool) as session:
        assert session.run("(define x 41) x").value == 41
        assert session.run("(car 5)").reason == "type_error" and session.run("(+ x 1)").value == 42
        assert session.run('(file/read "/etc/passwd")').reason == "unbound_var"
        assert pool.run("(let l () (l))", limits=Limits(wall_ms=300)).reason == "timeout"
        assert pool.run("(pow 2 99999999999)").reason == "runtime_error"


def test_memory_has_a_limit() -> None:
    assert outcome_of(lambda: bytearray(1 << 30), LAYERS) == "MemoryError"


def test_code_that_is_made_anew_does_the_same() -> None:
    def twice(values: list[int]) -> list[int]:
        return [value * 2 for value in values]

    census, before = Census(), twice.__code__
    census.run(lambda: twice([1]))
    gather(census.ordered())
    assert twice.__code__ is not before and twice.__code__ == before
    assert twice([1, 2]) == [2, 4]
