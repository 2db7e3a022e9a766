"""Files that are replaced as a whole: whoever reads sees the old one or the new one, also after a power failure."""

from __future__ import annotations

import os

from sema_runtime.workflow import faults


def replace(folder: str, name: str, data: bytes, point: str) -> None:
    """Writes folder/name. Raises OSError; then the old file is as it was. point: of faults."""
    renamed = prepare(folder, name, data, point)
    rename(folder, name, renamed, point)
    sync_folder(folder, point)


def prepare(folder: str, name: str, data: bytes, point: str) -> str:
    """Writes the data to a new file beside the one it shall replace, and waits until the disk has it; its path."""
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        if faults.armed:
            faults.passed(f"{point}.write.before")
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        if faults.armed:
            faults.passed(f"{point}.write.after")
            faults.passed(f"{point}.sync.before")
        getattr(os, "fdatasync", os.fsync)(descriptor)
        if faults.armed:
            faults.passed(f"{point}.sync.after")
    except OSError:
        os.remove(temporary)
        raise
    finally:
        os.close(descriptor)
    return temporary


def rename(folder: str, name: str, temporary: str, point: str) -> None:
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
