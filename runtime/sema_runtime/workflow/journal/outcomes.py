"""How a run has ended: by its envelope, where the body has returned one, else by its journal. The format of journals
calls every run a success whose body has returned, even with {:status :failed}.
"""

from __future__ import annotations

import os

from sema_runtime.support.json_input import loads

RESULT = "result.json"
RUNNING, SUCCESS = "running", "success"


def outcome(folder: str | os.PathLike[str], status: str) -> str:
    """status: what the journal of the folder says; "running" before its end."""
    if status != SUCCESS:
        return status
    try:
        with open(os.path.join(folder, RESULT), "rb") as file:
            envelope = loads(file.read())
    except (OSError, ValueError, RecursionError):
        return status
    return said(envelope.get("status") if type(envelope) is dict else None, status)


def said(by_envelope: object, status: str) -> str:
    """The word of an envelope, where it has one that tells of an end; else the status."""
    return by_envelope if type(by_envelope) is str and by_envelope not in ("", RUNNING) else status


def mark(folder: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    """What changes with the file of the envelope; None when there is none."""
    try:
        status = os.stat(os.path.join(folder, RESULT))
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
