"""Key-value stores: one JSON file each, written anew on every change and then kept by the disk.

A change is first in the file and then in memory. Handles on the same file share a store; what another program has
written into the file since is read before the next change. Programs take turns: each locks the file's folder while it
changes the file, which is replaced, and a lock file beside it would stay.
"""

from __future__ import annotations

import os

from sema_runtime.capabilities import check_path
from sema_runtime.catalogue import builtin
from sema_runtime.support.file_access import failed, reason
from sema_runtime.support.input_files import path_of
from sema_runtime.support.locks import locked
from sema_runtime.support.replacing import Replacement, remove_leftovers
from sema_runtime.support.text_arguments import text_of
from sema_runtime.tasks.background import Lane
from sema_runtime.values.errors import IoError, SemaError
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.tasks.background import Work

    Version = tuple[int, int, int] | None  # of a file: what changes when it is written; None when it is missing

MAX_BYTES = 64 << 20  # of the file
MAX_ITEMS = 1_000_000
LOCK_SECONDS = 10.0  # a turn takes milliseconds
LOCK_PAUSE = 0.002
SPLIT_HINT = "split the data across multiple kv stores"

stores: dict[str, Store] = {}


class Store:
    """The contents of one file. path: as the program wrote it; target: without symbolic links; entries: JSON by key.
    fresh: permissions of a file that wasn't there, before the umask."""

    def __init__(self, path: str, target: str, fresh: int = 0o666) -> None:
        self.path = path
        self.target = target
        self.fresh = fresh
        self.lane = Lane()
        self.entries: dict[str, str] = {}
        self.version: Version = None

    def load(self, function: str) -> None:
        """Reads the file; a missing one holds nothing. A damaged one is left as it is."""
        from sema_runtime.lib.data.kv_text import members

        try:
            version = self.version_on_disk()
            if version is not None and not os.path.isfile(self.target):  # a pipe would not end
                raise SemaError(f"{function}: a kv store must be a regular file: {self.path}")
            with open(self.target, "rb") as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise _too_large(function, f"store {self.path}", max(len(data), os.path.getsize(self.target)))
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

    def change(self, function: str, key: str, text: str | None, work: Work) -> bool:
        """Gives a key that JSON text, or deletes it when there is none. Whether the key was there before."""
        check_path(function, self.path)
        try:
            folder = os.open(os.path.dirname(self.target), os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise failed(function, self.path, error) from None
        try:
            self._wait_for_turn(function, folder, work)
            return self._change(function, key, text)
        finally:
            os.close(folder)

    def _wait_for_turn(self, function: str, folder: int, work: Work) -> None:
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
                work.check()
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
        from sema_runtime.lib.data.kv_text import joined

        data = joined(entries).encode()
        if len(data) > MAX_BYTES:
            raise _too_large(function, f"store {self.path}", len(data))
        try:
            with Replacement(self.target, sync=True, fresh=self.fresh) as file:
                file.write(data)
            self.version = self.version_on_disk()
        except OSError as error:
            raise failed(function, self.path, error) from None


def _too_large(function: str, what: str, size: int) -> SemaError:
    return SemaError(f"{function}: {what} is {size} bytes, over the {MAX_BYTES}-byte kv store limit", SPLIT_HINT)


def store_of(name: Any) -> Store:
    """The open store of that name."""
    found = stores.get(text_of(name))
    if found is None:
        raise SemaError(f"kv store '{name}' not open")
    return found


@builtin("kv/open", returns="string", cap="fs-write")
def kv_open(store: Any, path: Any) -> str:
    """Opens a key-value store that is kept in a JSON file, and gives its name; the first change makes a missing file.

    Every change is in the file, and on the disk, before the call returns: a crash at any moment leaves the file as it
    was before or after the change. A file that holds no JSON object is an error, and stays as it is.

    (kv/open "settings" "settings.json") => "settings"
    """
    name = text_of(store)
    target = os.path.realpath(path_of("kv/open", path))
    opened = next((one for one in stores.values() if one.target == target), None) or Store(path, target)

    def load(_: Any) -> None:
        remove_leftovers(os.path.dirname(target))
        opened.load("kv/open")

    opened.lane.run(load)
    stores[name] = opened
    return name


@builtin("kv/get")
def kv_get(store: Any, key: Any) -> Any:
    """The value of a key in a key-value store, nil when it is missing. Maps come back with keyword keys.

    (kv/open "settings" "settings.json")
    (kv/set "settings" "user" {:name "Ada" :tags ["a" 1.5 nil]})
    (kv/get "settings" "user") => {:name "Ada" :tags ("a" 1.5 nil)}
    (kv/get "settings" "other") => nil
    """
    from sema_runtime.lib.data.json import json_decode

    text = store_of(store).entries.get(text_of(key))
    return None if text is None else json_decode(text)


@builtin("kv/set", cap="fs-write")
def kv_set(store: Any, key: Any, value: Any) -> Any:
    """Gives a key of a key-value store a value, and gives that value.

    What JSON hasn't comes back as something else: vectors as lists, keywords, symbols and other values as strings, NaN
    and infinities as nil.

    (kv/open "settings" "settings.json")
    (kv/set "settings" "retries" 3) => 3
    (file/read "settings.json") => "{\\n  \\"retries\\": 3\\n}"
    """
    from sema_runtime.lib.data.kv_text import encoded

    found, name = store_of(store), text_of(key)
    text = encoded(name, value)
    size = len(text.encode())
    if size > MAX_BYTES:
        raise _too_large("kv/set", f"value for key '{name}' on kv store '{store}'", size)
    found.lane.run(lambda work: found.change("kv/set", name, text, work))
    return value


@builtin("kv/delete", returns="bool", cap="fs-write")
def kv_delete(store: Any, key: Any) -> bool:
    """Deletes a key of a key-value store; whether it was there.

    (kv/open "settings" "settings.json")
    (kv/set "settings" "retries" 3)
    (kv/delete "settings" "retries") => #t
    (kv/delete "settings" "retries") => #f
    """
    found, name = store_of(store), text_of(key)
    return found.lane.run(lambda work: found.change("kv/delete", name, None, work))


@builtin("kv/keys", returns="list[string]")
def kv_keys(store: Any) -> List:
    """The keys of a key-value store, sorted.

    (kv/open "settings" "settings.json")
    (kv/set "settings" "b" 1)
    (kv/set "settings" "a" 2)
    (kv/keys "settings") => ("a" "b")
    """
    return List(sorted(store_of(store).entries))


@builtin("kv/close", returns="nil")
def kv_close(store: Any) -> None:
    """Closes a key-value store; nothing happens when it isn't open. All that was set is in the file already.

    (kv/open "settings" "settings.json")
    (kv/close "settings") => nil
    (kv/get "settings" "a") ! kv store 'settings' not open
    """
    found = stores.get(text_of(store))
    if found is None:
        return
    if found.lane.waiting:
        raise SemaError(
            f"kv/close: kv store '{store}' is busy — another kv/* call is in flight on it",
            "wait for the in-flight kv/* call on this store to resolve before calling another",
        )
    del stores[store]
