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
    """The whole text of a file."""
    found = checked("file/read", path)
    try:
        with open(found, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeError) as error:
        raise failed("file/read", path, error) from None


@builtin("file/read-bytes", cap="fs-read")
def file_read_bytes(path: Any) -> bytes:
    """The whole contents of a file as a bytevector."""
    found = checked("file/read-bytes", path)
    try:
        with open(found, "rb") as file:
            return file.read()
    except OSError as error:
        raise failed("file/read-bytes", path, error) from None


@builtin("file/read-lines", returns="list[string]", cap="fs-read")
def file_read_lines(path: Any) -> List:
    """The lines of a file, without their ends (`\\n` or `\\r\\n`)."""
    found = checked("file/read-lines", path)
    try:
        with open(found, encoding="utf-8", newline="\n") as file:
            return List([line.rstrip("\r\n") for line in file])
    except (OSError, UnicodeError) as error:
        raise failed("file/read-lines", path, error) from None


@builtin("file/for-each-line", returns="nil", cap="fs-read")
def file_for_each_line(path: Any, function: Any) -> None:
    """Calls function with each line of a file; the file is never in memory as a whole."""
    call = _callable(function)
    with _opened("file/for-each-line", path) as file:
        for line in _lines("file/for-each-line", path, file):
            call(line.rstrip("\r\n"))


@builtin("file/fold-lines", cap="fs-read")
def file_fold_lines(path: Any, function: Any, initial: Any) -> Any:
    """Combines the lines of a file: `(function accumulated line)`, starting with initial; in constant memory.

    (file/fold-lines "data.txt" (fn (n line) (+ n 1)) 0) => 3
    """
    call = _callable(function)
    accumulated = initial
    with _opened("file/fold-lines", path) as file:
        for line in _lines("file/fold-lines", path, file):
            accumulated = call(accumulated, line.rstrip("\r\n"))
    return accumulated


@builtin("file/fold-lines-bytes", cap="fs-read")
def file_fold_lines_bytes(path: Any, function: Any, initial: Any) -> Any:
    """As file/fold-lines, with each line as a bytevector."""
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
    """Makes a file with that text, replacing what was there. A reader sees the old text or the new one, no mixture."""
    found = checked("file/write", path)
    _write("file/write", found, text_of(content).encode())


@builtin("file/write-bytes", returns="nil", cap="fs-write")
def file_write_bytes(path: Any, content: Any) -> None:
    """Makes a file with the contents of a bytevector."""
    found = checked("file/write-bytes", path)
    if not isinstance(content, (bytes, bytearray)):
        type_error("bytevector", content)
    _write("file/write-bytes", found, content)


@builtin("file/write-lines", returns="nil", cap="fs-write")
def file_write_lines(path: Any, lines: Any) -> None:
    """Makes a file of the items of a list or vector, with line ends between them."""
    from sema_runtime.values.printer import display

    found = checked("file/write-lines", path)
    if not isinstance(lines, (List, tuple, list)):
        type_error("list or vector", lines)
    _write("file/write-lines", found, "\n".join(map(display, lines)).encode())


@builtin("file/append", returns="nil", cap="fs-write")
def file_append(path: Any, content: Any) -> None:
    """Adds text at the end of a file, which is made when missing."""
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
    """Deletes a file."""
    found = checked("file/delete", path)
    try:
        os.remove(found)
    except OSError as error:
        raise failed("file/delete", path, error) from None


@builtin("file/rename", returns="nil", cap="fs-write")
def file_rename(source: Any, target: Any) -> None:
    """Renames or moves a file."""
    old, new = checked("file/rename", source), checked("file/rename", target)
    try:
        os.replace(old, new)
    except OSError as error:
        raise failed("file/rename", f"{source} -> {target}", error) from None


@builtin("file/copy", returns="nil", cap="fs-write")
def file_copy(source: Any, target: Any) -> None:
    """Copies a file with its permissions."""
    from shutil import copy

    old, new = checked("file/copy", source), checked("file/copy", target)
    try:
        copy(old, new)
    except OSError as error:
        raise failed("file/copy", f"{source} -> {target}", error) from None


@builtin("file/mkdir", returns="nil", cap="fs-write")
def file_mkdir(path: Any) -> None:
    """Makes a directory, and those above it that are missing."""
    found = checked("file/mkdir", path)
    try:
        os.makedirs(found, exist_ok=True)
    except OSError as error:
        raise failed("file/mkdir", path, error) from None


# Looking


@builtin("file/exists?", returns="bool", cap="fs-read")
def file_is_exists(path: Any) -> bool:
    """Whether there is a file or directory of that name."""
    return os.path.exists(checked("file/exists?", path))


@builtin("file/is-file?", returns="bool", cap="fs-read")
def file_is_is_file(path: Any) -> bool:
    """Whether the path is a file."""
    return os.path.isfile(checked("file/is-file?", path))


@builtin("file/is-directory?", returns="bool", cap="fs-read")
def file_is_is_directory(path: Any) -> bool:
    """Whether the path is a directory."""
    return os.path.isdir(checked("file/is-directory?", path))


@builtin("file/is-symlink?", returns="bool", cap="fs-read")
def file_is_is_symlink(path: Any) -> bool:
    """Whether the path is a symbolic link."""
    return os.path.islink(checked("file/is-symlink?", path))


@builtin("file/list", returns="list[string]", cap="fs-read")
def file_list(path: Any) -> List:
    """The names in a directory, sorted."""
    found = checked("file/list", path)
    try:
        return List(sorted(os.listdir(found)))
    except OSError as error:
        raise failed("file/list", path, error) from None


@builtin("file/glob", returns="list[string]", cap="fs-read")
def file_glob(pattern: Any) -> List:
    """The paths that match a pattern with `*`, `?`, `[...]` and `**` (any number of directories), sorted."""
    from glob import glob

    from sema_runtime import capabilities

    found = sorted(glob(text_of(pattern), recursive=True, include_hidden=True))
    for path in found if capabilities.allowed is not None else ():
        check_path("file/glob", path)
    return List(found)


@builtin("file/info", returns="map", cap="fs-read")
def file_info(path: Any) -> Any:
    """What is known of a file: :size in bytes, :modified in seconds since 1970, :is-file, :is-dir."""
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
