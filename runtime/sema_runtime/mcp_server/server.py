"""The MCP server, on the official package (extra `mcp`): tools, resources and prompts for any transport."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple, Protocol

import anyio
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    Tool,
    ToolAnnotations,
)

from sema_runtime.mcp_server.exposed import Choice
from sema_runtime.mcp_server.program import LoadError
from sema_runtime.values.errors import SemaError

EVERY = 0.2  # seconds between two notifications of progress
MOST_COMPLETIONS = 100  # the protocol's limit


class Reply(NamedTuple):
    """What a tool gives."""

    text: str
    is_error: bool = False


class NotHere(Exception):
    """A resource or prompt that doesn't exist; the text says what does."""


class Progress:
    """Tells a client how far a call is. Free where the client didn't ask. done, total: steps; lines count as steps
    where there is no total."""

    def __init__(self, report: Callable[[float, float | None, str | None], Awaitable[None]] | None) -> None:
        self.report = report
        self.done = 0.0
        self.total: float | None = None
        self.message = ""
        self.held = ""
        self.changed = anyio.Event()

    def output(self, text: str) -> None:
        """Takes what a program prints: its last line is the message."""
        if self.report is None:
            return
        *lines, self.held = (self.held + text).split("\n")
        shown = [line for line in lines if line.strip()]
        if shown:
            self.step(self.done + len(shown), None, shown[-1].strip())

    def step(self, done: float, total: float | None, message: str) -> None:
        self.done, self.total, self.message = done, total, message
        self.changed.set()

    async def run(self) -> None:
        """Sends what has changed, until it is cancelled."""
        if self.report is None:
            return
        while True:
            await self.changed.wait()
            await self.tell()
            await anyio.sleep(EVERY)

    async def tell(self) -> None:
        assert self.report is not None
        self.changed = anyio.Event()
        await self.report(self.done, self.total, self.message)

    async def finish(self) -> None:
        """Sends what the pause between two notifications has held back."""
        if self.report is not None and self.changed.is_set():
            await self.tell()


Run = Callable[[dict[str, Any], Progress], Awaitable[Reply]]


class Offered(NamedTuple):
    """A tool of the server. schema: of its arguments. reads_only, title: hints for clients."""

    name: str
    description: str
    schema: dict[str, Any]
    run: Run
    reads_only: bool = False
    title: str | None = None


class Pages(Protocol):
    """Resources: what can be read, by URI."""

    def listed(self) -> list[Resource]: ...

    def templates(self) -> list[ResourceTemplate]: ...

    def read(self, uri: str) -> ReadResourceResult:
        """Raises NotHere."""

    def completions(self, argument: str, typed: str) -> Iterable[str]: ...


class Texts(Protocol):
    """Prompts."""

    def listed(self) -> list[Prompt]: ...

    def get(self, name: str, arguments: dict[str, str]) -> GetPromptResult:
        """Raises NotHere."""

    def completions(self, argument: str, typed: str) -> Iterable[str]: ...


class Service:
    """What a server offers. tools: the present ones, asked for each time."""

    def __init__(
        self,
        tools: Callable[[], Awaitable[list[Offered]]],
        choice: Choice,
        pages: Pages | None = None,
        texts: Texts | None = None,
    ) -> None:
        self.tools = tools
        self.choice = choice
        self.pages = pages
        self.texts = texts
        self.bus = InMemorySubscriptionBus()
        self.changed = False  # whether clients should ask for the tools again

    def note_change(self) -> None:
        self.changed = True

    async def offered(self) -> dict[str, Offered]:
        return {tool.name: tool for tool in await self.tools() if self.choice.allows(tool.name)}

    # Handlers of the protocol

    async def list_tools(self, _: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[described(tool) for tool in (await self.offered()).values()])

    async def call_tool(self, context: Any, params: CallToolRequestParams) -> CallToolResult:
        tool = (await self.offered()).get(params.name)
        if tool is None:
            return result(Reply(f"Tool '{params.name}' is not allowed or excluded.", True))
        asked = context.meta is not None and context.meta.get("progress_token") is not None
        progress = Progress(context.session.report_progress if asked else None)
        async with anyio.create_task_group() as group:
            group.start_soon(progress.run)
            try:
                reply = await tool.run(params.arguments or {}, progress)
            except (LoadError, OSError, SemaError) as error:
                reply = Reply(getattr(error, "message", None) or str(error), True)
            group.cancel_scope.cancel()
        await progress.finish()
        if self.changed:
            self.changed = False
            await context.session.send_tool_list_changed()
            await self.bus.publish(ToolsListChanged())
        return result(reply)

    async def list_resources(self, _: Any, __: PaginatedRequestParams | None) -> ListResourcesResult:
        assert self.pages is not None
        return ListResourcesResult(resources=self.pages.listed())

    async def list_templates(self, _: Any, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        assert self.pages is not None
        return ListResourceTemplatesResult(resource_templates=self.pages.templates())

    async def read_resource(self, _: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        assert self.pages is not None
        try:
            return await anyio.to_thread.run_sync(self.pages.read, str(params.uri))
        except NotHere as problem:
            raise MCPError(INVALID_PARAMS, str(problem)) from None

    async def list_prompts(self, _: Any, __: PaginatedRequestParams | None) -> ListPromptsResult:
        assert self.texts is not None
        return ListPromptsResult(prompts=self.texts.listed())

    async def get_prompt(self, _: Any, params: GetPromptRequestParams) -> GetPromptResult:
        assert self.texts is not None
        try:
            return self.texts.get(params.name, params.arguments or {})
        except NotHere as problem:
            raise MCPError(INVALID_PARAMS, str(problem)) from None

    async def complete(self, _: Any, params: CompleteRequestParams) -> CompleteResult:
        source: Pages | Texts | None = self.pages if params.ref.type == "ref/resource" else self.texts
        values = [] if source is None else list(source.completions(params.argument.name, params.argument.value))
        shown = values[:MOST_COMPLETIONS]
        return CompleteResult(completion=Completion(values=shown, total=len(values), has_more=len(values) > len(shown)))


def described(tool: Offered) -> Tool:
    hints = ToolAnnotations(title=tool.title, read_only_hint=True) if tool.reads_only else None
    return Tool(
        name=tool.name, title=tool.title, description=tool.description, input_schema=tool.schema, annotations=hints
    )


def result(reply: Reply) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=reply.text)], is_error=reply.is_error)


class SemaServer(Server[Any]):
    """A server that tells clients when its tools have changed."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *arguments: Any, **named: Any
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, *arguments, **named)


def make_server(service: Service, name: str, version: str, instructions: str) -> SemaServer:
    """The server of a service."""
    handlers: dict[str, Any] = {"on_list_tools": service.list_tools, "on_call_tool": service.call_tool}
    if service.pages is not None:
        handlers |= {
            "on_list_resources": service.list_resources,
            "on_list_resource_templates": service.list_templates,
            "on_read_resource": service.read_resource,
        }
    if service.texts is not None:
        handlers |= {"on_list_prompts": service.list_prompts, "on_get_prompt": service.get_prompt}
    if service.pages is not None or service.texts is not None:
        handlers["on_completion"] = service.complete
    listen = ListenHandler(service.bus)
    return SemaServer(name, version=version, instructions=instructions, on_subscriptions_listen=listen, **handlers)
