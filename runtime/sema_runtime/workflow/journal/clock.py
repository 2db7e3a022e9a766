"""The clock of a run, computed from its events.

Events carry whole seconds, but exact durations of agents and phases. The clock combines their order with these
durations: each event is as early as both allow, in milliseconds since the run began. A resumed run continues where the
part before it stopped, however long the pause was.
"""

from __future__ import annotations

from datetime import UTC, datetime

SECOND = 1000.0
LENGTH = len("2026-01-01T00:00:00Z")


class Clock:
    """now: the time of the latest event, in milliseconds. base: the time at which the segment began."""

    def __init__(self) -> None:
        self.now = 0.0
        self.base = 0.0
        self.first: float | None = None  # the segment's first stamp, in milliseconds since 1970
        self.last: object = ""

    def begin_segment(self) -> None:
        self.base = self.now
        self.first = None
        self.last = ""

    def see(self, stamp: object) -> None:
        """Advances to an event with this stamp. A stamp that is damaged, or of a clock that went backwards, is
        ignored."""
        if stamp == self.last:
            return
        self.last = stamp
        moment = milliseconds(stamp)
        if moment is None:
            return
        if self.first is None:
            self.first = moment
            return
        self.reach(self.base + moment - self.first - SECOND)  # both are cut to seconds: it may be one less

    def reach(self, moment: float) -> None:
        """Advances to a moment, in milliseconds, unless it is later already."""
        if moment > self.now:
            self.now = moment

    def reach_in_segment(self, passed: float) -> None:
        """Advances to so many milliseconds after the beginning of the segment, unless it is later already."""
        self.reach(self.base + passed)


def milliseconds(stamp: object) -> float | None:
    """`2026-01-01T00:00:00Z` as milliseconds since 1970; None for anything else."""
    if type(stamp) is not str or len(stamp) != LENGTH or stamp[10] != "T" or stamp[-1] != "Z" or not stamp.isascii():
        return None
    try:
        return datetime.fromisoformat(stamp[:-1]).replace(tzinfo=UTC).timestamp() * SECOND
    except (ValueError, OverflowError):
        return None
