"""Files that are replaced as a whole: whoever reads sees the old one or the new one, also after a power failure."""

from __future__ import annotations

import os

from sema_runtime.lib.file_access import write_all
from sema_runtime.workflow import faults


def replace(folder: str, name: str, data: bytes, point: str) -> None:
    """Writes folder/name. Raises OSError; then the old file is as it was. point: of faults."""
    descriptor, temporary = _new_file(folder, name, data, point)
    try:
        sync(descriptor, point)
    except OSError:
        os.remove(temporary)
        raise
    _rename(folder, name, temporary, point)
    sync_folder(folder, point)


def put(folder: str, name: str, data: bytes, point: str) -> int:
    """Writes folder/name, whole for every process from then on; a power failure may still undo or damage it until its
    descriptor, which is given, and the folder are synced. Raises OSError."""
    descriptor, temporary = _new_file(folder, name, data, point)
    try:
        _rename(folder, name, temporary, point)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _new_file(folder: str, name: str, data: bytes, point: str) -> tuple[int, str]:
    """The open descriptor of a new file with the data, and its path."""
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        if faults.armed:
            faults.passed(f"{point}.write.before")
        write_all(descriptor, data)
        if faults.armed:
            faults.passed(f"{point}.write.after")
    except OSError:
        os.close(descriptor)
        os.remove(temporary)
        raise
    return descriptor, temporary


def sync(descriptor: int, point: str) -> None:
    """Waits until the disk has the file, and closes it. Raises OSError."""
    if faults.armed:
        faults.passed(f"{point}.sync.before")
    try:
        getattr(os, "fdatasync", os.fsync)(descriptor)
    finally:
        os.close(descriptor)
    if faults.armed:
        faults.passed(f"{point}.sync.after")


def _rename(folder: str, name: str, temporary: str, point: str) -> None:
    if faults.armed:
        faults.passed(f"{point}.rename.before")
    os.replace(temporary, os.path.join(folder, name))
    if faults.armed:
        faults.passed(f"{point}.rename.after")


def sync_folder(folder: str, point: str) -> None:
    """Waits until the disk knows which files the folder holds, where the system can do that."""
    if faults.armed:
        faults.passed(f"{point}.folder.before")
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
    if faults.armed:
        faults.passed(f"{point}.folder.after")
