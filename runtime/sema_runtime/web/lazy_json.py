"""The `:json` of a request, parsed when the handler reads it; a thread parses long texts.

A handler gets an ordinary map. Its dict has an entry to come: operations that depend on that entry parse the text
first.
"""

from __future__ import annotations

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lazy_dicts import TAKING
from sema_runtime.values.maps import MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

JSON = keyword("json")
AT_ONCE = 1 << 15  # characters that are parsed in place, in less than a millisecond
THREADS = 2


class Parsing:
    """A text, and its value once it was read: MISSING for a text that is no JSON."""

    __slots__ = ("_text", "_value")

    def __init__(self, text: str) -> None:
        self._text: str | None = text
        self._value: Any = MISSING

    def value(self) -> Any:
        text = self._text
        if text is not None:
            if len(text) <= AT_ONCE or TAKING._is_owned():  # type: ignore[attr-defined]  # the lock forbids waiting
                value = _parsed(text)
            else:
                from sema_runtime.tasks import suspend

                value = suspend(_in_thread(text))
            if self._text is not None:  # no other task has parsed it meanwhile
                self._value, self._text = value, None
        return self._value


@cache
def _threads() -> ThreadPoolExecutor:
    """Returns a separate pool: sending files and resolving names must not wait for JSON."""
    return ThreadPoolExecutor(THREADS, "sema-json")


async def _in_thread(text: str) -> Any:
    return await asyncio.get_running_loop().run_in_executor(_threads(), _parsed_quietly, text)


def _parsed_quietly(text: str) -> Any:
    """As _parsed, without garbage collection: scanning millions of new values would stop all threads."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _parsed(text)
    finally:
        if collecting:
            gc.enable()


def _parsed(text: str) -> Any:
    from sema_runtime.support.json import decode

    try:
        return decode(text)
    except (SemaError, RecursionError):
        return MISSING


class LazyJson(dict[object, object]):
    """The dict of a request map whose :json is added on first use."""

    __slots__ = ("_parsing",)

    def __init__(self, entries: dict[Any, Any], parsing: Parsing | None) -> None:
        super().__init__(entries)
        self._parsing = parsing

    def _settled(self) -> LazyJson:
        parsing = self._parsing
        if parsing is not None:
            value = parsing.value()
            if self._parsing is not None:
                self._parsing = None
                if value is not MISSING:
                    super().__setitem__(JSON, value)
        return self

    def get(self, key: Any, default: Any = None) -> Any:
        if key is JSON:
            self._settled()
        return super().get(key, default)

    def __getitem__(self, key: Any) -> Any:
        if key is JSON:
            self._settled()
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        if key is JSON:
            self._settled()
        return super().__contains__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is JSON:
            self._parsing = None
        super().__setitem__(key, value)

    def pop(self, key: Any, *default: Any) -> Any:
        if key is JSON:
            self._settled()
        return super().pop(key, *default)

    def copy(self) -> LazyJson:
        duplicate = LazyJson({}, self._parsing)
        for key in dict.__iter__(self):
            dict.__setitem__(duplicate, key, dict.__getitem__(self, key))
        return duplicate

    def __len__(self) -> int:
        return dict.__len__(self._settled())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return dict.__iter__(self._settled())

    def __reversed__(self) -> Iterator[Any]:
        return dict.__reversed__(self._settled())

    def keys(self) -> Any:
        return dict.keys(self._settled())

    def values(self) -> Any:
        return dict.values(self._settled())

    def items(self) -> Any:
        return dict.items(self._settled())

    def __or__(self, other: Any) -> Any:
        return dict(self.items()) | other

    def __ror__(self, other: Any) -> Any:
        return other | dict(self.items())

    def __eq__(self, other: object) -> bool:
        return dict.__eq__(self._settled(), other._settled() if isinstance(other, LazyJson) else other)

    __hash__ = None

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def __reduce__(self) -> Any:
        return dict, (list(self.items()),)
