"""The fenced blocks of the documentation, and what surrounds them.

A comment above a block says what a test can't see:

<!-- not run: REASON -->        it is parsed, compiled or checked, and not run
<!-- file: NAME -->             it is a file in the folder of the page's blocks
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
MARK = re.compile(r"<!-- (not run|file): ((?:(?!-->).)+?) -->\s*\Z", re.DOTALL)
CODE = ("sema", "lisp", "python", "console", "sh", "bash", "json", "toml", "yaml", "ini")


@dataclass
class Block:
    """line: of its first line in the page. not_run: the reason, or "". file: what it is saved as, or "". printed: the
    text block that follows at once, which is what the program prints, or None."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str = ""
    file: str = ""
    printed: str | None = None

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
        if mark := MARK.search(between):
            reason = " ".join(mark[2].split())
            block.not_run, block.file = (reason, "") if mark[1] == "not run" else ("", reason)
        if previous is not None and language == "text" and not between.strip() and previous.language in CODE:
            previous.printed = body
        previous, end = block, match.end()
        yield block
