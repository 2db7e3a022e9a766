"""Prompts for coding agents: writing, reviewing, debugging Sema, porting Python to it, writing tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from mcp.types import (
    EmbeddedResource,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    TextResourceContents,
)

from sema_runtime import capabilities
from sema_runtime.mcp_server.server import NotHere
from semac.docs.lookup import guide
from semac.mcp_server.pages import GUIDE, MARKDOWN

MOST_SOURCE = 400_000  # characters
MOST_FILES = 200
FOLDER = Path(__file__).parent / "prompts"
SHARED = ("loop", "style")  # paragraphs of several prompts


class Argument(NamedTuple):
    name: str
    description: str
    required: bool = False


FILE = Argument("file", "The file, relative to the server's directory.")
CODE = Argument("code", "The code itself, instead of a file.")
ARGUMENTS: dict[str, tuple[str, tuple[Argument, ...]]] = {
    "write-sema": (
        "Write a Sema program for a task",
        (Argument("task", "What the program does.", True), Argument("file", "Where it goes.")),
    ),
    "review-sema": ("Review Sema code", (FILE, CODE)),
    "port-python": ("Port Python code to Sema", (FILE, CODE)),
    "debug-sema": ("Find and mend a failure", (FILE, CODE, Argument("problem", "What happens, or the error message."))),
    "write-tool": (
        "Write a tool for models",
        (Argument("task", "What the tool does.", True), Argument("file", "Where it goes.")),
    ),
}


class SemaPrompts:
    def listed(self) -> list[Prompt]:
        return [
            Prompt(
                name=name,
                title=title,
                description=f"{title}, with the tools of this server.",
                arguments=[
                    PromptArgument(name=one.name, description=one.description, required=one.required)
                    for one in arguments
                ],
            )
            for name, (title, arguments) in ARGUMENTS.items()
        ]

    def get(self, name: str, arguments: dict[str, str]) -> GetPromptResult:
        """Raises NotHere."""
        if name not in ARGUMENTS:
            raise NotHere(f"there is no prompt {name}; there are {', '.join(ARGUMENTS)}")
        title, known = ARGUMENTS[name]
        for one in known:
            if one.required and not arguments.get(one.name, "").strip():
                raise NotHere(f"prompt {name}: the argument {one.name} is missing: {one.description}")
        source = _source(name, arguments) if CODE in known else ""
        fields = {
            **{part: _text(part) for part in SHARED},
            "task": arguments.get("task", ""),
            "file": arguments.get("file") or "a file with a fitting name",
            "problem": arguments.get("problem") or "it doesn't do what it should",
            "source": source,
        }
        language = TextResourceContents(uri=GUIDE, mime_type=MARKDOWN, text=guide())
        messages = [
            PromptMessage(role="user", content=EmbeddedResource(type="resource", resource=language)),
            PromptMessage(role="user", content=TextContent(type="text", text=filled(_text(name), fields))),
        ]
        return GetPromptResult(description=title, messages=messages)

    def completions(self, argument: str, typed: str) -> Iterable[str]:
        if argument != "file" or "fs-read" in capabilities.denied:
            return []
        return [name for name in _files() if name.startswith(typed)]


def _text(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


def filled(text: str, fields: dict[str, str]) -> str:
    """The text with `{name}` replaced by the fields, once; other braces stay."""
    return re.sub(r"\{([a-z]+)\}", lambda match: fields.get(match[1], match[0]), text)


def _source(name: str, arguments: dict[str, str]) -> str:
    """The code that a prompt is about, in a fence. Raises NotHere."""
    path, code = arguments.get("file"), arguments.get("code")
    language = "python" if name == "port-python" else "sema"
    if code is None:
        if not path:
            raise NotHere(f"prompt {name}: give a file or code")
        capabilities.require(f"prompt {name}", "fs-read")
        capabilities.check_path(f"prompt {name}", path)
        try:
            code = Path(path).read_text(encoding="utf-8", errors="replace")[:MOST_SOURCE]
        except OSError as error:
            raise NotHere(f"prompt {name}: can't read {path}: {error.strerror}") from None
    from semac.jupyter.sema_nb import fenced

    return (f"{path}:\n\n" if path else "") + fenced(code, language)


def _files() -> Iterator[str]:
    from semac.cli.common import files_below

    for number, path in enumerate(files_below(".", (".sema", ".py"))):
        if number >= MOST_FILES:
            return
        yield path.removeprefix("./")
