"""Files that are replaced as a whole: whoever reads sees the old contents or the new ones, also after a crash."""

from __future__ import annotations

import os
from stat import S_ISREG

from sema_runtime.lib.file_access import opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO


class Replacement:
    """A context in which a file is written anew; it is a binary file. After an error the old one is as it was.

    The text goes into a new file beside the old one, which takes its name, owner and permissions when all is written; a
    symbolic link stays one. Raises OSError.
    permissions: of the new file; as before, or as usual, when None.
    in_place: where that can't be done (no new file can be made there, the owner can't be kept, other names are linked
    to the file, it is a device) the file itself is written. Without, the first is an error, the others are not kept.
    fresh: permissions of a file that wasn't there, before the umask.
    sync: waits until the disk has it, so that not even a power failure undoes it.
    """

    def __init__(
        self,
        path: str,
        permissions: int | None = None,
        *,
        in_place: bool = False,
        sync: bool = False,
        fresh: int = 0o666,
    ) -> None:
        name = path.rstrip("/") or path
        self.target = os.path.realpath(name) if os.path.islink(name) else name
        self.permissions = permissions
        self.in_place = in_place
        self.sync = sync
        self.fresh = fresh
        self.temporary = ""

    def __enter__(self) -> BinaryIO:
        try:
            before = os.stat(self.target)
        except FileNotFoundError:
            before = None
        self.file = open(self._descriptor(before), "wb")
        return self.file

    def _descriptor(self, before: os.stat_result | None) -> int:
        """Of the new file, or of the old one where it is written itself."""
        linked = before is not None and (before.st_nlink > 1 or not S_ISREG(before.st_mode))
        if not (linked and self.in_place):
            try:
                return self._new_file(before)
            except OSError:
                if before is None or not self.in_place:
                    raise
        descriptor = opened(self.target, os.O_WRONLY | os.O_TRUNC)
        if self.permissions is not None:
            os.fchmod(descriptor, self.permissions)
        return descriptor

    def _new_file(self, before: os.stat_result | None) -> int:
        """A descriptor of the file that shall take the name of the old one."""
        name = f".sema-{os.getpid()}-{os.urandom(8).hex()}.tmp"
        temporary = os.path.join(os.path.dirname(self.target), name)
        at_first = self.fresh if before is None and self.permissions is None else 0o600
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, at_first)
        try:
            permissions = self.permissions
            if before is not None:
                made = os.fstat(descriptor)
                if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
                    self._keep_owner(descriptor, before)
                permissions = before.st_mode & 0o7777 if permissions is None else permissions
            if permissions is not None:
                os.fchmod(descriptor, permissions)
        except OSError:
            os.close(descriptor)
            os.remove(temporary)
            raise
        self.temporary = temporary
        return descriptor

    def _keep_owner(self, descriptor: int, before: os.stat_result) -> None:
        try:
            os.fchown(descriptor, before.st_uid, before.st_gid)
        except OSError:
            if self.in_place:
                raise

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            with self.file as file:
                if kind is None and self.sync:
                    file.flush()
                    os.fsync(file.fileno())
            if self.temporary and kind is None:
                os.replace(self.temporary, self.target)
                self.temporary = ""
                if self.sync:
                    _sync_folder(os.path.dirname(self.target))
        finally:
            if self.temporary:
                os.remove(self.temporary)


def _sync_folder(path: str) -> None:
    """Has the disk note which files a folder holds, where the system can do that."""
    try:
        folder = os.open(path or ".", os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(folder)
    except OSError:
        pass
    finally:
        os.close(folder)


def remove_leftovers(folder: str) -> None:
    """Removes what processes that died while they were replacing a file have left in a folder."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        owner, dash, _ = name.removeprefix(".sema-").partition("-")
        if (
            name.startswith(".sema-")
            and name.endswith(".tmp")
            and dash
            and owner.isdecimal()
            and not _alive(int(owner))
        ):
            try:
                os.remove(os.path.join(folder, name))
            except OSError:
                continue


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
