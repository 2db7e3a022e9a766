"""Comparing two runs step by step: the same result, another one, another prompt, or a step that only one of them has.

Steps are matched by what makes a content key, but for the version of the program and the arguments: phase, name,
prompt (as the journal has it) and how many alike came before; checkpoints by phase and key. So runs of an edited
program can be compared. Of what is left, steps of one phase and name are matched in their order: their prompts were
edited. A step that a run took over from a memo has left no event; it is found by its memo.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque

from sema_runtime.workflow.journal.content_keys import args_fingerprint, hashed, step_base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sema_runtime.workflow.journal.segments import Event
    from sema_runtime.workflow.read.recorded_run import Run

    Steps = dict[tuple[str, ...], "Step"]  # by what they are matched by

SAME, CHANGED, EDITED, REMOVED, ADDED = "same", "changed", "edited", "removed", "added"
KEPT_BY_B, KEPT_BY_A = "kept by B", "kept by A"
DIFFERENT = (CHANGED, EDITED, REMOVED, ADDED)
CUT_OFF = "\n… (truncated, "


class Step:
    """A step or a checkpoint of a run. id: of the agent, or the key; digest: of its result; known: its content key if
    the step had no schema (events don't tell), "" when the prompt is cut off."""

    __slots__ = (
        "asked", "cost_usd", "digest", "id", "is_agent", "known", "offset", "phase", "segment", "status", "tokens",
    )  # fmt: skip

    def __init__(self, is_agent: bool, phase: str, id_: str, segment: int, known: str, asked: int) -> None:
        self.is_agent = is_agent
        self.phase = phase
        self.id = id_
        self.segment = segment
        self.known = known
        self.status = "unfinished" if is_agent else "ok"
        self.asked = asked  # where the event stands with the prompt
        self.offset = -1  # that with the result
        self.digest = ""
        self.tokens = 0
        self.cost_usd: float | None = None

    def result(self, run: Run) -> str:
        """The result as text, from the journal. Raises OSError, ValueError."""
        if self.offset < 0:
            return ""
        return run.segments[self.segment].at(self.offset).text("output" if self.is_agent else "value")

    def prompt(self, run: Run) -> str:
        """The prompt of an agent. Raises OSError, ValueError."""
        return run.segments[self.segment].at(self.asked).text("prompt")


class Difference:
    """What became of a step: kind is one of the words above; a, b: the step in either run, None where it isn't."""

    __slots__ = ("a", "b", "kind")

    def __init__(self, kind: str, a: Step | None, b: Step | None) -> None:
        self.kind = kind
        self.a = a
        self.b = b

    @property
    def step(self) -> Step:
        step = self.b or self.a
        assert step is not None
        return step


def compared(a: Run, b: Run) -> list[Difference]:
    """All steps of both runs, in the order of A, then what only B has. Raises OSError."""
    ours, theirs = steps(a), steps(b)
    kept_by_b, kept_by_a = _kept(ours, a, b), _kept(theirs, b, a)
    edited = _edited(ours, theirs, kept_by_a | kept_by_b)
    differences = []
    for identity, step in ours.items():
        other = theirs.get(identity)
        if other is not None:
            alike = step.digest == other.digest and step.status == other.status
            differences.append(Difference(SAME if alike else CHANGED, step, other))
        elif step in edited:
            differences.append(Difference(EDITED, step, edited[step]))
        else:
            differences.append(Difference(KEPT_BY_B if step in kept_by_b else REMOVED, step, None))
    paired = set(edited.values())
    for identity, step in theirs.items():
        if identity not in ours and step not in paired:
            differences.append(Difference(KEPT_BY_A if step in kept_by_a else ADDED, None, step))
    return differences


def _edited(ours: Steps, theirs: Steps, kept: set[Step]) -> dict[Step, Step]:
    """The agents that only one run has, of A with those of B that have the same phase and name, each in its order."""
    waiting: dict[tuple[str, ...], deque[Step]] = defaultdict(deque)
    for identity, step in theirs.items():
        if step.is_agent and identity not in ours and step not in kept:
            waiting[identity[:-2]].append(step)
    pairs = {}
    for identity, step in ours.items():
        if step.is_agent and identity not in theirs and step not in kept and waiting[identity[:-2]]:
            pairs[step] = waiting[identity[:-2]].popleft()
    return pairs


def steps(run: Run) -> Steps:
    """The steps of a run by what they are matched by. Of a step that ran in several segments the last run counts."""
    matched: Steps = {}
    for segment in range(len(run.segments)):
        matched.update(_Matching(run, segment).steps())
    return matched


class _Matching:
    """The steps of one segment."""

    def __init__(self, run: Run, segment: int) -> None:
        self.run = run
        self.segment = segment
        version = (run.metadata or {}).get("code_version")
        self.version = version if type(version) is str else run.code_version
        self.args = args_fingerprint(run.args_json)
        self.seen: dict[tuple[str, ...], int] = {}
        self.bases: dict[str, int] = {}
        self.open: dict[str, Step] = {}

    def steps(self) -> Iterator[tuple[tuple[str, ...], Step]]:
        phase = ""
        for event in self.run.events_of(self.segment):
            name = event.name
            if name == "phase.started":
                phase = event.text("phase")
            elif name == "agent.started":
                yield self._agent(event, phase)
            elif name == "checkpoint":
                yield self._checkpoint(event, phase)
            elif name in ("agent.result", "budget") and event.text("agent_id") in self.open:
                _finish(self.open[event.text("agent_id")], event)

    def _agent(self, event: Event, phase: str) -> tuple[tuple[str, ...], Step]:
        name, prompt = event.text("agent_name"), event.text("prompt")
        key = self._key(phase, name, prompt) if CUT_OFF not in prompt else ""
        step = self.open[event.text("agent_id")] = Step(
            True, phase, event.text("agent_id"), self.segment, key, event.offset
        )
        return self._numbered("agent", phase, name, hashed(prompt)), step

    def _key(self, phase: str, name: str, prompt: str) -> str:
        """The content key of the next step of this kind that has no schema."""
        base = step_base(self.version, self.args, phase, name, prompt, "nil")
        ordinal = self.bases[base] = self.bases.get(base, -1) + 1
        return f"{base}_{ordinal}"

    def _checkpoint(self, event: Event, phase: str) -> tuple[tuple[str, ...], Step]:
        step = Step(False, phase, event.text("key"), self.segment, event.text("content_key"), event.offset)
        step.digest, step.offset = event.text("value_digest"), event.offset
        return self._numbered("checkpoint", phase, step.id), step

    def _numbered(self, *identity: str) -> tuple[str, ...]:
        count = self.seen[identity] = self.seen.get(identity, -1) + 1
        return (*identity, str(count))


def _finish(step: Step, event: Event) -> None:
    """Takes in the result of an agent, or what it used."""
    if event.name == "agent.result":
        step.status = event.text("status")
        step.digest = hashed(event.text("output"))
        step.offset = event.offset
        return
    for name in ("input_tokens", "output_tokens"):
        count = event.data.get(name)
        step.tokens += count if type(count) is int else 0
    cost = event.data.get("cost_usd")
    if isinstance(cost, int | float):
        step.cost_usd = cost + (step.cost_usd or 0.0)


def _kept(steps: Steps, run: Run, other: Run) -> set[Step]:
    """The steps of a run whose memos the other run has too; of a fork that has ended, whose memos it came to.

    The key of a step with a schema can't be told from the journal. When the other run has all memos of this run that
    belong to no step whose key is known, it has those of the others.
    """
    ours, theirs = memos(run), memos(other)
    if other.origin is not None and other.origin.kept is not None:
        theirs &= {*other.origin.kept}
    known = {step.known for step in steps.values() if step.known in ours}
    rest_is_kept = (ours - known) <= theirs
    return {
        step
        for step in steps.values()
        if step.status == "ok" and (step.known in theirs if step.known in ours else rest_is_kept and bool(ours - known))
    }


def memos(run: Run) -> set[str]:
    """The content keys of a run's memos."""
    try:
        names = os.listdir(os.path.join(run.folder, "memo"))
    except OSError:
        return set()
    return {name.removesuffix(".json") for name in names if name.endswith(".json")}
