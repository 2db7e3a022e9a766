"""What a person sees of a workflow while it runs: a line for each phase and step, on a terminal the sums below them."""

from __future__ import annotations

import sys
import time
from typing import Any

from sema_runtime.workflow.events import (
    AgentResult,
    AgentStarted,
    ApprovalGranted,
    ApprovalRejected,
    ApprovalRequested,
    Budget,
    Checkpoint,
    Event,
    PhaseStarted,
    RunEnded,
    RunStarted,
)
from sema_runtime.workflow.run import Run
from semac.tables import cut

REFRESH = 0.1  # seconds between two drawings of the sums
LABEL_COLUMNS = 28


class AboveSums:
    """stdout, for a program that prints to the terminal on which the sums stand: they make room for its text."""

    def __init__(self, stream: Any, progress: Progress) -> None:
        self.stream, self.progress = stream, progress

    def write(self, text: str) -> int:
        self.progress.clear()
        return int(self.stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Progress:
    """Told of the events of all runs of a program; writes to stderr. live: draw sums that change in place."""

    def __init__(self, live: bool) -> None:
        self.live = live
        self.running = 0
        self.done = 0
        self.failed = 0
        self.tokens = 0
        self.cost_usd: float | None = None
        self.started = time.monotonic()
        self.drawn = 0.0
        self.shown = False
        self.asking = False  # somebody is asked on the terminal, perhaps: nothing is written meanwhile
        self.kept: list[str] = []
        if live and sys.stdout.isatty():
            sys.stdout = AboveSums(sys.stdout, self)

    def __call__(self, run: Run, event: Event) -> None:
        """The watcher of runs."""
        if isinstance(event, ApprovalRequested):
            self.clear()
            self.asking = self.live
        elif isinstance(event, ApprovalGranted | ApprovalRejected | RunEnded):
            self.answered()
        if isinstance(event, RunStarted):
            again = ", resumed" if run.resuming else ""
            self.line(f"{event.workflow}: run {event.run_id}{again}")
        elif isinstance(event, PhaseStarted):
            self.line(f"phase {event.phase}")
        elif isinstance(event, Checkpoint):
            self.line(f"  {'checkpoint':<10} {event.key}")
        elif isinstance(event, AgentStarted):
            self.running += 1
        elif isinstance(event, AgentResult):
            self.ended(event)
        elif isinstance(event, Budget):
            self.used(event)
        elif isinstance(event, RunEnded):
            self.over(run, event)
        if self.live and not isinstance(event, RunEnded):
            self.draw()

    def ended(self, event: AgentResult) -> None:
        self.running -= 1
        if event.status == "ok":
            self.done += 1
            said = ""
        else:
            self.failed += 1
            said = f"  {one_line(event.output)}"
        model = f"  {event.model}" if event.model else ""
        self.line(f"  {event.status:<10} {event.agent_id:<{LABEL_COLUMNS}} {seconds(event.dur_ms)}{model}{said}")

    def used(self, event: Budget) -> None:
        self.tokens += event.input_tokens + event.output_tokens
        if event.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + event.cost_usd

    def over(self, run: Run, event: RunEnded) -> None:
        kept = f", {run.replayed} kept from before" if run.replayed else ""
        reason = f" ({event.reason})" if event.reason else ""
        steps = "1 step" if self.done + self.failed == 1 else f"{self.done + self.failed} steps"
        failed = f" ({self.failed} failed)" if self.failed else ""
        self.line(
            f"{run.workflow}: {event.status}{reason} in {seconds(event.dur_ms)}: {steps}{failed}{kept}, {self.spent()}"
        )

    def spent(self) -> str:
        cost = "cost unknown" if self.cost_usd is None else f"${self.cost_usd:.4f}"
        return f"{self.tokens:,} tokens, {cost}" if self.tokens else "no tokens"

    def answered(self) -> None:
        """Goes on with what was kept back during a question."""
        lines, self.kept, self.asking = self.kept, [], False
        for text in lines:
            self.line(text)

    def line(self, text: str) -> None:
        if self.asking:
            self.kept.append(text)
            return
        self.clear()
        try:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        except OSError:
            self.live = False  # nobody reads it any more

    def draw(self) -> None:
        """The sums, drawn over the ones before; the next line of anybody takes their place."""
        now = time.monotonic()
        if self.asking or now - self.drawn < REFRESH:
            return
        self.drawn = now
        from shutil import get_terminal_size

        took = int(now - self.started)
        text = f"{self.running} running, {self.done} done, {self.spent()}, {took // 60:02}:{took % 60:02}"
        self.shown = True
        sys.stderr.write(f"\r\x1b[K\x1b[2m{cut(text, get_terminal_size().columns - 1)}\x1b[0m\r")
        sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            self.shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def seconds(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def one_line(text: str) -> str:
    first = text.strip().partition("\n")[0]
    return cut(first, 200)
