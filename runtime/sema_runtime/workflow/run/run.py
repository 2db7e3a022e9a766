"""One run of a workflow: its life, from the first event to the last."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from sema_runtime.tasks import interrupts
from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import Map
from sema_runtime.workflow.journal import events, nested, origin
from sema_runtime.workflow.journal.content_keys import args_fingerprint
from sema_runtime.workflow.run import envelopes, scope, write_errors
from sema_runtime.workflow.run.event_log import EventLog
from sema_runtime.workflow.run.folder import RunFolder
from sema_runtime.workflow.run.keys import Keys
from sema_runtime.workflow.run.memo import Memos
from sema_runtime.workflow.run.phases import Phases
from sema_runtime.workflow.run.servers import Servers
from sema_runtime.workflow.run.spend import Spend
from sema_runtime.workflow.run.steps import Steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from sema_runtime.workflow.journal.writer import Journal
    from sema_runtime.workflow.run.policies import Policies, PolicyCompiler
    from sema_runtime.workflow.run.scope import Settings

    Thunk = Callable[[], Any]
    Claimed = tuple[str, Journal]
    """The id of a run and its journal."""

BODY_FAILED = "workflow body returned an error"
OVER_BUDGET = "budget exceeded"
UNMET = "completion policy not met"


class Ending(NamedTuple):
    """How a run ends. outside: what is raised when it has ended, None for nothing."""

    envelope: Any
    status: str
    reason: str | None
    outside: BaseException | None = None


class Run:
    """A run. Its parts hold its state: `log` its events, `phases` the open phase, `steps` its steps and checkpoints,
    `servers` its connections, `spend` its budget, `memos` the kept values, `keys` their names, `folder` other files.

    outer: the run that this one is inside of; key_outside: its key there. nested: ids of the runs that an earlier
    process had inside of this one, by their keys. owner: the greenlet in which the body runs. approvals: what
    `approvals.gate` keeps. envelope: None until the run has ended. interrupted: by Ctrl-C. error: that the body has
    raised, or the connection to a server."""

    def __init__(
        self,
        workflow: str,
        doc: str,
        meta: Any,
        settings: Settings,
        compile_policies: PolicyCompiler,
        claimed: Claimed,
        outer: Run | None = None,
        key_outside: str = "",
    ) -> None:
        self.workflow = workflow
        self.doc = doc
        self.meta = meta
        self.settings = settings
        self.compile_policies = compile_policies
        self.run_id, journal = claimed
        self.directory = journal.folder
        self.outer: Run | None = outer
        self.key_outside = key_outside
        self.owner: Any = None
        self.origin = self._origin()
        self.nested = self._nested_before()
        self.keys = Keys(settings.code_version, args_fingerprint(settings.args_json))
        self.log = EventLog(journal, self._watched)
        self.folder = RunFolder(self.directory)
        self.memos = Memos(self.directory)
        if settings.fork is not None:
            self.memos.copy_from(settings.root, settings.fork)
        self.spend: Spend = Spend(meta, settings, None if outer is None else outer.spend)
        self.phases = Phases(self.log, self.keys)
        reuses = settings.resume or settings.fork is not None
        self.steps = Steps(self.log, self.phases, self.keys, self.memos, self.spend, reuses)
        self.servers = Servers(self.log, workflow, self.directory, settings.may_ask)
        self.policies: Policies | None = None
        self.approvals: Any = None
        self.envelope: Any = None
        self.status = "running"
        self.interrupted = False
        self.error: Exception | None = None

    @property
    def has_failed(self) -> bool:
        """Whether it has ended without success."""
        return self.status == "failed" or envelopes.is_failure(self.envelope)

    def write_errors(self) -> list[str]:
        """What could not be written or read, in words."""
        return write_errors.messages(self.memos, self.log.journal, self.folder.unwritten)

    def _origin(self) -> origin.Origin | None:
        fork = self.settings.fork
        if fork is not None:
            return origin.Origin(fork.run_id, fork.at)
        return origin.of(self.directory) if self.settings.resume else None

    def _nested_before(self) -> dict[str, str]:
        """The ids of the runs inside of the run when it was last run, or inside of the run that it is a fork of."""
        fork, folder = self.settings.fork, self.directory
        if fork is not None and fork.keys is None:
            folder = os.path.join(self.settings.root, fork.run_id)
        elif not self.settings.resume:
            return {}
        return {key: run.run_id for key, run in nested.of(folder).items()}

    def _watched(self, event: events.Event) -> None:
        for watcher in self.settings.watchers:
            with suppress(Exception):  # a watcher can't stop the run
                watcher(self, event)

    # From the beginning to the end

    def execute(self, body: Thunk) -> Any:
        """Runs the body; the envelope of the run, whatever the body does. Raises only what ends the program or the
        task. Ctrl-C comes while the body runs, or waits until the run has ended."""
        from greenlet import getcurrent  # type: ignore[import-untyped]

        self.owner = getcurrent()
        ending = self._ending(body)
        try:
            with interrupts.released():
                self.servers.close()
        except BaseException as error:
            ending = ending._replace(outside=ending.outside or error)
        ending = self._checked(ending)
        self._end(ending)
        if ending.outside is not None:
            raise ending.outside
        return ending.envelope

    def _ending(self, body: Thunk) -> Ending:
        """Runs the body: how the run ends. Raises Unwritable."""
        try:
            self._begin()
            with interrupts.released():
                early = self._connect_servers()
                return early or Ending(envelopes.success(self._value(body)), "success", None)
        except scope.Stop as stop:
            return Ending(stop.envelope, stop.status, stop.reason)
        except write_errors.Unwritable:
            raise
        except Exception as error:
            self.error = error
            return Ending(envelopes.failure(envelopes.shown(error)), "failed", BODY_FAILED)
        except BaseException as error:  # Ctrl-C, (exit), a task that is dropped
            self.interrupted = isinstance(error, KeyboardInterrupt)
            return Ending(envelopes.failure(envelopes.word(error)), "failed", envelopes.word(error), error)

    def _checked(self, ending: Ending) -> Ending:
        """The ending, as policies and the budget allow it."""
        if self.policies is not None and ending.status == "success" and not envelopes.is_failure(ending.envelope):
            folder = self.directory if self.settings.resume else ""
            missing = self.policies.missing_events(self.log.emitted, folder)
            if missing:
                ending = ending._replace(envelope=envelopes.failure(missing), status="failed", reason=UNMET)
        if self.spend.over and ending.outside is None:
            envelope = Map({envelopes.STATUS: envelopes.FAILED, keyword("reason"): OVER_BUDGET})
            return Ending(envelope, "failed", OVER_BUDGET)
        return ending

    def _begin(self) -> None:
        """Writes the beginning of the run. Raises Unwritable when that is impossible."""
        self._write_metadata()
        self.folder.write_origin(self.origin)
        self._emit_started()
        if self.log.journal.unwritten:
            self._give_up()
        if self.settings.resume:
            from sema_runtime.workflow.run.unfinished import left_by

            self.steps.take_over(left_by(self.directory))

    def _give_up(self) -> NoReturn:
        """Leaves the directory as it was before a run whose beginning can't be written. Raises Unwritable."""
        journal = self.log.journal
        journal.abandon()
        self.memos.close()
        if not self.settings.resume:
            self.folder.remove()
        raise write_errors.Unwritable(
            f"workflow/run: {self.directory}: {journal.error}",
            "a run is written down as it goes; make room, or --run-dir",
        )

    def _write_metadata(self) -> None:
        from sema_runtime.llm.jsonable import to_json

        self.folder.write_metadata(
            {
                "workflow": self.workflow,
                "doc": self.doc,
                "run_id": self.run_id,
                "code_version": self.settings.code_version,
                "meta": envelopes.redacted(to_json(self.meta)),
            }
        )

    def _emit_started(self) -> None:
        phases = envelopes.phases(self.meta)
        self.log.emit((events.RunStarted, self.workflow, self.run_id, "", self.settings.args_json, phases))

    def _connect_servers(self) -> Ending | None:
        """Connects the declared servers. Not None: how the run ends before its body."""
        early = self.servers.connect(self.meta)
        self.error = self.servers.error
        return None if early is None else Ending(*early)

    def _value(self, body: Thunk) -> Any:
        """The value of the body. A run that pauses waits for the steps that other tasks have started: they are paid
        for, and belong into the journal."""
        try:
            return self._under_policies(body)
        except scope.Stop as stop:
            if stop.status == "needs-approval":
                self.steps.wait_for_running()
            raise

    def _under_policies(self, body: Thunk) -> Any:
        rules = self.meta.lookup(keyword("policy")) if isinstance(self.meta, Map) else None
        if rules is None:
            return self._within_budget(body)
        self.policies = self.compile_policies(rules, False)
        denied = self.policies.denied_metadata(self.meta)
        if denied is not None:
            raise denied
        with self.policies.in_force(self.log.record):
            return self._within_budget(body)

    def _within_budget(self, body: Thunk) -> Any:
        earlier = self.steps.unfinished
        self.spend.begin(self.directory, self.log.journal.number, earlier.tokens, earlier.usd)
        if self.spend.frame is None:
            return body()
        from sema_runtime.llm.budgets import budget
        from sema_runtime.support.scoped import within

        return within(budget.scope, self.spend.frame, body)

    def _end(self, ending: Ending) -> None:
        """Writes the end of the run, and closes its files."""
        self.envelope, self.status = ending.envelope, ending.status
        if self.log.seq == 0:  # Ctrl-C came at the very beginning
            self._emit_started()
        self.steps.fail_running("error: cancelled" if self.interrupted else "error: the run ended before this step")
        self.steps.report_late()
        phase = self.phases.label
        self.phases.close(ending.status)
        self.phases.label = phase  # in the keys of steps that outliving tasks reach later
        self.folder.write_result(ending.envelope)  # first: readers of `run.ended` open it
        self.log.emit((events.RunEnded, ending.status, ending.reason, self.log.since(self.phases.started)))
        self.folder.write_origin(self.origin, self.steps.reached)
        self.memos.close()
        self.spend.end()
        self.log.journal.close()

    # What the body does

    def open_phase(self, label: str) -> None:
        self.phases.open(label)

    def step(
        self, label: str, prompt: str, schema: str, thunk: Thunk, rules: Any = None, by_prompt: bool = False
    ) -> Any:
        """The value of a step, as `Steps.run`. rules: the step's :policy. by_prompt: the prompt says what is
        computed. Raises what the thunk raises."""
        same = None if by_prompt else thunk
        if rules is None:
            return self._step(label, prompt, schema, thunk, same)
        with self.compile_policies(rules, True).in_force(self.log.record):
            return self._step(label, prompt, schema, thunk, same)

    def _step(self, label: str, prompt: str, schema: str, thunk: Thunk, same: Thunk | None) -> Any:
        return self.steps.run(label, prompt, schema, thunk, same)

    def checkpoint(self, name: str, thunk: Thunk) -> Any:
        """The kept value of a checkpoint, or the thunk's, which is kept. Raises what the thunk raises."""
        return self.steps.checkpoint(name, thunk)

    def tool_call(self, name: str, arguments: str) -> None:
        if agent_id := scope.agent_id():
            self.log.emit((events.AgentToolCall, agent_id, name, arguments))

    def tool_result(self, name: str) -> None:
        if agent_id := scope.agent_id():
            self.log.emit((events.AgentToolResult, agent_id, name))

    def approved(self, key: str) -> bool | None:
        """Whether an approval was given, where that is known without asking; else None."""
        return None
