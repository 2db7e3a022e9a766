"""How a run begins: as a new one, as the next part of an earlier one, inside of another one, or as a replay."""

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

    from sema_runtime.workflow.run.run import Claimed, Thunk
    from sema_runtime.workflow.run.scope import Settings


def start(workflow: str, doc: str, meta: Any, body: Thunk) -> Any:
    """Runs a workflow in this task: its envelope. Raises SemaError when its directory can't be used."""
    outer = scope.active.get()
    settings = scope.settings.get() or scope.Settings.from_environment()
    with interrupts.handled(), interrupts.held():
        run = _made(workflow, doc, meta, body, settings, outer)
        inside = scope.active.set(run), scope.leaf.set(""), usage.tally.set(None), scope.key.set("")
        try:
            return run.whole(body)
        finally:
            if outer is not None and run.has_failed:  # who repeats it shall find the attempt that succeeds
                outer.keys.give_back(run.key_outside, body)
            scope.active.reset(inside[0])
            scope.leaf.reset(inside[1])
            usage.tally.reset(inside[2])
            scope.key.reset(inside[3])


def _made(workflow: str, doc: str, meta: Any, body: Thunk, settings: Settings, outer: Run | None) -> Run:
    if settings.recording is not None:
        from sema_runtime.workflow.replay.replay import ReplayedRun

        return ReplayedRun(workflow, doc, meta, settings, outer, body)
    if outer is not None:
        return _made_inside(workflow, doc, meta, body, settings.inside(), outer)
    if settings.resume and not _is_the_one(workflow, settings):
        settings = settings.inside()
    return Run(workflow, doc, meta, settings, _claimed(settings))


def _is_the_one(workflow: str, settings: Settings) -> bool:
    """Whether this is what shall be gone on with. A program that runs several workflows, or one several times, goes on
    with the first one of the name; the others are new runs. Another program's workflow goes on with any run."""
    run_id = settings.run_id or ""
    if run_id in settings.taken:
        return False
    if settings.code_version:
        from sema_runtime.workflow.read.recorded_run import RunNotFound, found_run

        with suppress(RunNotFound, ValueError):
            known = found_run(settings.root, run_id).metadata or {}
            if known.get("code_version") == settings.code_version and known.get("workflow") != workflow:
                return False
    settings.taken.add(run_id)
    return True


def _made_inside(workflow: str, doc: str, meta: Any, body: Thunk, settings: Settings, outer: Run) -> Run:
    """A run inside of another one: where that goes on or is a fork, the earlier one goes on or is forked, too. It is
    noted before it is begun: a process that dies in between leaves no run of which nobody knows where it belongs."""
    key = outer.keys.nested(outer.phase, workflow, body)
    before = outer.nested.pop(key, None)  # once: a repeated attempt is a new run
    claimed = None
    if before is not None and outer.resuming:
        claimed = _taken_up(resumed := replace(settings, run_id=before, resume=True))
        if claimed is not None:
            settings = resumed
            nested.note(outer.directory, nested.Nested(key, outer.journal.number, before, workflow))
    elif before is not None and os.path.isdir(os.path.join(settings.root, before)):
        settings = replace(settings, fork=Fork(before))
    if claimed is None:
        fresh = replace(settings, run_id=new_id())
        nested.note(outer.directory, nested.Nested(key, outer.journal.number, str(fresh.run_id), workflow))
        claimed = _claimed(fresh)
    run = Run(workflow, doc, meta, settings, claimed, outer)
    run.key_outside = key
    return run


def _taken_up(settings: Settings) -> Claimed | None:
    """The next part of a run's journal; None when the run isn't there any more, or had not begun."""
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
