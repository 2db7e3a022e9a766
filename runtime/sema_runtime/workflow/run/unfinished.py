"""What earlier processes of a run left undone when they were killed: steps that had ended, but whose results are not in
the journal (late), and steps that were running, whose calls may have been charged (uncertain).

A resumed run writes both to its journal, each once: a late step as `agent.started`, `agent.result` and `budget` where
the program reaches it, an uncertain one as `agent.presumed` at its beginning. So the sums of a journal cover all calls
that have ended, and it names what may have been charged besides.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from sema_runtime.workflow.journal import events, memo_log
from sema_runtime.workflow.read.columns import INTERRUPTED, RUNNING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.workflow.read.recorded_run import Run

    Place = tuple[int, str]
    """A step: the number of its journal's file, its agent id."""

MOST_USD = 1e12  # of one step: anything else is damage
USED = ("input_tokens", "output_tokens", "cost_usd", "model", "dur_ms")


@dataclass(slots=True)
class Late:
    """A step that has ended. used: what it used, by the memo log. prompt: as the journal shows it."""

    agent_id: str
    used: dict[str, Any]
    prompt: str = ""

    @property
    def label(self) -> str:
        return self.agent_id.rpartition("_")[0]


@dataclass(slots=True)
class Unfinished:
    """late: by content key. uncertain: in the order of the journal, without those that it names already. tokens, usd:
    of all steps that have ended, late ones too."""

    late: dict[str, Late] = field(default_factory=dict)
    uncertain: list[Place] = field(default_factory=list)
    tokens: int = 0
    usd: float = 0.0


def of(run: Run, live: bool = False) -> Unfinished:
    """What a run has left undone. live: a process writes the last file of its journal, whose steps are not left then.
    Raises OSError."""
    last = len(run.state.segments) - 1
    ended: set[Place] = set()
    cut: dict[Place, int] = {}  # rows of steps without an end
    agents, segment = run.state.agents, 0
    for row, status in enumerate(agents.status):
        while segment < last and run.state.segments[segment + 1]["first"] <= agents.event[row]:
            segment += 1
        place = segment, agents.ids[row]
        if status == INTERRUPTED or (status == RUNNING and not (live and segment == last)):
            cut[place] = row
        else:
            ended.add(place)
    unfinished = Unfinished()
    logged: set[Place] = set()
    reported: set[str] = set()
    with suppress(FileNotFoundError):
        for key, fields in memo_log.headers(run.folder):
            place = fields.get("segment"), fields.get("agent_id")  # type: ignore[assignment]
            if type(place[0]) is not int or type(place[1]) is not str:
                continue
            logged.add(place)
            if place in ended or key in reported or (live and place[0] == last):
                reported.add(key)
                unfinished.late.pop(key, None)
            elif key not in unfinished.late:
                used = {name: fields[name] for name in USED if name in fields}
                prompt = run.agents[cut[place]].prompt if place in cut else ""
                unfinished.late[key] = Late(place[1], used, prompt)
    uses = [late.used for late in unfinished.late.values()]
    late_tokens = (count_of(used, name) for used in uses for name in ("input_tokens", "output_tokens"))
    unfinished.tokens = run.usage.tokens + sum(late_tokens)
    unfinished.usd = (run.usage.cost_usd or 0.0) + sum(cost_of(used) or 0.0 for used in uses)
    known = {_place(event.data) for event in run.others.named(events.AgentPresumed.name)}
    unfinished.uncertain = [place for place in cut if place not in logged and place not in known]
    return unfinished


def _place(fields: dict[str, Any]) -> tuple[Any, Any]:
    return fields.get("segment"), fields.get("agent")


def left_by(folder: str) -> Unfinished:
    """What the earlier processes of a run have left undone; nothing when its directory can't be read."""
    from sema_runtime.workflow.read.recorded_run import Run

    run = Run(folder)
    try:
        run.refresh()
        return of(run)
    except (OSError, ValueError):
        return Unfinished()


def count_of(fields: dict[str, Any], name: str) -> int:
    """A count of the memo log; 0 for a damaged one."""
    value = fields.get(name)
    return value if type(value) is int and value >= 0 else 0


def cost_of(fields: dict[str, Any]) -> float | None:
    """The cost in the memo log; None for an unknown or damaged one."""
    value = fields.get("cost_usd")
    return float(value) if isinstance(value, int | float) and 0 <= value < MOST_USD else None
