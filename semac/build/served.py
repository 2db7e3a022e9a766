"""`PROGRAM --mcp`: a program that was built `--with mcp` serves its tools to MCP clients over stdio."""

from __future__ import annotations

import os
from importlib.util import find_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

USAGE = "usage: {} --mcp [--include NAME,...] [--exclude NAME,...]"


def serve(load: Callable[[], Mapping[str, Any]], command: list[str]) -> int:
    """Serves the deftools of a program; the exit status. load: runs it and returns its global variables. command: the
    program's own path and its arguments."""
    from sema_runtime.support.visible import tell

    name = os.path.basename(command[0])
    choice: dict[str, tuple[str, ...]] = {"--include": (), "--exclude": ()}
    words = [part for word in command[2:] for part in word.split("=", 1)]
    for option, names in zip(words[::2], words[1::2], strict=False):
        if option in choice:
            choice[option] = tuple(names.split(","))
    if len(words) % 2 or not choice.keys() >= set(words[::2]):
        tell(USAGE.format(name))
        return 2
    if find_spec("mcp") is None:
        tell("Error: --mcp: this program was built without the package mcp\n  hint: build it with --with mcp")
        return 1
    from sema_runtime.mcp_server import serve_program

    return serve_program(load, name, include=choice["--include"], exclude=choice["--exclude"])
