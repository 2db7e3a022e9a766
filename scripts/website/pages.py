"""The pages of the site: Markdown of the repository with links that lead to pages, generated pages, the navigation."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import api
from places import DOCS, ROOT, Problem

GUIDE = ROOT / "semac" / "docs" / "guide.md"
EXAMPLES = ROOT / "examples"
NAMES = "[All names](index.md)"  # a line of each page of builtins
TOP = {
    ROOT / "README.md": "index.md",
    DOCS / "README.md": "contents.md",
    ROOT / "CONTRIBUTING.md": "contributing.md",
    ROOT / "CHANGELOG.md": "changelog.md",
    GUIDE: "guide.md",
    EXAMPLES / "README.md": "examples/index.md",
    EXAMPLES / "tapes" / "README.md": "examples/tapes.md",
}
FOLDERS = {EXAMPLES: EXAMPLES / "README.md", DOCS / "decisions": DOCS / "decisions.md"}
FENCED = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`[^`\n]*`)")
LINK = re.compile(r"(?<=\]\()([^()\s]+)(?=\))")
HEADING = re.compile(r"^(#{1,6}) (.+?)$", re.MULTILINE)
ITEM = re.compile(r"^- \[([^\]]+(?:\][^(][^\]]*)?)\]\(([^)]+)\)")
LISTS = re.compile(r"^(?!- |\d+\. |  |\||#)(.+)\n(?=- )", re.MULTILINE)


class Site:
    """The pages by their paths in the site, and the files that are copied as they are."""

    def __init__(self) -> None:
        self.places = self._places()
        self.files = {
            path: name for path, name in self.places.items() if path.suffix not in (".md", ".sema", ".py", "")
        }
        self.pages = {name: self._page(path, name) for path, name in self.places.items() if path not in self.files}
        self.pages |= api.pages()
        self.titles = {name: title(text, name) for name, text in self.pages.items()}

    def _places(self) -> dict[Path, str]:
        """Where each file of the repository that has a page, or is one, stands in the site."""
        places = dict(TOP)
        for path in sorted(DOCS.rglob("*")):
            name = path.relative_to(DOCS).as_posix()
            if path.is_file() and not name.startswith("site/") and path not in places:
                places[path] = name
        for path in sorted(EXAMPLES.glob("*.*")):
            if path.suffix in (".sema", ".py"):
                places[path] = f"examples/{path.stem}.md"
        places[EXAMPLES / "tested"] = "examples/tested.md"
        return places

    def _page(self, path: Path, name: str) -> str:
        if path.is_dir():
            return folder_page(path)
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".md":
            return program_page(path, text)
        pieces = FENCED.split(text)
        pieces = [coloured(piece) if at % 2 else self._prose(piece, path, name) for at, piece in enumerate(pieces)]
        return "".join(pieces)

    def _prose(self, text: str, path: Path, name: str) -> str:
        """Text outside of code: its links, its anchors as GitHub makes them, lists set off from what is above."""
        text = LISTS.sub(r"\1\n\n", text)
        text = HEADING.sub(lambda match: f"{match[0]} {{#{slug(match[2])}}}", text)
        pieces = CODE.split(text)
        for at, piece in enumerate(pieces):
            if at % 2:  # code, where GitHub wants bars in tables escaped and the site doesn't
                pieces[at] = piece.replace(r"\|", "|")
            else:
                pieces[at] = LINK.sub(lambda match: self._target(match[1], path, name), piece)
        return "".join(pieces)

    def _target(self, link: str, path: Path, name: str) -> str:
        """A link of a page, as it must be in the site. Raises Problem where it leads out of it."""
        if "://" in link or link.startswith(("#", "mailto:")):
            return link
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve()
        target = FOLDERS.get(target, target)
        if target not in self.places:
            raise Problem(f"{path.relative_to(ROOT)}: the site has no page for {link}")
        place = os.path.relpath(self.places[target], os.path.dirname(name) or ".")
        return f"{place}#{anchor}" if anchor else place

    def navigation(self) -> list[object]:
        """The menu: the four kinds of pages in the order of docs/README.md, then the rest."""
        index = (DOCS / "README.md").read_text()
        kinds = dict(re.findall(r"^## (\w[\w-]*)[^\n]*\n(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL))
        names = sorted(self._below("reference/", lambda text: NAMES in text), key=self.titles.__getitem__)
        first = {"The language on one page": "guide.md"}
        home = ["index.md", "contents.md", "changelog.md", "contributing.md"]
        return [
            {"Home": home},
            {"Tutorial": sorted(self._below("tutorial/"), key=lambda name: (name[9].isdigit(), name))},
            {"How-to": self._entries(kinds["How-to"])},
            {
                "Reference": [
                    first,
                    *self._entries(kinds["Reference"])[1:],
                    {"Names": ["reference/index.md", *names]},
                    {"Python API": self._below("api/")},
                ]
            },
            {"Explanation": [*self._entries(kinds["Explanation"]), {"Decision records": self._below("decisions/")}]},
            {"Examples": self._below("examples/")},
            {"Playground": "playground/index.html"},
        ]

    def _below(self, folder: str, wanted: Callable[[str], bool] = lambda text: True) -> list[str]:
        """The pages in a folder, its index first."""
        pages = [name for name, text in self.pages.items() if name.startswith(folder) and wanted(text)]
        return sorted(pages, key=lambda name: (not name.endswith("/index.md"), name))

    def _entries(self, text: str) -> list[object]:
        """The pages of a list; lines of plain text above lists are headings of groups."""
        entries: list[object] = []
        group = entries
        for line in text.splitlines():
            item = ITEM.match(line)
            if item is not None:
                target = os.path.normpath(item[2])
                if target in self.pages:
                    group.append({item[1].replace("`", ""): target})
            elif re.fullmatch(r"[A-Z][\w ]+", line):
                group = []
                entries.append({line: group})
        return entries


def coloured(block: str) -> str:
    """A fenced block in the name by which our lexer is known."""
    return block.replace("```lisp\n", "```sema\n", 1)


def title(text: str, name: str) -> str:
    match = re.search(r"^# (.+?)(?: \{#.*\})?$", FENCED.sub("", text), re.MULTILINE)
    if match is None:
        raise Problem(f"{name} has no title")
    return match[1].replace("`", "")


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")


def program_page(path: Path, text: str) -> str:
    """An example: its first comment as the title, and its text."""
    match = re.match(r'(?:;;|#|""") ?([^\n]*)', text)
    heading = (match[1] if match else path.name).rstrip('".')
    language = "sema" if path.suffix == ".sema" else "python"
    return f"# {path.stem}\n\n{heading}.\n\n```{language}\n{text.rstrip()}\n```\n"


def folder_page(folder: Path) -> str:
    """An example of several files."""
    parts = [f"# {folder.name}\n"]
    for path in sorted(folder.iterdir()):
        if path.suffix in (".sema", ".py", ".ini", ".jsonl") and path.is_file():
            language = {".sema": "sema", ".py": "python", ".ini": "ini"}.get(path.suffix, "json")
            text = path.read_text()
            shown = text if len(text) < 4000 else text[:4000] + " ..."
            parts.append(f"## {path.name}\n\n```{language}\n{shown.rstrip()}\n```\n")
    return "\n".join(parts)
