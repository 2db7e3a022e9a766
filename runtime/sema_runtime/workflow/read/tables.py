"""The agents, tool calls, checkpoints and other events of a run, as objects.

A run may have hundreds of thousands of each, which are kept in columns (`RunState`). A table returns views: `Agent`,
`ToolCall`, `Checkpoint`, whose texts are read from the journal on demand.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import islice

from sema_runtime.workflow.journal.segments import Event
from sema_runtime.workflow.read.columns import FAILED, OK, RUNNING
from sema_runtime.workflow.read.reducer import BEFORE, CALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol, overload

    from sema_runtime.workflow.read.reducer import Phase, RunState

    class Run(Protocol):
        """What tables need of a `recorded_run.Run`."""

        @property
        def state(self) -> RunState: ...

        def event(self, number: int) -> Event:
            """An event by its number, read again. Raises OSError, ValueError when the journal has changed since."""

        def is_open(self, segment: int) -> bool:
            """Whether a segment is still being written, as far as the journal tells."""


IN_TABLES = frozenset(  # the kinds of events that the other tables and the run itself show
    (
        "damaged", "run.started", "run.ended", "phase.started", "phase.ended", "agent.started", "agent.result",
        "agent.tool_call", "checkpoint", "budget",
    )
)  # fmt: skip


class _View:
    """A row of a table."""

    __slots__ = ("row", "run")

    def __init__(self, run: Run, row: int) -> None:
        self.run = run
        self.row = row

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.run is self.run and other.row == self.row

    def __hash__(self) -> int:
        return hash((id(self.run), self.row))


class _Table(Sequence["Any"]):
    """Rows that look like a sequence of views."""

    view: Any

    def __init__(self, run: Run) -> None:
        self.run = run

    def _rows(self) -> Sequence[int]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._rows())

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int) -> Any: ...
        @overload
        def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        rows = self._rows()
        if isinstance(index, slice):
            return [self.view(self.run, row) for row in rows[index]]
        return self.view(self.run, rows[index])

    def __iter__(self) -> Iterator[Any]:
        return (self.view(self.run, row) for row in self._rows())


class Agent(_View):
    """One step: its prompt and its result."""

    __slots__ = ()

    @property
    def id(self) -> str:
        return self.run.state.agents.ids[self.row]

    @property
    def name(self) -> str:
        return self.run.state.words.texts[self.run.state.agents.name[self.row]]

    @property
    def segment(self) -> int:
        return self._opening().segment

    def _opening(self) -> Phase:
        state = self.run.state
        return state.phases[state.agents.phase[self.row]]

    @property
    def phase(self) -> Phase | None:
        """The phase that was open when it started."""
        opening = self._opening()
        return None if opening.name is BEFORE else opening

    @property
    def status(self) -> str:
        """running, ok, failed; unfinished when the run ended, or was resumed, before it did."""
        status = self.run.state.agents.status[self.row]
        if self.is_finished:
            return "ok" if status == OK else "failed" if status == FAILED else self.result_event().text("status")
        return "running" if status == RUNNING and self.run.is_open(self.segment) else "unfinished"

    @property
    def is_finished(self) -> bool:
        """Whether it has a result."""
        return self.run.state.agents.result[self.row] > 0

    @property
    def duration_ms(self) -> int | None:
        """None while it runs."""
        return int(self.run.state.agents.duration[self.row]) if self.is_finished else None

    @property
    def model(self) -> str:
        """The last model that answered; "" when it isn't known."""
        return self.run.state.words.texts[self.run.state.agents.model[self.row]]

    @property
    def input_tokens(self) -> int:
        return self.run.state.agents.input[self.row]

    @property
    def output_tokens(self) -> int:
        return self.run.state.agents.output[self.row]

    @property
    def cost_usd(self) -> float | None:
        """None when it isn't known, or nothing was used."""
        return self.run.state.agents.cost_of(self.row)

    @property
    def tool_calls(self) -> int:
        """How many there were."""
        return self.run.state.agents.tools[self.row]

    @property
    def prompt(self) -> str:
        """As the journal has it: cut after 4000 characters. Read from the file."""
        return self.run.event(self.run.state.agents.event[self.row]).text("prompt")

    @property
    def result(self) -> str | None:
        """The rendered value or `error: ...`; None while it runs. Read from the file."""
        return self.result_event().text("output") if self.is_finished else None

    @property
    def result_seq(self) -> int | None:
        """The seq of its result in its segment; None while it runs. Read from the file."""
        return self.result_event().seq if self.is_finished else None

    def result_event(self) -> Event:
        """Only for one that is finished."""
        return self.run.event(self.run.state.agents.result[self.row])

    def calls(self) -> list[ToolCall]:
        """Its tool calls, in order."""
        state = self.run.state
        if not self.tool_calls:
            return []
        return [ToolCall(self.run, event) for event in state.events_of(self.row) if state.kind[event] == CALL]


class Agents(_Table):
    """All agents in the order in which they started, of all segments."""

    view = Agent

    def _rows(self) -> range:
        return range(len(self.run.state.agents))

    def rows_of(self, id_: str) -> list[int]:
        """The rows with that id: one in each segment where it came."""
        return [row for row, known in enumerate(self.run.state.agents.ids) if known == id_]


class _Events(_Table):
    """Events of some kinds: a row is the number of an event."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.seen = 0  # events
        self.numbers = array("I")

    def _is_wanted(self, kind: int) -> bool:
        raise NotImplementedError

    def _rows(self) -> array[int]:
        kinds = self.run.state.kind
        if self.seen < len(kinds):
            wanted = {number for number in range(len(self.run.state.kinds)) if self._is_wanted(number)}
            fresh = enumerate(islice(kinds, self.seen, None), self.seen)
            self.numbers.extend(number for number, kind in fresh if kind in wanted)
            self.seen = len(kinds)
        return self.numbers


class ToolCall(_View):
    """A call of a tool by an agent."""

    __slots__ = ()

    @property
    def agent(self) -> Agent | None:
        """The agent that called; None when the journal doesn't have it."""
        owner = self.run.state.owner[self.row]
        return None if owner < 0 else Agent(self.run, owner)

    @property
    def name(self) -> str:
        """Read from the file."""
        return self.run.event(self.row).text("tool_name")

    @property
    def args_json(self) -> str:
        """Printed Sema, or "gated" when they were not written down. Read from the file."""
        return self.run.event(self.row).text("args_json")


class ToolCalls(_Events):
    """All tool calls."""

    view = ToolCall

    def _is_wanted(self, kind: int) -> bool:
        return kind == CALL


class Checkpoint(_View):
    """A value that the run has put down."""

    __slots__ = ()

    @property
    def key(self) -> str:
        return self.run.state.words.texts[self.run.state.checkpoint_key[self.row]]

    @property
    def segment(self) -> int:
        return self._opening().segment

    def _opening(self) -> Phase:
        return self.run.state.phases[self.run.state.checkpoint_phase[self.row]]

    @property
    def phase(self) -> Phase | None:
        opening = self._opening()
        return None if opening.name is BEFORE else opening

    def event(self) -> Event:
        return self.run.event(self.run.state.checkpoint_event[self.row])

    @property
    def seq(self) -> int | None:
        """Of its event in its segment. Read from the file, as what follows."""
        return self.event().seq

    @property
    def value(self) -> str:
        """The value as text, cut after 8192 bytes; "" when it was not written down."""
        return self.event().text("value")

    @property
    def content_key(self) -> str:
        """The name of its memo."""
        return self.event().text("content_key")

    @property
    def value_digest(self) -> str:
        return self.event().text("value_digest")


class Checkpoints(_Table):
    """All checkpoints that were written."""

    view = Checkpoint

    def _rows(self) -> range:
        return range(len(self.run.state.checkpoint_event))


class Others(_Events):
    """The events that no other table has: of servers, policies, approvals, memory, and those that we don't know."""

    @staticmethod
    def view(run: Run, row: int) -> Event:
        return run.event(row)

    def _is_wanted(self, kind: int) -> bool:
        return self.run.state.kinds.texts[kind] not in IN_TABLES

    def named(self, *names: str) -> Iterator[Event]:
        """Those of some names."""
        state = self.run.state
        return (self.run.event(row) for row in self._rows() if state.kind_name(row) in names)

    def counts(self) -> dict[str, int]:
        """How many there are of each name."""
        return {name: many for name, many in self.run.state.counts().items() if name not in IN_TABLES}
