"""Cassettes: calls recorded in an NDJSON file and replayed from it, so programs run without key, network or cost.

Modes: `auto` (replay what is there, call and record the rest), `replay` (never call), `record` (always call).
"""

from __future__ import annotations

import json
import os
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from sema_runtime import capabilities
from sema_runtime.llm.messages import Reply, ToolCall, Usage
from sema_runtime.values.errors import IoError, LlmError

MODES = ("auto", "replay", "record")
REQUIRED = ("v", "kind", "key", "content", "model")


class Cassette:
    """One tape. Entries of the same key: the first one is replayed, always."""

    def __init__(self, path: str, mode: str = "auto") -> None:
        self.path = Path(path)
        self.mode = mode if mode in MODES else "auto"
        self.entries: dict[str, dict[str, Any]] = {}
        self._load()

    def _load(self) -> None:
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        except OSError as error:
            raise IoError(f"cassette {self.path}: {error.strerror or error}") from None
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and all(name in entry for name in REQUIRED):
                self.entries.setdefault(str(entry["key"]), entry)

    def find(self, key: str) -> dict[str, Any] | None:
        """The entry to replay; None when the call must be made. Raises LlmError on a miss in replay mode."""
        if self.mode == "record":
            return None
        entry = self.entries.get(key)
        if entry is None and self.mode == "replay":
            raise LlmError(
                f"cassette miss in :replay mode (key {key}) — no recorded interaction for this request;"
                " re-record the tape or use :auto mode",
                hint=f"the tape is {self.path} with {len(self.entries)} entries; a key covers model, temperature,"
                " system and messages",
            )
        return entry

    def record(self, kind: str, key: str, reply: Reply, chunks: list[str]) -> None:
        """Appends a successful call."""
        entry = _entry(kind, key, reply, chunks)
        self.entries.setdefault(key, entry)
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab+") as file:
                if file.tell() and not _ends_with_newline(file):
                    line = "\n" + line
                file.write(line.encode("utf-8", "replace"))
        except OSError as error:
            raise IoError(f"cassette {self.path}: {error.strerror or error}") from None


def _ends_with_newline(file: Any) -> bool:
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")


def _entry(kind: str, key: str, reply: Reply, chunks: list[str]) -> dict[str, Any]:
    return {
        "v": 1,
        "kind": kind,
        "key": key,
        "content": reply.content,
        "role": reply.role,
        "model": reply.model,
        "tool_calls": [_call(call) for call in reply.tool_calls],
        "stop_reason": reply.stop_reason,
        "prompt_tokens": reply.usage.prompt,
        "completion_tokens": reply.usage.completion,
        "cache_read_input_tokens": reply.usage.cache_read,
        "cache_creation_input_tokens": reply.usage.cache_creation,
        "chunks": chunks,
        "embeddings": [],
    }


def _call(call: ToolCall) -> dict[str, Any]:
    made = {"id": call.id, "name": call.name, "arguments": call.arguments}
    if call.thought_signature is not None:
        made["thought_signature"] = call.thought_signature
    return made


def reply_of(entry: dict[str, Any]) -> Reply:
    """The recorded reply, its usage included."""
    calls = [
        ToolCall(
            str(call.get("id", "")), str(call.get("name", "")), call.get("arguments", {}), call.get("thought_signature")
        )
        for call in entry.get("tool_calls") or []
    ]
    usage = Usage(*(_int(entry.get(name)) for name in (
        "prompt_tokens", "completion_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
    )))  # fmt: skip
    return Reply(
        content=str(entry["content"]),
        model=str(entry["model"]),
        usage=usage,
        tool_calls=calls,
        stop_reason=entry.get("stop_reason"),
        role=str(entry.get("role", "assistant")),
        provider="cassette",
    )


def chunks_of(entry: dict[str, Any]) -> list[str]:
    """The pieces of a recorded stream; a recorded completion is one piece."""
    chunks = entry.get("chunks")
    if isinstance(chunks, list) and chunks:
        return [str(chunk) for chunk in chunks]
    return [str(entry["content"])] if entry["content"] else []


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0


scope: ContextVar[Cassette | None] = ContextVar("cassette", default=None)
_loaded: Cassette | None = None
_environment_read = False


def current() -> Cassette | None:
    """The innermost `llm/with-cassette`, else the loaded tape, else that of SEMA_LLM_CASSETTE."""
    return scope.get() or _process_tape()


def _process_tape() -> Cassette | None:
    global _loaded, _environment_read
    if not _environment_read:
        _environment_read = True
        path = "" if capabilities.restricted() else os.environ.get("SEMA_LLM_CASSETTE", "")
        if path and _loaded is None:
            _loaded = Cassette(path, os.environ.get("SEMA_LLM_CASSETTE_MODE", "auto").strip().lower())
    return _loaded


def load(path: str, mode: str) -> None:
    """Makes a tape the one of the process."""
    global _loaded
    _loaded = Cassette(path, mode)


def eject() -> bool:
    """Forgets the process's tape; whether there was one. (Entries are on disk from the moment they are recorded.)"""
    global _loaded
    had = _process_tape() is not None
    _loaded = None
    return had


def reset() -> None:
    """Back to the start of a process: SEMA_LLM_CASSETTE is read again."""
    global _loaded, _environment_read
    _loaded = None
    _environment_read = False
