"""The environment, the machine and this process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

from sema_runtime import capabilities
from sema_runtime.lib.system import system
from sema_runtime.values.errors import PermissionDenied, SemaError
from sema_runtime.values.printer import to_text


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_TEST", "é")
    assert system.env("SEMA_TEST") == system.sys_env_all()["SEMA_TEST"] == "é"
    for missing in ("SEMA_MISSING", "", "A=B", "a\0b", "\ud800"):
        assert system.env(missing) is None
    os.environb[b"SEMA_BYTES"] = b"\xff"
    assert system.env("SEMA_BYTES") is None and system.sys_env_all()["SEMA_BYTES"] == "\ufffd"
    del os.environ["SEMA_BYTES"]
    system.sys_set_env("SEMA_TEST", "other")
    assert system.env("SEMA_TEST") == "other"
    for name, value in (("", "x"), ("A=B", "x"), ("A", "a\0b"), ("\ud800", "x")):
        with pytest.raises(SemaError, match="sys/set-env"):
            system.sys_set_env(name, value)


def test_programs_in_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"/nowhere:{tmp_path}:/bin")
    (tmp_path / "tool").write_text("")
    assert system.sys_which("tool") is None
    (tmp_path / "tool").chmod(0o755)
    assert system.sys_which("tool") == str(tmp_path / "tool")
    assert system.sys_which("sh") == "/bin/sh"
    for name in ("", ".", "a\0b", "no such program", "x" * 300):
        assert system.sys_which(name) is None


def test_machine_and_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system.sys_os() in ("linux", "macos") and system.sys_platform() == system.sys_os()
    monkeypatch.setattr(sys, "platform", "freebsd14")
    assert (system.sys_os(), system.sys_platform()) == ("freebsd", "unknown")
    assert system.sys_hostname() == os.uname().nodename and system.sys_pid() == os.getpid()
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    assert system.sys_temp_dir() == "/var/tmp"
    assert to_text(sorted(key.name for key, _ in system.sys_interner_stats().pairs())) == '("bytes" "count")'
    monkeypatch.delenv("USER", raising=False)
    monkeypatch.delenv("USERNAME", raising=False)
    assert system.sys_user() is None


def test_a_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SemaError, match="sys/cwd: No such file"):
        system.sys_cwd()


@pytest.mark.parametrize("status", ["3", "3.9", "'()", '"1"'])
def test_exit(status: str) -> None:
    root = ROOT
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'runtime'}"}
    command = [sys.executable, "-m", "semac.cli.entry", "-e", f"(exit {status})"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if status.startswith("3"):
        assert (done.returncode, done.stderr) == (3, "")
    else:
        assert done.returncode == 1 and "expected integer, got" in done.stderr


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("env-read", ["env", "sys_env_all", "sys_cwd", "sys_home_dir", "sys_user", "sys_temp_dir"]),
        ("env-write", ["sys_set_env"]),
        ("process", ["exit_", "sys_pid", "sys_args", "sys_which"]),
    ],
)
def test_groups(group: str, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", {group})
    for name in names:
        with pytest.raises(PermissionDenied, match=f"requires '{group}' capability"):
            getattr(system, name)()
    assert system.sys_sema_home() and system.sys_os()
