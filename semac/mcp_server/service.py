"""The whole server: a program and its tools, those of the compiler, workflows, notebooks, resources, prompts."""

from __future__ import annotations

from functools import partial

from sema_runtime.mcp_server.program import Program
from sema_runtime.mcp_server.program_tools import offered, seconds_of
from sema_runtime.mcp_server.server import Offered, Service, make_server
from sema_runtime.mcp_server.transports import Address, App, guarded_app, health
from semac import __version__
from semac.mcp_server.notebooks import NotebookTools
from semac.mcp_server.pages import SemaPages
from semac.mcp_server.prompts import SemaPrompts
from semac.mcp_server.setup import Setup, new_program
from semac.mcp_server.tools import CompilerTools
from semac.mcp_server.workflows import WorkflowTools

HEALTH = "/health"
INSTRUCTIONS = """\
Sema is a Lisp whose primitives include calls to language models, tools, agents and workflows. Read the resource
sema://guide before you write it. eval and run_file share one environment, in which definitions stay; docs_search finds
functions by words; further tools are those of the user's programs."""


class SemaService:
    def __init__(self, setup: Setup, program: Program) -> None:
        self.setup = setup
        self.program = program
        self.notebooks = NotebookTools(lambda path: new_program(setup, [], path), setup.timeout_ms)
        compiler = CompilerTools(program, setup.timeout_ms, setup.words)
        workflows = WorkflowTools(setup.workflows, setup.timeout_ms, setup.words)
        self.fixed = [*compiler.offered(), *self.notebooks.offered(), *workflows.offered()]
        self.service = Service(self.tools, setup.choice, SemaPages(), SemaPrompts())
        self.server = make_server(self.service, "sema-mcp", __version__, INSTRUCTIONS)
        program.on_listing = self.service.note_change

    async def start(self) -> None:
        """Waits until the program is loaded. Raises LoadError."""
        await self.program.start(seconds_of(self.setup.timeout_ms))
        self.service.changed = False

    async def tools(self) -> list[Offered]:
        """All tools; one of the program hides another one of the same name."""
        return [*self.fixed, *offered(self.program, self.setup.timeout_ms)]

    def application(self, address: Address) -> App:
        """The application over HTTP; /health says that the server runs."""
        from starlette.routing import Route

        routes = [Route(HEALTH, health, methods=["GET"])]
        make_app = partial(self.server.streamable_http_app, custom_starlette_routes=routes)
        return guarded_app(make_app, address, frozenset((HEALTH,)))

    async def close(self) -> None:
        await self.notebooks.close()
