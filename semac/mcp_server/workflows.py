"""Workflows as tools: a file with a top-level `(defworkflow ...)` is not loaded; calling its tool runs the workflow.

The arguments of the tool are `*workflow-args*`. A literal map under `:args` of the workflow's meta map describes them,
as the parameters map of `deftool` does. The run is that of `sema workflow run`: in a process of its own, with a
directory, resumable. Its progress lines are the messages of progress notifications.
"""

from __future__ import annotations

import json
import os
import time
from functools import partial
from itertools import count
from typing import Any

from sema_runtime.llm.jsonable import to_json
from sema_runtime.llm.tools.tool import Tool
from sema_runtime.mcp_server.arguments import checked_arguments
from sema_runtime.mcp_server.exposed import input_schema, wire_name
from sema_runtime.mcp_server.program_tools import OVERRIDE, seconds_of, time_limit
from sema_runtime.mcp_server.server import Offered, Progress, Reply
from semac.mcp_server.children import Ended, run_sema
from semac.mcp_server.tools import Arguments, may_use
from semac.mcp_server.workflow_files import describes_arguments

RESUME = "resume_run"
GRACE = 10.0  # seconds in which a run that is stopped writes down what it has
ANY: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
numbers = count(1)


class WorkflowTools:
    """files: path and workflow. options: of `sema` before the command."""

    def __init__(self, files: list[tuple[str, Tool]], timeout_ms: int, options: list[str]) -> None:
        self.files = files
        self.timeout_ms = timeout_ms
        self.options = options

    def offered(self) -> list[Offered]:
        return [
            Offered(wire_name(tool.name), description(tool), schema(tool), partial(self.run, path, tool))
            for path, tool in self.files
        ]

    async def run(self, path: str, tool: Tool, arguments: Arguments, progress: Progress) -> Reply:
        given = dict(arguments)
        earlier, limit = given.pop(RESUME, None), time_limit(given.pop(OVERRIDE, None), self.timeout_ms)
        if describes_arguments(tool.parameters):
            given = {key.name: to_json(value) for key, value in checked_arguments(tool, given).items()}
        run_id = earlier if isinstance(earlier, str) else new_run_id()
        words = [*self.options, "workflow", "run", may_use(tool.name, path, "fs-read"), "--no-auth-prompt"]
        words += ["--approval-mode", "pause"]
        words += ["--resume", run_id] if earlier else []
        words += ["--args", json.dumps(given)] if given or not earlier else []
        environment = {} if earlier else {"SEMA_WORKFLOW_RUN_ID": run_id}
        ended = await run_sema(words, seconds_of(limit), progress.output, environment, GRACE)
        return outcome(run_id, ended, limit)


def new_run_id() -> str:
    return f"wf_{int(time.time())}_{os.getpid()}_{next(numbers)}"


def outcome(run_id: str, ended: Ended, limit: int) -> Reply:
    """What the program printed, the result of the run, and how to go on where it has not ended well."""
    from sema_runtime.workflow.run.scope import Settings

    folder = os.path.join(Settings.from_environment().root, run_id)
    try:
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
            value = f"\nResult: {json.dumps(json.load(file), ensure_ascii=False)}"
    except (OSError, ValueError):
        value = ""
    if ended.status == 0:
        return Reply(f"{ended.output}{value}\nRun: {run_id}")
    why = f"it took longer than {limit / 1000:g} s" if ended.status is None else ended.errors.strip()
    again = f"\n  hint: what was finished is kept: call again with {RESUME} = {run_id}" if os.path.isdir(folder) else ""
    return Reply(f"{ended.output}{value}\nError: {why.removeprefix('Error: ')}{again}", True)


def description(tool: Tool) -> str:
    return f"{tool.description}\n\nA workflow: it records each step, and a run that was stopped can be resumed.".strip()


def schema(tool: Tool) -> dict[str, Any]:
    """The schema of the arguments of the workflow, and the run to resume."""
    made = input_schema(tool) if describes_arguments(tool.parameters) else dict(ANY)
    resume = {"type": "string", "description": "The id of a run that was stopped, to go on with it."}
    return {**made, "properties": {**made["properties"], RESUME: resume}}
