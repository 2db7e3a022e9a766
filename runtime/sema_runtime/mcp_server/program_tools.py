"""The tools of a program as a server offers them, and the outcomes of calls as clients read them."""

from __future__ import annotations

from functools import partial
from typing import Any

from sema_runtime.mcp_server.program import Outcome, Program
from sema_runtime.mcp_server.server import Offered, Progress, Reply

TIMEOUT_MS = 300_000
OVERRIDE = "timeout_ms"
DIED = "the process of the program ended ({}); what was defined in it is gone, its files will be loaded again"


def offered(program: Program, timeout_ms: int) -> list[Offered]:
    """The exposed tools of a program that was started."""
    return [
        Offered(tool["name"], tool["description"], tool["inputSchema"], partial(_call, program, tool, timeout_ms))
        for tool in program.listing or []
    ]


async def _call(
    program: Program, tool: dict[str, Any], timeout_ms: int, arguments: dict[str, Any], progress: Progress
) -> Reply:
    milliseconds = timeout_ms
    if OVERRIDE not in tool["inputSchema"].get("properties", {}):
        arguments = dict(arguments)
        milliseconds = time_limit(arguments.pop(OVERRIDE, None), timeout_ms)
    question = {"tool": tool["name"], "arguments": arguments}
    outcome = await program.ask("call", question, seconds_of(milliseconds), progress.output)
    if outcome.status == "ok":
        return Reply(outcome.output + outcome.fields["text"], outcome.fields["refused"])
    return failure(outcome, milliseconds)


def time_limit(given: Any, otherwise: int) -> int:
    """The milliseconds that a client allows, 0 for no limit; the general limit where it gives none."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool) and given >= 0
    return int(given) if is_number else otherwise


def seconds_of(milliseconds: int) -> float | None:
    return milliseconds / 1000 or None


def evaluated(outcome: Outcome, milliseconds: int) -> Reply:
    """What was printed, then the value or the error."""
    if outcome.status == "exit" and not outcome.fields["status"]:
        return Reply(outcome.output)
    if outcome.status != "ok":
        return failure(outcome, milliseconds)
    value = outcome.fields.get("value")
    return Reply(outcome.output if value is None else f"{outcome.output}\nResult: {value}")


def failure(outcome: Outcome, milliseconds: int) -> Reply:
    return Reply(f"{outcome.output}\nError: {reason(outcome, milliseconds)}", True)


def reason(outcome: Outcome, milliseconds: int) -> str:
    """Why a call gave nothing."""
    if outcome.status == "error":
        return outcome.text
    if outcome.status == "exit":
        return f"the program called (exit {outcome.fields['status']})"
    if outcome.status == "died":
        return DIED.format(outcome.text)
    if outcome.status == "timeout":
        lost = "; its process had to be ended, and what was defined in it is gone" if outcome.fields.get("died") else ""
        limit = f"evaluation exceeded time budget of {milliseconds / 1000:g} s (looks like an infinite loop?)"
        return f"{limit}{lost}\n  hint: {OVERRIDE} allows a call more time, sema mcp --timeout-ms N all calls"
    return "cancelled"
