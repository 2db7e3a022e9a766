"""Workflows: runs that are written down as they go, so that what was finished is never done again.

From Python: `start(function, ...)` runs a Sema function that holds a workflow as a task of the running asyncio loop.

    handle = workflow.start(flows.review, "src", root="runs")
    async for event in handle.events():
        print(event.name)
    envelope = await handle

Finished runs are read with `sema_runtime.workflow.reading`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.workflow.handle import Handle


def start(
    function: Callable[..., Any],
    /,
    *arguments: Any,
    root: str | None = None,
    run_id: str | None = None,
    resume: bool = False,
    args_json: str = "",
    code_version: str = "",
    max_tokens: int | None = None,
    max_usd: float | None = None,
) -> Handle:
    """Starts function(*arguments), a Sema function in which a workflow is run; await the handle for its value.

    root: the folder of the runs, SEMA_WORKFLOW_RUN_DIR or .sema/runs when None. run_id: of a new run, or with resume of
    the one to go on with. args_json, code_version: what kept results depend on besides their prompts; change the
    version when the program's results shall not be taken from a run of the old one. max_tokens, max_usd: instead of the
    limits in the meta map. Call it where an asyncio loop runs.
    """
    from dataclasses import replace

    from sema_runtime.workflow.handle import Handle
    from sema_runtime.workflow.scope import Settings

    settings = Settings.from_environment()
    return Handle(
        function,
        arguments,
        replace(
            settings,
            root=settings.root if root is None else root,
            run_id=run_id,
            resume=resume,
            args_json=args_json,
            code_version=code_version,
            max_tokens=max_tokens,
            max_usd=max_usd,
        ),
    )
