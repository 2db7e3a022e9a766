"""The response cache of `llm/with-cache`, and the key it shares with cassettes."""

from __future__ import annotations

import hashlib
import json
import struct
import time
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from sema_runtime import capabilities
from sema_runtime.llm.messages import Message, Reply, Request

DEFAULT_TTL = 3600.0


@dataclass(slots=True, frozen=True)
class Settings:
    """ttl: seconds for which an entry is good."""

    ttl: float = DEFAULT_TTL


scope: ContextVar[Settings | None] = ContextVar("llm_cache", default=None)


@dataclass(slots=True)
class Entry:
    content: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cached_at: int


class Store:
    """Entries in memory and, one JSON file each, on disk."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.hits = 0
        self.misses = 0

    def find(self, key: str, ttl: float) -> Entry | None:
        """The entry if it is younger than ttl seconds."""
        entry = self.entries.get(key) or _read(key)
        if entry is None or time.time() - entry.cached_at >= ttl:
            self.misses += 1
            return None
        self.entries[key] = entry
        self.hits += 1
        return entry

    def keep(self, key: str, reply: Reply) -> None:
        entry = Entry(reply.content, reply.model, reply.usage.prompt, reply.usage.completion, int(time.time()))
        self.entries[key] = entry
        _write(key, entry)

    def clear(self) -> int:
        """Empties memory and disk; the number of entries that were in memory."""
        count = len(self.entries)
        self.entries.clear()
        self.hits = self.misses = 0
        for path in directory().glob("*.json"):
            path.unlink(missing_ok=True)
        return count


store = Store()


def directory() -> Path:
    return Path.home() / ".sema" / "cache" / "llm"


def _read(key: str) -> Entry | None:
    try:
        value = json.loads((directory() / f"{key}.json").read_text(encoding="utf-8"))
        return Entry(
            str(value["content"]),
            str(value["model"]),
            int(value["prompt_tokens"]),
            int(value["completion_tokens"]),
            int(value["cached_at"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(key: str, entry: Entry) -> None:
    """A cache that can't be written is only slower, so errors of the disk are ignored.

    A sandboxed program's stays in memory.
    """
    value = {name: getattr(entry, name) for name in Entry.__slots__}
    path = directory() / f"{key}.json"
    if capabilities.restricted():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{time.monotonic_ns()}.tmp")
        temporary.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        return


def key_of(request: Request, model: str) -> str:
    """SHA-256 over model, temperature, system and the role and text of each message."""
    return key(model, request.temperature, request.system, request.messages)


def key(model: str, temperature: float | None, system: str | None, messages: list[Message]) -> str:
    digest = hashlib.sha256(_bytes(model))
    if temperature is not None:
        digest.update(struct.pack("<d", temperature))
    if system is not None:
        digest.update(_bytes(system))
    for message in messages:
        digest.update(_bytes(message.role))
        digest.update(_bytes(message.content))
    return digest.hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
