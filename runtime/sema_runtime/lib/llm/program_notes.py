"""Programs of an agent in the journal of a workflow: each is a tool call of the step that runs the agent, and so is
each tool that it calls. The viewer of workflows shows them."""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PROGRAM = "run_program"


def journal_notes() -> Callable[[dict[str, Any]], None] | None:
    """What notes the events of a run (box/agent/trace.py) in the journal of the present step; None outside of one."""
    if "sema_runtime.workflow.run.scope" not in sys.modules:  # no workflow runs in this process
        return None
    from sema_runtime.workflow.run import scope

    run = scope.current()
    if run is None or not scope.agent_id():
        return None

    def note(event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "program.started":
            run.tool_call(PROGRAM, json.dumps({"program": event["program"]}))
        elif kind == "program.ended":
            run.tool_result(PROGRAM)  # a program that failed was answered, too
        elif kind == "tool.called":
            from sema_runtime.box.codec import for_python

            run.tool_call(event["tool"], json.dumps(for_python(event["args"]), default=str))
            if "error" not in event:
                run.tool_result(event["tool"])

    return note
