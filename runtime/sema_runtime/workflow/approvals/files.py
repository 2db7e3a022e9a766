"""The folder `approvals` of a run: each request and each decision is written once, by the first
process that gets there."""

from __future__ import annotations

import os
from contextlib import suppress
from stat import S_ISDIR, S_ISREG

from sema_runtime.support.private_files import make_folders
from sema_runtime.support.replacing import take_place
from sema_runtime.systems import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK
from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.approvals.records import Decision, Request, parsed, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 128 << 10  # bytes
ID_DIGITS = 24


def folder_of(run_folder: str) -> str:
    return os.path.join(run_folder, "approvals")


def path_of(run_folder: str, approval_id: str, kind: str) -> str:
    """kind: request or decision. Raises SemaError for what is no id of an approval."""
    digits = approval_id.removeprefix("apr_")
    if digits == approval_id or len(digits) != ID_DIGITS or not set(digits) <= set("0123456789abcdef"):
        raise SemaError(f'"{approval_id}" is no approval id', "they look like apr_ and 24 hexadecimal digits")
    return os.path.join(folder_of(run_folder), f"{approval_id}.{kind}.json")


def request(run_folder: str, approval_id: str) -> Request | None:
    record: Request | None = _read(Request, path_of(run_folder, approval_id, "request"))
    if record is not None and record.approval_id != approval_id:
        raise SemaError(f"{approval_id}.request.json holds the request {record.approval_id}")
    return record


def decision(run_folder: str, approval_id: str) -> Decision | None:
    record: Decision | None = _read(Decision, path_of(run_folder, approval_id, "decision"))
    return record


def ids(run_folder: str) -> list[str]:
    """Of all requests of a run, in the order in which they were made."""
    folder = folder_of(run_folder)
    try:
        names = [name.removesuffix(".request.json") for name in os.listdir(folder) if name.endswith(".request.json")]
    except OSError:
        return []
    return sorted(names, key=lambda name: (_modified(os.path.join(folder, f"{name}.request.json")), name))


def _modified(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _read(kind: type[Any], path: str) -> Any:
    """None when there is no such file. Raises SemaError for one that can't be what it should be."""
    name = os.path.basename(path)
    _check_folder(os.path.dirname(path))
    try:
        descriptor = os.open(path, os.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        link = os.path.islink(path)
        raise SemaError(f"{path}: {'a symbolic link is refused' if link else error.strerror}") from None
    with open(descriptor, "rb") as file:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise SemaError(f"{path} is no regular file")
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise SemaError(f"{path} is larger than {LARGEST >> 10} KiB")
    return parsed(kind, data, name)


def _check_folder(folder: str) -> None:
    try:
        mode = os.lstat(folder).st_mode
    except OSError:
        return  # opening what is in it will tell
    if not S_ISDIR(mode):
        raise SemaError(f"{folder} must be a directory, not a link or a file")


def publish(run_folder: str, record: Request | Decision, *, replacing: bool = False) -> bool:
    """Writes the file of a request or a decision; False when there was one. replacing: takes its place. Raises
    SemaError when it can't be written."""
    kind = "request" if isinstance(record, Request) else "decision"
    path = path_of(run_folder, record.approval_id, kind)
    folder = os.path.dirname(path)
    data = text_of(record).encode("utf-8", "replace")
    if len(data) > LARGEST:
        raise SemaError(f"approval: the {kind} is larger than {LARGEST >> 10} KiB")
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        make_folders(folder)
        _check_folder(folder)
        os.chmod(folder, 0o700)
        return _published(temporary, path, data, replacing)
    except OSError as error:
        raise SemaError(f"{path}: {error.strerror or error}") from None


def _published(temporary: str, path: str, data: bytes, replacing: bool) -> bool:
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if replacing:
            take_place(temporary, path)
        else:
            os.link(temporary, path)  # fails when there is one, unlike a rename
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
    _sync(os.path.dirname(path))
    return True


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
