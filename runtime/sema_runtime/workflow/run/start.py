"""How a run starts: as a new one, as the next part of an earlier one, inside of another one, or as a replay."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace

from sema_runtime.llm.budgets import usage
from sema_runtime.tasks import interrupts
from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.journal import nested
from sema_runtime.workflow.journal.origin import Fork
from sema_runtime.workflow.journal.writer import claim, claim_segment, new_id, segment_name
from sema_runtime.workflow.run import scope
from sema_runtime.workflow.run.run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.workflow.run.policies import PolicyCompiler
    from sema_runtime.workflow.run.run import Claimed, Thunk
    from sema_runtime.workflow.run.scope import Settings


def start(workflow: str, doc: str, meta: Any, body: Thunk, compile_policies: PolicyCompiler) -> Any:
    """Runs a workflow in this task; its envelope. Raises SemaError when its directory can't be used."""
    outer: Run | None = scope.active.get()
    settings = scope.settings.get() or scope.Settings.from_environment()
    with interrupts.handled(), interrupts.held():
        run = Starter(workflow, doc, meta, body, compile_policies).run(settings, outer)
        before = scope.active.set(run), scope.agent.set(""), usage.tally.set(None), scope.key.set("")
        try:
            return run.execute(body)
        finally:
            if outer is not None and run.has_failed:  # who repeats it finds the attempt that succeeds
                outer.keys.give_back(run.key_outside, body)
            scope.active.reset(before[0])
            scope.agent.reset(before[1])
            usage.tally.reset(before[2])
            scope.key.reset(before[3])


class Starter:
    """What makes the run of a workflow. The arguments are those of `start`."""

    def __init__(self, workflow: str, doc: str, meta: Any, body: Thunk, compile_policies: PolicyCompiler) -> None:
        self.workflow = workflow
        self.doc = doc
        self.meta = meta
        self.body = body
        self.compile_policies = compile_policies

    def run(self, settings: Settings, outer: Run | None) -> Run:
        if settings.make_run is not None:
            replay: Run = settings.make_run(
                self.workflow, self.doc, self.meta, settings, self.compile_policies, outer, self.body
            )
            return replay
        if outer is not None:
            return self._inside(settings.inside(), outer)
        if settings.resume and not self._is_resumed(settings):
            settings = settings.inside()
        return Run(self.workflow, self.doc, self.meta, settings, self.compile_policies, _claimed(settings))

    def _is_resumed(self, settings: Settings) -> bool:
        """Whether this is the workflow to resume. A program that runs several workflows, or one several times, resumes
        the first one of the name; the others are new runs. Another program's workflow resumes any run."""
        run_id = settings.run_id or ""
        if run_id in settings.resumed:
            return False
        if settings.code_version:
            from sema_runtime.workflow.read.recorded_run import RunNotFound, found_run

            with suppress(RunNotFound, ValueError):
                known = found_run(settings.root, run_id).metadata or {}
                if known.get("code_version") == settings.code_version and known.get("workflow") != self.workflow:
                    return False
        settings.resumed.add(run_id)
        return True

    def _inside(self, settings: Settings, outer: Run) -> Run:
        """A run inside of another one: where that is resumed or a fork, the earlier run is resumed or forked too. It is
        noted before it starts: a process that dies in between leaves no run whose place nobody knows."""
        key = outer.keys.nested(outer.phases.label, self.workflow, self.body)
        earlier = outer.nested.pop(key, None)  # once: a repeated attempt is a new run
        claimed = None
        if earlier is not None and outer.settings.resume:
            resumed = replace(settings, run_id=earlier, resume=True)
            claimed = _claimed_again(resumed)
            if claimed is not None:
                settings = resumed
                nested.note(outer.directory, nested.Nested(key, outer.log.journal.number, earlier, self.workflow))
        elif earlier is not None and os.path.isdir(os.path.join(settings.root, earlier)):
            settings = replace(settings, fork=Fork(earlier))
        if claimed is None:
            fresh = replace(settings, run_id=new_id())
            note = nested.Nested(key, outer.log.journal.number, str(fresh.run_id), self.workflow)
            nested.note(outer.directory, note)
            claimed = _claimed(fresh)
        return Run(self.workflow, self.doc, self.meta, settings, self.compile_policies, claimed, outer, key)


def _claimed_again(settings: Settings) -> Claimed | None:
    """The next part of a run's journal; None when the run is gone, or had not started."""
    first = os.path.join(settings.root, str(settings.run_id), segment_name(0))
    return _claimed(settings) if os.path.isfile(first) else None


def _claimed(settings: Settings) -> Claimed:
    try:
        if settings.resume:
            return claim_segment(settings.root, settings.run_id)
        return claim(settings.root, settings.run_id)
    except OSError as error:
        raise SemaError(
            f"workflow/run: {error.filename}: {error.strerror or error}",
            "runs are written to --run-dir (SEMA_WORKFLOW_RUN_DIR), .sema/runs without it",
        ) from None
    except ValueError as error:
        raise SemaError(f"workflow/run: {error}") from None
