"""What can follow on a command line: commands, options, choices, documented names, files.

The commands themselves say it, and nothing is run: each is called with `--help` alone, behind a subcommand where one
was typed. Those made with click hand over their command instead of showing help (`common.standalone`), of the others
the options and subcommands stand in the help.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import NamedTuple

import click
from click.shell_completion import ShellComplete

from semac.cli import common

FILES = ("file", "dir")
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
HELP_WORD = re.compile(r"^\s+(?:sema \w+ )?([a-z][\w-]*)(?:  |$)")
WORD = re.compile(r"[a-z][a-z-]*")
SYNOPSIS = re.compile(r"^(?:Usage:|\s)\s*sema [\w-]+ ([a-z][\w-]*)")


class Candidate(NamedTuple):
    """kind: "plain", "file" or "dir"; of the last two, the shell itself knows the values."""

    value: str
    kind: str = "plain"
    help: str = ""


def candidates(commands: dict[str, tuple[str, str]], top: click.Command, words: list[str]) -> list[Candidate]:
    """What can stand in place of the last word. commands: the module and the help of each; top: `sema` without one."""
    *before, incomplete = words or [""]
    at = next((index for index, word in enumerate(before) if not word.startswith("-")), None)
    if at is None:
        named = [Candidate(name, help=text) for name, (_, text) in sorted(commands.items())]
        own = by_click(top, before, incomplete)
        return matching(incomplete, [*([] if incomplete.startswith("-") else named), *own])
    name, rest = before[at], before[at + 1 :]
    if name not in commands:
        return [Candidate("", "file")]
    return matching(incomplete, of_command(name, import_module(commands[name][0]).main, rest, incomplete))


def of_command(name: str, main: Callable[[list[str]], int], rest: list[str], incomplete: str) -> list[Candidate]:
    subcommand = [word for word in rest[:1] if WORD.fullmatch(word)]
    command, used, shown = asked_for_help(main, subcommand)
    if command is not None:
        return by_click(command, rest[used:], incomplete)
    if incomplete.startswith("-"):
        return [Candidate(option) for option in dict.fromkeys(OPTION.findall(shown))]
    found = [] if rest else by_help(shown)
    if name == "doc":
        from semac.docs.lookup import documented_names

        found += map(Candidate, sorted(documented_names()))
    return [*found, Candidate("", "file")]


def asked_for_help(main: Callable[[list[str]], int], words: list[str]) -> tuple[click.Command | None, int, str]:
    """(the click command that words and `--help` lead to, how many words led to it, the help of one without)."""
    found: list[tuple[click.Command, int]] = []
    asked = [*words, "--help"]
    common.instead_of_running = lambda command, args: found.append((command, len(asked) - len(args)))
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(io.StringIO()):
            main(asked)
    except (Exception, SystemExit):
        pass  # half a command line may be wrong in any way
    finally:
        common.instead_of_running = None
    return (*found[0], "") if found else (None, 0, shown.getvalue())


def by_click(command: click.Command, args: list[str], incomplete: str) -> list[Candidate]:
    offered = ShellComplete(command, {}, command.name or "", "").get_completions(args, incomplete)
    found = [Candidate(item.value or "", item.type, item.help or "") for item in offered]
    return found or ([] if incomplete.startswith("-") else [Candidate("", "file")])


def by_help(shown: str) -> list[Candidate]:
    """The subcommands that a help names."""
    matches = (HELP_WORD.match(line) or SYNOPSIS.match(line) for line in shown.splitlines())
    return [Candidate(word) for word in dict.fromkeys(match[1] for match in matches if match)]


def matching(incomplete: str, offered: Iterable[Candidate]) -> list[Candidate]:
    return [one for one in offered if one.kind in FILES or one.value.startswith(incomplete)]
