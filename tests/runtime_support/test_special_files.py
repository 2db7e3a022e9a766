"""Writing to what is no regular file: devices, pipes, descriptors and links stay what they are."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sema_runtime.lib.files import files
from sema_runtime.support.replacing import Replacement
from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.journal import files as run_files
from semac.imports import cache
from semac.session import Session

SEMA = (sys.executable, "-m", "semac.cli.entry")
NULL_DEVICE = os.makedev(1, 3)
REPLACING = [
    "compile",
    "file/write",
    "file/write-lines",
    "file/append",
    "file/copy",
    "stream",
    "csv",
    "json",
    "run file",
]


def sema(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SEMA, *args], capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


def written_by(way: str, path: str) -> None:
    """Has one of the parts that write files write "x" (among other things) to a path."""
    Path("prog.sema").write_text('(define x "x")')
    programs = {
        "file/write": '(file/write "PATH" "x")',
        "file/write-lines": """(file/write-lines "PATH" '("x"))""",
        "file/append": '(file/append "PATH" "x")',
        "file/copy": '(file/copy "prog.sema" "PATH")',
        "stream": '(with-open (out (stream/open-output "PATH")) (stream/write-string out "x"))',
        "csv": """(file/write "PATH" (csv/encode '(("x"))))""",
        "json": '(file/write "PATH" (json/encode {:x 1}))',
    }
    if way == "compile":
        done = sema("compile", "prog.sema", "-o", path)
        assert (done.returncode, done.stderr) == (0, "")
    elif way == "run file":
        run_files.replace(".", path, b"x", "result")
    else:
        Session().run(programs[way].replace("PATH", path))


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def device(name: str) -> None:
    """Makes a device like /dev/null."""
    try:
        os.mknod(name, stat.S_IFCHR | 0o666, NULL_DEVICE)
        os.close(os.open(name, os.O_WRONLY))
    except (OSError, AttributeError):
        pytest.skip("this user or file system can make no device")


@pytest.mark.parametrize("way", REPLACING)
def test_a_device_stays_a_device(way: str) -> None:
    device("null")
    written_by(way, "null")
    os.symlink("null", "link")
    written_by(way, "link")
    assert stat.S_ISCHR(os.lstat("null").st_mode) and os.lstat("null").st_rdev == NULL_DEVICE
    assert os.path.islink("link")
    assert sorted(set(os.listdir()) - {"prog.sema"}) == ["link", "null"]


@pytest.mark.parametrize("way", REPLACING)
def test_a_pipe_gets_what_is_written(way: str) -> None:
    os.mkfifo("pipe")
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(Path("pipe").read_bytes()))
    reader.start()
    written_by(way, "pipe")
    reader.join(60)
    assert b"x" in received[0] and stat.S_ISFIFO(os.lstat("pipe").st_mode)


def test_a_pipe_waits_for_its_reader_while_other_tasks_go_on() -> None:
    os.mkfifo("pipe")
    program = """
      (define writer (async (file/write "pipe" "text") (println "written")))
      (define reader (async (println "reading") (file/fold-lines "pipe" (fn (all line) (str all line)) "")))
      (println (await reader)) (await writer)"""
    done = sema("-e", program)
    assert done.stderr == "" and sorted(done.stdout.split()) == ["reading", "text", "written"]
    cancelled = sema(
        "-e", """(println (try (async/with-timeout 50 (fn () (file/write "pipe" "x"))) (catch e (:type e))))"""
    )
    assert (cancelled.stdout, cancelled.stderr) == (":timeout\n", "")


@pytest.mark.parametrize("way", REPLACING)
def test_links_stay_and_lead_to_what_was_written(way: str) -> None:
    os.makedirs("there/deep")
    Path("there/file").write_text("old")
    os.chmod("there/file", 0o604)
    os.symlink("there/file", "second")
    os.symlink("second", "first")
    os.symlink("deep/new", "there/dangling")
    inode = os.stat("there/file").st_ino
    for name, target in (("first", "there/file"), ("there/dangling", "there/deep/new")):
        written_by(way, name)
        assert os.path.islink(name) and not os.path.islink(target)
        assert "x" in Path(target).read_text()
    assert os.path.islink("second")
    if way not in ("file/append", "stream"):
        assert os.stat("there/file").st_ino != inode
    if way != "file/copy":  # which brings the permissions along
        assert os.stat("there/file").st_mode & 0o777 == 0o604
    assert sorted(os.listdir("there")) == ["dangling", "deep", "file"]


def test_a_loop_of_links_is_an_error_and_stays() -> None:
    os.symlink("b", "a")
    os.symlink("a", "b")
    Path("prog.sema").write_text("1")
    done = sema("compile", "prog.sema", "-o", "a")
    assert (done.returncode, done.stderr) == (1, "Error: cannot write 'a': Too many levels of symbolic links\n")
    with pytest.raises(OSError, match="Too many levels"):
        run_files.replace(".", "a", b"x", "result")
    assert os.path.islink("a") and os.path.islink("b")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("way", ["compile", "file/write", "file/append", "stream"])
def test_the_standard_output_by_name(way: str, name: str) -> None:
    if not os.path.exists(name):
        pytest.skip(f"no {name}")
    Path("prog.sema").write_text('(define x "text")')
    program = {
        "file/write": '(println "before") (file/write "NAME" "text\\n") (println "after")',
        "file/append": '(println "before") (file/append "NAME" "text\\n") (println "after")',
        "stream": '(with-open (out (stream/open-output "NAME")) (stream/write-string out "text"))',
    }
    args = ("compile", "prog.sema", "-o", name) if way == "compile" else ("-e", program[way].replace("NAME", name))
    assert "text" in sema(*args).stdout
    Path("log").write_text("kept\n")
    with open("log", "a") as log:
        done = subprocess.run([*SEMA, *args], stdout=log, stderr=subprocess.PIPE, text=True, timeout=60)
    text = Path("log").read_text()
    assert done.stderr == "" and text.startswith("kept\n") and "text" in text
    if way.startswith("file/"):
        assert text == "kept\nbefore\ntext\nafter\n"


def test_a_numbered_descriptor() -> None:
    read, write = os.pipe()
    with open(read) as reader:
        done = sema("-e", f'(file/write "/dev/fd/{write}" "text")', pass_fds=(write,))
        os.close(write)
        assert (done.stderr, reader.read()) == ("", "text")


def test_renaming_does_not_replace_a_device_or_a_pipe() -> None:
    os.mkfifo("pipe")
    Path("a").write_text("text")
    with pytest.raises(SemaError, match="pipe is a named pipe"):
        files.file_rename("a", "pipe")
    assert stat.S_ISFIFO(os.lstat("pipe").st_mode) and Path("a").read_text() == "text"


def test_extraction_does_not_replace_a_device_or_a_pipe() -> None:
    os.mkdir("there")
    os.mkfifo("there/a.txt")
    program = """(file/write "a.txt" "x") (zip/create "a.zip" '("a.txt")) (zip/extract "a.zip" "there")"""
    done = sema("-e", program)
    assert done.returncode == 1 and "can't replace there/a.txt, which is a device or a pipe" in done.stderr
    assert stat.S_ISFIFO(os.lstat("there/a.txt").st_mode)


def test_a_code_cache_that_is_no_file_is_left_alone() -> None:
    Path("prog.sema").write_text("(println 1)")
    kept = cache.cache_path(os.path.realpath("prog.run.sema"))
    assert kept is not None
    os.mkdir("__pycache__")
    os.mkfifo(kept)
    assert not cache.store(kept, b"1", compile("1", "x", "eval"), {})
    assert stat.S_ISFIFO(os.lstat(kept).st_mode)


def test_what_became_a_pipe_meanwhile_is_not_replaced() -> None:
    with pytest.raises(FileExistsError), Replacement("a") as file:
        file.write(b"x")
        os.mkfifo("a")
    assert os.listdir() == ["a"] and stat.S_ISFIFO(os.lstat("a").st_mode)


def test_extended_attributes_are_kept() -> None:
    Path("a").write_text("old")
    try:
        os.setxattr("a", "user.note", b"hello")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    files.file_write("a", "new")
    assert (Path("a").read_text(), os.getxattr("a", "user.note")) == ("new", b"hello")


def test_what_must_be_read_back_is_not_written_to_a_pipe() -> None:
    os.mkfifo("pipe")
    with pytest.raises(FileExistsError, match="not a regular file"), Replacement("pipe"):
        pass
    assert stat.S_ISFIFO(os.lstat("pipe").st_mode)
