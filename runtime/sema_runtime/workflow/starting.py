"""How a run begins: as a new one, as the next part of an earlier one, inside of another one, or as a replay."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from sema_runtime.llm import usage
from sema_runtime.tasks import interrupts
from sema_runtime.values.errors import SemaError
from sema_runtime.workflow import nested, scope
from sema_runtime.workflow.journal import claim, claim_segment
from sema_runtime.workflow.origin import Fork
from sema_runtime.workflow.run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.workflow.run import Claimed, Thunk
    from sema_runtime.workflow.scope import Settings


def start(workflow: str, doc: str, meta: Any, body: Thunk) -> Any:
    """Runs a workflow in this task: its envelope. Raises SemaError when its directory can't be used."""
    outer = scope.active.get()
    settings = scope.settings.get() or scope.Settings.from_environment()
    with interrupts.handled(), interrupts.held():
        run = _made(workflow, doc, meta, settings, outer)
        inside = scope.active.set(run), scope.leaf.set(""), usage.tally.set(None)
        try:
            return run.whole(body)
        finally:
            scope.active.reset(inside[0])
            scope.leaf.reset(inside[1])
            usage.tally.reset(inside[2])


def _made(workflow: str, doc: str, meta: Any, settings: Settings, outer: Run | None) -> Run:
    if settings.recording is not None:
        from sema_runtime.workflow.replay import ReplayedRun

        return ReplayedRun(workflow, doc, meta, settings, outer)
    if outer is not None:
        return _made_inside(workflow, doc, meta, settings.inside(), outer)
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
        from sema_runtime.workflow.reading import RunNotFound, found_run

        with suppress(RunNotFound, ValueError):
            known = found_run(settings.root, run_id).metadata or {}
            if known.get("code_version") == settings.code_version and known.get("workflow") != workflow:
                return False
    settings.taken.add(run_id)
    return True


def _made_inside(workflow: str, doc: str, meta: Any, settings: Settings, outer: Run) -> Run:
    """A run inside of another one: where that goes on or is a fork, the earlier one goes on or is forked, too."""
    key = outer.keys.nested(outer.phase, workflow)
    before = outer.nested.get(key)
    claimed = None
    if before is not None:
        earlier = (
            replace(settings, run_id=before, resume=True) if outer.resuming else replace(settings, fork=Fork(before))
        )
        with suppress(SemaError):  # it isn't there any more
            settings, claimed = earlier, _claimed(earlier)
    if claimed is None:
        claimed = _claimed(settings)
    run = Run(workflow, doc, meta, settings, claimed, outer)
    nested.note(outer.directory, nested.Nested(key, outer.journal.number, run.run_id, workflow))
    return run


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
