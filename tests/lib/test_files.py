"""Files, paths, processes, and the sandbox in front of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sema_runtime import capabilities
from sema_runtime.conditions.describe import condition_map, describe
from sema_runtime.lib.files import files, paths
from sema_runtime.lib.system import processes, system
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import PermissionDenied, SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def open_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Takes back what the test restricts."""
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)
    yield


def test_text_is_written_and_read_unchanged() -> None:
    files.file_write("a.txt", "é\r\n😀\n")
    files.file_append("a.txt", "end")
    assert files.file_read("a.txt") == "é\r\n😀\nend"
    assert os.listdir() == ["a.txt"]


def test_lines() -> None:
    files.file_write("a.txt", "x\r\n\ny")
    assert to_text(files.file_read_lines("a.txt")) == '("x" "" "y")'
    files.file_write_lines("b.txt", List([1, "two", None]))
    assert files.file_read("b.txt") == "1\ntwo\nnil"
    files.file_write("empty.txt", "")
    assert to_text(files.file_read_lines("empty.txt")) == "()"


def test_folding_over_lines() -> None:
    files.file_write("a.txt", "1\n2\n3\n")
    assert files.file_fold_lines("a.txt", lambda total, line: total + int(line), 0) == 6
    assert files.file_fold_lines_bytes("a.txt", lambda all_, line: all_ + line, b"") == b"123"
    seen: list[str] = []
    files.file_for_each_line("a.txt", seen.append)
    assert seen == ["1", "2", "3"]


def test_errors_of_the_callback_are_its_own() -> None:
    files.file_write("a.txt", "1\n")

    def fails(total: int, line: str) -> int:
        raise FileNotFoundError("something else")

    with pytest.raises(FileNotFoundError):
        files.file_fold_lines("a.txt", fails, 0)


def test_writing_keeps_permissions_and_follows_links() -> None:
    files.file_write("script", "old")
    os.chmod("script", 0o750)
    os.symlink("script", "link")
    files.file_write("link", "new")
    assert files.file_read("script") == "new"
    assert os.stat("script").st_mode & 0o777 == 0o750
    assert files.file_is_is_symlink("link")


def test_failures_say_what_and_why() -> None:
    with pytest.raises(SemaError) as raised:
        files.file_read("missing.txt")
    assert describe(raised.value).message == "I/O error: file/read missing.txt: No such file"
    caught = condition_map(raised.value)
    assert caught["type"] is keyword("io")
    assert caught["message"] == "file/read missing.txt: No such file"
    with pytest.raises(SemaError, match="file/rename a -> b: No such file"):
        files.file_rename("a", "b")
    with pytest.raises(SemaError, match="expected string, got int"):
        files.file_write("a", 5)
    Path("bad.txt").write_bytes(b"\xff")
    with pytest.raises(SemaError, match="valid UTF-8"):
        files.file_fold_lines("bad.txt", lambda total, line: total, 0)


def test_directories() -> None:
    files.file_mkdir("d/e")
    files.file_write("d/b.txt", "1")
    files.file_copy("d/b.txt", "d/e/a.txt")
    assert to_text(files.file_list("d")) == '("b.txt" "e")'
    assert to_text(files.file_glob("d/**/*.txt")) == '("d/b.txt" "d/e/a.txt")'
    info = files.file_info("d/b.txt")
    assert [info["size"], info["is-file"], info["is-dir"]] == [1, True, False]
    files.file_delete("d/b.txt")
    assert not files.file_is_exists("d/b.txt")


PATHS = [
    (paths.path_join("a//", "//b"), "a////b"),
    (paths.path_join("a", "b", "/c", "d"), "a/b/c/d"),
    (paths.path_join("", ""), "/"),
    (paths.path_dir("a/b/"), "a"),
    (paths.path_dir("/a"), "/"),
    (paths.path_dir("a//b"), "a/"),
    (paths.path_filename("a/b/"), "b"),
    (paths.path_extension(".hidden"), ""),
    (paths.path_extension("dir.d/file"), ""),
    (paths.path_extension("a.tar.gz"), "gz"),
    (paths.path_stem("a.tar.gz"), "a.tar"),
    (paths.path_relative_to("/a/b", "/a/c"), "../c"),
]


@pytest.mark.parametrize(("found", "expected"), PATHS)
def test_paths(found: str, expected: str) -> None:
    assert found == expected


def test_containment_of_paths() -> None:
    assert paths.path_is_within("/a", "/a/b") and paths.path_is_within("/a", "/a")
    assert not paths.path_is_within("/a", "/ab") and not paths.path_is_within("/a", "/a/../b")


def test_shell() -> None:
    done = system.shell("echo out; echo err >&2; exit 3")
    assert to_text(done) == '{:exit-code 3 :stderr "err\\n" :stdout "out\\n"}'
    assert system.shell("echo", "a b", "$HOME")["stdout"] == "a b $HOME\n"
    assert system.shell("cat", Map({keyword("stdin"): "given"}))["stdout"] == "given"
    assert system.shell_quote("a b") == "'a b'"


def test_processes() -> None:
    process = processes.proc_spawn(List(["cat"]))
    processes.proc_write_stdin(process, "hello")
    processes.proc_close_stdin(process)
    assert processes.proc_wait(process) == 0
    assert processes.proc_read_stdout(process) == "hello"
    assert processes.proc_exit_code(process) == 0
    processes.proc_close(process)


@pytest.mark.usefixtures("open_afterwards")
def test_a_denied_group_stops_its_functions_before_any_effect() -> None:
    capabilities.restrict(capabilities.parse_mode("strict"))
    with pytest.raises(PermissionDenied) as raised:
        files.file_write("a.txt", "x")
    assert describe(raised.value).message == "Permission denied: file/write requires 'fs-write' capability"
    assert to_text(condition_map(raised.value)["type"]) == ":permission-denied"
    assert not files.file_is_exists("a.txt")
    with pytest.raises(PermissionDenied):
        system.shell("true")


def test_modes() -> None:
    assert capabilities.parse_mode("no-network, shell") == {"network", "shell"}
    assert capabilities.parse_mode("none") == set()
    assert capabilities.parse_mode("all") == capabilities.GROUPS
    with pytest.raises(ValueError, match="unknown capability: disk"):
        capabilities.parse_mode("disk")


@pytest.mark.usefixtures("open_afterwards")
def test_paths_outside_of_the_allowed_directories() -> None:
    files.file_mkdir("inside")
    files.file_write("secret.txt", "s")
    os.symlink("../secret.txt", "inside/link.txt")
    capabilities.restrict(paths=["inside"])
    files.file_write("inside/a.txt", "fine")
    for path in ("secret.txt", "inside/../secret.txt", "inside/link.txt", "inside-too/x"):
        with pytest.raises(PermissionDenied, match="is outside allowed directories"):
            files.file_read(path)
    with pytest.raises(PermissionDenied):
        files.file_copy("inside/a.txt", "b.txt")
