"""Key-value stores: `kv/open`, `kv/get`, `kv/set`, `kv/delete`, `kv/keys`, `kv/close` (support/key_value_file.py).

Handles on the same file share a store.
"""

from __future__ import annotations

import os

from sema_runtime.catalogue import builtin
from sema_runtime.support.input_files import path_of
from sema_runtime.support.key_value_file import INDENT, KeyValueFile, check_size
from sema_runtime.support.replacing import remove_leftovers
from sema_runtime.support.text_arguments import text_of
from sema_runtime.tasks.background import Lane
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

stores: dict[str, Store] = {}


class Store(KeyValueFile):
    """An open store. lane: runs its changes one after another, while other tasks run."""

    def __init__(self, path: str, target: str) -> None:
        super().__init__(path, target)
        self.lane = Lane()


def store_of(name: Any) -> Store:
    """The open store called name. Raises a condition when there is none."""
    opened = stores.get(text_of(name))
    if opened is None:
        raise SemaError(f"kv store '{name}' not open")
    return opened


@builtin("kv/open", type="str, str -> str", cap="fs-write")
def kv_open(store: Any, path: Any) -> str:
    """Opens a key-value store, which is kept in a JSON file, and returns its name. The first change creates a missing
    file.

    Every change is on the disk before the call returns: a crash leaves the file as it was before or after the change. A
    file that doesn't hold a JSON object raises an error and stays as it is.

    (kv/open "settings" "settings.json") => "settings"
    """
    name = text_of(store)
    target = os.path.realpath(path_of("kv/open", path))
    opened = next((other for other in stores.values() if other.target == target), None) or Store(path, target)

    def load(_: Any) -> None:
        remove_leftovers(os.path.dirname(target))
        opened.load("kv/open")

    opened.lane.run(load)
    stores[name] = opened
    return name


@builtin("kv/get", type="str, str -> map keyword any|flat any|str|int|float|bool|nil fresh")
def kv_get(store: Any, key: Any) -> Any:
    """The value of a key in a key-value store; nil when the key is missing. Maps come back with keyword keys.

    (kv/open "settings" "settings.json")
    (kv/set "settings" "user" {:name "Ada" :tags ["a" 1.5 nil]})
    (kv/get "settings" "user") => {:name "Ada" :tags ("a" 1.5 nil)}
    (kv/get "settings" "other") => nil
    """
    from sema_runtime.support.json import decode

    text = store_of(store).entries.get(text_of(key))
    return None if text is None else decode(text)


@builtin("kv/set", type="str, str, keep a -> a", cap="fs-write")
def kv_set(store: Any, key: Any, value: Any) -> Any:
    """Sets the value of a key in a key-value store and returns the value.

    Values without a JSON form come back as others: vectors as lists, keywords, symbols and other values as strings, NaN
    and infinities as nil.

    (kv/open "settings" "settings.json")
    (kv/set "settings" "retries" 3) => 3
    (file/read "settings.json") => "{\\n  \\"retries\\": 3\\n}"
    """
    opened, name = store_of(store), text_of(key)
    text = _encoded(name, value)
    check_size("kv/set", f"value for key '{name}' on kv store '{store}'", len(text.encode()))
    opened.lane.run(lambda work: opened.change("kv/set", name, text, work.check))
    return value


def _encoded(key: str, value: Any) -> str:
    """The JSON text of a value, as a member of an object is written. Raises a condition when it can't be read again."""
    from json import dumps

    from sema_runtime.llm.jsonable import to_json
    from sema_runtime.support.json import decode

    try:
        text = dumps(to_json(value), ensure_ascii=False, allow_nan=False, indent=len(INDENT), sort_keys=True)
        text = text.replace("\n", "\n" + INDENT)
        f"{key}{text}".encode()
        decode(text)  # a value too deep for that would be lost
    except (RecursionError, SemaError):
        raise SemaError(f"kv/set: the value for key '{key}' is nested too deeply") from None
    except UnicodeEncodeError:
        raise SemaError(f"kv/set: key {key!a} or its value holds text that is not Unicode") from None
    return text


@builtin("kv/delete", type="str, str -> bool", cap="fs-write")
def kv_delete(store: Any, key: Any) -> bool:
    """Deletes a key of a key-value store and returns whether it was there.

    (kv/open "settings" "settings.json")
    (kv/set "settings" "retries" 3)
    (kv/delete "settings" "retries") => #t
    (kv/delete "settings" "retries") => #f
    """
    opened, name = store_of(store), text_of(key)
    return opened.lane.run(lambda work: opened.change("kv/delete", name, None, work.check))


@builtin("kv/keys", type="str -> flat str fresh")
def kv_keys(store: Any) -> List:
    """The keys of a key-value store, sorted.

    (kv/open "settings" "settings.json")
    (kv/set "settings" "b" 1)
    (kv/set "settings" "a" 2)
    (kv/keys "settings") => ("a" "b")
    """
    return List(sorted(store_of(store).entries))


@builtin("kv/close", type="str -> nil")
def kv_close(store: Any) -> None:
    """Closes a key-value store. Does nothing when it isn't open. Every change is in the file already.

    (kv/open "settings" "settings.json")
    (kv/close "settings") => nil
    (kv/get "settings" "a") ! kv store 'settings' not open
    """
    opened = stores.get(text_of(store))
    if opened is None:
        return
    if opened.lane.waiting:
        raise SemaError(
            f"kv/close: kv store '{store}' is busy — another kv/* call is in flight on it",
            "wait for the in-flight kv/* call on this store to resolve before calling another",
        )
    del stores[store]
