"""Replaces files as a whole: a reader sees the old contents or the new ones, also after a crash.

Only a regular file is ever replaced. Where the path leads decides, through all symbolic links:

| path | what happens |
|---|---|
| a regular file, or none yet | a new file takes its name, mode, owner, ACL and extended attributes |
| a symbolic link, dangling ones included | the same for the file it leads to; the link stays. A loop is an error |
| /dev/stdout, /dev/fd/N, /proc/self/fd/N | with through: written to that descriptor, where it stands; else an error |
| a device, a named pipe | with through: written to, a pipe waits for its reader; else an error |
| a second hard link, a folder that takes no new file | with in_place: the file itself is written |
"""

from __future__ import annotations

import os
import sys
from stat import S_ISFIFO, S_ISREG

from sema_runtime.support.file_access import opened
from sema_runtime.systems import O_CLOEXEC, set_blocking, set_mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

MOST_LINKS = 40  # of a path, as Linux counts
PAUSE = 0.01  # seconds between two checks whether a pipe has a reader


class Replacement:
    """A context manager that replaces a file; gives a binary file to write to. An error leaves the old file unchanged.

    The data goes into a new file beside the old one and takes its place when all is written. Raises OSError.
    permissions: of the new file; as before, or as usual, when None.
    in_place: where that can't be done (no new file can be made there, the owner can't be kept, other names are linked
    to the file) the file itself is written. Without, the first is an error, the others are not kept.
    fresh: permissions of a file that was not there, before the umask.
    sync: waits until the disk has it, so that not even a power failure undoes it.
    through: what is no regular file is written to. Without, it is an error: a store that nobody can read back.
    check: called while a pipe has no reader; what it raises ends the wait.
    """

    def __init__(
        self,
        path: str,
        permissions: int | None = None,
        *,
        in_place: bool = False,
        sync: bool = False,
        through: bool = False,
        check: Callable[[], None] | None = None,
        fresh: int = 0o666,
    ) -> None:
        self.path = path
        self.permissions = permissions
        self.in_place = in_place
        self.sync = sync
        self.through = through
        self.check = check
        self.target = ""
        self.fresh = fresh
        self.temporary = ""

    def __enter__(self) -> BinaryIO:
        target = destination(self.path)
        if target is None and not self.through and not os.path.isdir(self.path):
            raise FileExistsError(17, "It is a device, a pipe or a socket, not a regular file", self.path)
        if target is None:
            self.file = open(opened_through(self.path, check=self.check), "wb")
            return self.file
        self.target = target
        try:
            before = os.stat(target)
        except FileNotFoundError:
            before = None
        self.file = open(self._descriptor(before), "wb")
        return self.file

    def _descriptor(self, before: os.stat_result | None) -> int:
        """A descriptor of the new file, or of the old one where that is written itself."""
        linked = before is not None and before.st_nlink > 1
        if not (linked and self.in_place):
            try:
                return self._new_file(before)
            except OSError:
                if before is None or not self.in_place:
                    raise
        descriptor = opened(self.target, os.O_WRONLY | os.O_TRUNC)
        if self.permissions is not None:
            set_mode(descriptor, self.permissions)
        return descriptor

    def _new_file(self, before: os.stat_result | None) -> int:
        """A descriptor of the file that takes the name of the old one."""
        name = f".sema-{os.getpid()}-{os.urandom(8).hex()}.tmp"
        temporary = os.path.join(os.path.dirname(self.target), name)
        at_first = self.fresh if before is None and self.permissions is None else 0o600
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC, at_first)
        try:
            permissions = self.permissions
            if before is not None:
                new = os.fstat(descriptor)
                if (new.st_uid, new.st_gid) != (before.st_uid, before.st_gid):
                    self._keep_owner(descriptor, before)
                self._keep_attributes(descriptor)
                permissions = before.st_mode & 0o7777 if permissions is None else permissions
            if permissions is not None:
                set_mode(descriptor, permissions)
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

    def _keep_attributes(self, descriptor: int) -> None:
        """Gives the new file the ACL and the extended attributes of the old one, as far as the system lets us."""
        if not hasattr(os, "listxattr"):
            return
        try:
            names = os.listxattr(self.target)
        except OSError:  # a file system without them
            return
        for name in names:
            try:
                os.setxattr(descriptor, name, os.getxattr(self.target, name))
            except OSError:
                if self.in_place and name == "system.posix_acl_access":
                    raise

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            with self.file as file:
                if kind is None and self.sync and self.target:
                    file.flush()
                    os.fsync(file.fileno())
            if self.temporary and kind is None:
                take_place(self.temporary, self.target)
                self.temporary = ""
                if self.sync:
                    _sync_folder(os.path.dirname(self.target))
        finally:
            if self.temporary:
                os.remove(self.temporary)


def destination(path: str) -> str | None:
    """The name, without symbolic links, of the regular file that a path leads to; it need not exist. None when the path
    leads to something else: a device, a pipe, a descriptor of this process, a folder. Raises OSError for a loop."""
    name = path.rstrip("/") or path
    if not os.path.islink(name):
        return name if _replaceable(name) and own_descriptor(name) is None else None
    if own_descriptor(name) is not None or not _replaceable(name):
        return None
    target = os.path.realpath(name)
    return target if _replaceable(target) else None


def _replaceable(path: str) -> bool:
    """Whether a path leads to a regular file or to none. Raises OSError for a loop of links."""
    try:
        return S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True


def own_descriptor(path: str) -> int | None:
    """The number of the descriptor of this process that a path stands for, also through links; None for other paths."""
    current = path
    for _ in range(MOST_LINKS):
        folder, name = os.path.split(current)
        if name.isdecimal() and _is_descriptor_folder(os.path.realpath(folder or ".")):
            return int(name)
        try:
            current = os.path.join(folder, os.readlink(current))
        except (OSError, ValueError):
            return None
    return None


def _is_descriptor_folder(folder: str) -> bool:
    own = (f"/proc/{os.getpid()}/fd", "/dev/fd")  # the second where it is no link, as on macOS
    return folder in own or (folder.startswith(f"/proc/{os.getpid()}/task/") and folder.endswith("/fd"))


def opened_through(path: str, check: Callable[[], None] | None = None) -> int:
    """A descriptor to write to a path that leads to no regular file. Raises OSError, for a folder too.

    Waits for the reader of a pipe. check: called meanwhile, what it raises ends the wait.
    """
    number = own_descriptor(path)
    if number is not None:
        for stream in (sys.stdout, sys.stderr):  # earlier output comes first
            if stream is not None:
                stream.flush()
        return os.dup(number)
    while True:
        try:
            descriptor = opened(path, os.O_WRONLY)
            break
        except OSError:
            if not S_ISFIFO(os.stat(path).st_mode):
                raise
            if check is not None:
                check()
            from time import sleep

            sleep(PAUSE)
    set_blocking(descriptor)
    return descriptor


def take_place(temporary: str, target: str) -> None:
    """Renames a finished file to the one it replaces. Raises OSError when that is no regular file by now."""
    try:
        regular = S_ISREG(os.lstat(target).st_mode)
    except FileNotFoundError:
        regular = True
    if not regular:
        raise FileExistsError(17, "It is no regular file any more", target)
    os.replace(temporary, target)


def _sync_folder(path: str) -> None:
    """Flushes the entries of a folder to the disk, where the system can do that."""
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
    """Removes temporary files that dead processes have left in a folder."""
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
