"""`spend.jsonl`: what a budget of the whole run (`:scope :run`) reserves and has spent, for later processes of the run.

    {"hold":"1_0","tokens":4102,"units":6153000}
    {"spent":"1_0","tokens":5,"units":7000}
    {"free":"1_1"}

A call is written before it is sent, with the most that it may use, and again when it has ended, with what it used. A
call without an end was running when the process died: the server may have charged it, so all of it counts as spent
(uncertain). units: 10^-12 USD. A line is on the disk before the call is sent.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from sema_runtime.support.file_access import write_all
from sema_runtime.workflow.journal import crash_points, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "spend.jsonl"


class Spent:
    """What the processes of a run have spent so far, and what of it is uncertain."""

    def __init__(self) -> None:
        self.tokens = self.units = 0
        self.uncertain_tokens = self.uncertain_units = 0
        self.uncertain_calls = 0


def of(folder: str) -> Spent:
    """The sums of a run's file; nothing without one. Raises OSError when it can't be read."""
    total, held = Spent(), {}
    with suppress(FileNotFoundError), open(os.path.join(folder, NAME), "rb") as file:
        for line in file:
            fields = _fields(line)
            tokens, units = _count(fields.get("tokens")), _count(fields.get("units"))
            if "hold" in fields:
                held[str(fields["hold"])] = tokens, units
                continue
            held.pop(str(fields.get("spent") or fields.get("free")), None)
            if "spent" in fields:
                total.tokens += tokens
                total.units += units
    total.uncertain_calls = len(held)
    for tokens, units in held.values():
        total.uncertain_tokens += tokens
        total.uncertain_units += units
    total.tokens += total.uncertain_tokens
    total.units += total.uncertain_units
    return total


def _fields(line: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):  # cut off when the process died
        return {}
    return fields if type(fields) is dict else {}


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0


class SpendLog:
    """folder: the run's. segment: the number of this process's file of the journal."""

    def __init__(self, folder: str, segment: int) -> None:
        self.folder = folder
        self.segment = segment
        self.calls = 0
        self.names: dict[Any, str] = {}  # of what is held
        self.waiting = b""  # lines that the disk hasn't taken: of calls that have ended
        self.descriptor: int | None = None

    def hold(self, hold: Any, tokens: int, units: int) -> None:
        """Before a call is sent. Raises OSError: then it must not be."""
        name = f"{self.segment}_{self.calls}"
        self.calls += 1
        self._write({"hold": name, "tokens": tokens, "units": units})
        self.names[hold] = name

    def spent(self, hold: Any, tokens: int, units: int) -> None:
        """A call has ended. hold: None for one that wasn't held."""
        self._tell({"spent": self.names.pop(hold, ""), "tokens": tokens, "units": units})

    def free(self, hold: Any) -> None:
        """A call has ended at no cost, unless `spent` was called for it."""
        name = self.names.pop(hold, None)
        if name is not None:
            self._tell({"free": name})

    def _tell(self, fields: dict[str, Any]) -> None:
        """Writes what comes after a call. What can't be written waits; if it is lost, more counts than was spent."""
        try:
            self._write(fields)
        except OSError:
            self.waiting += _line(fields)

    def _write(self, fields: dict[str, Any]) -> None:
        if self.descriptor is None:
            self.descriptor = files.open_lines(os.path.join(self.folder, NAME))
            files.sync_folder(self.folder, "memo")
        if crash_points.armed:
            crash_points.passed("spend.write.before")
        size = os.fstat(self.descriptor).st_size
        try:
            write_all(self.descriptor, self.waiting + _line(fields))
        except OSError:
            os.ftruncate(self.descriptor, size)
            raise
        self.waiting = b""
        if "hold" in fields:
            files.sync_data(self.descriptor)
        if crash_points.armed:
            crash_points.passed("spend.write.after")

    def close(self) -> None:
        """When the run has ended; for what ends later it is opened again."""
        if self.descriptor is not None:
            with suppress(OSError):
                if self.waiting:
                    write_all(self.descriptor, self.waiting)
                    self.waiting = b""
            os.close(self.descriptor)
            self.descriptor = None


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"
