"""Options that the commands of the box share: limits, data, tools."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sema_runtime.box import Limits, Outcome, Pool

LIMIT_HELP = "A limit, such as wall_ms=500; may be given several times. 'sema box limits' lists them."


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    limits = click.option("--limit", "limits", multiple=True, metavar="NAME=VALUE", help=LIMIT_HELP)
    weak = click.option(
        "--allow-missing-layers", is_flag=True, help="Run also where the kernel lacks landlock or seccomp."
    )
    return limits(weak(command))


def granted_options(command: Callable[..., Any]) -> Callable[..., Any]:
    data = click.option(
        "--data", "data", multiple=True, metavar="NAME=@FILE", help="data/NAME: a JSON file, or JSON itself."
    )
    tools = click.option(
        "--tools", "tools", multiple=True, metavar="FILE", help="A Sema file; its tools become tool/NAME."
    )
    return data(tools(command))


def opened(limits: tuple[str, ...], allow_missing_layers: bool) -> Pool:
    """The pool for a command, which says so on stderr where a layer is missing. Raises SemaError."""
    import warnings

    from sema_runtime.box import Pool, UnprotectedWarning
    from sema_runtime.box.limits import parsed
    from sema_runtime.support.visible import tell

    checked: Limits = parsed(limits)
    with warnings.catch_warnings(record=True) as missing:
        warnings.simplefilter("always", UnprotectedWarning)
        pool = Pool(checked, needs=frozenset() if allow_missing_layers else None)
    for warning in missing:
        tell(f"Warning: {warning.message}")
    return pool


def tools_of(path: str) -> list[Any]:
    """The tools that a Sema file defines with `deftool`, alone or in lists, such as those of an MCP server. Raises
    SemaError."""
    from sema_runtime.llm.tools.tool import Tool
    from sema_runtime.values.errors import SemaError
    from sema_runtime.values.lists import List
    from semac.session import Session
    from semac.sources import decode, read

    try:
        text = decode(read(path), path)
    except OSError as problem:
        raise SemaError(f"--tools: {problem.strerror}: {path}") from None
    session = Session(path, closed=False)
    session.run(text)
    listed = [value if isinstance(value, List | tuple) else (value,) for value in session.globals.values()]
    found = {id(value): value for values in listed for value in values if isinstance(value, Tool)}
    if not found:
        advice = "write (deftool name ...) in it, or (define tools (mcp/tools->sema server))"
        raise SemaError(f"--tools: {path} defines no tool", advice)
    return list(found.values())


def named_data(text: str) -> tuple[str, Any]:
    """NAME=@FILE or NAME=JSON as a name and a value. Raises SemaError."""
    from sema_runtime.values.errors import SemaError

    name, equals, content = text.partition("=")
    if not name or not equals:
        raise SemaError(f"--data: expected NAME=@FILE or NAME=JSON, got {text!r}")
    try:
        return name, json.loads(Path(content[1:]).read_text(encoding="utf-8") if content[:1] == "@" else content)
    except OSError as problem:
        raise SemaError(f"--data {name}: {problem.strerror}: {content[1:]}") from None
    except ValueError as problem:
        raise SemaError(f"--data {name}: not JSON: {problem}") from None


def entry(outcome: Outcome) -> dict[str, Any]:
    """An outcome as one line of JSON has it."""
    return {
        "status": outcome.status,
        "value": outcome.text,
        "reason": outcome.reason,
        "message": outcome.message,
        "hint": outcome.hint,
        "line": outcome.line,
        "column": outcome.column,
        "prints": outcome.prints,
        "duration_ms": outcome.duration_ms,
    }


def show(outcome: Outcome, file: str = "") -> None:
    """Prints what a program printed and its value, or the error with its place."""
    from sema_runtime.support.visible import at_terminal, tell

    for text in outcome.prints:
        print(writable(at_terminal(text)))
    for warning in outcome.warnings:
        tell(f"Warning: {warning}")
    if outcome.status == "error":
        place = f"{file}:{outcome.line}:{outcome.column}: " if outcome.line and file else ""
        tell(f"Error: {place}{outcome.message} ({outcome.reason})")
        if outcome.excerpt:
            tell(outcome.excerpt)
        if outcome.hint:
            tell(f"  hint: {outcome.hint}")
    elif outcome.text is not None:
        print(writable(at_terminal(f"failed: {outcome.text}" if outcome.status == "fail" else outcome.text)))


def writable(text: str) -> str:
    """A text without what stdout can't write, such as half of a surrogate pair."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
