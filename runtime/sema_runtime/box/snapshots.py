"""Sessions on disk: one line that says what the file is, then JSON.

    sema-box-session 1 SHA-256
    {"programs": [{"source": ..., "replies": [...]}, ...], "data": {...}}

A session is the list of programs that succeeded, with what tools replied (pool.py), so that is all there is to keep.
Nothing in a file is evaluated by the host: its programs run in the box, like any others.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from sema_runtime.box.codec import for_python
from sema_runtime.support.replacing import Replacement
from sema_runtime.values.errors import SemaError

FORMAT = "sema-box-session"
VERSION = 1
MOST_BYTES = 256 << 20
PRIVATE = 0o600


class Snapshot(NamedTuple):
    """programs: the source of each with the replies of tools, as JSON. data: inputs, encoded."""

    programs: list[tuple[str, list[str]]]
    data: dict[str, Any]


def write(path: str | Path, snapshot: Snapshot) -> None:
    """Replaces a file, readable by its owner alone. Raises SemaError; the old file then stays as it was."""
    programs = ", ".join(
        f'{{"source": {json.dumps(source)}, "replies": [{", ".join(replies)}]}}'
        for source, replies in snapshot.programs
    )
    data = json.dumps(snapshot.data, allow_nan=False)
    body = f'{{"programs": [{programs}], "data": {data}}}'.encode()
    try:
        with Replacement(str(path), permissions=PRIVATE) as file:
            file.write(f"{FORMAT} {VERSION} {sha256(body).hexdigest()}\n".encode() + body)
    except OSError as problem:
        raise SemaError(f"box: the session can't be saved: {problem.strerror}: {path}") from None


def read(path: str | Path) -> Snapshot:
    """Raises SemaError for a file that isn't there, of another kind or version, or damaged."""
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise SemaError(f"box: the session can't be read: {problem.strerror}: {path}") from None
    if len(content) > MOST_BYTES:
        raise SemaError(f"box: {path} has more than {MOST_BYTES} bytes, too many for a session")
    head, _, body = content.partition(b"\n")
    words = head.split(b" ")
    if len(words) != 3 or words[0] != FORMAT.encode():
        raise SemaError(
            f"box: {path} is no saved session", "sessions are saved by Session.save and sema box repl --save"
        )
    if words[1] != str(VERSION).encode():
        version = words[1].decode(errors="replace")[:20]
        raise SemaError(
            f"box: {path} is a session of format {version}; this version reads format {VERSION}",
            "load it with the version that saved it",
        )
    if sha256(body).hexdigest().encode() != words[2]:
        raise SemaError(f"box: {path} is damaged: its content isn't what was saved", "restore it from a copy")
    return parsed(body, str(path))


def parsed(body: bytes, path: str) -> Snapshot:
    """The session that a body says. Raises SemaError for one that nobody saved so."""
    try:
        content = json.loads(body)
        programs = [(entry["source"], entry["replies"]) for entry in content["programs"]]
        data = content["data"]
        sources_are_texts = all(type(source) is str for source, _ in programs)
        replies = [reply for _, replies in programs for reply in replies]
        if not sources_are_texts or type(data) is not dict or not all(map(is_reply, replies)):
            raise TypeError
        for value in data.values():
            for_python(value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, SemaError):
        raise SemaError(f"box: {path} is damaged: it has parts that no session has") from None
    return Snapshot([(source, list(map(json.dumps, replies))) for source, replies in programs], data)


def is_reply(reply: Any) -> bool:
    if type(reply) is not dict or len(reply.keys() & {"result", "error", "ended"}) != 1:
        return False
    for_python(reply.get("result"))
    return True
