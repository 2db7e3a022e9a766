"""What runs did and used, and how long they took: for `list`, `show`, `diff`, the index and the viewer.

What a run used includes the runs inside of it, each counted once. How long it took is the time in which it was at work:
the sum of its parts, without the pauses before resumptions.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import NamedTuple

from sema_runtime.workflow.journal import nested, outcomes
from sema_runtime.workflow.journal.writer import safe_id, segment_name
from sema_runtime.workflow.read.columns import Usage
from sema_runtime.workflow.read.follower import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sema_runtime.workflow.read.reducer import RunState

    Mark = tuple[tuple[int, int, int] | None, ...]


class Totals(NamedTuple):
    """Of one run, without those inside. agents: those that started, in all its parts. elapsed_ms: while it goes on, or
    when it was killed, as far as its journal tells."""

    status: str
    agents: int
    calls: int
    unpriced: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    elapsed_ms: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def duration_ms(self) -> int | None:
        """None while it runs, as far as its journal tells."""
        return None if self.status == "running" else self.elapsed_ms

    def usage(self) -> Usage:
        return Usage().add(self.calls, self.unpriced, self.input_tokens, self.output_tokens, self.cost_usd or 0.0)


class Inside(NamedTuple):
    """The runs inside of a run, and those inside of them: how many there are, what they used together."""

    runs: int
    usage: Usage


def totals_of(folder: str, state: RunState) -> Totals:
    """Of the run of a folder, whose journal is folded."""
    used = state.usage
    return Totals(
        outcomes.outcome(folder, state.status),
        len(state.agents),
        used.calls,
        used.unpriced,
        used.input_tokens,
        used.output_tokens,
        used.cost_usd,
        int(state.elapsed_ms),
    )


def together(run_id: str, own: Callable[[str], Totals | None], inside: Callable[[str], Iterable[str]]) -> Inside:
    """What the runs inside of one used, however deep. own: of a run, None where it is gone. inside: the ids of the runs
    directly inside of one."""
    seen, waiting = {run_id}, [*inside(run_id)]
    runs, used = 0, Usage()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        waiting += inside(current)
        totals = own(current)
        if totals is not None:
            runs += 1
            used.join(totals.usage())
    return Inside(runs, used)


class Totaller:
    """The totals of the runs of a directory. A journal is read when somebody asks for it, and what is new of it when it
    has grown. May be asked from several threads."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.fspath(root)
        self.known: dict[str, tuple[Mark, Totals]] = {}
        self.growing: dict[str, Reader] = {}  # journals of unfinished runs
        self.children: dict[str, tuple[int, list[str]]] = {}  # (the size of their file, their ids)
        self.lock = RLock()

    def own(self, run_id: str) -> Totals | None:
        """Of a run without those inside; None when it can't be read."""
        with self.lock:
            try:
                folder = os.path.join(self.root, safe_id(run_id))
                mark = mark_of(folder)
                known = self.known.get(run_id)
                if known is None or known[0] != mark:
                    self.known[run_id] = known = mark, self._read(run_id, folder)
            except (OSError, ValueError):
                return None
            return known[1] if mark else None

    def _read(self, run_id: str, folder: str) -> Totals:
        reader = self.growing.pop(run_id, None) or Reader(folder)
        reader.refresh()
        totals = totals_of(folder, reader.state)
        if totals.status == "running":
            self.growing[run_id] = reader
        return totals

    def directly_inside(self, run_id: str) -> list[str]:
        """The ids of the runs directly inside of one."""
        with self.lock:
            try:
                folder = os.path.join(self.root, safe_id(run_id))
                size = os.stat(os.path.join(folder, nested.NAME)).st_size
            except (OSError, ValueError):
                return []
            known = self.children.get(run_id)
            if known is None or known[0] != size:
                self.children[run_id] = known = size, [run.run_id for run in nested.of(folder).values()]
            return known[1]

    def inside(self, run_id: str) -> Inside:
        """Of the runs inside of one."""
        return together(run_id, self.own, self.directly_inside)


def mark_of(folder: str) -> Mark:
    """What changes with the files of a journal and the envelope; () when there is no journal. Raises OSError."""
    marks: list[tuple[int, int, int] | None] = []
    while True:
        try:
            status = os.stat(os.path.join(folder, segment_name(len(marks))))
        except FileNotFoundError:
            return (*marks, outcomes.mark(folder)) if marks else ()
        marks.append((status.st_ino, status.st_size, status.st_mtime_ns))
