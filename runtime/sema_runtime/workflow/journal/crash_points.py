"""Points at which a test can kill the process, to prove that a resumed run loses and repeats nothing.

`SEMA_WORKFLOW_FAULT=POINT:N` kills the process (SIGKILL) when POINT is passed for the Nth time. POINT is one of POINTS,
or `*` for any of them. Code passes a point with `if crash_points.armed: crash_points.passed("...")`.
"""

from __future__ import annotations

import os

SIDES = ("before", "after")
WORK = (
    *("claim", "journal.write", "journal.sync"),
    *("memo.write", "memo.log", "memo.sync", "memo.folder", "spend.write"),
    *("metadata.write", "metadata.sync", "metadata.rename", "metadata.folder"),
    *("result.write", "result.sync", "result.rename", "result.folder"),
)
POINTS = (*(f"{work}.{side}" for work in WORK for side in SIDES), "memo.write.made", "journal.write.half")
"""memo.write.made: when the file is there, empty. journal.write.half: when half of what is to be written is in it."""

armed = False
_point, _left = "", 0


def arm(setting: str | None = None) -> None:
    """Reads SEMA_WORKFLOW_FAULT (or the setting given); anything else than POINT:N disarms."""
    global armed, _point, _left
    point, _, number = (os.environ.get("SEMA_WORKFLOW_FAULT", "") if setting is None else setting).rpartition(":")
    armed = (point == "*" or point in POINTS) and number.isdecimal() and int(number) > 0
    _point, _left = point, int(number) if armed else 0


def halves() -> bool:
    """Whether a write of the journal is made in two parts, to die between them."""
    return _point in ("journal.write.half", "*")


def passed(point: str) -> None:
    """Dies here if this is the place."""
    global _left
    if _point in (point, "*"):
        _left -= 1
        if _left == 0:
            from signal import SIGKILL

            os.kill(os.getpid(), SIGKILL)


arm()
