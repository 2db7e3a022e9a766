"""Files for programs that read the site: llms.txt, llms-full.txt, and each page as plain Markdown."""

from __future__ import annotations

import re
from pathlib import Path

from pages import NAMES, Site

TOP = """# Sema

> Sema is a small Lisp whose primitives include calls to language models, tools, agents, budgets and journaled
> workflows. semac compiles it to ordinary Python.

Start with the language on one page. Each page of the site is also Markdown: the same address with `.md` in place of
`.html`. llms-full.txt has the hand-written pages in one file. With Sema installed, `sema doc guide` prints the language
on one page, `sema doc NAME` an entry, `sema doc search WORDS` finds names.
"""
SECTIONS = (
    ("The language", ("guide.md", "explanation/language.md", "reference/index.md")),
    ("Tutorial", "tutorial/"),
    ("How-to", "how-to/"),
    ("Reference", "reference/"),
    ("Python API", "api/"),
    ("Explanation", "explanation/"),
    ("Examples", "examples/"),
    ("Optional", ("contents.md", "architecture.md", "decisions.md", "changelog.md", "contributing.md")),
)
FULL = ("The language", "Tutorial", "How-to", "Reference", "Explanation")
DESCRIBED = re.compile(r"^- \[[^\]]+\]\(([^)#]+)\):? ?(.*(?:\n  .*)*)", re.MULTILINE)
ANCHORS = re.compile(r" \{#[^}]*\}$", re.MULTILINE)


def write(site: Site, out: Path) -> None:
    """Writes the files into the folder of the site."""
    for name, text in site.pages.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(plain(text))
    (out / "llms.txt").write_text(index(site))
    (out / "llms-full.txt").write_text(full(site))


def plain(text: str) -> str:
    """A page without what only the builder of the site understands."""
    return ANCHORS.sub("", text)


def pages_of(site: Site, part: str | tuple[str, ...]) -> list[str]:
    if isinstance(part, tuple):
        return list(part)
    first = {name for _, names in SECTIONS if isinstance(names, tuple) for name in names}
    return sorted(name for name in site.pages if name.startswith(part) and name not in first)


def index(site: Site) -> str:
    """llms.txt: what there is, a line a page."""
    said = {name: " ".join(text.split()) for name, text in DESCRIBED.findall(site.pages["contents.md"])}
    lines = [TOP]
    for heading, part in SECTIONS:
        lines.append(f"## {heading}\n")
        for name in pages_of(site, part):
            lines.append(f"- [{site.titles[name]}]({name})" + (f": {said[name]}" if said.get(name) else ""))
        lines.append("")
    return "\n".join(lines)


def full(site: Site) -> str:
    """llms-full.txt: the pages that people wrote. The pages of builtins are as long again; llms.txt lists them."""
    names = [name for heading, part in SECTIONS if heading in FULL for name in pages_of(site, part)]
    texts = [site.pages[name] for name in names if NAMES not in site.pages[name] and name != "reference/index.md"]
    return TOP + "\n" + "\n\n".join(f"---\n\n{plain(text).strip()}" for text in texts) + "\n"
