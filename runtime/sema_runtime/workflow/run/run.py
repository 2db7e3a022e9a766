"""One run of a workflow: its life and its phases, all of it in the journal."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from threading import RLock

from sema_runtime.llm.budgets import usage
from sema_runtime.tasks import interrupts
from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import Map
from sema_runtime.workflow.journal import events, files, nested, origin
from sema_runtime.workflow.journal.values import pretty_json
from sema_runtime.workflow.run import envelopes, scope, steps
from sema_runtime.workflow.run import write_errors as troubles
from sema_runtime.workflow.run.keys import Keys, args_fingerprint
from sema_runtime.workflow.run.memo import Memos
from sema_runtime.workflow.run.spend import Spend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.tasks.waiting import Waiter
    from sema_runtime.workflow.journal.writer import Journal
    from sema_runtime.workflow.run.scope import Settings
    from sema_runtime.workflow.run.unfinished import Unfinished

    Thunk = Callable[[], Any]
    Claimed = tuple[str, Journal]

BODY_FAILED = "workflow body returned an error"
OVER_BUDGET = "budget exceeded"
UNMET = "completion policy not met"


class Run:
    """settings: how it was started. claimed: its id and its journal. outer: the run that this one is inside of. seq: of
    the next event."""

    def __init__(
        self, workflow: str, doc: str, meta: Any, settings: Settings, claimed: Claimed, outer: Run | None = None
    ) -> None:
        self.outer = outer
        self.key_outside = ""  # its key in the run around it
        self.owner: Any = None  # the greenlet in which the body runs
        self.workflow = workflow
        self.doc = doc
        self.meta = meta
        self.settings = settings
        self.resuming = settings.resume
        self.reuses = settings.resume or settings.fork is not None  # what is kept
        self.fixed_ts = os.environ.get("SEMA_WORKFLOW_FIXED_TS")
        self.started = time.monotonic()
        self.run_id, self.journal = claimed
        self.directory = self.journal.folder
        self.memos = Memos(self.directory)
        if settings.fork is not None:
            self.memos.take(settings.root, settings.fork)
        self.origin = origin.begun(self.directory, settings)
        self.args_json = settings.args_json
        self.approvals: Any = None  # what approvals.py keeps of this run
        self.keys = Keys(settings.code_version, args_fingerprint(settings.args_json))
        self.spend = Spend(meta, settings)
        self.nested = nested.before(self.directory, settings)
        self.state: dict[str, Any] = {}  # of checkpoints
        self.hints: dict[str, int] = {}  # of errors of leaves, and how many had them
        self.replayed = 0  # leaves whose value was kept
        self.came_to: set[str] = set()  # content keys of values that were kept
        self.unfinished: Unfinished | None = None  # what earlier processes have left, in a run that goes on
        self.agents: dict[str, int] = {}  # by label: how many were started
        self.under_way: dict[str, tuple[float, usage.Tally]] = {}  # leaves: when they were started, what they use
        self.step_awaited: Waiter | None = None  # until the next one ends
        self.servers: dict[str, str | None] = {}  # MCP handles by alias; None: declared, not connected
        self.phase = ""
        self.phase_seq: int | None = None
        self.policies: tuple[Any, ...] = ()
        self.seq = 0
        self.emitted: set[str] = set()  # names of events
        self.unwritten: dict[str, str] = {}  # files of the run's directory, and why
        self.process = os.getpid()
        self.ended = False
        self.envelope: Any = None  # once it has ended
        self.status = "running"
        self.interrupted = False  # by Ctrl-C
        self.error: Exception | None = None  # that the body has raised, or the connection to a server
        self.lock = RLock()
        self._second, self._ts = -1, ""

    # Events

    def emit(self, *made: tuple[Any, ...]) -> int:
        """Writes events, given as (class, fields behind seq and ts...), at once; the seq of the first. After the end
        of the run nothing is written any more."""
        with interrupts.held(), self.lock:
            first = self.seq
            if self.ended or os.getpid() != self.process:  # in a child that was forked
                return first
            ts = self.ts()
            written = [kind(first + index, ts, *fields) for index, (kind, *fields) in enumerate(made)]
            self.seq += len(written)
            self.journal.append([events.line(event) for event in written])
            self.emitted.update(event.name for event in written)
            self.ended = isinstance(written[-1], events.RunEnded)
        for event in written:
            self._tell(event)
        return first

    def record(self, kind: Any, **fields: Any) -> None:
        """Writes one event, its fields behind seq and ts given by name."""
        self.emit((kind, *(fields.get(name) for name, _, _ in events.FIELDS[kind.name][2:])))

    def _tell(self, event: events.Event) -> None:
        for watcher in self.settings.watchers:
            try:
                watcher(self, event)
            except Exception:  # who looks on can't stop the run
                continue

    def ts(self) -> str:
        """The time of an event, UTC to the second."""
        if self.fixed_ts is not None:
            return self.fixed_ts
        now = int(time.time())
        if now != self._second:
            self._second, self._ts = now, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        return self._ts

    def since(self, started: float) -> int:
        """Milliseconds since a moment of the monotonic clock; 0 where time stands still for a test."""
        return 0 if self.fixed_ts is not None else int((time.monotonic() - started) * 1000)

    @property
    def has_failed(self) -> bool:
        """Whether it has ended without what it was run for."""
        return self.status == "failed" or envelopes.is_failure(self.envelope)

    # The whole run

    def whole(self, body: Thunk) -> Any:
        """The envelope of the run, whatever the body does; only what ends the program or the task goes on. Ctrl-C comes
        while the body runs, or waits until the run has ended."""
        from greenlet import getcurrent  # type: ignore[import-untyped]

        self.owner = getcurrent()
        envelope, status, reason, outside = self._outcome(body)
        try:
            with interrupts.released():
                self._close_servers()
        except BaseException as error:
            outside = outside or error
        if self.policies and status == "success" and not envelopes.is_failure(envelope):
            from sema_runtime.workflow import policy

            missing = policy.missing_events(self.policies, self.emitted, self.directory if self.resuming else "")
            if missing:
                envelope, status, reason = envelopes.failure(missing), "failed", UNMET
        if self.spend.over and outside is None:
            envelope, status, reason = (
                Map({envelopes.STATUS: envelopes.FAILED, keyword("reason"): OVER_BUDGET}),
                "failed",
                OVER_BUDGET,
            )
        self._end(envelope, status, reason)
        if outside is not None:
            raise outside
        return envelope

    def _outcome(self, body: Thunk) -> tuple[Any, str, str | None, BaseException | None]:
        """Runs it: envelope, status, reason, and what goes on when the run has ended. Raises Unwritable."""
        try:
            self._begin()
            with interrupts.released():
                return self._connect_servers() or (envelopes.success(self._waited(body)), "success", None, None)
        except scope.Stop as stop:
            return stop.envelope, stop.status, stop.reason, None
        except troubles.Unwritable:
            raise
        except Exception as error:
            self.error = error
            return envelopes.failure(envelopes.shown(error)), "failed", BODY_FAILED, None
        except BaseException as error:  # Ctrl-C, (exit), a task that is dropped
            self.interrupted = isinstance(error, KeyboardInterrupt)
            return envelopes.failure(envelopes.word(error)), "failed", envelopes.word(error), error

    def _begin(self) -> None:
        """Writes what stands at the beginning. Raises Unwritable when that can't be done."""
        self._write_metadata()
        self._write_origin()
        self._say_started()
        if self.journal.unwritten:
            troubles.give_up(self)
        if self.resuming:
            from sema_runtime.workflow.run import unfinished

            self.unfinished = unfinished.before(self)
            unfinished.tell_presumed(self, self.unfinished)

    def _say_started(self) -> None:
        self.emit(
            (events.RunStarted, self.workflow, self.run_id, "", self.settings.args_json, envelopes.phases(self.meta))
        )

    def _waited(self, body: Thunk) -> Any:
        """The body's value. A run that pauses has other tasks end the steps that they have begun: they are paid for,
        and shall be in the journal."""
        try:
            return self._body(body)
        except scope.Stop as stop:
            if stop.status == "needs-approval":
                self._end_steps()
            raise

    def _end_steps(self) -> None:
        from sema_runtime.tasks.promises import Deadlock
        from sema_runtime.tasks.scheduler import scheduler

        here = scheduler()
        here.pause()  # tasks that were just started begin theirs
        with suppress(Deadlock):  # they wait for the body
            while self.under_way:
                self.step_awaited = here.waiter()
                here.wait(self.step_awaited)
                here.pause()  # who waited for that step may begin another one

    def _body(self, body: Thunk) -> Any:
        rules = self.meta.lookup(keyword("policy")) if isinstance(self.meta, Map) else None
        if rules is None:
            return self._within_budget(body)
        from sema_runtime.workflow import policy

        self.policies = policy.compiled(rules)
        denied = policy.denied_metadata(self.policies, self.meta)
        if denied is not None:
            raise denied
        with policy.in_force(self.policies, self.record):
            return self._within_budget(body)

    def _within_budget(self, body: Thunk) -> Any:
        left = self.unfinished
        self.spend.begin(self.directory, self.journal.number, *((0, 0.0) if left is None else (left.tokens, left.usd)))
        if self.spend.frame is None:
            return body()
        from sema_runtime.llm.budgets import budget
        from sema_runtime.support.scoped import within

        return within(budget.scope, self.spend.frame, body)

    def _end(self, envelope: Any, status: str, reason: str | None) -> Any:
        self.envelope, self.status = envelope, status
        if self.seq == 0:  # Ctrl-C came at the very beginning
            self._say_started()
        said = "error: cancelled" if self.interrupted else "error: the run ended before this step"
        for agent_id, (started, tally) in [*self.under_way.items()]:  # in tasks that go on, or were just cancelled
            steps.tell_result(self, agent_id, "failed", said, self.since(started), tally)
        if self.unfinished is not None and self.unfinished.late:
            from sema_runtime.workflow.run import unfinished

            unfinished.tell_rest(self, self.unfinished)
        phase = self.phase
        self.close_phase(status)
        self.phase = phase  # in the keys of steps to which tasks that go on come later
        self._write("result.json", pretty_json(envelope), "result")  # first: who reads that it has ended looks there
        self.emit((events.RunEnded, status, reason, self.since(self.started)))
        self._write_origin(self.came_to)
        self.memos.close()
        self.spend.end()
        self.journal.close()
        return envelope

    def _write_metadata(self) -> None:
        from sema_runtime.llm.jsonable import to_json

        metadata = {
            "workflow": self.workflow,
            "doc": self.doc,
            "run_id": self.run_id,
            "code_version": self.settings.code_version,
            "meta": envelopes.redacted(to_json(self.meta)),
        }
        self._write("metadata.json", pretty_json(metadata), "metadata")

    def _write_origin(self, kept: set[str] | None = None) -> None:
        if self.origin is not None:
            self._write(origin.NAME, self.origin.text(kept), "origin")

    def _write(self, name: str, text: str, point: str) -> None:
        if os.getpid() != self.process:
            return
        try:
            files.replace(self.directory, name, f"{text}\n".encode("utf-8", "replace"), point)
            self.unwritten.pop(name, None)
        except OSError as error:  # as for the journal: what can't be written down doesn't stop the run
            self.unwritten[name] = error.strerror or str(error)

    def _connect_servers(self) -> tuple[Any, str, str, None] | None:
        """Not None: how the run ends before its body, as `_outcome`."""
        from sema_runtime.workflow.run import servers

        gate = servers.connect(self)
        return None if gate is None else (*gate, None)

    def _close_servers(self) -> None:
        handles, self.servers = self.servers, dict.fromkeys(self.servers)
        if any(handles.values()):
            from sema_runtime.workflow.run import servers

            servers.close([handle for handle in handles.values() if handle is not None])

    # Phases

    def open_phase(self, label: str) -> None:
        with interrupts.held():
            self.close_phase("success")
            self.phase_seq = self.emit((events.PhaseStarted, label))
            self.phase = label
            self.keys.opened(label)

    def close_phase(self, status: str) -> None:
        with interrupts.held():
            if self.phase_seq is not None:
                self.emit((events.PhaseEnded, self.phase, status, self.since(self.started)))
            self.phase, self.phase_seq = "", None

    # Leaves

    def leaf(
        self, label: str, prompt: str, schema: str, thunk: Thunk, rules: Any = None, by_prompt: bool = False
    ) -> Any:
        """A step: its kept value, nil when the budget is used up, or the thunk's value, which is kept before the
        journal says that the leaf is done. rules: the step's :policy. by_prompt: the prompt says what is computed.
        Raises what the thunk raises."""
        same = None if by_prompt else thunk
        if rules is None:
            return self._leaf(label, prompt, schema, thunk, same)
        from sema_runtime.workflow import policy

        with policy.in_force(policy.compiled(rules, step=True), self.record):
            return self._leaf(label, prompt, schema, thunk, same)

    def _leaf(self, label: str, prompt: str, schema: str, thunk: Thunk, same: Thunk | None) -> Any:
        return steps.leaf(self, label, prompt, schema, thunk, same)

    def new_agent(self, label: str) -> str:
        """The id of a leaf that starts."""
        with self.lock:
            number = self.agents[label] = self.agents.get(label, 0) + 1
        return f"{label}_{number}"

    def tool_call(self, name: str, arguments: str) -> None:
        agent_id = scope.leaf.get()
        if agent_id:
            self.emit((events.AgentToolCall, agent_id, name, arguments))

    def tool_result(self, name: str) -> None:
        agent_id = scope.leaf.get()
        if agent_id:
            self.emit((events.AgentToolResult, agent_id, name))

    def approved(self, key: str) -> bool | None:
        """Whether an approval was given, where that is known without asking; else None."""
        return None

    # Checkpoints

    def checkpoint(self, name: str, thunk: Thunk) -> Any:
        """The kept value of a checkpoint, or the thunk's, which is kept. Raises what the thunk raises."""
        return steps.checkpoint(self, name, thunk)
