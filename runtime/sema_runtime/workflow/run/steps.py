"""The steps and checkpoints of a run: their kept values, or what their thunks return, kept and journaled."""

from __future__ import annotations

import time
from contextlib import suppress

from sema_runtime.llm import policy_guard
from sema_runtime.llm.budgets import usage
from sema_runtime.tasks import interrupts
from sema_runtime.values.maps import MISSING
from sema_runtime.workflow.journal import events
from sema_runtime.workflow.journal.values import Rendering, error_shown, prompt_shown
from sema_runtime.workflow.run import envelopes, scope
from sema_runtime.workflow.run import keys as run_keys
from sema_runtime.workflow.run.unfinished import Unfinished, cost_of, count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.tasks.waiting import Waiter
    from sema_runtime.workflow.run.event_log import EventLog
    from sema_runtime.workflow.run.keys import Inside, Keys
    from sema_runtime.workflow.run.memo import Memos
    from sema_runtime.workflow.run.phases import Phases
    from sema_runtime.workflow.run.spend import Spend

    Thunk = Callable[[], Any]


class Steps:
    """reuses: kept values count, in a resumed run and a fork. running: steps by agent id, with when they started and
    what they use. values: of checkpoints, by name. reused: how many steps had a kept value. reached: content keys of
    the kept values that the program asked for. hints: of errors of steps, and how many had them. unfinished: what
    earlier processes of a resumed run have left undone."""

    def __init__(self, log: EventLog, phases: Phases, keys: Keys, memos: Memos, spend: Spend, reuses: bool) -> None:
        self.log = log
        self.phases = phases
        self.keys = keys
        self.memos = memos
        self.spend = spend
        self.reuses = reuses
        self.running: dict[str, tuple[float, usage.Tally]] = {}
        self.values: dict[str, Any] = {}
        self.reused = 0
        self.reached: set[str] = set()
        self.hints: dict[str, int] = {}
        self.unfinished = Unfinished()
        self._started: dict[str, int] = {}  # by label: how many agents
        self._awaited: Waiter | None = None  # until the next step ends

    # Steps

    def run(self, label: str, prompt: str, schema: str, thunk: Thunk, same: Thunk | None) -> Any:
        """The value of a step: the kept one, nil when the budget is used up, or that of the thunk, which is kept before
        the journal says that the step has ended. same: the thunk, where the prompt doesn't say what is computed. Raises
        what the thunk raises."""
        key = self.key_of(label, prompt, schema, same)
        if self.reuses and (kept := self._kept(key)) is not MISSING:
            self.reused += 1
            self._report_late(key, kept, label, prompt_shown(prompt))
            return kept
        if self.spend.over:
            self.spend.refusals += 1
            return None
        with interrupts.held():
            agent_id = self._new_agent(label)
            self.running[agent_id] = time.monotonic(), usage.Tally()
            self.log.emit((events.AgentStarted, agent_id, label, "", prompt_shown(prompt)))
            value, error = self._computed(key, agent_id, thunk)
        if error is None:
            return value
        if self.spend.refused(error):
            self.spend.refusals += 1
            return None  # as every step from now on
        self.keys.give_back(key, same)
        if hint := getattr(error, "hint", None):
            self.hints[hint] = self.hints.get(hint, 0) + 1
        with suppress(AttributeError):
            error.is_journaled = True  # type: ignore[attr-defined]
        raise error

    def key_of(self, label: str, prompt: str, schema: str, same: Thunk | None) -> str:
        """The content key of a step that is reached now."""
        policies = policy_guard.key().decode()  # of those in force; "" adds nothing to the key
        return self.keys.step(self.phases.label, label, prompt, schema, *([policies] if policies else ()), thunk=same)

    def _computed(self, key: str, agent_id: str, thunk: Thunk) -> tuple[Any, BaseException | None]:
        """What a thunk returns, kept, or raises; the journal has either."""
        (started, tally), inside = self.running[agent_id], self.keys.within()
        before = scope.agent.set(agent_id), usage.tally.set(tally), run_keys.inside.set(inside), scope.key.set(key)
        value, error = _called(thunk)
        scope.agent.reset(before[0])
        usage.tally.reset(before[1])
        run_keys.inside.reset(before[2])
        scope.key.reset(before[3])
        took = self.log.since(started)
        if tally.calls:
            self.spend.charge(tally.tokens, tally.cost_usd, tally.model)
        if error is not None:
            self._ended(agent_id, "failed", error_shown(envelopes.shown(error)), took, tally)
            return None, error
        rendering = Rendering(value)
        try:
            self._keep(key, rendering, inside, {"agent_id": agent_id, **_used(tally, took)})
        finally:
            self._ended(agent_id, "ok", rendering.shown(), took, tally)
        return value, None

    def _new_agent(self, label: str) -> str:
        """The id of a step that starts."""
        with self.log.lock:
            number = self._started[label] = self._started.get(label, 0) + 1
        return f"{label}_{number}"

    def _ended(self, agent_id: str, status: str, output: str, took: int, tally: usage.Tally) -> None:
        """Writes the end of a step, and what it used. status: ok or failed. took: milliseconds."""
        self.running.pop(agent_id, None)
        if self._awaited is not None:
            self._awaited.wake()
        result = (events.AgentResult, agent_id, status, output, took, tally.model)
        if not tally.calls:
            self.log.emit(result)
            return
        used = (tally.input_tokens, tally.output_tokens, tally.cost_usd, self.spend.max_tokens)
        self.log.emit(result, (events.Budget, agent_id, self.phases.seq, *used))

    # Steps of other tasks

    def wait_for_running(self) -> None:
        """Waits for the steps that other tasks have started, as long as any of them can end."""
        from sema_runtime.tasks.promises import Deadlock
        from sema_runtime.tasks.scheduler import scheduler

        tasks = scheduler()
        tasks.pause()  # tasks that were just started begin their steps
        with suppress(Deadlock):  # they wait for the body
            while self.running:
                self._awaited = tasks.waiter()
                tasks.wait(self._awaited)
                tasks.pause()  # whoever waited for that step may start another one

    def fail_running(self, output: str) -> None:
        """Writes the end of the steps of tasks that outlive the run, or were just cancelled."""
        for agent_id, (started, tally) in [*self.running.items()]:
            self._ended(agent_id, "failed", output, self.log.since(started), tally)

    # Checkpoints

    def checkpoint(self, name: str, thunk: Thunk) -> Any:
        """The kept value of a checkpoint, or the thunk's, which is kept. Raises what the thunk raises."""
        key = self.keys.checkpoint(self.phases.label, name, thunk)
        if self.reuses and (kept := self._kept(key)) is not MISSING:
            self.values[name] = kept
            self.keys.stored(name, key)
            return kept
        inside = self.keys.within()
        before = run_keys.inside.set(inside), scope.key.set(key)
        try:
            value = thunk()
        except BaseException:
            run_keys.inside.reset(before[0])
            self.keys.give_back(key, thunk)
            raise
        finally:
            scope.key.reset(before[1])
        run_keys.inside.reset(before[0])
        with interrupts.held():
            self.values[name] = value
            self.keys.stored(name, key)
            rendering = Rendering(value)
            try:
                if not self.spend.refusals:  # else it may hold nils of steps that a resumed run, with more money, asks
                    self._keep(key, rendering, inside, {"checkpoint": name})
            finally:
                self.log.emit(
                    (events.Checkpoint, self.phases.seq, name, key, rendering.digest(), rendering.shown()),
                )
        return value

    # Kept values

    def _kept(self, key: str) -> Any:
        """The value that an earlier process kept, with the effects that its thunk had on the run. MISSING when there is
        none."""
        kept = self.memos.find(key)
        if kept is not MISSING:
            self.reached.add(key)
            self.repeat_effects(self.memos.logged.inside(key))
        return kept

    def repeat_effects(self, inside: dict[str, Any]) -> None:
        """Does to the run what a thunk did that is not called: take keys, open phases, store checkpoints."""
        try:
            self.keys.take(inside.get("keys") or [])
            for name, key in inside.get("state") or ():
                value = self.memos.find(key)
                if value is not MISSING:
                    self.values[name] = value
                    self.keys.stored(name, key)
            phase = inside.get("phase")
        except (ValueError, TypeError, AttributeError):  # the log is damaged
            return
        if isinstance(phase, str) and phase != self.phases.label:
            self.phases.open(phase)

    def _keep(self, key: str, rendering: Rendering, inside: Inside, where: dict[str, Any]) -> None:
        text = rendering.kept()
        if text is not None:
            effects = inside.fields()
            segment = {"segment": self.log.journal.number}
            self.memos.keep(key, text, {**segment, **where, **({"inside": effects} if effects else {})})

    # What earlier processes left undone

    def take_over(self, unfinished: Unfinished) -> None:
        """Names the steps that were running when an earlier process died, and remembers those whose results the journal
        lacks."""
        self.unfinished = unfinished
        if unfinished.uncertain:
            self.log.emit(*((events.AgentPresumed, agent_id, segment) for segment, agent_id in unfinished.uncertain))

    def report_late(self) -> None:
        """Writes the late results that the program has not reached."""
        for key, late in [*self.unfinished.late.items()]:
            self._report_late(key, self.memos.find(key), late.label, late.prompt)

    def _report_late(self, key: str, value: Any, label: str, prompt: str) -> None:
        """Writes the result of a step that ended under an earlier process, where the journal lacks it. prompt: as the
        journal shows it."""
        late = self.unfinished.late.pop(key, None)
        if late is None or value is MISSING:
            return
        agent_id, used = self._new_agent(label), late.used
        self.memos.note(key, {"segment": self.log.journal.number, "agent_id": agent_id, **used})
        result = (agent_id, "ok", Rendering(value).shown(), count_of(used, "dur_ms"), str(used.get("model") or ""))
        written: list[tuple[Any, ...]] = [
            (events.AgentStarted, agent_id, label, "", prompt),
            (events.AgentResult, *result),
        ]
        if "input_tokens" in used:
            counts = count_of(used, "input_tokens"), count_of(used, "output_tokens")
            written.append(
                (events.Budget, agent_id, self.phases.seq, *counts, cost_of(used), self.spend.max_tokens),
            )
        self.log.emit(*written)


def _used(tally: usage.Tally, took: int) -> dict[str, Any]:
    """What a step used, for the memo log."""
    if not tally.calls:
        return {"dur_ms": took}
    cost = {} if tally.cost_usd is None else {"cost_usd": tally.cost_usd}
    counts = {"input_tokens": tally.input_tokens, "output_tokens": tally.output_tokens}
    return {**counts, **cost, "model": tally.model, "dur_ms": took}


def _called(thunk: Thunk) -> tuple[Any, BaseException | None]:
    """What a call returns or raises, Ctrl-C too, which is held before and after it."""
    try:
        with interrupts.released():
            return thunk(), None
    except BaseException as error:
        return None, error
