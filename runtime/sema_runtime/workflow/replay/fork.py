"""New runs that start with the finished results of another one, at its end or at one of its events."""

from __future__ import annotations

from sema_runtime.workflow.journal import memo_log
from sema_runtime.workflow.read.recorded_run import found_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.workflow.read.recorded_run import Run

    Place = tuple[int, int]  # the number of a file of the journal, and the seq of an event in it


def code_version_of(root: str, run_id: str) -> str:
    """The code version of a run: with it the keys of an edited program are those of the steps that it left as they
    were. Raises RunNotFound, ValueError."""
    metadata = found_run(root, run_id).metadata
    version = None if metadata is None else metadata.get("code_version")
    if not isinstance(version, str):
        raise ValueError(f"the metadata.json of {run_id} can't be read")
    return version


def place(text: str) -> Place:
    """`SEQ` in the journal's first file, or `N:SEQ` in that of the Nth time that the run was resumed. Raises
    ValueError."""
    segment, _, seq = text.rpartition(":")
    if not (segment or "0").isdecimal() or not seq.isdecimal() or not text.isascii():
        raise ValueError(f"--at takes the seq of an event, or N:SEQ for the Nth resumption, got {text}")
    return int(segment or "0"), int(seq)


def finished_at(root: str, run_id: str, at: str) -> frozenset[str]:
    """The content keys of the steps and checkpoints that a run had finished by an event, itself included. Raises
    ValueError for a place that isn't there, and for a run that doesn't say which of its results came first."""
    run = found_run(root, run_id)
    agents, keys = _until(run, place(at), at)
    try:
        for key, fields in memo_log.headers(run.folder):
            if "from" in fields or (fields.get("segment"), fields.get("agent_id")) in agents:
                keys.add(key)
    except FileNotFoundError:
        raise ValueError(
            f"--at can't tell which results of {run_id} came first: it has no {memo_log.NAME}; fork it without --at"
        ) from None
    return frozenset(keys)


def _until(run: Run, at: Place, said: str) -> tuple[set[tuple[object, object]], set[str]]:
    """The agents (file, id) that had ended well and the keys of checkpoints, up to an event."""
    agents: set[tuple[object, object]] = set()
    keys: set[str] = set()
    last: Place = (0, 0)
    for event in run.events():
        seq = event.data.get("seq")
        if not isinstance(seq, int):
            continue
        if event.segment > at[0]:  # that part of the journal is over
            break
        last = event.segment, seq
        if last > at:
            return agents, keys
        if event.data["event"] == "agent.result" and event.data.get("status") == "ok":
            agents.add((event.segment, event.data.get("agent_id")))
        elif event.data["event"] == "checkpoint":
            keys.add(str(event.data.get("content_key")))
        if last == at:
            return agents, keys
    raise ValueError(f"--at {said}: the journal of {run.id} ends at {last[0]}:{last[1]}")
