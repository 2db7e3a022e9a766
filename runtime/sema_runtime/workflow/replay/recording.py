"""A run as it was recorded: its phases, what each step asked and got, so that its program can be run against it.

A recording is of the last time that the run was run or resumed, with what earlier times had finished: that is what a
replay goes through from the beginning.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import MISSING
from sema_runtime.workflow.journal import memo_log, nested
from sema_runtime.workflow.journal.values import Rendering
from sema_runtime.workflow.journal.writer import segment_name
from sema_runtime.workflow.read.recorded_run import RunNotFound, open_run
from sema_runtime.workflow.run.memo import Memos
from sema_runtime.workflow.run.run import OVER_BUDGET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from sema_runtime.workflow.journal.nested import Nested
    from sema_runtime.workflow.read.recorded_run import Run

GONE = ("error: cancelled", "error: interrupted", "error: the run ended before this step")
"""The outputs of steps that were running when their run ended."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay has found. difference: the first one, in words, "" when there is none. problems: what is wrong with
    the recording, like damaged lines: what stood in them was compared with nothing."""

    difference: str
    problems: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Step:
    """A step or a checkpoint. label: the step's name or the checkpoint's key. prompt: as the journal shows it, "" of a
    checkpoint. shown: what it gave, as the journal shows it. charged: whether this time paid for it."""

    segment: int
    seq: int
    phase: str
    label: str
    prompt: str
    agent_id: str = ""  # of a step
    key: str = ""  # its content key, where that is known
    status: str = ""  # ok, failed; "" when it hadn't ended
    shown: str = ""
    tokens: int | None = None  # None: no call of it was counted
    cost_usd: float | None = None
    charged: bool = False
    asked: bool = False  # by the replay

    def place(self) -> str:
        return f"event {self.seq} of {segment_name(self.segment)}"

    def is_before(self, other: Step) -> bool:
        """Whether it failed in the process in which the other succeeded, before that one."""
        return self.status == "failed" and self.segment == other.segment and self.seq < other.seq

    def what(self) -> str:
        return f"{'step' if self.agent_id else 'checkpoint'} {self.label}{in_phase(self.phase)}"


def in_phase(label: str) -> str:
    """What a message says behind the name of something; "" before all phases."""
    return f" (phase {label})" if label else ""


class Recording:
    """run_id, workflow, phases, steps in their order. ended: whether the run came to its end; if not, it waits for
    somebody, or was interrupted. problems: what is wrong with its directory. nested: the runs inside of it. Raises
    RunNotFound and ValueError as `open_run`."""

    def __init__(self, root: str, run_id: str) -> None:
        run = open_run(root, run_id)
        self.root = root
        self.run_id, self.folder, self.workflow = run_id, run.folder, run.workflow
        self.last = len(run.segments) - 1
        self.args_json = run.args_json
        metadata = run.metadata or {}
        self.code_version = str(metadata.get("code_version") or "")
        self.status = run.status
        self.waits = run.state.status in ("running", "needs-approval", "needs-auth") or run.reason == "interrupted"
        self.ended = not self.waits
        self.over_budget = run.reason == OVER_BUDGET
        self.names: set[str] = set()  # of all events
        self.result = run.result
        self.problems = run.problems()
        self.nested = _nested(run.folder)
        self.inside: list[Recording] = []  # those of nested runs that the replay came to
        self.memos = Memos(run.folder)
        self.phases: list[str] = []
        self.steps: list[Step] = []
        self.approvals: dict[str, deque[bool]] = defaultdict(deque)  # by key: whether it was granted
        _Recorder(self, _keys(run.folder)).add(run)
        self.by_key = {step.key: step for step in self.steps if step.key}
        self.others: dict[tuple[str, str, str], deque[Step]] = defaultdict(deque)
        for step in self.steps:
            if not step.key:
                self.others[step.phase, step.label, step.prompt].append(step)
        self.verdict: str | None = None  # of the replay, "" when it is the same
        self.stopped = False  # the replay, by what the program came to

    def run_inside(self, key: str) -> Recording | None:
        """The recording of a run inside of this one, if there is one. Raises ValueError when it can't be read."""
        attempts = self.nested.get(key)
        if not attempts:
            return None
        attempt = attempts.popleft()
        try:
            recording = Recording(self.root, attempt.run_id)
        except (RunNotFound, ValueError, OSError) as error:
            raise ValueError(f"workflow {attempt.workflow}: its run can't be read: {error}") from None
        self.inside.append(recording)
        return recording

    def outcome(self) -> Replayed:
        """What the replay has found."""
        difference = self.verdict
        if difference is None:
            difference = f"the program didn't come to the workflow {self.workflow}"
        return Replayed(difference, tuple(self.all_problems()))

    def all_problems(self) -> Iterator[str]:
        """Also of the runs inside, with their names."""
        yield from self.problems
        for recording in self.inside:
            yield from (f"{recording.run_id}: {problem}" for problem in recording.all_problems())

    def replayed_steps(self) -> Iterator[Step]:
        """Those that the replay came to, in nested runs, too."""
        yield from (step for step in self.steps if step.asked)
        for recording in self.inside:
            yield from recording.replayed_steps()

    def find(self, key: str, phase: str, label: str, prompt: str) -> Step | None:
        """The step that a replay comes to."""
        step = self.by_key.get(key)
        same = self.others.get((phase, label, prompt))
        if same and (step is None or same[0].is_before(step)):  # an attempt that failed before this one
            step = same.popleft()
        if step is None:  # an earlier version counted attempts that failed, too
            step = next(
                (
                    candidate
                    for candidate in self.steps
                    if not candidate.asked and candidate.key and _base(candidate.key) == _base(key)
                ),
                None,
            )
        if step is not None:
            step.asked = True
        return step

    def pass_over(self, keys: list[str]) -> None:
        """Takes steps as asked that stood inside of one that was."""
        for key in keys:
            if step := self.by_key.get(key):
                for attempt in self.others.get((step.phase, step.label, step.prompt), ()):
                    attempt.asked = attempt.asked or attempt.is_before(step)
                step.asked = True
            else:
                self.nested.pop(key, None)

    def value(self, step: Step) -> Any:
        """What a step gave. MISSING when the run doesn't have it any more."""
        kept = self.memos.find(step.key) if step.key else MISSING
        if kept is not MISSING:
            return kept
        from sema_runtime.compiler_bridge import read_text

        try:
            value = read_text(step.shown)
            return value if Rendering(value).shown() == step.shown else MISSING  # else it was cut, or isn't data
        except SemaError:
            return MISSING

    def unasked(self) -> Iterator[Step]:
        """What the run came to this last time, and the replay not."""
        return (step for step in self.steps if not step.asked and step.segment == self.last)

    def like(self, phase: str, label: str) -> Step | None:
        """What the program may have meant by a step that the run didn't come to: its first unasked one of the name."""
        named = [step for step in self.steps if step.label == label and not step.asked and step.agent_id]
        return next((step for step in named if step.phase == phase), named[0] if named else None)


def _base(key: str) -> str:
    return key.rpartition("_")[0]


def _keys(folder: str) -> dict[tuple[Any, Any], str]:
    """The content keys of finished steps, by the number of the journal's file and the agent's id."""
    try:
        return {
            (fields.get("segment"), fields.get("agent_id")): key
            for key, fields in memo_log.headers(folder)
            if "agent_id" in fields
        }
    except OSError:
        return {}


def _nested(folder: str) -> dict[str, deque[Nested]]:
    """The runs inside of a run by their keys, as the last process had them: each attempt at one."""
    attempts: dict[str, deque[Nested]] = {}
    for run in nested.all_of(folder):
        if run.key not in attempts or attempts[run.key][-1].segment != run.segment:
            attempts[run.key] = deque()
        attempts[run.key].append(run)
    return attempts


class _Recorder:
    """Adds the events of a run to its recording."""

    def __init__(self, recording: Recording, keys: dict[tuple[Any, Any], str]) -> None:
        self.recording = recording
        self.keys = keys
        self.phase = ""
        self.open: dict[str, Step] = {}  # steps of one file, by agent id
        self.requests: dict[str, str] = {}  # keys of approvals by their ids
        self.handlers: dict[str, Callable[[int, dict[str, Any]], None]] = {
            "phase.started": self._phase,
            "agent.started": self._started,
            "agent.result": self._result,
            "budget": self._budget,
            "checkpoint": self._checkpoint,
            "approval.requested": self._requested,
            "approval.granted": lambda _, data: self._decided(data, True),
            "approval.rejected": lambda _, data: self._decided(data, False),
        }

    def add(self, run: Run) -> None:
        at = -1
        for event in run.events():
            if event.segment != at:
                at, self.phase, self.open = event.segment, "", {}
            self.recording.names.add(event.data["event"])
            handler = self.handlers.get(event.data["event"])
            if handler is not None:
                handler(event.segment, event.data)
        kept = [step for step in self.recording.steps if step.segment == self.recording.last or step.key]
        self.recording.steps = kept  # what wasn't kept at an earlier time ran again

    def _phase(self, segment: int, data: dict[str, Any]) -> None:
        self.phase = str(data.get("phase", ""))
        if segment == self.recording.last:
            self.recording.phases.append(self.phase)

    def _started(self, segment: int, data: dict[str, Any]) -> None:
        agent_id = str(data.get("agent_id", ""))
        name, prompt = str(data.get("agent_name", "")), str(data.get("prompt", ""))
        step = Step(segment, _count(data, "seq"), self.phase, name, prompt, agent_id)
        self.open[agent_id] = step
        self.recording.steps.append(step)

    def _result(self, segment: int, data: dict[str, Any]) -> None:
        step = self.open.get(str(data.get("agent_id", "")))
        if step is None:
            return
        step.shown = str(data.get("output", ""))
        step.status = str(data.get("status", ""))
        if step.status == "ok":
            step.key = self.keys.get((segment, step.agent_id), "")
        elif step.shown in GONE:
            step.status = ""

    def _budget(self, segment: int, data: dict[str, Any]) -> None:
        step = self.open.get(str(data.get("agent_id", "")))
        if step is not None:
            step.tokens = _count(data, "input_tokens") + _count(data, "output_tokens")
            cost = data.get("cost_usd")
            step.cost_usd = float(cost) if isinstance(cost, int | float) else None
            step.charged = segment == self.recording.last

    def _checkpoint(self, segment: int, data: dict[str, Any]) -> None:
        name, value = str(data.get("key", "")), str(data.get("value", ""))
        step = Step(
            segment, _count(data, "seq"), self.phase, name, "", "", str(data.get("content_key", "")), "ok", value
        )
        self.recording.steps.append(step)

    def _requested(self, segment: int, data: dict[str, Any]) -> None:
        if segment == self.recording.last:
            self.requests[str(data.get("approval_id"))] = str(data.get("key"))

    def _decided(self, data: dict[str, Any], granted: bool) -> None:
        key = self.requests.pop(str(data.get("approval_id")), None)
        if key is not None:
            self.recording.approvals[key].append(granted)


def _count(data: dict[str, Any], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) else 0
