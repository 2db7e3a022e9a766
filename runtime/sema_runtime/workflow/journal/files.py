"""Files that are replaced as a whole: readers see the old one or the new one, even after a power failure."""

from __future__ import annotations

import os
from contextlib import suppress

from sema_runtime.support.file_access import write_all
from sema_runtime.support.private_files import FILE_MODE
from sema_runtime.support.replacing import destination, opened_through, take_place
from sema_runtime.systems import O_CLOEXEC, read_at, set_mode
from sema_runtime.workflow.journal import crash_points


def replace(folder: str, name: str, data: bytes, point: str) -> None:
    """Writes folder/name. Raises OSError; then the old file is as it was. A link stays, its target is replaced; what is
    no regular file is written to. point: the prefix of its crash points."""
    path = os.path.join(folder, name)
    target = path if not os.path.lexists(path) else destination(path)
    if target is None:
        descriptor = opened_through(path)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        return
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        _write(temporary, data, point, _mode_of(target))
        if crash_points.armed:
            crash_points.passed(f"{point}.rename.before")
        take_place(temporary, target)
    except OSError:
        with suppress(OSError):
            os.remove(temporary)
        raise
    if crash_points.armed:
        crash_points.passed(f"{point}.rename.after")
    sync_folder(folder, point)


def _mode_of(path: str) -> int | None:
    """The permissions of a file; None when it isn't there."""
    try:
        return os.stat(path).st_mode & 0o7777
    except OSError:
        return None


def _write(path: str, data: bytes, point: str, mode: int | None) -> None:
    """Writes a new file, to the disk. mode: its permissions; None: for its owner alone."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | O_CLOEXEC, FILE_MODE)
    try:
        if mode is not None:
            set_mode(descriptor, mode)
        if crash_points.armed:
            crash_points.passed(f"{point}.write.before")
        write_all(descriptor, data)
        if crash_points.armed:
            crash_points.passed(f"{point}.write.after")
            crash_points.passed(f"{point}.sync.before")
        sync_data(descriptor)
    finally:
        os.close(descriptor)
    if crash_points.armed:
        crash_points.passed(f"{point}.sync.after")


def open_lines(path: str) -> int:
    """The descriptor of a file of lines, to which lines are added; made if it isn't there. A line in which a process
    died is ended. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | O_CLOEXEC, FILE_MODE)
    size = os.fstat(descriptor).st_size
    if size and read_at(descriptor, 1, size - 1) != b"\n":
        write_all(descriptor, b"\n")
    return descriptor


def sync_data(descriptor: int) -> None:
    """Waits until the disk has the contents of a file. Raises OSError."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_folder(folder: str, point: str) -> None:
    """Waits until the disk knows which files the folder holds, where the system can do that."""
    if crash_points.armed:
        crash_points.passed(f"{point}.folder.before")
    try:
        descriptor = os.open(folder, os.O_RDONLY | O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
    if crash_points.armed:
        crash_points.passed(f"{point}.folder.after")
