"""The service as tools of an MCP server, on the official package (extra `mcp`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import anyio
import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from sema_runtime.box.serve.answers import CAPS, Answer, Record, answer, cleaned, fitting
from sema_runtime.box.serve.box_server import BoxServer
from sema_runtime.box.serve.output_schema import check_schema, misfit
from sema_runtime.box.serve.service import Run, Service
from sema_runtime.values.errors import SemaError

Profile = Literal["slim", "structured", "debug"]
PURE = ToolAnnotations(read_only_hint=True)
INSTRUCTIONS = """Runs programs in Sema, a Lisp: write one program instead of a chain of calls. The value of the last
form is the answer; (return value) and (fail value) end a program early, (println ...) prints. Inputs are data/NAME,
tools are called as (tool/NAME {:key value}). (dir), (apropos "part") and (doc "name") tell what there is. There are no
files, no network, no clock and no randomness."""


def make_server(service: Service) -> MCPServer:
    """A server with the tools of the service, for any transport."""
    server: MCPServer = BoxServer("sema-box", instructions=INSTRUCTIONS)
    annotations = PURE if not service.tools else None

    @server.tool(annotations=annotations, structured_output=False)
    async def lisp_eval(
        program: str,
        context: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        profile: Profile = "slim",
    ) -> CallToolResult:
        """Run one program in a fresh state. context: values that it reads as data/NAME. output_schema: a JSON schema
        that its value must fit. profile: slim gives text, structured and debug give fields."""
        return await reply(lambda run: service.evaluate(program, context, run), profile, output_schema)

    @server.tool(structured_output=False)
    async def lisp_session_start(context: dict[str, Any] | None = None) -> CallToolResult:
        """Start a session, in which definitions live on from program to program. Gives its id."""
        return await facts(lambda: {"session": service.start(context)})

    @server.tool(annotations=annotations, structured_output=False)
    async def lisp_session_eval(session: str, program: str, profile: Profile = "slim") -> CallToolResult:
        """Run a program in a session. One that fails leaves nothing behind."""
        return await reply(lambda run: service.session_evaluate(session, program, run), profile)

    @server.tool(annotations=PURE, structured_output=False)
    async def lisp_session_inspect(session: str) -> CallToolResult:
        """The programs, inputs and tools of a session."""
        return await facts(lambda: fitting(service.inspect(session), CAPS["structured"]))

    @server.tool(annotations=PURE, structured_output=False)
    async def lisp_session_list() -> CallToolResult:
        """The sessions that are open."""
        return await facts(lambda: {"sessions": service.listed()})

    @server.tool(structured_output=False)
    async def lisp_session_forget(session: str, programs: int = 1) -> CallToolResult:
        """Take a session back to before its last programs."""
        return await facts(lambda: {"programs": service.forget(session, programs)})

    @server.tool(structured_output=False)
    async def lisp_session_close(session: str) -> CallToolResult:
        """End a session."""
        return await facts(lambda: {"closed": service.end(session)})

    @server.tool(annotations=PURE, structured_output=False)
    async def lisp_debug(action: Literal["stats", "recent", "get"], id: str | None = None) -> CallToolResult:
        """What has happened: stats, the recent programs, or all about one of them by its id."""
        if action == "stats":
            return await facts(service.stats)
        if action == "recent":
            return await facts(lambda: {"recent": service.recent()})
        return await facts(lambda: service.get(id or ""))

    return server


async def reply(
    evaluate: Callable[[Run], Record], profile: str, output_schema: dict[str, Any] | None = None
) -> CallToolResult:
    """Runs a program in a thread. A request that is taken back ends its process."""
    run = Run()
    try:
        if output_schema is not None:
            check_schema(output_schema)
        record = await anyio.to_thread.run_sync(evaluate, run, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        run.cancel()
        raise
    except SemaError as problem:
        return result(Answer(f"invalid_request: {problem.message}", None, True))
    return result(answer(fitted(record, output_schema), profile))


def fitted(record: Record, schema: dict[str, Any] | None) -> Record:
    """The record, or an error in its place where the value doesn't fit."""
    if schema is None or not record.outcome.ok:
        return record
    problem = misfit(schema, record.outcome.value)
    if problem is None:
        return record
    outcome = replace(record.outcome, status="error", reason="validation_error", value=None, text=None,
                      message=f"{problem} (output_schema)")  # fmt: skip
    return replace(record, outcome=outcome)


async def facts(ask: Callable[[], dict[str, Any]]) -> CallToolResult:
    try:
        fields = cleaned(await anyio.to_thread.run_sync(ask))
    except SemaError as problem:
        return result(Answer(problem.message + (f" ({problem.hint})" if problem.hint else ""), None, True))
    return result(Answer(json.dumps(fields, default=str), fields, False))


def result(given: Answer) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=given.text)],
        structured_content=given.fields,
        is_error=given.is_error,
    )
