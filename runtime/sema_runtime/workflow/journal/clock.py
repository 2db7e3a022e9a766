"""The times of events. Journals have whole seconds, and exact durations of agents and phases; so the clock of a run is
put together from the order of events and these durations: as early as both allow, in milliseconds since the run began.
What was resumed goes on where the part before it ended, however long the pause was."""

from __future__ import annotations

from datetime import UTC, datetime

SECOND = 1000.0
LENGTH = len("2026-01-01T00:00:00Z")


class Clock:
    """now: the time of the event seen last."""

    def __init__(self) -> None:
        self.now = 0.0
        self.base = 0.0  # when the segment began
        self.first: float | None = None  # the segment's first stamp in ms
        self.last = b""

    def begin_segment(self) -> None:
        self.base = self.now
        self.first = None
        self.last = b""

    def see(self, stamp: bytes) -> None:
        """An event with this stamp. Stamps of a clock that went backwards, or that are none, change nothing."""
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
        """It is at least this late."""
        if moment > self.now:
            self.now = moment

    def reach_in_segment(self, passed: float) -> None:
        """It is at least this long since the segment began."""
        self.reach(self.base + passed)


def milliseconds(stamp: bytes) -> float | None:
    """`2026-01-01T00:00:00Z` as milliseconds since 1970; None for what is none."""
    try:
        text = stamp.decode("ascii")
        if len(text) != LENGTH or text[10] != "T" or text[-1] != "Z":  # other forms of dates are none of a journal
            return None
        return datetime.fromisoformat(text[:-1]).replace(tzinfo=UTC).timestamp() * SECOND
    except (ValueError, OverflowError):
        return None
