"""The file of a cassette: NDJSON, one recorded call a line. It is only appended to, by several processes at once.

Unreadable lines are skipped. Of entries with the same key, the first one counts.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from errno import EINVAL
from threading import Lock

from sema_runtime.support import compact_json
from sema_runtime.support.file_access import opened_regular
from sema_runtime.support.json_input import loads
from sema_runtime.support.shared_files import append_to, wait_for_writer
from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

VERSION = 1
LONGEST_LINE = 256 << 20  # bytes
HEX_KEY = 64
MOST_TOKENS = (1 << 32) - 1
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
OURS = rb'\{"v":1,"kind":"[a-z-]+","key":"((?:mcp-)?[0-9a-f]{64})","content":"'  # how the lines written here begin

COUNTS = ("prompt_tokens", "completion_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Unreadable(ValueError):
    """A line that is no entry. newer: it has a later version of the format."""

    def __init__(self, reason: str, newer: bool = False) -> None:
        super().__init__(reason)
        self.newer = newer


def blank(kind: str, key: str) -> dict[str, Any]:
    """Returns an entry with every field, empty. `mcp_result` may be added."""
    counts = dict.fromkeys(COUNTS, 0)
    head = {"v": VERSION, "kind": kind, "key": key, "content": "", "role": "assistant", "model": ""}
    return {**head, "tool_calls": [], "stop_reason": None, **counts, "chunks": [], "embeddings": []}


def line_of(entry: dict[str, Any]) -> bytes:
    """Returns the line of an entry, with its newline."""
    fields = ",".join(f'"{name}":{_field(name, value)}' for name, value in entry.items())
    return f"{{{fields}}}\n".encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


def _field(name: str, value: Any) -> str:
    if name != "tool_calls":
        return compact_json.dumps(value)
    return f"[{','.join(map(_call_text, value))}]"


def _call_text(call: dict[str, Any]) -> str:
    """Returns the JSON of a tool call, its fields in their own order."""
    return f"{{{','.join(f'{compact_json.string(name)}:{compact_json.dumps(call[name])}' for name in call)}}}"


def read_line(data: bytes) -> dict[str, Any]:
    """Returns the entry of a line. Raises Unreadable with what is wrong with it."""
    try:
        value = loads(data.removeprefix(BYTE_ORDER_MARK).decode(), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8") from None
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:
        raise Unreadable(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Unreadable("not a JSON object")
    if b"\\ud" in data or b"\\uD" in data:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Unreadable("half a surrogate pair") from None
    version = value.get("v")
    if type(version) is int and version > VERSION:
        raise Unreadable(f"version {version} of the format, this Sema reads {VERSION}", newer=True)
    problem = _problem(value)
    if problem:
        raise Unreadable(problem)
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _problem(entry: dict[str, Any]) -> str:
    """Returns what is wrong with the fields of an entry; "" when nothing is."""
    for name in ("v", "kind", "key", "content", "model"):
        if name not in entry:
            return f"no {name}"
    if not _is_count(entry["v"]):
        return "v is no version"
    for name in ("kind", "key", "content", "model", "role"):
        if not isinstance(entry.get(name, ""), str):
            return f"{name} is no string"
    for name in COUNTS:
        if not _is_count(entry.get(name, 0)):
            return f"{name} is no count"
    if not isinstance(entry.get("stop_reason"), str | None):
        return "stop_reason is no string"
    if not all(map(_is_call, _items(entry, "tool_calls"))):
        return "tool_calls is no list of calls"
    if not all(isinstance(piece, str) for piece in _items(entry, "chunks")):
        return "chunks is no list of strings"
    if not all(map(_is_vector, _items(entry, "embeddings"))):
        return "embeddings is no list of vectors"
    return ""


def _items(entry: dict[str, Any], name: str) -> list[Any]:
    """Returns the items of a list field that may be absent; one item that is never valid if it is no list."""
    value = entry.get(name, [])
    return value if isinstance(value, list) else [None]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST_TOKENS


def count(number: Any) -> int:
    """Returns a number of tokens, limited to what an entry can hold."""
    return min(max(int(number), 0), MOST_TOKENS)


def _is_call(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("id"), str)
        and isinstance(value.get("name"), str)
        and "arguments" in value
        and isinstance(value.get("thought_signature"), str | None)
    )


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and all(type(number) in (float, int) for number in value)


# Reading


@dataclass(slots=True)
class Line:
    """A line that isn't blank. number: from 1. entry: None when the line can't be read; then problem says why."""

    number: int
    data: bytes
    entry: dict[str, Any] | None = None
    problem: str = ""
    newer: bool = False


def lines(file: BinaryIO) -> Iterator[Line]:
    """Yields the lines of an open cassette from its current position, with their entries."""
    number, place, retried = 0, file.tell(), -1
    for length, data in _raw_lines(file):
        try:
            entry = None if data.isspace() else read_line(data)
        except Unreadable as error:
            if not data.endswith(b"\n") and place != retried:  # it may be half written: read it once more
                retried = place
                wait_for_writer(file.fileno())
                file.seek(place)
                continue
            yield Line(number + 1, data, None, str(error), error.newer)
        else:
            if entry is not None:
                yield Line(number + 1, data, entry)
        number += 1
        place += length


def _raw_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields the lines of a file from its current position, with their lengths; too long ones are cut."""
    while data := file.readline(LONGEST_LINE):
        length = len(data)
        piece = data
        while len(piece) == LONGEST_LINE and not piece.endswith(b"\n"):
            piece = file.readline(LONGEST_LINE)
            length += len(piece)
        yield length, data


def open_cassette(path: str) -> BinaryIO:
    """Opens the file for reading. Raises OSError."""
    try:
        return open(opened_regular("cassette", path), "rb")
    except SemaError:
        raise OSError(EINVAL, "it is a pipe or a device, not a file", path) from None


@dataclass(slots=True)
class Census:
    """What a cassette holds: its number of entries, and (line number, reason) of unreadable lines."""

    entries: int = 0
    damaged: list[tuple[int, str]] = field(default_factory=list)
    newer: list[tuple[int, str]] = field(default_factory=list)


class CassetteFile:
    """The entries of one file by key, read when requested. It sees what other processes append meanwhile."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self.newer = False  # whether the lines read so far hold entries of later versions
        self._first: dict[bytes | str, int] = {}  # key → where the line of its first entry begins
        self._later: dict[bytes | str, list[int]] = {}
        self._known: tuple[int, int] | None = None  # device and inode of the indexed file
        self._size = 0  # bytes of it that are indexed

    def __len__(self) -> int:
        return len(self._first)

    def unread(self) -> int:
        """Returns how many bytes of the file aren't indexed yet."""
        try:
            return os.stat(self.path).st_size - self._size
        except OSError:
            return 0

    def check(self) -> None:
        """Raises OSError when the file can't be read, SemaError when it is no cassette. A missing file is fine."""
        try:
            with open_cassette(self.path) as file:
                head = file.read(4096).lstrip()
        except FileNotFoundError:
            return
        if head and not head.startswith(b'{"') and not len(self.indexed()):
            raise SemaError("this is no cassette: none of its lines is an entry", hint="give the path of another file")

    def indexed(self) -> CassetteFile:
        """Indexes everything in the file; returns itself."""
        try:
            with open_cassette(self.path) as file, self._lock:
                self._index(file)
        except FileNotFoundError:
            self._forget()
        return self

    def entry(self, key: str) -> dict[str, Any] | None:
        """Returns the first readable entry of a key. Raises OSError."""
        try:
            with open_cassette(self.path) as file, self._lock:
                self._index(file)
                packed = pack(key)
                if packed not in self._first:
                    return None
                for place in (self._first[packed], *self._later.get(packed, ())):
                    file.seek(place)
                    try:
                        entry = read_line(file.readline(LONGEST_LINE))
                    except Unreadable:
                        continue
                    if entry["key"] == key:
                        return entry
        except FileNotFoundError:
            self._forget()
        return None

    def _index(self, file: BinaryIO) -> None:
        """Indexes where entries begin in what was added to the file, or in all of it when the file was replaced."""
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) != self._known or status.st_size < self._size:
            self._forget()
            self._known = (status.st_dev, status.st_ino)
        if status.st_size == self._size:
            return
        from re import compile

        ours = compile(OURS).match
        place = self._size
        file.seek(place)
        for length, data in _raw_lines(file):
            match = ours(data)
            is_complete = data.endswith(b"}\n")
            key = match[1].decode() if match and is_complete else self._key(data)
            if key is None and not data.endswith(b"\n") and len(data) < LONGEST_LINE:
                break  # it is still being written
            if key is not None:
                packed = pack(key)
                if self._first.setdefault(packed, place) != place:
                    self._later.setdefault(packed, []).append(place)
            place += length
        self._size = place

    def _key(self, data: bytes) -> str | None:
        """Returns the key of a line with another layout than OURS; None for an unreadable line."""
        try:
            key: str = read_line(data)["key"]
        except Unreadable as error:
            self.newer = self.newer or error.newer
            return None
        return key

    def census(self) -> Census:
        """Reads the whole file and returns what it holds. Raises OSError."""
        census = Census()
        try:
            with open_cassette(self.path) as file:
                for line in lines(file):
                    if line.entry is not None:
                        census.entries += 1
                    else:
                        (census.newer if line.newer else census.damaged).append((line.number, line.problem))
        except FileNotFoundError:
            pass
        return census

    def append(self, entry: dict[str, Any], once: bool = False) -> None:
        """Appends an entry in one write. once: unless there is one of that key. Raises OSError, SemaError."""
        key = entry["key"]
        append_to(self.path, line_of(entry), (lambda: self.entry(key) is None) if once else None)


def pack(key: str) -> bytes | str:
    """Returns a key as it is kept in memory: a hash as bytes takes half the space."""
    try:
        return bytes.fromhex(key) if len(key) == HEX_KEY else key
    except ValueError:
        return key
