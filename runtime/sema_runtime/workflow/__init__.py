"""Workflows: runs that record each step as it finishes, so that a resumed run repeats nothing.

From Python: `start(function, ...)` runs a Sema function that holds a workflow as a task of the running asyncio loop.

    handle = workflow.start(flows.review, "src", root="runs")
    async for event in handle.events():
        print(event.name)
    envelope = await handle

Finished runs are read with `sema_runtime.workflow.read.recorded_run`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.workflow.replay.recording import Replayed
    from sema_runtime.workflow.run.handle import Handle

__all__ = ["latest", "replayed", "start"]


def start(
    function: Callable[..., Any],
    /,
    *arguments: Any,
    root: str | os.PathLike[str] | None = None,
    run_id: str | None = None,
    resume: bool = False,
    fork: str | None = None,
    at: str | None = None,
    args_json: str = "",
    code_version: str = "",
    max_tokens: int | None = None,
    max_usd: float | None = None,
) -> Handle:
    """Starts function(*arguments), a Sema function in which a workflow is run; await the handle for its value.

    root: the folder of the runs, SEMA_WORKFLOW_RUN_DIR or .sema/runs when None. run_id: of a new run, or with resume of
    the one to resume. fork: a run whose results the new one starts with; at: only with those that it had by that event,
    "SEQ" or "N:SEQ" for its Nth resumption. A fork takes the code_version of its run unless one is given. args_json,
    code_version: what kept results depend on besides their prompts; another version takes no results of older runs.
    max_tokens, max_usd: instead of the limits in the meta map. Call it where an asyncio loop runs. Raises RunNotFound
    and ValueError for what can't be forked.
    """
    from dataclasses import replace

    from sema_runtime.workflow.run.handle import Handle
    from sema_runtime.workflow.run.scope import Settings

    settings = Settings.from_environment()
    folder = settings.root if root is None else os.fspath(root)
    begins_with = None
    if fork is not None:
        from sema_runtime.workflow.journal.origin import Fork
        from sema_runtime.workflow.replay.fork import code_version_of, finished_at

        code_version = code_version or code_version_of(folder, fork)
        begins_with = Fork(fork, at, None if at is None else finished_at(folder, fork, at))
    return Handle(
        function,
        arguments,
        replace(
            settings,
            root=folder,
            run_id=run_id,
            resume=resume,
            fork=begins_with,
            args_json=args_json,
            code_version=code_version,
            max_tokens=max_tokens,
            max_usd=max_usd,
        ),
    )


def latest(root: str | os.PathLike[str] | None = None) -> str | None:
    """The id of the run that was written last, as `latest` on the command line; for a run inside of another one, the id
    of the outermost. None when there is no run. root: as for `start`."""
    from sema_runtime.workflow.read.recorded_run import latest_run
    from sema_runtime.workflow.run.scope import Settings

    return latest_run(Settings.from_environment().root if root is None else os.fspath(root))


async def replayed(
    function: Callable[..., Any], /, *arguments: Any, run_id: str, root: str | os.PathLike[str] | None = None
) -> Replayed:
    """Runs function(*arguments) against the recording of a run. `difference` is the first place where they
    differ, in words, "" when there is none. Steps return their recorded values, no model is asked, nothing is written.
    Raises RunNotFound, ValueError.
    """
    from contextlib import suppress
    from dataclasses import replace

    from sema_runtime.workflow.replay.recording import Recording
    from sema_runtime.workflow.replay.replay import replaying
    from sema_runtime.workflow.run import scope
    from sema_runtime.workflow.run.handle import Handle

    settings = scope.Settings.from_environment()
    recording = Recording(settings.root if root is None else os.fspath(root), run_id)

    def body() -> None:
        with suppress(scope.Stop):  # it ends where the replay does
            function(*arguments)

    await Handle(body, (), replaying(replace(settings, args_json=recording.args_json), recording))
    return recording.outcome()
