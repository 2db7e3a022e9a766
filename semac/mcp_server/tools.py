"""The tools of the server that are not a program's own: evaluation, compilation, formatting, documentation."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio.to_thread

from sema_runtime import capabilities
from sema_runtime.mcp_server.program import Program
from sema_runtime.mcp_server.program_tools import OVERRIDE, evaluated, seconds_of, time_limit
from sema_runtime.mcp_server.server import Offered, Progress, Reply
from semac.mcp_server.children import Ended, run_sema

Arguments = dict[str, Any]
Work = Callable[[Arguments, Progress], Awaitable[Reply]]
LONG_PATH = "relative to the server's directory, or absolute"
LIMIT = {"type": "integer", "description": "Milliseconds that this call may take; 0: any time."}


def text_parameter(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def tool(
    name: str, title: str, description: str, properties: dict[str, Any], required: str, work: Work,
    reads_only: bool = False,
) -> Offered:  # fmt: skip
    """A tool whose arguments are checked. required: names, separated by blanks."""
    schema = {"type": "object", "properties": properties, "required": required.split()}
    return Offered(name, description, schema, partial(_checked, schema, work), reads_only, title)


async def _checked(schema: dict[str, Any], work: Work, arguments: Arguments, progress: Progress) -> Reply:
    for name in schema["required"]:
        if arguments.get(name) is None:
            return Reply(f"Missing required parameter: {name}", True)
    for name, part in schema["properties"].items():
        value = arguments.get(name)
        if value is not None and not _fits(part, value):
            expected = " or ".join(part["enum"]) if "enum" in part else part["type"]
            return Reply(f"Parameter {name} must be {expected}, got {json.dumps(value)[:80]}", True)
    return await work(arguments, progress)


def _fits(part: dict[str, Any], value: Any) -> bool:
    if "enum" in part:
        return value in part["enum"]
    if isinstance(value, bool):
        return bool(part["type"] == "boolean")
    kinds: dict[str, Any] = {"string": str, "integer": int, "array": list, "object": dict, "boolean": bool}
    fits = isinstance(value, kinds[part["type"]])
    return fits and all(isinstance(item, str) for item in value) if part["type"] == "array" else fits


def may_use(name: str, path: str, *groups: str) -> str:
    """The path, if the sandbox lets a tool use it. Raises PermissionDenied."""
    for group in groups:
        capabilities.require(name, group)
    capabilities.check_path(name, path)
    return path


class CompilerTools:
    """options: of `sema` before the command, which commands in processes of their own get too."""

    def __init__(self, program: Program, timeout_ms: int, options: list[str]) -> None:
        self.program = program
        self.timeout_ms = timeout_ms
        self.options = options

    def offered(self) -> list[Offered]:
        file = text_parameter(f"The Sema file, {LONG_PATH}.")
        out = text_parameter(f"The file to write, {LONG_PATH}.")
        return [
            tool(
                "run_file", "Run a Sema file",
                "Run a Sema file in the environment of the server: what it prints, then its last value. Its "
                "definitions stay for later calls of eval.",
                {
                    "file_path": file,
                    "arguments": {"type": "array", "items": {"type": "string"}, "description": "Behind the path."},
                    OVERRIDE: LIMIT,
                },
                "file_path", self.run_file,
            ),
            tool(
                "eval", "Evaluate Sema code",
                "Evaluate Sema forms in the environment of the server: what they print, then the last value. "
                "Definitions stay for later calls.",
                {"code": text_parameter("Forms, such as (+ 1 2)."), OVERRIDE: LIMIT},
                "code", self.eval,
            ),
            tool(
                "compile", "Compile to Python", "Compile a Sema file to a Python module, without running it.",
                {"source_path": file, "output_path": out}, "source_path", self.compile,
            ),
            tool(
                "build", "Build an executable", "Build one file of a program that runs on its own.",
                {"source_path": file, "output_path": out}, "source_path output_path", self.build,
            ),
            tool(
                "disasm", "Show the compiled Python", "The Python that a Sema file is compiled to.",
                {"file_path": file}, "file_path", self.disasm, reads_only=True,
            ),
            tool(
                "fmt", "Format Sema code", "Format a Sema file in place, or code that is given.",
                {"file_path": file, "code": text_parameter("Code, which is returned formatted.")}, "", self.fmt,
            ),
            tool(
                "docs", "Documentation of a name",
                "Signatures, description and examples of a builtin, a special form, or a definition of the program.",
                {"symbol": text_parameter("A name, such as string/split.")}, "symbol", self.docs, reads_only=True,
            ),
            tool(
                "docs_search", "Search the documentation",
                "Find builtins by words, such as 'parse json' or 'read lines of a file'. Don't guess names: search.",
                {
                    "query": text_parameter("What you look for, in plain words."),
                    "limit": {"type": "integer", "description": "Most results. [5, at most 25]"},
                },
                "query", self.docs_search, reads_only=True,
            ),
            tool(
                "info", "About this server", "Version, platform, sandbox and files of this server.",
                {}, "", self.info, reads_only=True,
            ),
        ]  # fmt: skip

    # Evaluation

    async def eval(self, arguments: Arguments, progress: Progress) -> Reply:
        limit = time_limit(arguments.get(OVERRIDE), self.timeout_ms)
        question = {"code": arguments["code"]}
        return evaluated(await self.program.ask("eval", question, seconds_of(limit), progress.output), limit)

    async def run_file(self, arguments: Arguments, progress: Progress) -> Reply:
        path = may_use("run_file", arguments["file_path"], "fs-read")
        if not os.path.isfile(path):
            return Reply(f"Failed to read {path}: {'it is a folder' if os.path.isdir(path) else 'no such file'}", True)
        limit = time_limit(arguments.get(OVERRIDE), self.timeout_ms)
        question = {"path": path, "arguments": arguments.get("arguments") or []}
        return evaluated(await self.program.ask("run_file", question, seconds_of(limit), progress.output), limit)

    # Commands

    async def _command(self, words: list[str], progress: Progress) -> Ended:
        return await run_sema([*self.options, *words], seconds_of(self.timeout_ms), progress.output)

    def _failed(self, what: str, ended: Ended) -> Reply:
        if ended.status is None:
            return Reply(f"{what}: it took longer than {self.timeout_ms / 1000:g} s", True)
        return Reply(f"{what}: {(ended.errors or ended.output).strip().removeprefix('Error: ')}", True)

    async def compile(self, arguments: Arguments, progress: Progress) -> Reply:
        from sema_runtime.compiled_modules import compiled_path

        source = may_use("compile", arguments["source_path"], "fs-read", "fs-write")
        target = may_use("compile", arguments.get("output_path") or compiled_path(source))
        ended = await self._command(["compile", source, "-o", target], progress)
        return self._failed("Compile error", ended) if ended.status else Reply(f"Compiled successfully to {target}")

    async def build(self, arguments: Arguments, progress: Progress) -> Reply:
        from semac.cli.main import COMMANDS

        source = may_use("build", arguments["source_path"], "fs-read", "fs-write")
        target = may_use("build", arguments["output_path"])
        if "build" not in COMMANDS:
            return Reply("sema build is not available in this version; compile writes a Python module", True)
        ended = await self._command(["build", source, "-o", target], progress)
        return (
            self._failed("Build failed", ended)
            if ended.status != 0
            else Reply(ended.output.strip() or f"Built {target}")
        )

    async def disasm(self, arguments: Arguments, progress: Progress) -> Reply:
        source = may_use("disasm", arguments["file_path"], "fs-read")
        ended = await self._command(["compile", source, "-o", "-"], progress)
        return self._failed("Compile error", ended) if ended.status != 0 else Reply(ended.output)

    # Formatting and documentation, which run no code of programs

    async def fmt(self, arguments: Arguments, _: Progress) -> Reply:
        return await anyio.to_thread.run_sync(_formatted, arguments)

    async def docs(self, arguments: Arguments, _: Progress) -> Reply:
        name = arguments["symbol"].strip()
        text = await anyio.to_thread.run_sync(_documentation, name)
        if text is None:
            outcome = await self.program.ask("describe", {"name": name}, seconds_of(self.timeout_ms))
            text = outcome.fields.get("text")
        if text is None:
            return Reply(await anyio.to_thread.run_sync(_undocumented, name), True)
        return Reply(text)

    async def docs_search(self, arguments: Arguments, _: Progress) -> Reply:
        return await anyio.to_thread.run_sync(_found, arguments["query"], arguments.get("limit") or 0)

    async def info(self, _: Arguments, __: Progress) -> Reply:
        import platform

        from semac import __version__

        denied = ", ".join(f"no {group}" for group in sorted(capabilities.denied))
        paths = "" if capabilities.allowed is None else f"; files below {', '.join(capabilities.allowed)} only"
        sandbox = (
            f"{denied}{paths}" if capabilities.restricted() else "unrestricted: tools may use files, network, shell"
        )
        tools = ", ".join(tool["name"] for tool in self.program.listing or []) or "none"
        return Reply(
            f"Sema MCP Server v{__version__}\nTarget Platform: {platform.system().lower()}/{platform.machine()}\n"
            f"Python: {sys.version.split()[0]}\nSandbox: {sandbox}\nDirectory: {os.getcwd()}\n"
            f"Files: {', '.join(self.program.settings['files']) or 'none'}\nTools of the program: {tools}"
        )


def _formatted(arguments: Arguments) -> Reply:
    from semac.format.files import formatted_bytes, formatted_file, write
    from semac.format.settings import SettingsError, find_settings

    path, code = arguments.get("file_path"), arguments.get("code")
    try:
        style = find_settings().style
    except SettingsError as error:
        return Reply(f"Format error: {error}", True)
    if path is None and code is None:
        return Reply("Must specify either file_path or code parameter.", True)
    if path is None:
        outcome = formatted_bytes(str(code).encode("utf-8", "surrogatepass"), "<code>", style)
        return Reply(f"Format error: {outcome.error}", True) if outcome.error else Reply(outcome.after)
    try:
        outcome = formatted_file(may_use("fmt", path, "fs-read", "fs-write"), style)
        if outcome.changed and not outcome.error:
            write(outcome)
    except OSError as error:
        return Reply(f"Failed to read {path}: {error.strerror or error}", True)
    if outcome.error:
        return Reply(f"Format error: {path}: {outcome.error}", True)
    return Reply(f"Formatted {path}." if outcome.changed else f"{path} was formatted already.")


def _documentation(name: str) -> str | None:
    from semac.docs.entries import lookup

    entry = lookup(name)
    return None if entry is None else entry.text()


def _undocumented(name: str) -> str:
    from sema_runtime.conditions.hints import foreign
    from semac.docs.lookup import related

    advice = foreign(name) or ", ".join(related(name))
    lines = [f"No documentation found for symbol: {name}", *([f"hint: {advice}"] if advice else [])]
    return "\n".join([*lines, "Try docs_search with a few plain words to find the right name."])


def _found(query: str, limit: int) -> Reply:
    from semac.docs.lookup import DEFAULT_ROWS, MOST_ROWS, ranked

    hits = ranked(query)[: min(max(limit, 0) or DEFAULT_ROWS, MOST_ROWS)]
    if not hits:
        return Reply(f"No documentation matched query: {query}")
    rows = [
        {
            "name": entry.name,
            "module": entry.module,
            "signature": " | ".join(entry.signatures) + (f" → {entry.returns}" if entry.returns else ""),
            "summary": entry.summary,
        }
        for entry in hits
    ]
    return Reply(json.dumps(rows, indent=1, ensure_ascii=False))
