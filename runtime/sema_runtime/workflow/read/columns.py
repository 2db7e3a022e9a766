"""The agents of a run in columns, and sums of what they used. Texts stay in the journal."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RUNNING, OK, FAILED, INTERRUPTED, OTHER = range(5)  # of an agent; OTHER: a status that the format doesn't have
STATUSES = {"ok": OK, "failed": FAILED}
NOBODY = -1
MOST_INT = 1 << 62  # numbers beyond this are taken for damage


class Words(dict[str, int]):
    """Numbers of texts, each kept once: `words[text]`, which adds a new one."""

    def __init__(self, *first: str) -> None:
        self.texts: list[str] = []
        for text in first:
            self[text]

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self.texts)
        self.texts.append(text)
        return number


class Usage:
    """What calls to models used. cost_usd: of those whose price is known, None when there are none."""

    __slots__ = ("calls", "cost_usd", "input_tokens", "output_tokens", "unpriced")

    def __init__(self) -> None:
        self.calls = self.unpriced = self.input_tokens = self.output_tokens = 0
        self.cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def add(self, calls: int, unpriced: int, read: int, written: int, cost: float) -> Usage:
        """Adds calls, of which so many have no price; returns itself."""
        self.calls += calls
        self.unpriced += unpriced
        self.input_tokens += read
        self.output_tokens += written
        if calls > unpriced:
            self.cost_usd = cost + (self.cost_usd or 0.0)
        return self

    def join(self, other: Usage) -> Usage:
        """Adds the sums of another; returns itself."""
        cost = other.cost_usd or 0.0
        return self.add(other.calls, other.unpriced, other.input_tokens, other.output_tokens, cost)


class Agents:
    """The agents of a run in the order in which they started, a column for each property: 80 bytes an agent, a quarter
    of what an object takes."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.name = array("I")  # numbers of words
        self.model = array("I")
        self.phase = array("I")
        self.status = bytearray()
        self.start = array("d")  # milliseconds on the run's clock
        self.duration = array("d")
        self.input = array("Q")
        self.output = array("Q")
        self.cost = array("d")  # of the calls whose price is known
        self.priced = array("I")  # budgets with a cost
        self.unpriced = array("I")  # and without
        self.tools = array("I")
        self.event = array("I")  # number of agent.started
        self.result = array("I")  # number of agent.result, 0 before
        self._empty = [  # what stays 0 until later events
            column.append
            for column in (
                *(self.status, self.duration, self.input, self.output, self.cost),
                *(self.priced, self.unpriced, self.tools, self.result),
            )
        ]

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, agent_id: str, name: int, model: int, phase: int, start: float, event: int) -> int:
        """Adds an agent that starts; its row."""
        row = len(self.ids)
        self.ids.append(agent_id)
        self.name.append(name)
        self.model.append(model)
        self.phase.append(phase)
        self.start.append(start)
        self.event.append(event)
        for append in self._empty:
            append(0)
        return row

    def cost_of(self, row: int) -> float | None:
        """None when it isn't known, or nothing was used."""
        return self.cost[row] if self.priced[row] else None

    def count(self, status: int, rows: range) -> int:
        """How many of these have a status."""
        return self.status.count(status, rows.start, rows.stop)

    def usage(self, rows: range, loose: Usage) -> Usage:
        """What these used, and what was used beside them."""
        counts = self.priced, self.unpriced, self.input, self.output
        priced, unpriced, read, written = (sum(column[rows.start : rows.stop]) for column in counts)
        cost = sum(self.cost[rows.start : rows.stop])
        return Usage().add(priced + unpriced, unpriced, read, written, cost).join(loose)


def count(value: Any) -> int:
    """A number of a journal as a count: 0 for anything that is none."""
    if type(value) is int:
        return value if 0 <= value < MOST_INT else 0
    return int(value) if type(value) is float and 0 <= value < MOST_INT else 0


def text(fields: dict[str, Any], name: str) -> str:
    """A field of an event as text; "" when it is absent or something else."""
    value = fields.get(name)
    return value if type(value) is str else ""
