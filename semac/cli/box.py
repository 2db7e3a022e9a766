"""`sema box`: programs that nobody trusts, in hardened processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semac.cli.box_agents.suite import suite
from semac.cli.box_agents.trace import trace

if TYPE_CHECKING:
    from sema_runtime.box import Limits, Outcome, Pool, Session

SETTINGS = {"help_option_names": ["-h", "--help"]}
LIMIT_HELP = "A limit, such as wall_ms=500; may be given several times. 'sema box limits' lists them."


def main(args: list[str]) -> int:
    """Runs `sema box ARGS` and returns the exit status."""
    from semac.cli.common import standalone

    return standalone(commands, args)


@click.group("sema box", context_settings=SETTINGS)
def commands() -> None:
    """Run programs that nobody trusts: no files, network, clock or Python, in processes that end at their limits."""


commands.add_command(suite)
commands.add_command(trace)


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    limits = click.option("--limit", "limits", multiple=True, metavar="NAME=VALUE", help=LIMIT_HELP)
    weak = click.option(
        "--allow-missing-layers", is_flag=True, help="Run also where the kernel lacks landlock or seccomp."
    )
    return limits(weak(command))


@commands.command("eval")
@click.option("--jsonl", is_flag=True, required=True, help='Answer lines {"id", "src", "data"?} from stdin.')
@limit_options
def evaluate(jsonl: bool, limits: tuple[str, ...], allow_missing_layers: bool) -> int:
    """Evaluate a stream of programs, each in a fresh process and state, answered in order.

    An answer has id, status (value, return, fail, error), value, reason, message, line, column, prints, duration_ms.
    """
    with opened(limits, allow_missing_layers) as pool:
        for line in sys.stdin.buffer:
            if line.strip():
                text = json.dumps(answer(pool, line))
                sys.stdout.write(text + "\n")
                sys.stdout.flush()
    return 0


def answer(pool: Pool, line: bytes) -> dict[str, Any]:
    """The answer to one line."""
    from sema_runtime.values.errors import SemaError

    try:
        question = json.loads(line)
        name, source, data = question["id"], question["src"], question.get("data") or {}
        if type(source) is not str or type(data) is not dict:
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return refusal(None, 'expected a line {"id": ..., "src": "...", "data": {...}}')
    try:
        outcome = pool.run(source, data)
    except SemaError as problem:  # of the data
        return refusal(name, problem.message)
    return {"id": name, **entry(outcome)}


def entry(outcome: Outcome) -> dict[str, Any]:
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


def refusal(name: Any, problem: str) -> dict[str, Any]:
    from sema_runtime.box import Outcome

    return {"id": name, **entry(Outcome("error", reason="invalid_request", message=problem))}


@commands.command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--data", "data", multiple=True, metavar="NAME=@FILE", help="data/NAME: a JSON file, or JSON itself.")
@click.option("--tools", "tools", multiple=True, metavar="FILE", help="A Sema file; its tools become tool/NAME.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole outcome as JSON.")
@limit_options
def run(
    file: str,
    data: tuple[str, ...],
    tools: tuple[str, ...],
    as_json: bool,
    limits: tuple[str, ...],
    allow_missing_layers: bool,
) -> int:
    """Run one program; print what it prints, then its value. Tools run in this process, with your rights."""
    from sema_runtime.support.visible import at_terminal, tell

    source = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    with opened(limits, allow_missing_layers) as pool:
        outcome = pool.run(source, dict(map(named_data, data)), [tool for file in tools for tool in tools_of(file)])
    if as_json:
        print(json.dumps({**entry(outcome), "tool_calls": outcome.tool_calls}))
        return 0 if outcome.ok else 1
    for text in outcome.prints:
        print(at_terminal(text))
    if outcome.status == "error":
        place = f"{file}:{outcome.line}:{outcome.column}: " if outcome.line else ""
        tell(f"Error: {place}{outcome.message} ({outcome.reason})")
        if outcome.hint:
            tell(f"  hint: {outcome.hint}")
        return 1
    if outcome.text is not None:
        print(at_terminal(f"failed: {outcome.text}" if outcome.status == "fail" else outcome.text))
    return 0 if outcome.ok else 1


@commands.command("repl")
@click.option("--data", "data", multiple=True, metavar="NAME=@FILE", help="data/NAME: a JSON file, or JSON itself.")
@click.option("--tools", "tools", multiple=True, metavar="FILE", help="A Sema file; its tools become tool/NAME.")
@click.option("--save", metavar="FILE", help="Keep the session in this file, after each program that succeeds.")
@click.option("--load", metavar="FILE", help="Go on with a session that was saved; its data come from the file.")
@limit_options
def repl(
    data: tuple[str, ...],
    tools: tuple[str, ...],
    save: str | None,
    load: str | None,
    limits: tuple[str, ...],
    allow_missing_layers: bool,
) -> int:
    """Read programs line by line; definitions of those that succeed live on."""
    from sema_runtime.box import Session

    if load and data:
        raise click.UsageError("--load brings the data of the session; leave --data out")
    granted = [tool for file in tools for tool in tools_of(file)]
    with opened(limits, allow_missing_layers) as pool:
        session = pool.restore(load, granted) if load else Session(pool, dict(map(named_data, data)), granted)
        with session:
            return converse(session, save)


def converse(session: Session, save: str | None) -> int:
    """Runs the programs that somebody types, until the end of the input."""
    from sema_runtime.support.visible import at_terminal, tell
    from sema_runtime.values.errors import SemaError

    while True:
        try:
            source = input("box> ")
        except (EOFError, KeyboardInterrupt):
            print()
            return 0
        if not source.strip():
            continue
        outcome = session.run(source)
        for text in (*outcome.prints, outcome.message or outcome.text or "", outcome.hint or ""):
            if text:
                print(at_terminal(text))
        try:
            if save and outcome.ok:
                session.save(save)
        except SemaError as problem:  # the session goes on: another program may find room
            tell(f"Error: {problem.message}")


@commands.command("limits")
def list_limits() -> int:
    """List the limits: their defaults, and the host's ceilings."""
    from sema_runtime.box.limits import CEILINGS, Limits

    for name, value in vars(Limits()).items():
        print(f"{name:16} {value:>12,}   at most {CEILINGS[name]:,}")
    return 0


def opened(limits: tuple[str, ...], allow_missing_layers: bool) -> Pool:
    """The pool for a command. Raises SemaError."""
    from sema_runtime.box import Pool
    from sema_runtime.box.limits import parsed
    from sema_runtime.box.pool import NEEDED

    checked: Limits = parsed(limits)
    return Pool(checked, needs=frozenset() if allow_missing_layers else NEEDED)


def tools_of(path: str) -> list[Any]:
    """The tools that a Sema file defines with `deftool`. Raises SemaError."""
    from sema_runtime.llm.tools.tool import Tool
    from sema_runtime.values.errors import SemaError
    from semac.session import Session
    from semac.sources import decode, read

    try:
        text = decode(read(path), path)
    except OSError as problem:
        raise SemaError(f"--tools: {problem.strerror}: {path}") from None
    session = Session(path, closed=False)
    session.run(text)
    found = {id(value): value for value in session.globals.values() if isinstance(value, Tool)}
    if not found:
        raise SemaError(f"--tools: {path} defines no tool", "write (deftool name ...) in it")
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
