"""What a run holds, in columns: some 5 bytes an event and 80 an agent. Texts stay in the journal."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RUNNING, OK, FAILED, INTERRUPTED, OTHER = range(5)  # of an agent; OTHER: a status that the format doesn't have
STATUSES = {"ok": OK, "failed": FAILED}
NOBODY = -1
MOST_INT = 1 << 62  # numbers beyond this are taken for damage


class Words(dict[bytes, int]):
    """Numbers of texts, each kept once: `words[text]`, which adds a new one. They come as UTF-8."""

    def __init__(self, *first: bytes) -> None:
        self.texts: list[str] = []
        for text in first:
            self[text]

    def __missing__(self, text: bytes) -> int:
        found = self[text] = len(self.texts)
        self.texts.append(text_of(text))
        return found


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
        """Adds calls, of which so many have no price; itself."""
        self.calls += calls
        self.unpriced += unpriced
        self.input_tokens += read
        self.output_tokens += written
        if calls > unpriced:
            self.cost_usd = cost + (self.cost_usd or 0.0)
        return self

    def join(self, other: Usage) -> Usage:
        """Adds what another has; itself."""
        cost = other.cost_usd or 0.0
        return self.add(other.calls, other.unpriced, other.input_tokens, other.output_tokens, cost)


class Agents:
    """The agents of a run, a column each, in the order in which they started. The columns are longer than the list of
    ids: behind it is room for more."""

    def __init__(self) -> None:
        self.ids: list[bytes] = []
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
        self.columns: list[array[Any]] = [one for one in vars(self).values() if isinstance(one, array)]

    def __len__(self) -> int:
        return len(self.ids)

    def make_room(self, rows: int) -> None:
        """Room for so many more agents, of which nothing is known: everything is 0."""
        more = len(self.ids) + rows - len(self.status)
        if more <= 0:
            return
        more += len(self.ids) >> 3  # seldom: making columns longer may move them
        self.status.extend(bytes(more))
        for column in self.columns:
            column.frombytes(bytes(more * column.itemsize))

    def cost_of(self, row: int) -> float | None:
        """None when it isn't known, or nothing was used."""
        return self.cost[row] if self.priced[row] else None

    def statuses(self, status: int, rows: range) -> int:
        """How many of these have a status."""
        return self.status.count(status, rows.start, rows.stop)

    def usage(self, rows: range, loose: Usage) -> Usage:
        """What these used, and what was used beside them."""
        counts = self.priced, self.unpriced, self.input, self.output
        priced, unpriced, read, written = (sum(one[rows.start : rows.stop]) for one in counts)
        cost = sum(self.cost[rows.start : rows.stop])
        return Usage().add(priced + unpriced, unpriced, read, written, cost).join(loose)


def bytes_of(text: Any) -> bytes:
    """A text as the columns keep it; b"" for what is none."""
    return text.encode("utf-8", "surrogatepass") if type(text) is str else b""


def text_of(kept: bytes) -> str:
    return kept.decode("utf-8", "surrogatepass")


def count(value: Any) -> int:
    """A number of a journal as a count: anything else than one is 0."""
    if type(value) is int:
        return value if 0 <= value < MOST_INT else 0
    return int(value) if type(value) is float and 0 <= value < MOST_INT else 0
