"""Files that are missing, strange, huge, in use, on a full disk: a condition says why, and nothing is half done."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from outcomes import outcome
from paths import ROOT

from sema_runtime import capabilities
from sema_runtime.lib.files import files, paths, streams
from sema_runtime.support import file_access
from sema_runtime.values.errors import PermissionDenied, SemaError
from sema_runtime.values.printer import to_text

READERS: list[Callable[[Any], Any]] = [
    files.file_read,
    files.file_read_bytes,
    files.file_read_lines,
    lambda path: files.file_for_each_line(path, len),
    lambda path: files.file_fold_lines(path, lambda n, line: n + 1, 0),
    lambda path: files.file_fold_lines_bytes(path, lambda n, line: n + 1, 0),
    streams.stream_open_input,
]
WRITERS: list[Callable[[Any], Any]] = [
    lambda path: files.file_write(path, "x"),
    lambda path: files.file_write_bytes(path, b"x"),
    lambda path: files.file_write_lines(path, ("x",)),
    lambda path: files.file_append(path, "x"),
    streams.stream_open_output,
]
OTHERS: list[Callable[[Any], Any]] = [
    files.file_delete,
    lambda path: files.file_rename(path, "to"),
    lambda path: files.file_copy(path, "to"),
    files.file_list,
    files.file_info,
    paths.path_absolute,
    paths.path_canonicalize,
]


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def message(call: Callable[[Any], Any], path: str) -> str:
    with pytest.raises(SemaError) as raised:
        call(path)
    return raised.value.message


@pytest.mark.parametrize("call", READERS + OTHERS)
def test_missing_files(call: Callable[[Any], Any]) -> None:
    assert "missing.txt" in message(call, "missing.txt")
    assert message(call, "missing.txt").endswith(": No such file")
    assert message(call, "").endswith(": No such file")


@pytest.mark.parametrize("call", READERS + WRITERS)
def test_directories_are_no_files(call: Callable[[Any], Any]) -> None:
    os.mkdir("d")
    assert message(call, "d").endswith(" d: Is a directory (os error 21)")
    assert os.listdir() == ["d"] and os.listdir("d") == []


@pytest.mark.parametrize("call", READERS + WRITERS + OTHERS)
def test_names_that_no_file_can_have(call: Callable[[Any], Any]) -> None:
    assert message(call, "a\0b").endswith(": file name contained an unexpected NUL byte")
    assert message(call, "n" * 300).endswith(": File name too long (os error 36)")
    assert message(call, "\ud800").endswith(": a lone surrogate is no Unicode character")


def test_questions_about_names_that_no_file_can_have() -> None:
    for ask in (files.file_is_exists, files.file_is_is_file, files.file_is_is_directory, files.file_is_is_symlink):
        assert ask("a\0b") is ask("n" * 300) is ask("\ud800") is False
    assert paths.path_is_within(".", "a\0b") is False


@pytest.mark.parametrize("call", READERS + WRITERS)
def test_links_in_a_circle(call: Callable[[Any], Any]) -> None:
    os.symlink("b", "a")
    os.symlink("a", "b")
    assert message(call, "a").endswith(": Too many levels of symbolic links (os error 40)")
    assert not files.file_is_exists("a") and files.file_is_is_symlink("a")


WHOLE = [files.file_read, files.file_read_bytes, files.file_read_lines, streams.stream_open_input]


@pytest.mark.parametrize("call", WHOLE)
def test_pipes_and_devices_are_refused_where_all_of_a_file_is_meant(call: Callable[[Any], Any]) -> None:
    os.mkfifo("pipe")
    assert message(call, "pipe").endswith(": pipe is a named pipe (FIFO), not a regular file")
    assert message(call, "/dev/zero").endswith(": /dev/zero is a character device, not a regular file")


def test_going_through_a_pipe() -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes("é\r\nb\n".encode() * 50_000 + b"end\r"))
    writer.start()
    found = files.file_fold_lines("pipe", lambda known, line: known | {line}, set())
    writer.join()
    assert found == {"é", "b", "end\r"}


def test_an_endless_file_without_line_ends() -> None:
    assert "line exceeds the 262144-byte cooperative streaming limit" in message(READERS[4], "/dev/zero")


def test_bytes_that_are_no_text() -> None:
    Path("bad").write_bytes(b"ok\n\xff\n")
    for call in (files.file_read, files.file_read_lines, READERS[3], READERS[4]):
        assert message(call, "bad").endswith(" bad: stream did not contain valid UTF-8")
    assert files.file_read_bytes("bad") == b"ok\n\xff\n"
    assert READERS[5]("bad") == 2


def test_line_ends() -> None:
    Path("a").write_bytes(b"x\r\r\n\n\ry\r\nz\r")
    expected = '("x\\r" "" "\\ry" "z\\r")'
    assert to_text(files.file_read_lines("a")) == expected
    assert to_text(files.file_fold_lines("a", lambda lines, line: [*lines, line], [])) == expected
    assert files.file_fold_lines_bytes("a", lambda all_, line: all_ + line + b"|", b"") == b"x\r||\ry|z\r|"


def test_line_ends_at_the_edge_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BUFFER", 4)
    for size in range(1, 10):
        Path("a").write_bytes(b"x" * size + b"\r\n" + "é".encode() * 3 + b"\r\n")
        assert files.file_fold_lines("a", lambda lines, line: [*lines, line], []) == ["x" * size, "ééé"]


def test_lines_and_files_beyond_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("long").write_bytes(b"short\n" + b"x" * 600_000)
    for call in READERS[3:6]:
        assert "long: line exceeds the 262144-byte cooperative streaming limit" in message(call, "long")
    monkeypatch.setattr(file_access, "READ_LIMIT", 1000)
    for call in READERS[:3]:
        assert message(call, "long").endswith("long: file size 600006 bytes exceeds the 1000-byte quarantined read cap")


def test_a_file_that_shrinks_and_grows_while_it_is_read() -> None:
    Path("a").write_text("line\n" * 200_000)

    def cut(count: int, line: str) -> int:
        if count == 5:
            os.truncate("a", 100)
        return count + 1

    assert 20 <= files.file_fold_lines("a", cut, 0) < 200_000

    Path("a").write_text("line\n" * 20)

    def more(count: int, line: str) -> int:
        if count < 50:
            files.file_append("a", "more\n")
        return count + 1

    assert files.file_fold_lines("a", more, 0) == 70


def test_what_is_forbidden() -> None:
    """As nobody, in a process of its own, when the tests run as root, to whom nothing is forbidden."""
    os.chmod(".", 0o755)
    Path("secret").write_text("x")
    os.chmod("secret", 0)
    os.mkdir("hidden", 0o311)
    os.mkdir("closed")
    Path("closed/open").write_text("old")
    os.chmod("closed/open", 0o666)
    os.chmod("closed", 0o555)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        try:
            if os.geteuid() == 0:
                os.setegid(65534)
                os.seteuid(65534)
            calls = [(files.file_read, "secret"), (streams.stream_open_input, "secret"), (files.file_glob, "hidden/*")]
            for call, path in [*calls, *((writer, "closed/new") for writer in WRITERS)]:
                try:
                    call(path)
                except SemaError as error:
                    os.write(1, error.message.encode() + b"\n")
            files.file_write("closed/open", "new text")
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as output:
        lines = output.read().splitlines()
    os.waitpid(child, 0)
    assert lines[0] == "file/read secret: Permission denied (os error 13)"
    assert lines[1] == "stream/open-input: secret: Permission denied (os error 13)"
    assert lines[2].endswith("attempting to read `hidden` resulted in an error: Permission denied (os error 13)")
    assert len([line for line in lines if line.endswith("closed/new: Permission denied (os error 13)")]) == 5
    assert Path("closed/open").read_text() == "new text"  # in place, as nothing can be made beside it
    assert os.listdir("closed") == ["open"]


@contextmanager
def small_disk() -> Iterator[None]:
    """No file grows beyond 1,000 bytes meanwhile: not for longer, as the tests' own output may be a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_old_text() -> None:
    files.file_write("a", "old")
    with small_disk():
        for call in (files.file_write, lambda path, text: files.file_write_bytes(path, text.encode())):
            with pytest.raises(SemaError, match=r"a: File too large \(os error 27\)"):
                call("a", "new " * 1000)
    assert files.file_read("a") == "old" and os.listdir() == ["a"]
    out = streams.stream_open_output("s")
    with small_disk():
        streams.stream_write_string(out, "x" * 2000)
        with pytest.raises(SemaError, match=r"stream/close: I/O error: File too large"):
            streams.stream_close(out)
    streams.stream_close(out)


def test_replacing_keeps_what_belongs_to_the_name() -> None:
    files.file_write("private", "secret")
    mode = 0o4640 if os.geteuid() == 0 else 0o640  # not everybody may keep that a program runs as its owner
    os.chmod("private", mode)
    files.file_write("private", "other")
    assert os.stat("private").st_mode & 0o7777 == mode
    os.symlink("target/file", "link")
    os.mkdir("target")
    files.file_write("link", "through a link to nothing")
    assert Path("target/file").read_text() == "through a link to nothing" and os.path.islink("link")
    os.link("private", "second name")
    files.file_write("second name", "both")
    assert files.file_read("private") == "both"
    assert sorted(os.listdir()) == ["link", "private", "second name", "target"]


def test_what_is_written_is_never_readable_by_others_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    files.file_write("private", "secret")
    os.chmod("private", 0o600)
    seen: list[int] = []
    write = file_access.write_all

    def watched(descriptor: int, data: bytes) -> None:
        seen.append(os.fstat(descriptor).st_mode & 0o777)
        write(descriptor, data)

    monkeypatch.setattr(files, "write_all", watched)
    files.file_write("private", "other")
    assert seen == [0o600]


def test_copies() -> None:
    files.file_write("a", "text")
    os.chmod("a", 0o640)
    files.file_copy("a", "a")
    files.file_copy("a", "b")
    assert files.file_read("b") == "text" and os.stat("b").st_mode & 0o777 == 0o640
    os.mkdir("d")
    with pytest.raises(SemaError, match=r"file/copy a -> d: Is a directory"):
        files.file_copy("a", "d")
    with pytest.raises(SemaError, match=r"file/copy d -> e: Is a directory"):
        files.file_copy("d", "e")
    os.mkfifo("pipe")
    with pytest.raises(SemaError, match="pipe is a named pipe"):
        files.file_copy("pipe", "e")
    assert sorted(os.listdir()) == ["a", "b", "d", "pipe"]


def test_old_or_new_text_whenever_the_writer_is_killed() -> None:
    """Killed before each of its system calls that changes something; what it left is looked at by this process."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    calls = ("open", "fchmod", "write", "replace")
    for step in range(6):
        Path("a").write_text("old")
        child = os.fork()
        if child == 0:
            count = iter(range(100))

            def killing(function: Any, count: Any = count, step: int = step) -> Any:
                def call(*args: Any, **options: Any) -> Any:
                    if next(count) == step:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return function(*args, **options)

                return call

            for name in calls:
                setattr(os, name, killing(getattr(os, name)))
            files.file_write("a", "new")
            os._exit(0)
        os.waitpid(child, 0)
        assert Path("a").read_text() in ("old", "new")
        assert files.file_read("a") == ("old" if step < 4 else "new")
    assert all(name == "a" or name.startswith(".sema-") for name in os.listdir())


def _writer(number: int) -> None:
    threads = [
        threading.Thread(target=lambda n=n: [files.file_write("a", f"{number}.{n}" * 5000) for _ in range(20)])
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_many_writers_of_one_file() -> None:
    workers = [multiprocessing.get_context("fork").Process(target=_writer, args=(n,)) for n in range(3)]
    files.file_write("a", "0.0" * 5000)
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        text = files.file_read("a")
        assert text == text[:3] * 5000
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert os.listdir() == ["a"]


def _appender(number: int) -> None:
    for index in range(200):
        files.file_append("log", f"{number} {index} {'x' * 100}\n")


def test_many_appenders_don_t_mix_their_lines() -> None:
    workers = [multiprocessing.get_context("fork").Process(target=_appender, args=(n,)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = files.file_read_lines("log").items
    assert len(lines) == 600 and all(line.endswith(" " + "x" * 100) for line in lines)


GLOBS = [
    ("*", ["a.txt", "dir", "loop"]),
    ("**/*.txt", [".hidden/h.txt", "a.txt", "dir/b.txt", "dir/sub/c.txt"]),
    ("dir/**", ["dir/sub"]),
    ("dir/**/*.txt", ["dir/b.txt", "dir/sub/c.txt"]),
    ("./dir/[a-c].tx?", ["./dir/b.txt"]),
    ("dir/[!a].txt", ["dir/b.txt"]),
    ("*/", ["dir", "loop"]),
    ("missing/*", []),
    ("a.txt/*", []),
    ("dir/b.txt", ["dir/b.txt"]),
    ("", []),
]


@pytest.mark.parametrize(("pattern", "expected"), GLOBS)
def test_globbing(pattern: str, expected: list[str]) -> None:
    files.file_mkdir("dir/sub")
    files.file_mkdir(".hidden")
    for name in ("a.txt", "dir/b.txt", "dir/sub/c.txt", ".hidden/h.txt"):
        files.file_write(name, "")
    os.symlink("..", "dir/sub/up")
    os.symlink(".", "loop")
    found = [path for path in files.file_glob(pattern).items if "/up" not in path and not path.startswith("loop/")]
    assert [path for path in found if path != ".hidden"] == expected


BAD_GLOBS = [
    ("a/***/b", "near position 4: wildcards are either regular `*` or recursive `**`"),
    ("a**", "near position 0: recursive wildcards must form a single path component"),
    ("**a", "near position 2: recursive wildcards must form a single path component"),
    ("a[bc", "near position 1: invalid range pattern"),
]


@pytest.mark.parametrize(("pattern", "expected"), BAD_GLOBS)
def test_globs_without_meaning(pattern: str, expected: str) -> None:
    assert message(files.file_glob, pattern) == f"file/glob: invalid pattern: Pattern syntax error {expected}"


def test_names_that_are_no_text() -> None:
    Path(os.fsdecode(b"bad\xff.txt")).write_text("")
    assert to_text(files.file_list(".")) == '("bad\ufffd.txt")'
    assert to_text(files.file_glob("*.txt")) == '("bad\ufffd.txt")'


def test_globbing_in_allowed_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)
    files.file_mkdir("inside/sub")
    files.file_mkdir("outside")
    files.file_write("inside/sub/a.txt", "")
    files.file_write("outside/b.txt", "")
    os.symlink("../outside", "inside/link")
    capabilities.restrict(paths=["inside"])
    assert to_text(files.file_glob("inside/**/*.txt")) == '("inside/sub/a.txt")'
    for pattern in ("*", "outside/*", "inside/../outside/*", "/*"):
        with pytest.raises(PermissionDenied):
            files.file_glob(pattern)


def test_loops_over_lines_that_the_compiler_writes_out_are_guarded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    files.file_write("a", "x\n")
    source = '(file/fold-lines "a" (fn (n line) (+ n 1)) 0)'
    assert outcome(source) == "1"
    monkeypatch.setattr(capabilities, "denied", {"fs-read"})
    assert outcome(source) == "! Permission denied: file/fold-lines requires 'fs-read' capability"


def test_paths_are_resolved() -> None:
    here = os.path.realpath(".")
    files.file_mkdir("d")
    os.symlink("d", "link")
    assert paths.path_absolute("link/.") == paths.path_canonicalize("d") == f"{here}/d"
    assert paths.path_is_within("d", "link/new.txt") and not paths.path_is_within("d", "link/../new.txt")
    os.symlink("/", "d/out")
    assert not paths.path_is_within("d", "d/out/etc/new")
    assert paths.path_relative_to("", "") == "." and paths.path_stem("..") == ""


def test_folding_takes_constant_memory() -> None:
    """In a process that may have little more memory than it has at the beginning."""
    with open("big", "wb") as file:
        for _ in range(48):
            file.write(b"a line of some forty characters, or more\n" * 25_000)
    program = """
import resource, sys
from sema_runtime.lib.files import files, streams
count = files.file_fold_lines("big", lambda n, line: n + 1, 0)
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20),) * 2)
assert files.file_fold_lines("big", lambda n, line: n + 1, 0) == count == 1_200_000
assert files.file_fold_lines_bytes("big", lambda n, line: n + len(line), 0) == 48_000_000
source, target = streams.stream_open_input("big"), streams.stream_open_output("copy")
print(streams.stream_copy(source, target))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "runtime")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (done.stderr, done.stdout) == ("", "49200000\n")
