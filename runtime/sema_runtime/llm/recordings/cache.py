"""The response cache of `llm/with-cache`, and the key it shares with cassettes.

Replies are kept in memory and, one JSON file each, in the user's folder, which other processes read. Files are written
atomically. A file that can't be written or read costs one more call, nothing else.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
from contextvars import ContextVar
from dataclasses import asdict, dataclass

from sema_runtime import capabilities
from sema_runtime.llm import policy_guard
from sema_runtime.llm.messages import Message, Reply, Request
from sema_runtime.support import compact_json, secrets
from sema_runtime.support.file_access import opened
from sema_runtime.support.home import in_home
from sema_runtime.support.json_input import loads
from sema_runtime.support.private_files import make_folders

DEFAULT_TTL = 3600.0
SKEW = 60  # seconds by which clocks may differ; later entries come from a wrong clock
LARGEST_FILE = 64 << 20  # bytes
LAST_MOMENT = 1 << 40  # seconds since 1970


@dataclass(slots=True, frozen=True)
class Settings:
    """ttl: seconds for which an entry is valid."""

    ttl: float = DEFAULT_TTL


scope: ContextVar[Settings | None] = ContextVar("llm_cache", default=None)


@dataclass(slots=True)
class Entry:
    """cached_at: seconds since 1970."""

    content: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cached_at: int


FIELDS = {"content": str, "model": str, "prompt_tokens": int, "completion_tokens": int, "cached_at": int}


class Store:
    """Entries in memory and, one JSON file each, on disk. Those of a sandboxed program stay in memory."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.hits = 0
        self.misses = 0

    def find(self, key: str, ttl: float) -> Entry | None:
        """Returns the entry if it is younger than ttl seconds."""
        entry = self.entries.get(key)
        if entry is None or not _fresh(entry, ttl):
            entry = None if capabilities.restricted() else _read(key)
            if entry is None or not _fresh(entry, ttl):
                self.misses += 1
                return None
            self.entries[key] = entry
        self.hits += 1
        return entry

    def keep(self, key: str, reply: Reply) -> None:
        """Caches a reply. One that calls tools is not cached: entries have no place for calls. One that contains a
        secret stays in memory."""
        if reply.tool_calls:
            return
        entry = Entry(reply.content, reply.model, reply.usage.prompt, reply.usage.completion, int(time.time()))
        self.entries[key] = entry
        if not capabilities.restricted() and not any(secret in entry.content for secret in secrets.known()):
            _write(key, entry)

    def clear(self) -> int:
        """Empties memory and disk; returns how many entries were in memory."""
        count = len(self.entries)
        self.entries.clear()
        self.hits = self.misses = 0
        if not capabilities.restricted():
            _clear_disk()
        return count


store = Store()


def _fresh(entry: Entry, ttl: float) -> bool:
    return -SKEW <= time.time() - entry.cached_at < ttl


def directory() -> str:
    return in_home("cache", "llm")


def _path(key: str) -> str:
    return os.path.join(directory(), f"{key}.json")


def _read(key: str) -> Entry | None:
    """Returns the entry that a process wrote to disk; None for a missing or invalid file."""
    try:
        with open(opened(_path(key)), "rb") as file:
            value = loads(file.read(LARGEST_FILE) or b"")
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or any(type(value.get(name)) is not kind for name, kind in FIELDS.items()):
        return None
    if not 0 <= value["cached_at"] < LAST_MOMENT:
        return None
    return Entry(**{name: value[name] for name in FIELDS})


def _write(key: str, entry: Entry) -> None:
    from sema_runtime.support.replacing import Replacement

    fields = ",".join(
        f"{compact_json.string(name)}:{compact_json.dumps(value)}" for name, value in asdict(entry).items()
    )
    path = _path(key)
    try:
        make_folders(os.path.dirname(path))
        with Replacement(path, 0o600) as file:
            file.write(f"{{{fields}}}".encode("utf-8", "replace"))
    except OSError:
        return


def _clear_disk() -> None:
    from sema_runtime.support.replacing import remove_leftovers

    folder = directory()
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".json")]
        remove_leftovers(folder)
    except OSError:
        return
    for name in names:
        try:
            os.remove(os.path.join(folder, name))
        except OSError:
            continue  # another process removed it, or it belongs to another user


def key_of(request: Request, model: str) -> str:
    """Returns SHA-256 over model, temperature, system and the role, text and pictures of each message."""
    return key(model, request.temperature, request.system, request.messages)


def key(model: str, temperature: float | None, system: str | None, messages: list[Message]) -> str:
    """Returns the reference's key if no message has a picture. The reference ignores pictures, so two of them would
    share an answer. Requests under a policy have keys of their own."""
    digest = hashlib.sha256(_bytes(model))
    digest.update(policy_guard.key())
    if temperature is not None:
        digest.update(struct.pack("<d", temperature))
    if system is not None:
        digest.update(_bytes(system))
    for message in messages:
        digest.update(_bytes(message.role))
        digest.update(_bytes(message.content))
        for image in message.images:
            digest.update(struct.pack("<QQ", len(image.media_type), len(image.data)))
            digest.update(_bytes(image.media_type))
            digest.update(image.data)
    return digest.hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
