"""What `sema workflow show` says of steps that were running when a process died: they may have been charged."""

from __future__ import annotations

import os
from typing import Any

from sema_runtime.workflow.journal import spend_log
from sema_runtime.workflow.journal.events import AgentPresumed
from sema_runtime.workflow.journal.values import many
from sema_runtime.workflow.read.columns import INTERRUPTED, RUNNING
from sema_runtime.workflow.read.recorded_run import is_held
from sema_runtime.workflow.run import unfinished
from semac.cli.tables import one_line
from semac.cli.workflow.list import cost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN = 5  # ids in a line


def left(run: Any) -> unfinished.Unfinished:
    """What processes of a run have left undone, with the uncertain steps that the journal names."""
    agents, rows = run.state.agents, range(len(run.state.agents))
    if not agents.count(INTERRUPTED, rows) and not agents.count(RUNNING, rows):
        return unfinished.Unfinished()
    undone = unfinished.of(run, live=run.status == "running" and is_held(run.folder) is not False)
    named = [(event.data.get("segment"), event.data.get("agent")) for event in run.others.named(AgentPresumed.name)]
    undone.uncertain = [*named, *undone.uncertain]
    return undone


def notes(run: Any) -> list[str]:
    """The lines below the sums of a run."""
    undone, said = left(run), []
    if undone.uncertain:
        shown = undone.uncertain[:SHOWN]
        ids = ", ".join(f"{segment}:{agent}" if segment else str(agent) for segment, agent in shown)
        more = ", ..." if len(undone.uncertain) > SHOWN else ""
        were = "was" if len(undone.uncertain) == 1 else "were"
        said.append(
            f"presumed: {many(len(undone.uncertain), 'step')} {were} under way when a process died, and may have been"
            f" charged besides: {one_line(ids)}{more}"
        )
    if inside := [*_inside(run)]:
        runs = [*dict.fromkeys(run_id for run_id, _, _ in inside)]
        ids = f"{', '.join(runs[:SHOWN])}{', ...' if len(runs) > SHOWN else ''}"
        said.append(
            f"presumed: {many(len(inside), 'step')} of {many(len(runs), 'run')} inside, under way when a process died,"
            f" may have been charged besides: {one_line(ids)}"
        )
    if undone.late:
        said.append(f"note: {many(len(undone.late), 'finished step')} not in these sums yet; a resume adds them")
    try:
        spent = spend_log.of(run.folder)
    except OSError:
        return said
    if spent.tokens:
        amount = _amount(spent.uncertain_tokens, spent.uncertain_units)
        uncertain = f", presumed: {amount}" if spent.uncertain_calls else ""
        said.append(f"budget of the whole run: {_amount(spent.tokens, spent.units)} used{uncertain}")
    return said


def _amount(tokens: int, units: int) -> str:
    from sema_runtime.llm.budgets.budget import UNITS

    return f"{tokens:,} tokens" + (f", {cost(units / UNITS)}" if units else "")


def as_json(run: Any) -> list[dict[str, Any]]:
    """The steps that were running; those of runs inside with run_id."""
    own = [{"segment": segment, "agent_id": agent} for segment, agent in left(run).uncertain]
    return own + [{"run_id": run_id, "segment": segment, "agent_id": agent} for run_id, segment, agent in _inside(run)]


def _inside(run: Any) -> Iterator[tuple[str, Any, Any]]:
    """(run, segment, agent) of the steps that were running in the runs inside of a run, however deep."""
    from sema_runtime.workflow.read.recorded_run import RunNotFound, open_run

    root = os.path.dirname(os.path.normpath(run.folder))
    seen, waiting = {run.id}, [note.run_id for note in run.nested]
    while waiting:
        run_id = waiting.pop(0)
        if run_id in seen:
            continue
        seen.add(run_id)
        try:
            nested_run = open_run(root, run_id)
            places = left(nested_run).uncertain
        except (RunNotFound, ValueError, OSError):
            continue
        yield from ((run_id, *place) for place in places)
        waiting += [note.run_id for note in nested_run.nested]
