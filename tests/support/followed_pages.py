"""Pages of the documentation that are followed from first line to last, in an empty folder: no key, no network.

A block below "Save as `NAME`" is written to that file. In a `console` block a line `$ COMMAND` is run, and what stands
below it is what the command must print; lines behind `sema> ` and `  ... ` are typed into it. A line `...` stands for
any lines. Run ids, times and durations may differ, but an id that appears twice must be the same both times; steps that
run concurrently may finish in any order. `sh` blocks without a file name are not run: they install semac.

SEMA_UPDATE_GOLDEN=1 writes what the commands print now into the pages.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from doc_blocks import Block, blocks

PROMPT = re.compile(r"(?:sema> |  \.\.\. )(.*)$")
MARK = "-- the next input"
VARYING = {
    "id": r"\b(?:wf|apr|dec)_[0-9a-f_]+",
    "time": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d",
    "duration": r"\b\d+(?:\.\d+)? ?m?s\b",
    "milliseconds": r"(?<=_ms\": )\d+(?:\.\d+)?",
    "digest": r"[A-Za-z0-9+/]{43}=",
    "gap": r" {2,}",
}
VARIES = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in VARYING.items()))


@dataclass
class Command:
    """A command of a console block; what it prints stands between the lines `line` and `end` of the page."""

    block: Block
    text: str
    line: int
    end: int
    typed: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.block.page.name}:{self.line}: $ {self.text}"


def commands(block: Block) -> list[Command]:
    result: list[Command] = []
    for number, line in enumerate(block.lines, block.line - 1):
        typed = PROMPT.match(line)
        if line.startswith("$ "):
            result.append(Command(block, line[2:], number + 1, number + 1))
        elif typed:
            if line.startswith("sema> ") and result[-1].typed:
                result[-1].typed.append(f'(println "{MARK}")')
                result[-1].expected.append(MARK)
            result[-1].typed.append(typed[1])
        else:
            result[-1].expected.append(line)
        result[-1].end = number + 1
    return result


def environment(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """What commands find: our programs, a home of their own, and what the test gives them."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
        "HOME": str(folder / "home"),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
        **given,
    }


def printed_by(command: Command, folder: Path, ids: dict[str, str], given: Mapping[str, str] = {}) -> list[str]:
    """What a command prints to both outputs, run in folder/work, with the ids of this run in place of the page's."""
    text = re.sub(VARYING["id"], lambda match: ids.get(match[0], match[0]), command.text)
    done = subprocess.run(
        text,
        shell=True,
        cwd=folder / "work",
        env=environment(folder, given),
        input="".join(f"{line}\n" for line in command.typed),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    killed = ["Killed"] if done.returncode == -9 else []
    return tidy([*done.stdout.splitlines(), *killed])


def tidy(lines: list[str]) -> list[str]:
    """Lines without spaces at their ends, and finished steps that follow each other in the order of their names."""
    result: list[str] = []
    for is_step, group in itertools.groupby(lines, lambda line: line.startswith("  ok  ")):
        block = [line.rstrip() for line in group]
        result += sorted(block) if is_step else block
    return result


def pattern_of(lines: list[str], ids: dict[str, str]) -> str:
    """What an output must match; an id that isn't known yet is a group of that name."""
    new: set[str] = set()

    def varying(match: re.Match[str]) -> str:
        kind, text = match.lastgroup or "", match[0]
        if kind != "id":
            return f"(?:{VARYING[kind]})"
        if text in ids:
            return re.escape(ids[text])
        if text in new:
            return f"(?P={text})"
        new.add(text)
        return f"(?P<{text}>{VARYING['id']})"

    def of_line(line: str) -> str:
        if line == "...":
            return r"(?:.*\n)*?"
        parts, end = [], 0
        for match in VARIES.finditer(line):
            parts += [re.escape(line[end : match.start()]), varying(match)]
            end = match.end()
        return "".join(parts) + re.escape(line[end:]) + "\n"

    return "".join(map(of_line, lines))


def write(command: Command, printed: list[str], moved: int) -> int:
    """Puts an output into the page; returns how many lines the page has grown since the test began."""
    page = command.block.page
    lines = page.read_text().splitlines()
    lines[command.line + moved : command.end + moved] = printed
    page.write_text("".join(f"{line}\n" for line in lines))
    return moved + len(printed) - len(command.expected)


def follow(pages: Iterable[Path], folder: Path) -> None:
    """Does what the pages say, one after the other, in folder/work. Fails where something else is printed."""
    work = folder / "work"
    work.mkdir()
    (folder / "home").mkdir()
    ids: dict[str, str] = {}
    for page in pages:
        moved = 0
        for block in blocks(page):
            if block.file:
                path = work / block.file
                path.parent.mkdir(exist_ok=True)
                path.write_text(block.text)
            for command in commands(block) if block.language == "console" else ():
                printed = printed_by(command, folder, ids)
                text = "".join(f"{line}\n" for line in printed)
                match = re.fullmatch(pattern_of(tidy(command.expected), ids), text)
                if match:
                    ids |= match.groupdict()
                elif os.environ.get("SEMA_UPDATE_GOLDEN") and not command.typed:
                    moved = write(command, printed, moved)
                else:
                    pytest.fail(f"{command}\n--- the page\n" + "\n".join(command.expected) + f"\n--- printed\n{text}")


def forgotten(page: Path) -> list[str]:
    """Blocks of a page that are neither a file nor commands nor the installation."""
    return [
        f"{page.name}:{block.line}"
        for block in blocks(page)
        if not block.file and block.language not in ("console", "sh")
    ]
