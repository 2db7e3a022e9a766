"""A key-value store in one JSON file, which is written as a whole on every change and then flushed to the disk.

A change is first in the file and then in memory. What another program has written since is read before the next
change. Programs alternate: each locks the file's folder while it changes the file. A lock file beside it would stay.
The JSON is kept value by value: what isn't changed is written as it was read.
"""

from __future__ import annotations

import os

from sema_runtime.capabilities import check_path
from sema_runtime.support.file_access import failed, reason
from sema_runtime.support.replacing import Replacement
from sema_runtime.support.shared_files import locked
from sema_runtime.systems import O_CLOEXEC
from sema_runtime.values.errors import IoError, SemaError
from sema_runtime.values.maps import Map
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Version = tuple[int, int, int] | None  # of a file: what changes when it is written; None when it is missing

MAX_BYTES = 64 << 20  # of the file
MAX_ITEMS = 1_000_000
LOCK_SECONDS = 10.0  # a turn takes milliseconds
LOCK_PAUSE = 0.002
SPLIT_HINT = "split the data across multiple kv stores"
BLANK = " \t\n\r"
INDENT = "  "


class KeyValueFile:
    """The contents of one file. path: as the program wrote it; target: without symbolic links; entries: JSON by key.
    fresh: permissions of a file that wasn't there, before the umask."""

    def __init__(self, path: str, target: str, fresh: int = 0o666) -> None:
        self.path = path
        self.target = target
        self.fresh = fresh
        self.entries: dict[str, str] = {}
        self.version: Version = None

    def load(self, function: str) -> None:
        """Reads the file; a missing one holds nothing. A damaged one is left as it is."""
        try:
            version = self.version_on_disk()
            if version is not None and not os.path.isfile(self.target):  # a pipe would not end
                raise SemaError(f"{function}: a kv store must be a regular file: {self.path}")
            with open(self.target, "rb") as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                check_size(function, f"store {self.path}", max(len(data), os.path.getsize(self.target)))
            text = data.decode()
        except FileNotFoundError:
            self.entries, self.version = {}, None
            return
        except (OSError, UnicodeError) as error:
            raise failed(function, self.path, error) from None
        try:
            self.entries = members(text)
        except ValueError as error:
            raise IoError(f"{function}: malformed JSON in {self.path}: {error}") from None
        self.version = version

    def version_on_disk(self) -> Version:
        try:
            info = os.stat(self.target)
        except FileNotFoundError:
            return None
        return info.st_ino, info.st_size, info.st_mtime_ns

    def change(self, function: str, key: str, text: str | None, check: Callable[[], None]) -> bool:
        """Gives a key that JSON text, or deletes it when there is none. Whether the key was there before."""
        check_path(function, self.path)
        try:
            folder = os.open(os.path.dirname(self.target), os.O_RDONLY | O_CLOEXEC)
        except OSError as error:
            raise failed(function, self.path, error) from None
        try:
            self._wait_for_turn(function, folder, check)
            return self._change(function, key, text)
        finally:
            os.close(folder)

    def _wait_for_turn(self, function: str, folder: int, check: Callable[[], None]) -> None:
        """Locks the file's folder. Raises IoError when that can't be done: changes of others would be lost."""
        from time import monotonic, sleep

        until = monotonic() + LOCK_SECONDS
        try:
            while not locked(folder):
                if monotonic() > until:
                    raise IoError(
                        f"{function} {self.path}: another program has locked its folder for {LOCK_SECONDS:g} s",
                        "end or continue that program (it may be stopped), and try again",
                    )
                check()
                sleep(LOCK_PAUSE)
        except OSError as error:
            raise IoError(
                f"{function} {self.path}: its folder can't be locked: {reason(error)}",
                "keep the store on a file system that has locks (flock)",
            ) from None

    def _change(self, function: str, key: str, text: str | None) -> bool:
        if self.version_on_disk() not in (self.version, None):
            self.load(function)
        existed = key in self.entries
        if text is None and not existed:
            return False
        if text is not None and not existed and len(self.entries) >= MAX_ITEMS:
            count = len(self.entries)
            message = f"{function}: kv store '{self.path}' already holds {count} items, at the {MAX_ITEMS}-item"
            raise SemaError(f"{message} kv store limit", f"delete unused keys or {SPLIT_HINT}")
        changed = {name: value for name, value in self.entries.items() if name != key}
        if text is not None:
            changed[key] = text
        self.write(function, changed)
        self.entries = changed
        return existed

    def write(self, function: str, entries: dict[str, str]) -> None:
        """Replaces the file."""
        data = joined(entries).encode()
        check_size(function, f"store {self.path}", len(data))
        try:
            with Replacement(self.target, sync=True, fresh=self.fresh) as file:
                file.write(data)
            self.version = self.version_on_disk()
        except OSError as error:
            raise failed(function, self.path, error) from None


def check_size(function: str, what: str, size: int) -> None:
    """Raises SemaError for a store or a value of more than MAX_BYTES bytes. what: the store or the value, in words."""
    if size > MAX_BYTES:
        raise SemaError(f"{function}: {what} is {size} bytes, over the {MAX_BYTES}-byte kv store limit", SPLIT_HINT)


def members(text: str) -> dict[str, str]:
    """The JSON text of each member of an object. Raises ValueError saying where the text is wrong."""
    from sema_runtime.support.json import decode
    from sema_runtime.support.json_errors import first_error

    try:
        value = decode(text)
    except SemaError:
        error = first_error(text)
        raise ValueError(" ".join(error) if error else "unreadable") from None
    if not isinstance(value, Map):
        raise ValueError(f"expected an object, got {type_name(value)}")
    return _split(text)


def _split(text: str) -> dict[str, str]:
    """The members of a text that is known to be an object."""
    from json import JSONDecoder

    scan = JSONDecoder(parse_int=str).raw_decode  # only where a value ends is wanted
    texts: dict[str, str] = {}
    at = _behind_blanks(text, _behind_blanks(text, 0) + 1)
    while text[at] != "}":
        key, at = scan(text, at)
        start = _behind_blanks(text, _behind_blanks(text, at) + 1)
        _, end = scan(text, start)
        texts[key] = text[start:end]
        at = _behind_blanks(text, end)
        if text[at] == ",":
            at = _behind_blanks(text, at + 1)
    return texts


def _behind_blanks(text: str, at: int) -> int:
    while text[at] in BLANK:
        at += 1
    return at


def joined(members: dict[str, str]) -> str:
    """The object that has those members, by key, over several lines."""
    from json import dumps

    if not members:
        return "{}"
    lines = [f"{INDENT}{dumps(key, ensure_ascii=False)}: {members[key]}" for key in sorted(members)]
    return "{\n" + ",\n".join(lines) + "\n}"
