"""What earlier processes of a run have left undone when they were killed: leaves that had finished, but whose results
the journal doesn't have (late), and leaves that were under way, whose calls may have been charged (presumed).

A resumed run journals both, each once: a late leaf as `agent.started`, `agent.result` and `budget` where the program
comes to it again, a presumed one as `agent.presumed` at its beginning. So the sums of a journal are those of all calls
that have ended, and what may have been charged besides is named.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from sema_runtime.values.maps import MISSING
from sema_runtime.workflow.journal import events, memo_log
from sema_runtime.workflow.journal.values import Rendering, prompt_shown
from sema_runtime.workflow.read.columns import INTERRUPTED, RUNNING, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.workflow.read.recorded_run import Run as Read
    from sema_runtime.workflow.run.run import Run

    Place = tuple[int, str]
    """A leaf: the number of its journal's file, its agent id."""

MOST_USD = 1e12  # of one leaf: anything else is damage
USED = ("input_tokens", "output_tokens", "cost_usd", "model", "dur_ms")


@dataclass(slots=True)
class Late:
    """A leaf that has finished. used: what the memo log says that it used. prompt: as the journal shows it."""

    agent_id: str
    used: dict[str, Any]
    prompt: str = ""

    @property
    def label(self) -> str:
        return self.agent_id.rpartition("_")[0]


@dataclass(slots=True)
class Unfinished:
    """late: by content key. presumed: in the order of the journal, without those that it names already. tokens, usd: of
    all leaves that have ended, late ones too."""

    late: dict[str, Late] = field(default_factory=dict)
    presumed: list[Place] = field(default_factory=list)
    tokens: int = 0
    usd: float = 0.0


def of(run: Read, live: bool = False) -> Unfinished:
    """What a run that was read has left undone. live: whether a process writes the last file of its journal; its leaves
    aren't left then. Raises OSError."""
    last = len(run.fold.segments) - 1
    ended: set[Place] = set()
    cut: dict[Place, int] = {}  # rows
    agents, segment = run.fold.agents, 0
    for row in range(len(agents)):  # the columns have room for more
        status = agents.status[row]
        while segment < last and run.fold.segments[segment + 1]["first"] <= agents.event[row]:
            segment += 1
        place = segment, text_of(agents.ids[row])
        if status == INTERRUPTED or (status == RUNNING and not (live and segment == last)):
            cut[place] = row
        else:
            ended.add(place)
    found = Unfinished()
    logged: set[Place] = set()
    told: set[str] = set()
    with suppress(FileNotFoundError):
        for key, fields in memo_log.headers(run.folder):
            place = fields.get("segment"), fields.get("agent_id")  # type: ignore[assignment]
            if type(place[0]) is not int or type(place[1]) is not str:
                continue
            logged.add(place)
            if place in ended or key in told or (live and place[0] == last):
                told.add(key)
                found.late.pop(key, None)
            elif key not in found.late:
                used = {name: fields[name] for name in USED if name in fields}
                prompt = run.agents[cut[place]].prompt if place in cut else ""
                found.late[key] = Late(place[1], used, prompt)
    uses = [late.used for late in found.late.values()]
    found.tokens = run.usage.tokens + sum(_count(one, "input_tokens") + _count(one, "output_tokens") for one in uses)
    found.usd = (run.usage.cost_usd or 0.0) + sum(_cost(one) or 0.0 for one in uses)
    known = {_place(event.data) for event in run.others.named(events.AgentPresumed.name)}
    found.presumed = [place for place in cut if place not in logged and place not in known]
    return found


def _place(fields: dict[str, Any]) -> tuple[Any, Any]:
    return fields.get("segment"), fields.get("agent")


def before(run: Run) -> Unfinished:
    """What a run that goes on has left undone."""
    from sema_runtime.workflow.read.recorded_run import Run as Read

    read = Read(run.directory)
    try:
        read.refresh()
        return of(read)
    except (OSError, ValueError):
        return Unfinished()


def tell_presumed(run: Run, left: Unfinished) -> None:
    """Names the leaves that were under way."""
    if left.presumed:
        run.emit(*((events.AgentPresumed, agent_id, segment) for segment, agent_id in left.presumed))


def tell_late(run: Run, left: Unfinished, key: str, value: Any, asked: tuple[str, str] | None = None) -> None:
    """Journals the result of a leaf that has finished under an earlier process. asked: its name and its prompt, where
    the program has come to it again."""
    late = left.late.pop(key, None)
    if late is None or value is MISSING:
        return
    label, prompt = (late.label, late.prompt) if asked is None else (asked[0], prompt_shown(asked[1]))
    agent_id, used = run.new_agent(label), late.used
    run.memos.note(key, {"segment": run.journal.number, "agent_id": agent_id, **used})
    result = (agent_id, "ok", Rendering(value).shown(), _count(used, "dur_ms"), str(used.get("model") or ""))
    written: list[tuple[Any, ...]] = [(events.AgentStarted, agent_id, label, "", prompt), (events.AgentResult, *result)]
    if "input_tokens" in used:
        counts = _count(used, "input_tokens"), _count(used, "output_tokens")
        written.append((events.Budget, agent_id, run.phase_seq, *counts, _cost(used), run.spend.max_tokens))
    run.emit(*written)


def tell_rest(run: Run, left: Unfinished) -> None:
    """Journals what the program hasn't come to."""
    for key in [*left.late]:
        tell_late(run, left, key, run.memos.find(key))


def _count(fields: dict[str, Any], name: str) -> int:
    value = fields.get(name)
    return value if type(value) is int and value >= 0 else 0


def _cost(fields: dict[str, Any]) -> float | None:
    value = fields.get("cost_usd")
    return float(value) if isinstance(value, int | float) and 0 <= value < MOST_USD else None
