"""Progress of a workflow on stderr: a line for each phase and step, and on a terminal the sums below them."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from threading import Event as Signal
from threading import RLock, Thread
from typing import Any

from sema_runtime.support.money import dollars
from sema_runtime.workflow.journal import outcomes
from sema_runtime.workflow.journal.events import (
    AgentResult,
    AgentStarted,
    Budget,
    Checkpoint,
    Event,
    PhaseStarted,
    RunEnded,
    RunStarted,
)
from sema_runtime.workflow.journal.values import many
from sema_runtime.workflow.run import envelopes
from sema_runtime.workflow.run.run import Run
from semac.cli.tables import columns, cut, one_line

REFRESH = 0.1  # seconds between two drawings of the sums for events
TICK = 0.5  # seconds between two for the clock
STATUS_COLUMNS, LABEL_COLUMNS, TIME_COLUMNS = 10, 28, 8
NARROW = 66  # columns of a terminal below which names get less room
ERROR_CHARACTERS = 200
HINTS = 3  # different ones that a run tells


@dataclass
class Sums:
    """cost_usd: of the calls whose price is known, None without any. unpriced: there were others. limit: of tokens."""

    done: int = 0
    failed: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    unpriced: bool = False
    limit: int | None = None

    def ended(self, ok: bool) -> None:
        self.done += ok
        self.failed += not ok

    def used(self, event: Budget) -> None:
        self.tokens += event.input_tokens + event.output_tokens
        self.limit = event.budget_limit
        if event.cost_usd is None:
            self.unpriced = True
        else:
            self.cost_usd = (self.cost_usd or 0.0) + event.cost_usd

    def steps(self) -> str:
        number = self.done + self.failed
        failed = f" ({self.failed} failed)" if self.failed else ""
        return f"{many(number, 'step')}{failed}"

    def spent(self) -> str:
        if not self.tokens:
            return "no tokens"
        limit = "" if self.limit is None else f" of {self.limit:,}"
        plus = "+" if self.unpriced else ""
        cost = "cost unknown" if self.cost_usd is None else f"{dollars(self.cost_usd)}{plus}"
        return f"{self.tokens:,}{limit} tokens, {cost}"


class AboveSums:
    """stdout or stderr, for a program that writes to the terminal on which the sums stand: they make room for its
    text, and stay away as long as it stands in an unfinished line, like a question."""

    def __init__(self, stream: Any, progress: Progress) -> None:
        self.stream, self.progress = stream, progress

    def write(self, text: str) -> int:
        with self.progress.lock:
            self.progress.clear()
            if text:
                self.progress.unfinished = not text.endswith(("\n", "\r", "\x1b[K"))
            return int(self.stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Progress:
    """Told of the events of all runs of a program; writes to stderr. live: draw sums that change in place."""

    def __init__(self, live: bool) -> None:
        self.live = live and os.environ.get("TERM") != "dumb"
        self.dim, self.plain = ("", "") if os.environ.get("NO_COLOR") else ("\x1b[2m", "\x1b[0m")
        self.out = sys.stderr
        self.lock = RLock()  # writes come from the program, its events and the clock
        self.all = Sums()
        self.of_run: dict[str, Sums] = defaultdict(Sums)
        self.running = 0
        self.phase = ""
        self.started = time.monotonic()
        self.drawn = 0.0
        self.shown = False
        self.unfinished = False
        if self.live:
            self._share_the_terminal()

    def _share_the_terminal(self) -> None:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream.isatty():
                setattr(sys, name, AboveSums(stream, self))
        Thread(target=self._tick, daemon=True).start()
        atexit.register(self.leave)

    def leave(self) -> None:
        """Nothing is drawn any more: a thread that writes while Python ends would be in its way."""
        with self.lock:
            self.clear()
            self.live = False

    def _tick(self) -> None:
        """In a thread: keeps the clock of the sums running during a long step."""
        never = Signal()
        while self.live:
            never.wait(TICK)
            with self.lock:
                if self.running:
                    self.draw()

    def __call__(self, run: Run, event: Event) -> None:
        """The watcher of runs."""
        with self.lock:
            self.tell(run, event)
            if self.live and not isinstance(event, RunEnded) and not self.is_fresh():
                self.draw()

    def is_fresh(self) -> bool:
        """Whether the sums stand there as they were a moment ago."""
        return self.shown and time.monotonic() - self.drawn < REFRESH

    def tell(self, run: Run, event: Event) -> None:
        if isinstance(event, RunStarted):
            again = ", resumed" if run.settings.resume else ""
            self.line(f"{one_line(event.workflow)}: run {event.run_id}{again}", True)
        elif isinstance(event, PhaseStarted):
            self.phase = one_line(event.phase)
            self.line(f"phase {self.phase}")
        elif isinstance(event, Checkpoint):
            self.line(f"  {self.status('checkpoint')} {one_line(event.key)}")
        elif isinstance(event, AgentStarted):
            self.running += 1
        elif isinstance(event, AgentResult):
            self.ended(run, event)
        elif isinstance(event, Budget):
            for sums in (self.all, self.of_run[run.run_id]):
                sums.used(event)
        elif isinstance(event, RunEnded):
            self.over(run, event)

    def ended(self, run: Run, event: AgentResult) -> None:
        self.running -= 1
        for sums in (self.all, self.of_run[run.run_id]):
            sums.ended(event.status == "ok")
        label = one_line(event.agent_id)
        room = LABEL_COLUMNS if self.width() >= NARROW else 0
        took = seconds(event.dur_ms).rjust(TIME_COLUMNS if room else 0)
        model = f"  {one_line(event.model)}" if event.model else ""
        text = f"  {self.status(event.status)} {label}{' ' * (room - columns(label))} {took}{model}"
        if event.status == "ok":
            self.line(text)
        else:
            self.line(f"{text}  {cut(one_line(event.output.strip().partition(chr(10))[0]), ERROR_CHARACTERS)}", True)

    def dropped(self, error: Exception) -> None:
        """Of an error of a task that `parallel` or its kin has made a value of."""
        from sema_runtime.conditions.describe import describe

        shown = describe(error)
        place = f" ({os.path.basename(shown.frames[0].file)}:{shown.frames[0].line})" if shown.frames else ""
        with self.lock:
            text = cut(one_line(shown.message.partition(chr(10))[0]), ERROR_CHARACTERS)
            self.line(f"  {self.status('failed')} a task: {text}{place}", True)

    def status(self, text: str) -> str:
        return text.ljust(STATUS_COLUMNS if self.width() >= NARROW else 0)

    def over(self, run: Run, event: RunEnded) -> None:
        sums = self.of_run.pop(run.run_id, Sums())
        kept = f", {run.steps.reused} kept from before" if run.steps.reused else ""
        reason = f" ({event.reason})" if event.reason else ""
        name, status = one_line(run.workflow), _status(run, event)
        self.line(f"{name}: {status}{reason} in {seconds(event.dur_ms)}: {sums.steps()}{kept}, {sums.spent()}", True)
        if run.error is None:  # else it is shown, with its hint
            for hint, count in [*run.steps.hints.items()][:HINTS]:
                self.line(f"{name}: {many(count, 'step')} failed; hint: {one_line(hint)}", True)
        if status == "failed" and not run.interrupted and (sums.done or run.steps.reused):
            self.line(f"{name}: what was finished is kept: --resume {run.run_id}", True)

    def width(self) -> int:
        """Columns of a line; a file has enough of them."""
        if not self.live:
            return sys.maxsize
        try:
            return os.get_terminal_size(self.out.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def line(self, text: str, whole: bool = False) -> None:
        """Writes a line, cut to the terminal's width, or whole, in as many lines as it takes."""
        self.clear()
        text = one_line(text)
        if self.unfinished:
            self.unfinished = False
            text = f"\n{text}"
        self.write((text if whole else cut(text, self.width())) + "\n")

    def draw(self) -> None:
        """The sums, drawn over the ones before; the next line of anybody takes their place."""
        if self.unfinished:
            return
        self.drawn = time.monotonic()
        took = int(self.drawn - self.started)
        failed = f", {self.all.failed} failed" if self.all.failed else ""
        phase = f"{self.phase}: " if self.phase else ""
        text = f"{phase}{self.running} running, {self.all.done} done{failed}, {self.all.spent()}"
        text = cut(f"{one_line(text)}, {took // 60:02}:{took % 60:02}", self.width() - 1)
        self.shown = True
        bright = "\x1b[0m" if self.dim else ""
        self.write(f"\r\x1b[K{self.dim}{text}{bright}\r")

    def clear(self) -> None:
        if self.shown:
            self.shown = False
            self.write("\r\x1b[K")

    def write(self, text: str) -> None:
        try:
            self.out.write(text)
            self.out.flush()
        except (OSError, ValueError):
            self.live = False  # nobody reads it any more


def _status(run: Run, event: RunEnded) -> str:
    """What the run's envelope says: a body that has returned is a success for the journal, whatever it returned."""
    return one_line(outcomes.said(envelopes.status_of(run.envelope), event.status))


def seconds(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
