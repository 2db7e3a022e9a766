"""The agents, tool calls, checkpoints and other events of a run, in columns.

A run may have hundreds of thousands of each; an object for every one would take ten times the memory. What a table
gives out are views: `Agent`, `ToolCall`, `Checkpoint`, with their texts read from the journal when they are asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sema_runtime.workflow.segments import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, overload

    from sema_runtime.workflow.reading import Phase, Run

UNKNOWN = float("nan")  # in a column of costs
RUNNING, OK, FAILED, OTHER = range(4)
STATUSES = {"ok": OK, "failed": FAILED}


class Names:
    """Texts that come again and again, numbered."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        found = self.numbers.get(text)
        if found is None:
            found = self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return found


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
        self.segment = array("H")
        self.offset = array("q")  # of the event in its segment

    def __len__(self) -> int:
        return len(self.offset)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int) -> Any: ...
        @overload
        def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        rows = range(len(self.offset))
        if isinstance(index, slice):
            return [self.view(self.run, row) for row in rows[index]]
        return self.view(self.run, rows[index])

    def __iter__(self) -> Iterator[Any]:
        return (self.view(self.run, row) for row in range(len(self.offset)))

    def event(self, row: int) -> Event:
        """The event of a row, read again. Raises OSError, ValueError when the journal has changed since."""
        return self.run.segments[self.segment[row]].at(self.offset[row])


class Agent(_View):
    """One leaf: what a `step` asked and got."""

    __slots__ = ()

    @property
    def id(self) -> str:
        return self.run.agents.id_of(self.row)

    @property
    def name(self) -> str:
        return self.run.agents.names.texts[self.run.agents.name[self.row]]

    @property
    def segment(self) -> int:
        return self.run.agents.segment[self.row]

    @property
    def phase(self) -> Phase | None:
        """The phase that was open when it started."""
        number = self.run.agents.phase[self.row]
        return None if number < 0 else self.run.phases[number]

    @property
    def status(self) -> str:
        """running, ok, failed; unfinished when the run ended, or was resumed, before it did."""
        status = self.run.agents.status[self.row]
        if status == RUNNING:
            return "running" if self.run.is_open(self.segment) else "unfinished"
        return "ok" if status == OK else "failed" if status == FAILED else self.result_event().text("status")

    @property
    def duration_ms(self) -> int | None:
        """None while it runs."""
        table = self.run.agents
        return None if table.status[self.row] == RUNNING else table.duration[self.row]

    @property
    def model(self) -> str:
        """The last model that answered; "" when it isn't known."""
        return self.run.agents.models.texts[self.run.agents.model[self.row]]

    @property
    def input_tokens(self) -> int:
        return self.run.agents.input[self.row]

    @property
    def output_tokens(self) -> int:
        return self.run.agents.output[self.row]

    @property
    def cost_usd(self) -> float | None:
        """None when it isn't known, or nothing was used."""
        cost = self.run.agents.cost[self.row]
        return None if cost != cost else cost

    @property
    def tool_calls(self) -> int:
        """How many there were."""
        return self.run.agents.tools[self.row]

    @property
    def prompt(self) -> str:
        """As the journal has it: cut after 4000 characters. Read from the file."""
        return self.run.agents.event(self.row).text("prompt")

    @property
    def result(self) -> str | None:
        """The rendered value or `error: ...`; None while it runs. Read from the file."""
        return None if self.run.agents.status[self.row] == RUNNING else self.result_event().text("output")

    def result_event(self) -> Event:
        return self.run.segments[self.segment].at(self.run.agents.result[self.row])

    def calls(self) -> list[ToolCall]:
        """Its tool calls, in order."""
        agents = self.run.tool_calls.agent
        if not self.tool_calls:
            return []
        return [ToolCall(self.run, row) for row, agent in enumerate(agents) if agent == self.row]


class Agents(_Table):
    """All leaves in the order in which they started, of all segments."""

    view = Agent

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.names, self.models = Names(), Names()
        self.models.number("")
        self.name = array("i")
        self.number = array("i")  # the n of an id `NAME_n`; -1 for other ids, which are in odd
        self.odd: dict[int, str] = {}
        self.phase = array("i")
        self.model = array("i")
        self.status = array("b")
        self.result = array("q")  # offset of agent.result
        self.duration = array("q")
        self.input, self.output = array("q"), array("q")
        self.cost = array("d")
        self.tools = array("i")

    def add(self, segment: int, offset: int, phase: int, id_: str, name: str, model: str) -> int:
        """A row for an agent that started."""
        row = len(self.offset)
        label, _, digits = id_.rpartition("_")
        if label == name and digits.isascii() and digits.isdecimal() and len(digits) < 9 and digits[0] != "0":
            self.number.append(int(digits))
        else:
            self.number.append(-1)
            self.odd[row] = id_
        self.name.append(self.names.number(name))
        self.segment.append(segment)
        self.offset.append(offset)
        self.phase.append(phase)
        self.model.append(self.models.number(model) if model else 0)
        self.status.append(RUNNING)
        for column in (self.result, self.duration, self.input, self.output):
            column.append(0)
        self.cost.append(UNKNOWN)
        self.tools.append(0)
        return row

    def id_of(self, row: int) -> str:
        number = self.number[row]
        return self.odd[row] if number < 0 else f"{self.names.texts[self.name[row]]}_{number}"

    def rows_of(self, id_: str) -> list[int]:
        """The rows with that id: one in each segment where it came."""
        return [row for row in range(len(self.offset)) if self.id_of(row) == id_]


class ToolCall(_View):
    """A call of a tool by an agent."""

    __slots__ = ()

    @property
    def name(self) -> str:
        calls = self.run.tool_calls
        return calls.names.texts[calls.name[self.row]]

    @property
    def args_json(self) -> str:
        """Printed Sema, or "gated" when they were not written down. Read from the file."""
        return self.run.tool_calls.event(self.row).text("args_json")


class ToolCalls(_Table):
    """All tool calls. agent: the row of the agent, -1 when the journal doesn't have it."""

    view = ToolCall

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.names = Names()
        self.name = array("i")
        self.agent = array("i")

    def add(self, segment: int, offset: int, agent: int, name: str) -> None:
        self.segment.append(segment)
        self.offset.append(offset)
        self.agent.append(agent)
        self.name.append(self.names.number(name))


class Checkpoint(_View):
    """A value that the run has put down."""

    __slots__ = ()

    @property
    def key(self) -> str:
        checkpoints = self.run.checkpoints
        return checkpoints.keys.texts[checkpoints.key[self.row]]

    @property
    def segment(self) -> int:
        return self.run.checkpoints.segment[self.row]

    @property
    def phase(self) -> Phase | None:
        number = self.run.checkpoints.phase[self.row]
        return None if number < 0 else self.run.phases[number]

    @property
    def value(self) -> str:
        """The value as text, cut after 8192 bytes; "" when it was not written down. Read from the file."""
        return self.run.checkpoints.event(self.row).text("value")

    @property
    def content_key(self) -> str:
        """The name of its memo. Read from the file."""
        return self.run.checkpoints.event(self.row).text("content_key")

    @property
    def value_digest(self) -> str:
        """Read from the file."""
        return self.run.checkpoints.event(self.row).text("value_digest")


class Checkpoints(_Table):
    """All checkpoints that were written."""

    view = Checkpoint

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.keys = Names()
        self.key = array("i")
        self.phase = array("i")

    def add(self, segment: int, offset: int, phase: int, key: str) -> None:
        self.segment.append(segment)
        self.offset.append(offset)
        self.phase.append(phase)
        self.key.append(self.keys.number(key))


class Others(_Table):
    """The events that no other table has: of servers, policies, approvals, memory, and those that we don't know."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.names = Names()
        self.name = array("i")
        self.view = lambda _, row: self.event(row)

    def add(self, segment: int, offset: int, name: str) -> None:
        self.segment.append(segment)
        self.offset.append(offset)
        self.name.append(self.names.number(name))

    def named(self, *names: str) -> Iterator[Event]:
        """Those of some names."""
        wanted = {self.names.numbers.get(name) for name in names}
        return (self.event(row) for row, name in enumerate(self.name) if name in wanted)

    def counts(self) -> dict[str, int]:
        """How many there are of each name."""
        found = [0] * len(self.names.texts)
        for name in self.name:
            found[name] += 1
        return dict(zip(self.names.texts, found, strict=True))
