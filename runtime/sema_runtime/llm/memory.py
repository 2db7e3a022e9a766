"""Memory threads: turns and facts, kept in files under an id for later runs.

A thread is two files below `memory/NAMESPACE/` in the user's Sema folder: `ID.jsonl`, one turn a line, only appended
to, and `ID.facts.json`, one JSON object, replaced as a whole. Several processes may use a thread at once: each sees
what the others have added when it opens the thread or adds something itself.
"""

from __future__ import annotations

import json
import os

from sema_runtime import capabilities
from sema_runtime.llm.messages import Message
from sema_runtime.support.file_access import READ_LIMIT, failed, opened_regular
from sema_runtime.support.home import in_home
from sema_runtime.support.json_input import loads
from sema_runtime.support.key_value_file import KeyValueFile
from sema_runtime.support.private_files import FILE_MODE, make_folders
from sema_runtime.support.shared_files import append_line, lock
from sema_runtime.support.text_arguments import text_of
from sema_runtime.support.visible import tell
from sema_runtime.tasks.background import Lane
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.tasks.background import Work

DEFAULT_NAMESPACE = "default"
LONGEST_NAME = 200  # bytes of an id as a file name
ID, NAMESPACE, FOLDER = keyword("memory/id"), keyword("memory/namespace"), keyword("memory/dir")

_threads: dict[tuple[str, str, str], Thread] = {}


class Thread:
    """messages: the turns, with roles user and assistant. facts: JSON texts by key. size: bytes of the file read so
    far. lane: runs what reads and changes the files, one after another."""

    def __init__(self, path: str) -> None:
        self.path = f"{path}.jsonl"
        self.facts = KeyValueFile(f"{path}.facts.json", os.path.realpath(f"{path}.facts.json"), FILE_MODE)
        self.lane = Lane()
        self.messages: list[Message] = []
        self.size = 0

    def refresh(self, function: str) -> None:
        """Reads what others have added to the files. Raises IoError."""
        capabilities.require(function, "fs-read")
        self._check(function)
        self.lane.run(lambda _: self._refresh(function))

    def _refresh(self, function: str) -> None:
        self._read(function)
        if self.facts.version_on_disk() != self.facts.version:
            self.facts.load(function)

    def append(self, function: str, messages: list[Message]) -> None:
        """Appends turns, all of them or none, after what others have added. Raises IoError."""
        self._check(function)
        lines = [
            json.dumps({"role": message.role, "content": message.content}, ensure_ascii=False) for message in messages
        ]
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        self.lane.run(lambda _: self._append(function, data))

    def _append(self, function: str, data: bytes) -> None:
        try:
            make_folders(os.path.dirname(self.path))
            descriptor = opened_regular(function, self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, FILE_MODE)
            try:
                append_line(descriptor, data, lock(descriptor))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise failed(function, self.path, error) from None
        self._read(function)

    def remember(self, function: str, key: str, value: Any) -> None:
        """Sets a fact. Raises IoError."""
        from sema_runtime.llm.jsonable import compact

        self._check(function)
        text = compact(value)

        def change(work: Work) -> None:
            make_folders(os.path.dirname(self.path))
            self.facts.change(function, key, text, work.check)

        try:
            self.lane.run(change)
        except OSError as error:
            raise failed(function, self.facts.path, error) from None

    def fact(self, key: str) -> Any:
        """Returns a fact as last read or set, decoded from JSON; nil without one."""
        from sema_runtime.llm.jsonable import to_sema

        text = self.facts.entries.get(key)
        return None if text is None else to_sema(loads(text))

    def _check(self, function: str) -> None:
        capabilities.check_path(function, self.path)

    def _read(self, function: str) -> None:
        """Reads the new lines; an unfinished line is left for the next time."""
        try:
            with open(opened_regular(function, self.path), "rb") as file:
                length = os.fstat(file.fileno()).st_size
                if length > READ_LIMIT:
                    raise SemaError(f"{function} {self.path}: {length} bytes are too much for a memory thread")
                if length < self.size:  # it was replaced
                    self.size, self.messages = 0, []
                file.seek(self.size)
                data = file.read()
        except FileNotFoundError:
            self.size, self.messages = 0, []
            return
        except OSError as error:
            raise failed(function, self.path, error) from None
        complete_lines = data[: data.rfind(b"\n") + 1]
        self.size += len(complete_lines)
        self.messages += filter(None, map(self._message, complete_lines.splitlines()))

    def _message(self, line: bytes) -> Message | None:
        """Returns the turn of a line; warns of a damaged line and returns None."""
        try:
            turn = loads(line) if line.strip() else {}
            if isinstance(turn["content"], str):
                return Message("assistant" if turn.get("role") == "assistant" else "user", turn["content"])
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        tell(f"warning: a damaged line of {self.path} is left out: {line[:40]!r}")
        return None


def opened(function: str, identity: str, namespace: str, folder: str | None) -> Thread:
    """Returns the thread of that id, up to date with its files. folder: instead of the user's Sema folder."""
    key = (os.path.abspath(folder or in_home("memory")), namespace, identity)
    thread = _threads.get(key)
    if thread is None:
        path = os.path.join(key[0], _file_name(function, "namespace", namespace), _file_name(function, "id", identity))
        thread = Thread(path)
        thread.refresh(function)
        return _threads.setdefault(key, thread)
    thread.refresh(function)
    return thread


def thread_of(function: str, handle: Any, refresh: bool = False) -> Thread:
    """Returns the thread of a handle, which another process may have opened."""
    identity, namespace = _text(handle, ID), _text(handle, NAMESPACE)
    if identity is None:
        type_error("handle of memory/open", handle)
    folder = _text(handle, FOLDER)
    key = (os.path.abspath(folder or in_home("memory")), namespace or DEFAULT_NAMESPACE, identity)
    known = None if refresh else _threads.get(key)
    return known or opened(function, identity, namespace or DEFAULT_NAMESPACE, folder)


def _text(handle: Any, key: Any) -> str | None:
    value = handle.get(key) if isinstance(handle, Map) else None
    return value if isinstance(value, str) else None


def _file_name(function: str, what: str, text: str) -> str:
    """Returns an id as a file name. What would leave the folder or hide the file is escaped as in URLs."""
    from urllib.parse import quote

    if not text_of(text):
        raise SemaError(f"{function}: :{what} is empty")
    name = quote(text, safe=" @+=,", errors="replace")
    name = f"%2E{name[1:]}" if name.startswith(".") else name
    if len(name) > LONGEST_NAME:
        raise SemaError(f"{function}: :{what} is too long, {len(text)} characters")
    return name


def forget() -> None:
    """Forgets the open threads; they are read again when used."""
    _threads.clear()
