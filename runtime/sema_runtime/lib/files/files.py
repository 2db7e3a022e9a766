"""Files: reading, writing, directories. Text is UTF-8. Every path is checked against the allowed directories."""

from __future__ import annotations

import os
from itertools import chain
from stat import S_ISDIR, S_ISREG

from sema_runtime.bundle import bundled, is_compiled
from sema_runtime.capabilities import require
from sema_runtime.catalogue import builtin
from sema_runtime.support.file_access import (
    FAILURES,
    checked,
    contents,
    failed,
    opened,
    opened_regular,
    readable_name,
    refuse_special,
    write_all,
)
from sema_runtime.support.replacing import Replacement, destination, opened_through
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.errors import IoError, type_error
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, AnyStr

    from sema_runtime.tasks.background import Work

BUFFER = 1 << 18  # bytes read at a time when going through a file
LINE_LIMIT = 256 << 10  # characters of a line when going through a file


# Reading


@builtin("file/read", type="str -> str", cap="fs-read")
def file_read(path: Any) -> str:
    """Reads a file and returns its whole text, which must be UTF-8.

    (file/write "a.txt" "text")
    (file/read "a.txt") => "text"
    (file/read "missing.txt") ! I/O error: file/read missing.txt: No such file
    """
    return _text("file/read", path)


def _text(function: str, path: Any) -> str:
    data = contents(function, path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise failed(function, path, error) from None


@builtin("file/read-bytes", type="str -> bytevector", cap="fs-read")
def file_read_bytes(path: Any) -> bytes:
    """Reads a file and returns its whole contents as a bytevector.

    (file/write-bytes "a.bin" #u8(1 255))
    (file/read-bytes "a.bin") => #u8(1 255)
    """
    return contents("file/read-bytes", path)


@builtin("file/read-lines", type="str -> flat str fresh", cap="fs-read")
def file_read_lines(path: Any) -> List:
    """Reads the lines of a file, without their ends (`\\n` or `\\r\\n`), as a list.

    (file/write "a.txt" "one\\ntwo\\n")
    (file/read-lines "a.txt") => ("one" "two")
    """
    lines = _text("file/read-lines", path).split("\n")
    last = lines.pop()
    lines = [line.removesuffix("\r") for line in lines]
    return List([*lines, last] if last else lines)


@builtin("file/for-each-line", type="str, now (str -> any) -> nil", cap="fs-read")
def file_for_each_line(path: Any, function: Any) -> None:
    """Reads a file line by line and calls function with each line; the file is never in memory as a whole.

    (file/write "data.txt" "a\\nb\\n")
    (file/for-each-line "data.txt" println) prints a\\nb
    """
    call = _callable(function)
    for line in lines_of(path, "file/for-each-line"):
        call(line)


@builtin("file/fold-lines", type="str, now (a, str -> a), keep a -> a", cap="fs-read")
def file_fold_lines(path: Any, function: Any, initial: Any) -> Any:
    """Reads a file line by line and folds the lines with `(function accumulated line)`, starting with initial, in
    constant memory.

    (file/write "data.txt" "3\\n4\\n")
    (file/fold-lines "data.txt" (fn (sum line) (+ sum (int line))) 0) => 7
    """
    call = _callable(function)
    accumulated = initial
    for line in lines_of(path, "file/fold-lines"):
        accumulated = call(accumulated, line)
    return accumulated


@builtin("file/fold-lines-bytes", type="str, now (a, bytevector -> a), keep a -> a", cap="fs-read")
def file_fold_lines_bytes(path: Any, function: Any, initial: Any) -> Any:
    """As file/fold-lines, with each line as a bytevector.

    (file/write "data.txt" "ab\\nc\\n")
    (file/fold-lines-bytes "data.txt" (fn (sum line) (+ sum (bytes/length line))) 0) => 3
    """
    call = _callable(function)
    accumulated = initial
    for line in chain.from_iterable(_line_blocks(path, "file/fold-lines-bytes", b"\n", b"\r")):
        accumulated = call(accumulated, line)
    return accumulated


def _callable(function: Any) -> Callable[..., Any]:
    if not callable(function):
        type_error("function", function)
    return function  # type: ignore[no-any-return]


def lines_of(path: Any, function: str) -> Iterator[str]:
    """The lines of a file without their ends, one block of the file in memory at a time. Emitted loops run over it."""
    # from one line to the next without running Python code
    return chain.from_iterable(_line_blocks(path, function, "\n", "\r"))


def _line_blocks(path: Any, function: str, end: AnyStr, carriage_return: AnyStr) -> Iterator[list[AnyStr]]:
    """The lines of each block, as strings or bytes, whatever `end` is."""
    with _line_source(function, path, isinstance(end, str)) as source:
        rest = end[:0]
        while True:
            try:
                block = source.read(BUFFER)
            except FAILURES as error:
                raise failed(function, path, error) from None
            if not block:
                break
            text = rest + block
            lines = text.split(end)
            rest = lines.pop()
            if carriage_return in text:
                lines = [line.removesuffix(carriage_return) for line in lines]
            if len(rest) > LINE_LIMIT or (lines and len(lines[0]) > LINE_LIMIT):
                raise IoError(f"{function} {path}: line exceeds the {LINE_LIMIT}-byte cooperative streaming limit")
            yield lines
        if rest:
            yield [rest]


def _line_source(function: str, path: Any, as_text: bool) -> Any:
    """A file to read blocks from; one that keeps its reader waiting, such as a pipe, suspends only the task."""
    require(function, "fs-read")  # emitted loops come here without the guard of the builtin
    target = checked(function, path)
    try:
        descriptor = opened(target)
        mode = os.fstat(descriptor).st_mode
        if not S_ISREG(mode) and not S_ISDIR(mode):
            from sema_runtime.tasks.inputs import PatientFile

            return PatientFile(descriptor, as_text)
        if as_text:
            return open(descriptor, encoding="utf-8", newline="\n", buffering=BUFFER)
        return open(descriptor, "rb", buffering=0)
    except FAILURES as error:
        raise failed(function, path, error) from None


# Writing


@builtin("file/write", type="str, str -> nil", cap="fs-write")
def file_write(path: Any, content: Any) -> None:
    """Writes text to a file, replacing its contents. A reader sees the old text or the new one, never a mixture.

    (file/write "a.txt" "text")
    (file/read "a.txt") => "text"
    """
    _write("file/write", path, text_of(content))


@builtin("file/write-bytes", type="str, bytevector -> nil", cap="fs-write")
def file_write_bytes(path: Any, content: Any) -> None:
    """Writes the bytes of a bytevector to a file, replacing its contents.

    (file/write-bytes "a.bin" #u8(1 255))
    (:size (file/info "a.bin")) => 2
    """
    if type(path) is str and not isinstance(content, (bytes, bytearray)):
        type_error("bytevector", content)
    _write("file/write-bytes", path, content)


@builtin("file/write-lines", type="str, seq -> nil", cap="fs-write")
def file_write_lines(path: Any, lines: Any) -> None:
    """Writes the items of a list or vector to a file, separated by line ends.

    (file/write-lines "a.txt" '("one" "two"))
    (file/read "a.txt") => "one\\ntwo"
    """
    from sema_runtime.values.printer import display

    text_of(path)
    if not isinstance(lines, (List, tuple, list)):
        type_error("list or vector", lines)
    _write("file/write-lines", path, "\n".join(map(display, lines)))


@builtin("file/append", type="str, str -> nil", cap="fs-write")
def file_append(path: Any, content: Any) -> None:
    """Appends text to a file, which is created if missing.

    (file/append "log.txt" "one\\n")
    (file/append "log.txt" "two\\n")
    (file/read "log.txt") => "one\\ntwo\\n"
    """
    target = checked("file/append", path)
    text = text_of(content)
    try:
        data = text.encode()
        if destination(target) is None:
            _write_through(target, data)
            return
        descriptor = opened(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
    except FAILURES as error:
        raise failed("file/append", path, error) from None


def _write(function: str, path: Any, content: str | bytes | bytearray) -> None:
    target = checked(function, path)
    try:
        data = content.encode() if isinstance(content, str) else content
        if destination(target) is None:
            _write_through(target, data)
            return
        with Replacement(target, in_place=True) as file:
            write_all(file.fileno(), data)
    except FAILURES as error:
        raise failed(function, path, error) from None


def _write_through(path: str, data: bytes | bytearray) -> None:
    """Writes to a device, a pipe or a descriptor. Only the calling task waits. Raises OSError."""
    from sema_runtime.tasks.background import run

    def write(work: Work) -> None:
        descriptor = opened_through(path, check=work.check)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)

    run(write)


# Whole files


@builtin("file/delete", type="str -> nil", cap="fs-write")
def file_delete(path: Any) -> None:
    """Deletes a file.

    (file/write "a.txt" "text")
    (file/delete "a.txt")
    (file/exists? "a.txt") => #f
    """
    target = checked("file/delete", path)
    try:
        os.remove(target)
    except FAILURES as error:
        raise failed("file/delete", path, error) from None


@builtin("file/rename", type="str, str -> nil", cap="fs-write")
def file_rename(source: Any, target: Any) -> None:
    """Renames or moves a file. A file or a link of the new name is replaced; a device or a pipe raises an error.

    (file/write "a.txt" "text")
    (file/rename "a.txt" "b.txt")
    (file/exists? "a.txt") => #f
    """
    old, new = checked("file/rename", source), checked("file/rename", target)
    try:
        if os.path.lexists(new) and not os.path.islink(new):
            refuse_special("file/rename", new)
        os.replace(old, new)
    except FAILURES as error:
        raise failed("file/rename", f"{source} -> {target}", error) from None


@builtin("file/copy", type="str, str -> nil", cap="fs-write")
def file_copy(source: Any, target: Any) -> None:
    """Copies a file with its permissions.

    (file/write "a.txt" "text")
    (file/copy "a.txt" "b.txt")
    (file/read "b.txt") => "text"
    """
    from shutil import copyfileobj

    old, new = checked("file/copy", source), checked("file/copy", target)
    try:
        with open(opened_regular("file/copy", old), "rb") as file:
            info = os.fstat(file.fileno())
            if os.path.exists(new) and os.path.samestat(info, os.stat(new)):
                return
            with Replacement(new, info.st_mode & 0o7777, in_place=True, through=True) as copy:
                copyfileobj(file, copy, BUFFER)
    except FAILURES as error:
        raise failed("file/copy", f"{source} -> {target}", error) from None


@builtin("file/mkdir", type="str -> nil", cap="fs-write")
def file_mkdir(path: Any) -> None:
    """Creates a directory and its missing parents.

    (file/mkdir "a/b")
    (file/is-directory? "a/b") => #t
    """
    target = checked("file/mkdir", path)
    try:
        os.makedirs(target, exist_ok=True)
    except FAILURES as error:
        raise failed("file/mkdir", path, error) from None


# Looking


@builtin("file/exists?", type="str -> bool", cap="fs-read")
def file_is_exists(path: Any) -> bool:
    """Whether a file or directory exists at a path.

    (file/exists? "missing.txt") => #f
    (file/exists? ".") => #t
    """
    return os.path.exists(bundled(checked("file/exists?", path)))


@builtin("file/is-file?", type="str -> bool", cap="fs-read")
def file_is_is_file(path: Any) -> bool:
    """Whether a path is a file.

    (file/is-file? ".") => #f
    """
    return os.path.isfile(bundled(checked("file/is-file?", path)))


@builtin("file/is-directory?", type="str -> bool", cap="fs-read")
def file_is_is_directory(path: Any) -> bool:
    """Whether the path is a directory.

    (file/is-directory? ".") => #t
    """
    return os.path.isdir(bundled(checked("file/is-directory?", path)))


@builtin("file/is-symlink?", type="str -> bool", cap="fs-read")
def file_is_is_symlink(path: Any) -> bool:
    """Whether the path is a symbolic link.

    (file/is-symlink? ".") => #f
    """
    return os.path.islink(checked("file/is-symlink?", path))


@builtin("file/list", type="str -> flat str fresh", cap="fs-read")
def file_list(path: Any) -> List:
    """Lists a directory: the names of the files and directories in it, sorted.

    (file/write "b.txt" "")
    (file/mkdir "a")
    (file/list ".") => ("a" "b.txt")
    """
    target = bundled(checked("file/list", path))
    try:
        names = os.listdir(target)
        if target != path:  # a folder that a built program carries
            names = [name for name in names if not is_compiled(name)]
        return List(sorted(map(readable_name, names)))
    except FAILURES as error:
        raise failed("file/list", path, error) from None


@builtin("file/glob", type="str -> flat str fresh", cap="fs-read")
def file_glob(pattern: Any) -> List:
    """Finds files by a pattern with `*`, `?`, `[...]` and `**` (any number of directories): the paths, sorted.

    (file/mkdir "src/lib")
    (file/write "src/lib/a.sema" "")
    (file/glob "src/**/*.sema") => ("src/lib/a.sema")
    (file/glob "*.txt") => ()
    """
    from sema_runtime.lib.files.globbing import matching

    return List(matching(text_of(pattern)))


@builtin("file/info", type="str -> map keyword (bool|int) fresh", cap="fs-read")
def file_info(path: Any) -> Any:
    """Facts about a file as a map: :size in bytes, :modified in milliseconds since 1970, :is-file, :is-dir.

    (file/write "a.txt" "text")
    (:size (file/info "a.txt")) => 4
    """
    from sema_runtime.values.atoms import keyword
    from sema_runtime.values.maps import Map

    target = bundled(checked("file/info", path))
    try:
        info = os.stat(target)
    except FAILURES as error:
        raise failed("file/info", path, error) from None
    return Map(
        {
            keyword("is-dir"): S_ISDIR(info.st_mode),
            keyword("is-file"): S_ISREG(info.st_mode),
            keyword("modified"): info.st_mtime_ns // 1_000_000,
            keyword("size"): info.st_size,
        }
    )
