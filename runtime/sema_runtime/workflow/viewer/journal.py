"""The journal of a run that is open in a page, and what the page shows besides columns: a tree of phases, lanes."""

from __future__ import annotations

from array import array
from heapq import heappop, heappush

from sema_runtime.workflow.journal import nested
from sema_runtime.workflow.read.columns import RUNNING, Usage
from sema_runtime.workflow.read.follower import Reader
from sema_runtime.workflow.read.reducer import RESULT, STARTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from sema_runtime.workflow.journal.nested import Nested
    from sema_runtime.workflow.read.reducer import Phase, RunState


class Journal(Reader):
    """A run's journal. Everything is dropped when its files are replaced."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        super().__init__(str(folder))

    def _forget(self) -> None:
        super()._forget()
        self.tree = Tree(self.state)
        self.lanes = Lanes(self.state)
        self._inside: tuple[int, list[Nested]] = (0, [])  # the size of their file, and the runs in it

    def inside(self) -> list[Nested]:
        """The runs inside of this one. Their file only grows: it is read again when it is longer."""
        try:
            size = (self.path / nested.NAME).stat().st_size
        except OSError:
            size = 0
        if size != self._inside[0]:
            self._inside = size, list(nested.of(self.folder).values())
        return self._inside[1]


class Branch:
    """A phase of the tree: every opening of it, that of a resumed run after the earlier ones. items: an
    agent's row, or -1 - a checkpoint's."""

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.parts: list[Phase] = []
        self.items = array("i")
        self.taken: list[tuple[int, int]] = []  # (agents, checkpoints) of each part that are among the items

    @property
    def status(self) -> str:
        return self.parts[-1].status if self.parts else "pending"

    @property
    def began(self) -> float | None:
        return self.parts[0].began if self.parts else None

    @property
    def closed(self) -> float | None:
        return self.parts[-1].closed if self.parts else None

    @property
    def usage(self) -> Usage:
        total = Usage()
        for part in self.parts:
            total.join(part.usage)
        return total

    def agents_running(self) -> int:
        return sum(part.state.agents.count(RUNNING, part.rows()) for part in self.parts)

    def follow(self) -> None:
        """Takes in the items that have come."""
        self.taken += [(0, 0)] * (len(self.parts) - len(self.taken))
        for number, part in enumerate(self.parts):
            known, now = self.taken[number], (part.agents, part.checkpoints)
            if known != now:
                self.items.extend(part.items(*known))
                self.taken[number] = now


class Tree:
    """The phases of a run as one tree over all segments: opened for the n-th time in its segment, a phase is the n-th
    of that name in the run. Those that are declared stand first."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.branches: list[Branch] = []
        self.branch_of = array("I")  # of each opening
        self.named: dict[tuple[str, int], Branch] = {}  # by name and turn
        self.turns: dict[str, int] = {}  # how often a phase was opened in the segment
        self.segment = -1
        self.declared = False

    def follow(self) -> list[Branch]:
        """All branches, with what has come."""
        state = self.state
        if state.begun and not self.declared:
            self.declared = True
            turns: dict[str, int] = {}
            for name in state.begun["phases"]:
                turns[name] = turns.get(name, 0) + 1
                self._branch(name, turns[name])
        for phase in state.phases[len(self.branch_of) :]:
            if phase.segment != self.segment:
                self.segment = phase.segment
                self.turns = {}
            name = phase.name or ""
            self.turns[name] = self.turns.get(name, 0) + 1
            branch = self._branch(name, self.turns[name])
            branch.parts.append(phase)
            self.branch_of.append(branch.number)
        return self.branches

    def _branch(self, name: str, turn: int) -> Branch:
        branch = self.named.get((name, turn))
        if branch is None:
            branch = self.named[name, turn] = Branch(len(self.branches), name)
            self.branches.append(branch)
        return branch

    def of_agent(self, agent: int) -> Branch:
        return self.follow()[self.branch_of[self.state.agents.phase[agent]]]

    def of_checkpoint(self, checkpoint: int) -> Branch:
        return self.follow()[self.branch_of[self.state.checkpoint_phase[checkpoint]]]


class Lanes:
    """Where agents stand in the timeline: of those that run at once each has a lane, the lowest that is free."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.lane = array("I")
        self.seen = 0  # events
        self.segment = -1
        self.free: list[int] = []  # a heap
        self.used = 0

    def follow(self) -> array[int]:
        """The lane of each agent."""
        state = self.state
        for number in range(max(0, self.segment), len(state.segments)):
            if number != self.segment:
                self.segment, self.free, self.used = number, [], 0
            last = number + 1 == len(state.segments)
            self._follow(len(state.kind) if last else state.segments[number + 1]["first"])
        return self.lane

    def _follow(self, end: int) -> None:
        state, lane, free = self.state, self.lane, self.free
        result = state.agents.result
        begin, self.seen = self.seen, end
        for event, kind, row in zip(range(begin, end), state.kind[begin:end], state.owner[begin:end], strict=True):
            if kind == STARTED and row >= 0:
                lane.append(heappop(free) if free else self.used)
                self.used = max(self.used, lane[-1] + 1)
            elif kind == RESULT and row >= 0 and result[row] == event:
                heappush(free, lane[row])
