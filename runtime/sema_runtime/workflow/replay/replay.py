"""`--replay`: runs a program against the recording of a run, and finds the first place where the two differ.

Steps and checkpoints return their recorded values; no model is asked, no MCP server connected, no tool called, and
nothing is written into the run's directory. The code between the steps runs as it is.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial

from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import MISSING
from sema_runtime.workflow.journal.content_keys import args_fingerprint
from sema_runtime.workflow.journal.values import pretty_json, prompt_shown
from sema_runtime.workflow.journal.writer import Journal
from sema_runtime.workflow.replay.recording import in_phase
from sema_runtime.workflow.run import scope
from sema_runtime.workflow.run.folder import RunFolder
from sema_runtime.workflow.run.run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from sema_runtime.llm.calls import Call
    from sema_runtime.tasks.waiting import Fiber
    from sema_runtime.workflow.replay.recording import Recording, Step
    from sema_runtime.workflow.run.policies import PolicyCompiler
    from sema_runtime.workflow.run.run import Ending, Thunk
    from sema_runtime.workflow.run.scope import Settings

SHOWN = 70  # characters of a text in a message
BEFORE = 20  # of them before the place where two texts differ


class Differs(scope.Stop):
    """The program has reached something else than the run. It stops here: what would follow is unknown."""

    def __init__(self) -> None:
        super().__init__(None, "failed", "the replay differs")


class Over(scope.Stop):
    """The run had stopped here, or the program has replayed all of it."""

    def __init__(self) -> None:
        super().__init__(None, "failed", "the recording ends")


class Unwritten(Journal):
    """Stands for the journal."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.number = 0

    @property
    def unwritten(self) -> int:
        return 0

    def append(self, lines: Sequence[str]) -> None:
        """Nothing is written."""

    def close(self) -> None:
        """Nothing is open."""


class UnwrittenFolder(RunFolder):
    """Stands for the run's directory."""

    def _write(self, name: str, text: str) -> None:
        """Nothing is written."""


def replaying(settings: Settings, recording: Recording) -> Settings:
    """The settings with which the first workflow is compared with a recording instead of run."""
    return replace(settings, make_run=partial(ReplayedRun, recording))


class ReplayedRun(Run):
    """The run of a recording once more. top: the recording of the outermost run, in which the verdict is noted. Raises
    Over when the recording was replayed already."""

    def __init__(
        self,
        top: Recording,
        workflow: str,
        doc: str,
        meta: Any,
        settings: Settings,
        compile_policies: PolicyCompiler,
        outer: Run | None,
        body: Thunk,
    ) -> None:
        self.top = top
        if self.top.verdict is not None:
            raise Over
        key, recording = ("", self.top) if outer is None else _inside(outer, workflow, body)
        self.recording = recording
        self.opened = 0  # phases
        claimed = recording.run_id, Unwritten(recording.folder)
        super().__init__(workflow, doc, meta, settings, compile_policies, claimed, outer, key)
        self.folder = UnwrittenFolder(recording.folder)
        self.owner = None if outer is None else outer.owner
        self.fiber: Fiber | None = None  # in which the body runs
        self.keys.code_version, self.keys.args = recording.code_version, args_fingerprint(recording.args_json)
        self.log.emitted |= recording.names
        if workflow != recording.workflow:
            self.differs(f"the run is one of the workflow {recording.workflow}, the program runs {workflow}")

    def differs(self, said: str) -> NoReturn:
        """Ends the replay: here is the first difference. Raises Differs."""
        if self.top.verdict is None:
            self.top.verdict = said if self.outer is None else f"in {self.run_id}, a run of {self.workflow}: {said}"
        self._stop(Differs())

    def over(self) -> NoReturn:
        """Ends the replay: the recording has nothing more. Raises Over."""
        self._stop(Over())

    def _stop(self, stop: scope.Stop) -> NoReturn:
        """Ends the run: raises stop in the task in which its body runs, and ends the present one."""
        from greenlet import getcurrent  # type: ignore[import-untyped]

        from sema_runtime.tasks.promises import Cancelled

        self.top.stopped = True
        if self.owner in (None, getcurrent()):
            raise stop
        if self.fiber is not None and self.fiber.waiter is not None:
            self.fiber.waiter.fail(stop)
        raise Cancelled

    def _go_on(self) -> None:
        """Ends whatever other tasks or the body do after the end of the replay."""
        if self.top.stopped:
            self._stop(Over())

    def execute(self, body: Thunk) -> Any:
        from sema_runtime.llm.observers import observers
        from sema_runtime.tasks.scheduler import scheduler

        self.fiber = scheduler().current()
        watch = NoModel(self)
        observers.insert(0, watch)
        try:
            envelope = super().execute(body)
        finally:
            observers.remove(watch)
        said = "" if self.top.stopped else self._difference_at_end(envelope)
        if said and self.outer is not None:
            self.differs(said)
        if self.outer is None and self.top.verdict is None:
            self.top.verdict = said
        if self.top.stopped:
            raise Over  # what follows in the program would miss the result
        return envelope

    def run_inside(self, workflow: str, body: Thunk) -> tuple[str, Recording]:
        """What a workflow inside of this one is compared with, and its key."""
        self._go_on()
        key = self.keys.nested(self.phases.label, workflow, body)
        try:
            recording = self.recording.run_inside(key)
        except ValueError as error:
            self.differs(str(error))
        if recording is None:
            if not self.recording.ended:
                self.over()
            self.differs(f"the program comes to workflow {workflow}{in_phase(self.phases.label)}, the run doesn't")
        return key, recording

    def open_phase(self, label: str) -> None:
        self._go_on()
        phases, at = self.recording.phases, self.opened
        if at == len(phases) and not self.recording.ended:
            self.over()
        if at == len(phases):
            self.differs(
                f"the program opens phase {label}, the run has no phase behind {self.phases.label or 'the start'}"
            )
        if phases[at] != label:
            self.differs(f"the program opens phase {label}, the run opened {phases[at]}")
        self.opened += 1
        super().open_phase(label)

    def _step(self, label: str, prompt: str, schema: str, thunk: Thunk, same: Thunk | None) -> Any:
        self._go_on()
        shown, key = prompt_shown(prompt), self.steps.key_of(label, prompt, schema, same)
        step = self.recording.find(key, self.phases.label, label, shown)
        if step is None:
            kept = self.memos.find(key)  # by the run that this one is a fork of
            if kept is MISSING and not self.recording.over_budget:  # else it was refused
                self._no_step(label, shown)
            return None if kept is MISSING else kept
        _let_others_go_on()
        if step.charged and step.tokens is not None:
            self.spend.charge(step.tokens, step.cost_usd)
        if step.status == "failed":
            self.keys.give_back(key, same)
            raise SemaError(step.shown.removeprefix("error: "))
        return self._recorded_value(step)

    def _recorded_value(self, step: Step) -> Any:
        if not step.status:
            self.over()
        value = self.recording.value(step)
        if step.key:
            inside = self.memos.logged.inside(step.key)
            self.recording.pass_over(inside.get("keys") or [])
            self.steps.repeat_effects(inside)
        if value is MISSING:
            self.differs(f"{step.what()}: {step.place()} doesn't have its whole value, and there is no memo of it")
        return value

    def _no_step(self, label: str, shown: str) -> NoReturn:
        like = self.recording.like(self.phases.label, label)
        if like is None and not self.recording.ended:
            self.over()
        phase = in_phase(self.phases.label)
        if like is None:
            self.differs(f"the program comes to step {label}{phase}, the run doesn't: {_around(shown, 0)}")
        if like.prompt == shown:
            before = f"in phase {like.phase}" if like.phase else "before all phases"
            self.differs(f"the program comes to step {label}{phase}, the run does {before} ({like.place()})")
        self.differs(_compared(f"step {label}{phase} asks something else ({like.place()})", like.prompt, shown))

    def checkpoint(self, name: str, thunk: Thunk) -> Any:
        self._go_on()
        key = self.keys.checkpoint(self.phases.label, name, thunk)
        step = self.recording.find(key, self.phases.label, name, "")
        kept = MISSING if step is not None else self.memos.find(key)
        if kept is not MISSING:
            self.steps.values[name] = kept
            return kept
        if step is None:
            if not self.recording.ended:
                self.over()
            self.differs(f"the program comes to checkpoint {name}{in_phase(self.phases.label)}, the run doesn't")
        value = self.steps.values[name] = self._recorded_value(step)
        return value

    def approved(self, key: str) -> bool:
        """As it was decided."""
        decided = self.recording.approvals.get(key)
        if not decided:
            if self.recording.waits:
                self.over()
            self.differs(f"the program asks for the approval {key}, the run doesn't")
        if not decided.popleft():
            self.over()
        return True

    def _connect_servers(self) -> Ending | None:
        from sema_runtime.mcp.unavailable import unavailable
        from sema_runtime.workflow.run import servers

        handle = "in a replay no server is asked"
        self.servers.handles = {server.alias: unavailable(handle) for server in servers.declared(self.meta)}
        return None

    def _difference_at_end(self, envelope: Any) -> str:
        """What the run did and the program not."""
        recording = self.recording
        if not recording.ended:
            return "the program ends, the run went on" if any(recording.unasked()) else ""
        for step in recording.unasked():
            return f"the run came to {step.what()}, {step.place()}, the program doesn't"
        for nested_run in (attempt for attempts in recording.nested.values() for attempt in attempts):
            if nested_run.segment == recording.last:
                return (
                    f"the run came to workflow {nested_run.workflow}, its run {nested_run.run_id}, the program doesn't"
                )
        if self.opened < len(recording.phases):
            return f"the run opened phase {recording.phases[self.opened]}, the program doesn't"
        then, now = recording.result, json.loads(pretty_json(envelope))
        if then == now:
            return ""
        return _compared("the result differs", *(json.dumps(envelope, ensure_ascii=False) for envelope in (then, now)))


def _inside(outer: Run, workflow: str, body: Thunk) -> tuple[str, Recording]:
    assert isinstance(outer, ReplayedRun)
    return outer.run_inside(workflow, body)


class NoModel:
    """An observer of calls that lets none through."""

    def __init__(self, run: ReplayedRun) -> None:
        self.run = run

    def started(self, call: Call) -> None:
        self.run.differs("the program asks a model outside of a step: what it said is in no journal")

    def ended(self, call: Call) -> None:
        """Nothing was begun."""


def _let_others_go_on() -> None:
    """As a step does that waits for its answer."""
    module = sys.modules.get("sema_runtime.tasks.scheduler")
    if module is not None:
        module.scheduler().pause()


def _compared(what: str, then: str, now: str) -> str:
    """Both texts around the place where they begin to differ."""
    at = next((at for at, (char, other_char) in enumerate(zip(then, now, strict=False)) if char != other_char), 0)
    at = at or min(len(then), len(now))
    return f"{what}\n  the run:     {_around(then, at)}\n  the program: {_around(now, at)}"


def _around(text: str, at: int) -> str:
    start = max(0, at - BEFORE)
    shown = " ".join(text[start : start + SHOWN].split())
    return f"{'…' if start else ''}{shown}{'…' if start + SHOWN < len(text) else ''}"
