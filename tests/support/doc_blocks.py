"""The fenced blocks of the documentation, and what surrounds them.

A comment above a block says what a test can't see:

<!-- not run: REASON -->        it is parsed, compiled or checked, and not run
<!-- file: NAME -->             it is a file in the folder of the page's blocks
<!-- before: CODE -->           code that runs before it

So is a block below a paragraph that says to save it as `NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from paths import DOCS, ROOT

GENERATED = "\n[All names](index.md)\n"  # a line of each page that scripts/build_manual.py writes
TOP = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", ROOT / "semac/docs/guide.md"]
FENCE = re.compile(r"^( *)(```+|~~~+)([^\n`]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (not run|file|before): ((?:(?!-->).)+?) -->\s*\Z", re.DOTALL)
SAVE = re.compile(r"[Ss]ave\b[^`]*\bas `([^`]+)`")
CODE = ("sema", "lisp", "python", "console", "sh", "bash", "json", "toml", "yaml", "ini")


@dataclass
class Block:
    """line: of its first line in the page. not_run, file, before: as the marks say, or "". printed: the text block that
    follows at once, which is what the program prints, or None."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str = ""
    file: str = ""
    before: str = ""
    printed: str | None = None

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@cache
def pages() -> list[Path]:
    """The pages with blocks that people wrote, in the order of their names."""
    written = sorted(path for path in DOCS.rglob("*.md") if GENERATED not in path.read_text())
    return [path for path in [*written, *TOP] if FENCE.search(path.read_text())]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in their order."""
    return list(_blocks(page, page.read_text()))


def _blocks(page: Path, text: str) -> Iterator[Block]:
    previous: Block | None = None
    end = 0
    for match in FENCE.finditer(text):
        indent, language = match[1], match[3].strip()
        body = re.sub(f"^{indent}", "", match[4], flags=re.MULTILINE) if indent else match[4]
        block = Block(page, text.count("\n", 0, match.start()) + 2, language, body)
        between = text[end : match.start()]
        if saved := SAVE.findall(between.rstrip().rpartition("\n\n")[2].replace("\n", " ")):
            block.file = saved[-1]
        if mark := MARK.search(between):
            setattr(block, mark[1].replace(" ", "_"), " ".join(mark[2].split()))
        if previous is not None and language == "text" and not between.strip() and previous.language in CODE:
            previous.printed = body
        previous, end = block, match.end()
        yield block
