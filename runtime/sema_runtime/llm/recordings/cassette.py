"""Cassettes: calls recorded in a file and replayed from it, so programs run without key, network or cost.

Modes: `auto` (replay what is there, call and record the rest), `replay` (never call), `record` (always call). The file
and its format: cassette_file.py.

Secrets (API keys of the process) are never written: entries hold `[redacted]` instead. So do the texts that a key is
computed from, so a replaying run computes the same keys as the recording run.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from dataclasses import replace
from hashlib import sha256

from sema_runtime import capabilities
from sema_runtime.llm import policy_guard
from sema_runtime.llm.messages import Reply, ToolCall, Usage
from sema_runtime.llm.recordings import cache
from sema_runtime.llm.recordings.cassette_file import COUNTS, CassetteFile, blank, count
from sema_runtime.support import compact_json, secrets
from sema_runtime.support.file_access import reason
from sema_runtime.support.visible import tell
from sema_runtime.values.errors import IoError, LlmError, SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.messages import Request

MODES = ("auto", "replay", "record")
BIG = 1 << 20  # bytes; a larger cassette is read in a thread, so that other tasks proceed
SHOWN_LINES = 5


class Cassette:
    """A cassette and its mode. Raises IoError when the file is no cassette, or can't be read or, to record, written."""

    def __init__(self, path: str, mode: str = "auto") -> None:
        self.path = path
        mode = mode.strip().lower()
        self.mode = mode if mode in MODES else "auto"
        self._unwritten: dict[str, dict[str, Any]] = {}
        self._warned: set[str] = set()
        try:
            self.file = CassetteFile(path)
            self.file.check()
            if self.mode == "record":
                _check_writable(self.file.path)
        except (OSError, ValueError, SemaError) as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> IoError:
        return IoError(f"cassette {self.path}: {_reason(error)}", hint=getattr(error, "hint", None))

    # Replaying

    def entry(self, key: str) -> dict[str, Any] | None:
        """Returns the entry to replay; None when there is none, and in record mode. Raises IoError."""
        if self.mode == "record":
            return None
        try:
            entry = self._look_up(key)
        except OSError as error:
            raise self._failed(error) from None
        if entry is None and self.mode == "auto" and self.file.newer:
            self._warn("it holds entries of a later version, which are not replayed; update Sema to use them")
        return entry

    def _look_up(self, key: str) -> dict[str, Any] | None:
        from sema_runtime.tasks import background

        def work(_: Any) -> dict[str, Any] | None:
            return self.file.entry(key) or self._unwritten.get(key)

        return background.run(work) if self.file.unread() > BIG else work(None)

    def find(self, key: str, older: str | None = None) -> dict[str, Any] | None:
        """Returns the entry to replay; None when the call must be made. Raises LlmError on a miss in replay mode.

        older: another key of the call, from cassettes recorded by the reference. It counts in replay mode only, since
        another call may have it too."""
        entry = self.entry(key)
        if entry is None and self.mode == "replay" and older is not None:
            entry = self.entry(older)
        if entry is None and self.mode == "replay":
            raise LlmError(
                f"cassette miss in :replay mode (key {key}) — no recorded interaction for this request;"
                " re-record the tape or use :auto mode",
                hint=self.miss_hint(),
            )
        return entry

    def miss_hint(self) -> str:
        """Returns what the cassette holds, and which of its lines can't be replayed."""
        if not os.path.exists(self.file.path):
            return f"there is no file {self.path} yet: run once in :auto mode, which records"
        try:
            census = self.file.census()
        except OSError as error:
            return self._failed(error).message
        count = f"{census.entries} {'entry' if census.entries == 1 else 'entries'}"
        sentences = [f"the cassette is {self.path} with {count}; a key covers model, temperature, system and messages"]
        if census.damaged:
            sentences.append(f"{_numbered(census.damaged)} damaged and skipped ({census.damaged[0][1]})")
        if census.newer:
            sentences.append(f"{_numbered(census.newer)} of a later version of Sema and skipped: update to replay them")
        if census.damaged or census.newer:
            sentences.append(f"sema cassette verify {self.path} lists them")
        return "; ".join(sentences)

    # Recording

    def record(self, kind: str, key: str, reply: Reply, chunks: list[str]) -> None:
        """Records a successful call. kind: `complete`, or `stream` with the pieces of its text. Never raises."""
        hidden = secrets.known()
        entry = blank(kind, key)
        entry.update(
            content=reply.content,
            role=reply.role,
            model=reply.model,
            tool_calls=[_call(call) for call in reply.tool_calls],
            stop_reason=reply.stop_reason,
            prompt_tokens=count(reply.usage.prompt),
            completion_tokens=count(reply.usage.completion),
            cache_read_input_tokens=count(reply.usage.cache_read),
            cache_creation_input_tokens=count(reply.usage.cache_creation),
            chunks=secrets.redacted_pieces(chunks, hidden),
        )
        self._keep(entry, hidden)

    def record_embeddings(self, key: str, model: str, vectors: list[list[float]], prompt_tokens: int) -> None:
        """Records a request for embeddings. Never raises."""
        fields = {"model": model, "prompt_tokens": count(prompt_tokens), "embeddings": vectors}
        self._keep({**blank("embed", key), **fields}, ())

    def record_mcp(self, kind: str, key: str, result: Any) -> None:
        """Records an MCP server's answer, decoded JSON. kind: `mcp-call`, `mcp-connect`, `mcp-tools`. Never raises."""
        self._keep({**blank(kind, key), "mcp_result": result}, secrets.known())

    def _keep(self, entry: dict[str, Any], hidden: Any) -> None:
        """Writes an entry. The call is paid for already, so errors are warnings; this run still replays the entry."""
        vectors = entry.pop("embeddings")
        entry = secrets.redacted_json(entry, hidden)
        result = {"mcp_result": entry.pop("mcp_result")} if "mcp_result" in entry else {}
        entry = {**entry, "embeddings": vectors, **result}
        try:
            self.file.append(entry, once=self.mode == "auto")  # only the first entry of a key is ever replayed
        except (OSError, SemaError, RecursionError) as error:
            self._unwritten[entry["key"]] = entry
            self._warn(f"calls can't be recorded: {_reason(error)}; a later replay will miss them")

    def _warn(self, text: str) -> None:
        """Warns once for each text."""
        if text not in self._warned:
            self._warned.add(text)
            tell(f"Warning: cassette {self.path}: {text}")


def _reason(error: Exception) -> str:
    if isinstance(error, SemaError):
        return error.message
    return getattr(error, "strerror", None) or (reason(error) if isinstance(error, ValueError) else str(error))


def _numbered(numbered_lines: list[tuple[int, str]]) -> str:
    """Returns `line 3 is`, or `lines 3, 7 and 12 more are`."""
    shown = ", ".join(str(number) for number, _ in numbered_lines[:SHOWN_LINES])
    more = len(numbered_lines) - SHOWN_LINES
    return (
        f"line {shown} is"
        if len(numbered_lines) == 1
        else f"lines {shown}{f' and {more} more' if more > 0 else ''} are"
    )


def _check_writable(path: str) -> None:
    """Raises OSError when nothing can be recorded there: better now than after the first call."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "Permission denied")


def _call(call: ToolCall) -> dict[str, Any]:
    fields = {"id": call.id, "name": call.name, "arguments": call.arguments}
    if call.thought_signature is not None:
        fields["thought_signature"] = call.thought_signature
    return fields


def reply_of(entry: dict[str, Any]) -> Reply:
    """Returns the recorded reply, with its usage."""
    calls = [
        ToolCall(call["id"], call["name"], call["arguments"], call.get("thought_signature"))
        for call in entry.get("tool_calls", ())
    ]
    usage = Usage(*(entry.get(name, 0) for name in COUNTS))
    return Reply(
        content=entry["content"],
        model=entry["model"],
        usage=usage,
        tool_calls=calls,
        stop_reason=entry.get("stop_reason"),
        role=entry.get("role", "assistant"),
        provider="cassette",
    )


def chunks_of(entry: dict[str, Any]) -> list[str]:
    """Returns the pieces of a recorded stream; a recorded completion is one piece."""
    chunks: list[str] = entry.get("chunks") or []
    return chunks or ([entry["content"]] if entry["content"] else [])


# Keys


def key_of(request: Request) -> str:
    """Returns the key of a completion or a stream: as the response cache's, with the model that the caller gave."""
    hidden = secrets.known()
    if any(secret in text for text in _texts(request) for secret in hidden):
        request = replace(
            request,
            system=None if request.system is None else secrets.redacted(request.system, hidden),
            messages=[replace(m, content=secrets.redacted(m.content, hidden)) for m in request.messages],
        )
    return cache.key_of(request, request.model)


def key_without_pictures(request: Request) -> str | None:
    """Returns the reference's key of a request with pictures, which ignores them; None for a request without."""
    if not any(message.images for message in request.messages):
        return None
    return key_of(replace(request, messages=[replace(message, images=()) for message in request.messages]))


def _texts(request: Request) -> list[str]:
    return [request.system or "", *(message.content for message in request.messages)]


def embed_key(model: str, texts: list[str]) -> str:
    """Returns the key of a request for embeddings. model: "" when the caller gave none."""
    hidden = secrets.known()
    digest = sha256(b"embed" + model.encode("utf-8", "surrogatepass") + policy_guard.key())
    for text in texts:
        digest.update(secrets.redacted(text, hidden).encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def mcp_key(kind: str, identity: str, tool: str = "", arguments: Any = None) -> str:
    """Returns the key of a request to an MCP server. kind: `mcp-call`, which has a tool and arguments (decoded JSON),
    or `mcp-connect` or `mcp-tools`, which have neither."""
    parts = [kind, identity]
    if kind == "mcp-call":
        parts += [tool, compact_json.dumps(secrets.redacted_json(arguments, secrets.known()))]
    return "mcp-" + sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


# The current cassette


class _Ejected:
    """In `scope`: the cassette was ejected."""


EJECTED = _Ejected()
scope: ContextVar[Cassette | _Ejected | None] = ContextVar("cassette", default=None)
_loaded: Cassette | None = None
_environment_read = False


def current() -> Cassette | None:
    """Returns the innermost `llm/with-cassette`'s, else the loaded one, else SEMA_LLM_CASSETTE's. Raises IoError."""
    scoped = scope.get()
    if scoped is None:
        return _process_cassette()
    return scoped if isinstance(scoped, Cassette) else None


def _process_cassette() -> Cassette | None:
    global _loaded, _environment_read
    if not _environment_read:
        path = "" if capabilities.restricted() else os.environ.get("SEMA_LLM_CASSETTE", "")
        if path and _loaded is None:
            _loaded = Cassette(path, os.environ.get("SEMA_LLM_CASSETTE_MODE", "auto"))
        _environment_read = True
    return _loaded


def load(path: str, mode: str) -> None:
    """Makes a cassette current: inside `llm/with-cassette` for the rest of it, elsewhere in the whole process."""
    global _loaded
    cassette = Cassette(path, mode)
    if scope.get() is None:
        _loaded = cassette
    else:
        scope.set(cassette)


def eject() -> bool:
    """Ejects the current cassette, inside `llm/with-cassette` for the rest of it. Returns whether there was one.

    (Entries are in the file as soon as they are recorded.)
    """
    global _loaded, _environment_read
    ejected = scope.get() if scope.get() is not None else _process_cassette()
    if scope.get() is None:
        _loaded, _environment_read = None, True
    else:
        scope.set(EJECTED)
    return isinstance(ejected, Cassette)


def reset() -> None:
    """Returns to the state at the start of the process: SEMA_LLM_CASSETTE is read again."""
    global _loaded, _environment_read
    _loaded = None
    _environment_read = False
