"""`PROGRAM --mcp`: a program that was built `--with mcp` serves its tools to MCP clients over stdio."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

USAGE = "usage: {} --mcp [--include NAME,...] [--exclude NAME,...]"


def serve(path: str, digest: str, command: list[str]) -> int:
    """Serves the deftools of the program at path; the exit status. command: the program's own path and arguments."""
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

    def load() -> dict[str, Any]:
        return namespace(path, digest, command[0])

    return serve_program(load, name, include=choice["--include"], exclude=choice["--exclude"])


def namespace(path: str, digest: str, command: str) -> dict[str, Any]:
    """The global variables of the program, which has run as a module: not as `__main__`."""
    from semac.build.launch import code, source_of
    from semac.cli.running import find_sema_modules

    find_sema_modules()
    sys.argv[:] = [command]
    module = type(sys)(os.path.splitext(os.path.basename(source_of(path)))[0])
    module.__file__ = source_of(path)
    exec(code(path, digest), module.__dict__)
    return vars(module)
