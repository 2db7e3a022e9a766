"""What is served, and the processes for it. Loads quickly: the package `mcp` takes longer than a program to start."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from sema_runtime.llm.tools.tool import Tool
from sema_runtime.mcp_server.exposed import Choice
from sema_runtime.mcp_server.program import Program, to_stderr

WORKER = (sys.executable, "-P", "-m", "semac.mcp_server.worker")


class Setup(NamedTuple):
    """programs: files that are loaded. workflows: files that are run, and their workflow. sandbox: its options by name,
    such as --sandbox, which other processes get too."""

    programs: list[str]
    workflows: list[tuple[str, Tool]]
    choice: Choice
    timeout_ms: int
    sandbox: dict[str, str]

    @property
    def words(self) -> list[str]:
        """The options of the sandbox as words of a command line."""
        return [word for pair in self.sandbox.items() for word in pair]


def new_program(setup: Setup, files: Sequence[str], notebook: str | None = None) -> Program:
    """A process with an environment, not started yet."""
    options = {name.removeprefix("--").replace("-", "_"): value for name, value in setup.sandbox.items()}
    settings: dict[str, Any] = {"files": list(files), "notebook": notebook, "options": options}
    return Program(list(WORKER), settings, to_stderr)
