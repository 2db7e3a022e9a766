"""The file of a cassette: NDJSON, one recorded call a line, only ever appended to, by several processes at once.

A line that can't be read is skipped. Of entries with the same key the first one counts.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from errno import EINVAL
from threading import Lock

from sema_runtime.support import compact_json
from sema_runtime.support.appending import append_to, wait_for_writer
from sema_runtime.support.file_access import opened_regular
from sema_runtime.support.json_input import loads
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
OURS = rb'\{"v":1,"kind":"[a-z-]+","key":"((?:mcp-)?[0-9a-f]{64})","content":"'  # how a line of ours begins

COUNTS = ("prompt_tokens", "completion_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Unreadable(ValueError):
    """A line that is no entry. newer: it is one of a later version of the format."""

    def __init__(self, reason: str, newer: bool = False) -> None:
        super().__init__(reason)
        self.newer = newer


def blank(kind: str, key: str) -> dict[str, Any]:
    """An entry with every field, empty. `mcp_result` may be added."""
    counts = dict.fromkeys(COUNTS, 0)
    head = {"v": VERSION, "kind": kind, "key": key, "content": "", "role": "assistant", "model": ""}
    return {**head, "tool_calls": [], "stop_reason": None, **counts, "chunks": [], "embeddings": []}


def line_of(entry: dict[str, Any]) -> bytes:
    """The line of an entry, its end included."""
    fields = ",".join(f'"{name}":{_field(name, value)}' for name, value in entry.items())
    return f"{{{fields}}}\n".encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


def _field(name: str, value: Any) -> str:
    if name != "tool_calls":
        return compact_json.dumps(value)
    return f"[{','.join(map(_call_text, value))}]"


def _call_text(call: dict[str, Any]) -> str:
    """A call, its fields in their own order."""
    return f"{{{','.join(f'{compact_json.string(name)}:{compact_json.dumps(call[name])}' for name in call)}}}"


def read_line(data: bytes) -> dict[str, Any]:
    """The entry of a line. Raises Unreadable with what is wrong with it."""
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
    """What is wrong with the fields of an entry; "" when nothing is."""
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
    """A field that is a list when it is there; one item that is never right, when it is something else."""
    value = entry.get(name, [])
    return value if isinstance(value, list) else [None]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST_TOKENS


def count(number: Any) -> int:
    """A number of tokens as an entry can hold it."""
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
    """One line that isn't blank. number counts from 1; entry: None when it can't be read, then problem says why."""

    number: int
    data: bytes
    entry: dict[str, Any] | None = None
    problem: str = ""
    newer: bool = False


def lines(file: BinaryIO) -> Iterator[Line]:
    """The lines of an open tape from where it stands, with their entries."""
    number, place, looked = 0, file.tell(), -1
    for length, data in _raw_lines(file):
        try:
            entry = None if data.isspace() else read_line(data)
        except Unreadable as error:
            if not data.endswith(b"\n") and place != looked:  # somebody may be writing it: look once more
                looked = place
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
    """The lines of a file from where it stands, with their lengths; of one that is too long only the beginning."""
    while data := file.readline(LONGEST_LINE):
        length = len(data)
        piece = data
        while len(piece) == LONGEST_LINE and not piece.endswith(b"\n"):
            piece = file.readline(LONGEST_LINE)
            length += len(piece)
        yield length, data


def opened_tape(path: str) -> BinaryIO:
    """The file, for reading. Raises OSError."""
    try:
        return open(opened_regular("cassette", path), "rb")
    except SemaError:
        raise OSError(EINVAL, "it is a pipe or a device, not a file", path) from None


@dataclass(slots=True)
class Census:
    """What a tape holds: numbers of the lines that can't be read, by reason."""

    entries: int = 0
    damaged: list[tuple[int, str]] = field(default_factory=list)
    newer: list[tuple[int, str]] = field(default_factory=list)


class Tape:
    """The entries of one file by key, read when they are asked for. Sees what other processes append meanwhile."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self.newer = False  # whether what was read so far holds entries of later versions
        self._first: dict[bytes | str, int] = {}  # key → where the line of its first entry begins
        self._later: dict[bytes | str, list[int]] = {}
        self._known: tuple[int, int] | None = None  # device and number of the file that was indexed
        self._size = 0  # how much of it

    def __len__(self) -> int:
        return len(self._first)

    def unread(self) -> int:
        """How many bytes of the file aren't indexed yet."""
        try:
            return os.stat(self.path).st_size - self._size
        except OSError:
            return 0

    def check(self) -> None:
        """Raises OSError when the file can't be read, SemaError when it is no tape. None yet is fine."""
        try:
            with opened_tape(self.path) as file:
                head = file.read(4096).lstrip()
        except FileNotFoundError:
            return
        if head and not head.startswith(b'{"') and not len(self.indexed()):
            raise SemaError("this is no tape: none of its lines is an entry", hint="give the path of another file")

    def indexed(self) -> Tape:
        """Itself, with everything that is in the file now indexed."""
        try:
            with opened_tape(self.path) as file, self._lock:
                self._index(file)
        except FileNotFoundError:
            self._forget()
        return self

    def entry(self, key: str) -> dict[str, Any] | None:
        """The first readable entry of a key. Raises OSError."""
        try:
            with opened_tape(self.path) as file, self._lock:
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
        """Notes where entries begin in what has been added to the file, or in all of it when it is another one."""
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
            whole = data.endswith(b"}\n")
            key = match[1].decode() if match and whole else self._key(data)
            if key is None and not data.endswith(b"\n") and len(data) < LONGEST_LINE:
                break  # somebody is writing it
            if key is not None:
                packed = pack(key)
                if self._first.setdefault(packed, place) != place:
                    self._later.setdefault(packed, []).append(place)
            place += length
        self._size = place

    def _key(self, data: bytes) -> str | None:
        """The key of a line that isn't laid out as ours."""
        try:
            key: str = read_line(data)["key"]
        except Unreadable as error:
            self.newer = self.newer or error.newer
            return None
        return key

    def census(self) -> Census:
        """Everything that is in the file, read to its end. Raises OSError."""
        census = Census()
        try:
            with opened_tape(self.path) as file:
                for line in lines(file):
                    if line.entry is not None:
                        census.entries += 1
                    else:
                        (census.newer if line.newer else census.damaged).append((line.number, line.problem))
        except FileNotFoundError:
            pass
        return census

    def append(self, entry: dict[str, Any], once: bool = False) -> None:
        """Adds an entry behind what is there, in one piece. once: unless there is one of that key. Raises OSError,
        SemaError."""
        key = entry["key"]
        append_to(self.path, line_of(entry), (lambda: self.entry(key) is None) if once else None)


def pack(key: str) -> bytes | str:
    """A key as it is kept in memory: hashes take half the room as bytes."""
    try:
        return bytes.fromhex(key) if len(key) == HEX_KEY else key
    except ValueError:
        return key
