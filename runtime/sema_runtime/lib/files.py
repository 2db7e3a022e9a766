"""Files: reading, writing, directories. Text is UTF-8. Every path is checked against the allowed directories."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain

from sema_runtime.capabilities import check_path
from sema_runtime.catalogue import builtin
from sema_runtime.lib.text_args import text_of
from sema_runtime.values.errors import IoError, type_error
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BUFFER = 1 << 18  # bytes read at a time when going through a file


def reason(error: OSError | UnicodeError) -> str:
    """Why a file operation failed, in words."""
    if isinstance(error, FileNotFoundError):
        return "No such file"
    if isinstance(error, UnicodeError):
        return "stream did not contain valid UTF-8"
    return error.strerror or str(error)


def failed(function: str, path: str, error: OSError | UnicodeError) -> IoError:
    """The condition of a failed operation: `file/read /x: No such file`."""
    return IoError(f"{function} {path}: {reason(error)}")


def checked(function: str, path: Any) -> str:
    """The path, checked to be a string and to be allowed."""
    text = text_of(path)
    check_path(function, text)
    return text


# Reading


@builtin("file/read", returns="string", cap="fs-read")
def file_read(path: Any) -> str:
    """Reads a file: its whole text, which must be UTF-8.

    (file/write "a.txt" "text")
    (file/read "a.txt") => "text"
    (file/read "missing.txt") ! I/O error: file/read missing.txt: No such file
    """
    found = checked("file/read", path)
    try:
        with open(found, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeError) as error:
        raise failed("file/read", path, error) from None


@builtin("file/read-bytes", cap="fs-read")
def file_read_bytes(path: Any) -> bytes:
    """Reads a file: its whole contents as a bytevector.

    (file/write-bytes "a.bin" #u8(1 255))
    (file/read-bytes "a.bin") => #u8(1 255)
    """
    found = checked("file/read-bytes", path)
    try:
        with open(found, "rb") as file:
            return file.read()
    except OSError as error:
        raise failed("file/read-bytes", path, error) from None


@builtin("file/read-lines", returns="list[string]", cap="fs-read")
def file_read_lines(path: Any) -> List:
    """Reads the lines of a file, without their ends (`\\n` or `\\r\\n`), as a list.

    (file/write "a.txt" "one\\ntwo\\n")
    (file/read-lines "a.txt") => ("one" "two")
    """
    found = checked("file/read-lines", path)
    try:
        with open(found, encoding="utf-8", newline="\n") as file:
            return List([line.rstrip("\r\n") for line in file])
    except (OSError, UnicodeError) as error:
        raise failed("file/read-lines", path, error) from None


@builtin("file/for-each-line", returns="nil", cap="fs-read")
def file_for_each_line(path: Any, function: Any) -> None:
    """Reads a file line by line and calls function with each; the file is never in memory as a whole.

    (file/write "data.txt" "a\\nb\\n")
    (file/for-each-line "data.txt" println) prints a\\nb
    """
    call = _callable(function)
    with _opened("file/for-each-line", path) as file:
        for line in _lines("file/for-each-line", path, file):
            call(line.rstrip("\r\n"))


@builtin("file/fold-lines", cap="fs-read")
def file_fold_lines(path: Any, function: Any, initial: Any) -> Any:
    """Reads a file line by line and combines the lines: `(function accumulated line)`, starting with initial; in
    constant memory.

    (file/write "data.txt" "3\\n4\\n")
    (file/fold-lines "data.txt" (fn (sum line) (+ sum (int line))) 0) => 7
    """
    call = _callable(function)
    accumulated = initial
    with _opened("file/fold-lines", path) as file:
        for line in _lines("file/fold-lines", path, file):
            accumulated = call(accumulated, line.rstrip("\r\n"))
    return accumulated


@builtin("file/fold-lines-bytes", cap="fs-read")
def file_fold_lines_bytes(path: Any, function: Any, initial: Any) -> Any:
    """As file/fold-lines, with each line as a bytevector.

    (file/write "data.txt" "ab\\nc\\n")
    (file/fold-lines-bytes "data.txt" (fn (sum line) (+ sum (bytes/length line))) 0) => 3
    """
    call = _callable(function)
    found = checked("file/fold-lines-bytes", path)
    accumulated = initial
    try:
        file = open(found, "rb", BUFFER)  # noqa: SIM115 - errors of the callback must not be taken for those of open
    except OSError as error:
        raise failed("file/fold-lines-bytes", path, error) from None
    with file:
        for line in file:
            accumulated = call(accumulated, line.rstrip(b"\r\n"))
    return accumulated


def _callable(function: Any) -> Callable[..., Any]:
    if not callable(function):
        type_error("function", function)
    return function  # type: ignore[no-any-return]


def _opened(function: str, path: Any) -> Any:
    found = checked(function, path)
    try:
        return open(found, encoding="utf-8", newline="\n", buffering=BUFFER)
    except OSError as error:
        raise failed(function, path, error) from None


def _lines(function: str, path: str, file: Any) -> Any:
    """The lines of an open text file; what is wrong with the file is told apart from errors of the loop's body."""
    try:
        yield from file
    except (OSError, UnicodeError) as error:
        raise failed(function, path, error) from None


def lines_of(path: Any, function: str) -> Iterator[str]:
    """The lines of a file without their ends, a block of the file in memory at a time: what emitted loops run over."""
    return chain.from_iterable(_line_blocks(path, function))  # from one line to the next without running Python code


def _line_blocks(path: Any, function: str) -> Iterator[list[str]]:
    with _opened(function, path) as file:
        rest = ""
        while True:
            try:
                block = file.read(BUFFER)
            except (OSError, UnicodeError) as error:
                raise failed(function, path, error) from None
            if not block:
                break
            text = rest + block
            lines = text.split("\n")
            rest = lines.pop()
            if "\r" in text:
                lines = [line.rstrip("\r") for line in lines]
            yield lines
        if rest:
            yield [rest.rstrip("\r")]


# Writing


@builtin("file/write", returns="nil", cap="fs-write")
def file_write(path: Any, content: Any) -> None:
    """Writes text to a file, replacing what was there. A reader sees the old text or the new one, no mixture.

    (file/write "a.txt" "text")
    (file/read "a.txt") => "text"
    """
    found = checked("file/write", path)
    _write("file/write", found, text_of(content).encode())


@builtin("file/write-bytes", returns="nil", cap="fs-write")
def file_write_bytes(path: Any, content: Any) -> None:
    """Writes the bytes of a bytevector to a file, replacing what was there.

    (file/write-bytes "a.bin" #u8(1 255))
    (:size (file/info "a.bin")) => 2
    """
    found = checked("file/write-bytes", path)
    if not isinstance(content, (bytes, bytearray)):
        type_error("bytevector", content)
    _write("file/write-bytes", found, content)


@builtin("file/write-lines", returns="nil", cap="fs-write")
def file_write_lines(path: Any, lines: Any) -> None:
    """Writes the items of a list or vector to a file, with line ends between them.

    (file/write-lines "a.txt" '("one" "two"))
    (file/read "a.txt") => "one\\ntwo"
    """
    from sema_runtime.values.printer import display

    found = checked("file/write-lines", path)
    if not isinstance(lines, (List, tuple, list)):
        type_error("list or vector", lines)
    _write("file/write-lines", found, "\n".join(map(display, lines)).encode())


@builtin("file/append", returns="nil", cap="fs-write")
def file_append(path: Any, content: Any) -> None:
    """Appends text to a file, which is made when missing.

    (file/append "log.txt" "one\\n")
    (file/append "log.txt" "two\\n")
    (file/read "log.txt") => "one\\ntwo\\n"
    """
    found = checked("file/append", path)
    data = text_of(content).encode()
    try:
        with open(found, "ab") as file:
            file.write(data)
    except OSError as error:
        raise failed("file/append", path, error) from None


def _write(function: str, path: str, data: bytes | bytearray) -> None:
    try:
        replace_file(path, data)
    except OSError as error:
        raise failed(function, path, error) from None


def replace_file(path: str, data: bytes | bytearray) -> None:
    """Writes a file as a whole: into a new one beside it, which then takes its name. Raises OSError."""
    from stat import S_ISREG

    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = 0
    if mode and (not S_ISREG(mode) or not os.access(os.path.dirname(target), os.W_OK)):
        with open(target, "wb") as file:  # a device or pipe, or a directory in which nothing can be made
            file.write(data)
        return
    temporary = f"{target}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(data)
        if mode:
            os.chmod(temporary, mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


# Whole files


@builtin("file/delete", returns="nil", cap="fs-write")
def file_delete(path: Any) -> None:
    """Deletes a file.

    (file/write "a.txt" "text")
    (file/delete "a.txt")
    (file/exists? "a.txt") => #f
    """
    found = checked("file/delete", path)
    try:
        os.remove(found)
    except OSError as error:
        raise failed("file/delete", path, error) from None


@builtin("file/rename", returns="nil", cap="fs-write")
def file_rename(source: Any, target: Any) -> None:
    """Renames or moves a file.

    (file/write "a.txt" "text")
    (file/rename "a.txt" "b.txt")
    (file/exists? "a.txt") => #f
    """
    old, new = checked("file/rename", source), checked("file/rename", target)
    try:
        os.replace(old, new)
    except OSError as error:
        raise failed("file/rename", f"{source} -> {target}", error) from None


@builtin("file/copy", returns="nil", cap="fs-write")
def file_copy(source: Any, target: Any) -> None:
    """Copies a file with its permissions.

    (file/write "a.txt" "text")
    (file/copy "a.txt" "b.txt")
    (file/read "b.txt") => "text"
    """
    from shutil import copy

    old, new = checked("file/copy", source), checked("file/copy", target)
    try:
        copy(old, new)
    except OSError as error:
        raise failed("file/copy", f"{source} -> {target}", error) from None


@builtin("file/mkdir", returns="nil", cap="fs-write")
def file_mkdir(path: Any) -> None:
    """Creates a directory, and those above it that are missing.

    (file/mkdir "a/b")
    (file/is-directory? "a/b") => #t
    """
    found = checked("file/mkdir", path)
    try:
        os.makedirs(found, exist_ok=True)
    except OSError as error:
        raise failed("file/mkdir", path, error) from None


# Looking


@builtin("file/exists?", returns="bool", cap="fs-read")
def file_is_exists(path: Any) -> bool:
    """Whether a file or directory of that name exists.

    (file/exists? "missing.txt") => #f
    (file/exists? ".") => #t
    """
    return os.path.exists(checked("file/exists?", path))


@builtin("file/is-file?", returns="bool", cap="fs-read")
def file_is_is_file(path: Any) -> bool:
    """Whether the path is a file.

    (file/is-file? ".") => #f
    """
    return os.path.isfile(checked("file/is-file?", path))


@builtin("file/is-directory?", returns="bool", cap="fs-read")
def file_is_is_directory(path: Any) -> bool:
    """Whether the path is a directory.

    (file/is-directory? ".") => #t
    """
    return os.path.isdir(checked("file/is-directory?", path))


@builtin("file/is-symlink?", returns="bool", cap="fs-read")
def file_is_is_symlink(path: Any) -> bool:
    """Whether the path is a symbolic link.

    (file/is-symlink? ".") => #f
    """
    return os.path.islink(checked("file/is-symlink?", path))


@builtin("file/list", returns="list[string]", cap="fs-read")
def file_list(path: Any) -> List:
    """Lists a directory: the names of the files and directories in it, sorted.

    (file/write "b.txt" "")
    (file/mkdir "a")
    (file/list ".") => ("a" "b.txt")
    """
    found = checked("file/list", path)
    try:
        return List(sorted(os.listdir(found)))
    except OSError as error:
        raise failed("file/list", path, error) from None


@builtin("file/glob", returns="list[string]", cap="fs-read")
def file_glob(pattern: Any) -> List:
    """Finds files by a pattern: the paths that match, with `*`, `?`, `[...]` and `**` (any number of directories),
    sorted.

    (file/mkdir "src/lib")
    (file/write "src/lib/a.sema" "")
    (file/glob "src/**/*.sema") => ("src/lib/a.sema")
    (file/glob "*.txt") => ()
    """
    from glob import glob

    from sema_runtime import capabilities

    found = sorted(glob(text_of(pattern), recursive=True, include_hidden=True))
    for path in found if capabilities.allowed is not None else ():
        check_path("file/glob", path)
    return List(found)


@builtin("file/info", returns="map", cap="fs-read")
def file_info(path: Any) -> Any:
    """What is known of a file: :size in bytes, :modified in seconds since 1970, :is-file, :is-dir.

    (file/write "a.txt" "text")
    (:size (file/info "a.txt")) => 4
    """
    from stat import S_ISDIR, S_ISREG

    from sema_runtime.values.atoms import keyword
    from sema_runtime.values.maps import Map

    found = checked("file/info", path)
    try:
        info = os.stat(found)
    except OSError as error:
        raise failed("file/info", path, error) from None
    return Map(
        {
            keyword("is-dir"): S_ISDIR(info.st_mode),
            keyword("is-file"): S_ISREG(info.st_mode),
            keyword("modified"): int(info.st_mtime),
            keyword("size"): info.st_size,
        }
    )
