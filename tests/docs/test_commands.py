"""Commands that the documentation names exist: `sema` commands with their options, extras of `pip install`."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest
from doc_blocks import blocks, pages
from paths import DOCS, ROOT

from semac.cli.completions.candidates import asked_for_help
from semac.cli.completions.command import offered
from semac.cli.main import COMMANDS, top

PAGES = sorted({*pages(), *(path for path in DOCS.rglob("*.md") if "decisions" not in path.parts)})
SHELLS = ("sh", "bash", "console")
INLINE = re.compile(r"`(sema(?:\s[^`]*)?)`")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
SYNOPSIS = re.compile(r"[\[\]|()]|\.\.\.")
ASSIGNMENT = re.compile(r"[A-Z_]+=")
OPTION = re.compile(r"--?[a-zA-Z][\w-]*")
EXTRA = re.compile(r"(semac|sema-runtime)\[([\w,-]+)\]")
BELOW = re.compile(r"(?:--)?[a-z][a-z-]*")  # a subcommand, or an option with a help of its own


def named(page: Path) -> Iterator[str]:
    """The command lines on a page that begin with `sema`, in blocks and in the text."""
    for block in blocks(page):
        for line in block.lines:
            line = line.removeprefix("$ ").partition(" # ")[0]
            if block.language in SHELLS or (block.language == "text" and line.startswith("sema ")):
                yield from re.split(r"\s(?:\||&&|;|</?|>)\s", line)
    for command in INLINE.findall(FENCED.sub("", page.read_text())):
        yield " ".join(command.split())


def words_of(line: str) -> list[str]:
    """The words behind `sema`; none for another program."""
    try:
        words = shlex.split(SYNOPSIS.sub(" ", line))
    except ValueError:  # half a quotation: a program between backticks
        words = line.split()
    while words and ASSIGNMENT.match(words[0]):
        words = words[1:]
    return words[1:] if words and Path(words[0]).name == "sema" else []


@cache
def options(command: tuple[str, ...]) -> frozenset[str]:
    """The options of a command, and those that its help names."""
    name, *rest = command or ("",)
    if not name:
        return frozenset(option for parameter in top.params for option in parameter.opts)
    found, used, shown = asked_for_help(import_module(COMMANDS[name][0]).main, rest)
    for word in rest[used:]:
        found = found.commands.get(word, found) if isinstance(found, click.Group) else found
    if found is not None:
        shown = found.get_help(click.Context(found))
    return frozenset(OPTION.findall(shown))


@cache
def subcommands(command: str) -> frozenset[str]:
    """Those that completion offers; none for a command that takes anything, such as a name of the documentation."""
    found = offered()([command, ""])
    return frozenset(one.value for one in found if one.kind == "plain") if len(found) < 20 else frozenset()


def faults(words: list[str]) -> Iterator[str]:
    """What of a command line doesn't exist."""
    at = next((index for index, word in enumerate(words) if word in COMMANDS), len(words))
    command = tuple(words[at : at + 1])
    below = words[at + 1] if len(words) > at + 1 and BELOW.fullmatch(words[at + 1]) else ""
    if below and options((*command, below)):
        command += (below,)
    elif below.isalpha() and subcommands(command[0]) and below not in subcommands(command[0]):
        yield f"no command {command[0]} {below}"
    end = words.index("--") if "--" in words else len(words)
    for index, word in enumerate(words[:end]):
        name = word.partition("=")[0]
        known = options(command if index > at else ()) | {"--help", "-h", *command}
        if OPTION.fullmatch(name) and name not in known:
            yield f"no option {name}"


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_commands_exist(page: Path) -> None:
    assert [(line, fault) for line in named(page) for fault in faults(words_of(line))] == []


def test_extras_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for page in PAGES:
        for distribution, names in EXTRA.findall(page.read_text()):
            missing = [name for name in names.split(",") if name not in extras]
            assert missing == [], f"{page.relative_to(ROOT)}: {distribution}[{names}]"
