"""Writes the pages of names in docs/reference/ from the doc texts of builtins, special forms and macros.

Other pages in that folder are written by hand: those without the link to all names below the title.

python scripts/build_manual.py [--check]     --check: exit 1 when a page on disk is stale
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from semac.docs.entries import Entry, all_entries, reference_names
from semac.docs.examples import split_examples
from semac.ir.identifiers import WORDS

BAR = r"\|"  # in a table
INDEX = """# Reference

Every builtin, special form and macro. In the terminal `sema doc NAME` shows an entry, `sema doc search WORDS` finds
one. The examples are run by the tests.

{families}

## All names

◆ marks extensions: names that the reference implementation lacks.

| name | |
|---|---|
{rows}
"""
ALL_NAMES = "[All names](index.md)"  # below the title of each page of names
FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"

# (page, title, modules as `sema doc search` shows them). Any other module has a page of its own.
PAGES = (
    ("special-forms", "Special forms", ("special-forms",)),
    ("macros", "Macros", ("macros",)),
    ("numbers", "Numbers", ("arithmetic", "math", "integers", "math-functions")),
    ("values", "Names of values", ("values",)),
    ("predicates", "Types and equality", ("predicates", "truth", "convert")),
    ("strings", "Strings", ("strings", "string-search", "string-case", "string-pad", "format")),
    ("chars", "Characters", ("chars",)),
    ("regex", "Regular expressions", ("regex",)),
    ("text", "Text", ("text", "diff")),
    ("lists", "Lists and vectors", ("lists", "list-slices", "list-sets", "list-stats", "sorting", "vectors")),
    ("functions", "Functions on functions", ("hofs", "control", "dynamic", "multimethods", "records")),
    ("maps", "Maps", ("maps", "map-entries")),
    ("bytes", "Bytes, typed arrays, mutable containers", ("bytes", "typed-arrays", "mutable")),
    ("data-formats", "JSON, CSV, TOML", ("json", "csv", "toml")),
    ("crypto", "Hashes, encodings, secrets", ("crypto", "security")),
    ("time", "Dates and times", ("datetime",)),
    ("output", "Printing and logging", ("output", "console", "log")),
    ("files", "Files, paths, archives", ("files", "paths", "archives", "file-watch")),
    ("streams", "Streams", ("streams",)),
    ("databases", "SQLite and key-value stores", ("sqlite", "kv-store")),
    ("markup", "HTML, Markdown, PDF", ("html", "markdown", "pdf")),
    ("http", "HTTP and WebSockets", ("http-client", "http-server", "http-routes", "http-responses", "websocket")),
    ("system", "The system, processes, ports", ("system", "processes", "pty", "serial")),
    ("git", "Git", ("git",)),
    ("terminal", "The terminal", ("term-style", "term-screen", "term-keys", "term-raw", "term-spinner")),
    ("tasks", "Tasks, channels, events", ("concurrency", "channels", "events", "context")),
    ("python", "Python", ("python",)),
    ("llm", "Language models", ("llm", "llm-providers", "llm-scopes", "recordings")),
    ("conversations", "Prompts and conversations", ("prompts", "conversations")),
    ("agents", "Agents and tools", ("agents", "tools")),
    ("boxed-programs", "Programs in the box, agents that write them", ("boxes", "program-agents")),
    ("patterns", "Patterns of workflows", ("patterns",)),
    ("telemetry", "Traces", ("otel",)),
    ("shorthand", "Short names", ("shorthand",)),
    ("unavailable", "Names for hardware and browsers", ("unavailable",)),
)


class Page:
    """One family: its file name, its title, and its entries from A to Z."""

    def __init__(self, file: str, title: str, entries: list[Entry]) -> None:
        self.file = file
        self.title = title
        self.entries = entries

    def text(self) -> str:
        links = " · ".join(f"[`{entry.name}`](#{anchor(entry.name)})" for entry in self.entries)
        head = f"# {self.title}\n\n{ALL_NAMES}\n\n{links}\n"
        return head + "".join(section(entry) for entry in self.entries)


def anchor(name: str) -> str:
    """The anchor of an entry name, in letters, digits, `-`, `.` and `_`."""
    spelled = {"/": ".", "-": "-", **{char: f"_{word}" for char, word in WORDS.items()}}
    return "".join(spelled.get(char, char) for char in name)


def section(entry: Entry) -> str:
    """One entry of a page."""
    prose, examples = split_examples(entry.body)
    arrow = f" → {entry.returns}" if entry.returns else ""
    signatures = "\n".join(f"{signature}{arrow}" for signature in entry.signatures)
    parts = [f'<a id="{anchor(entry.name)}"></a>\n\n## `{entry.name}`', fenced(signatures, "text"), markdown(prose)]
    if examples:
        parts.append(fenced("\n".join(example.shown() for example in examples), "lisp"))
    parts += entry.remarks()
    return "\n" + "\n\n".join(part for part in parts if part) + "\n"


def markdown(text: str) -> str:
    """A doc text as Markdown in which only code between backticks and links to pages are markup."""
    pieces = re.split(r"(`[^`]*`|\[[^\]]+\]\([\w./#-]+\))", text)
    return "".join(piece if at % 2 else re.sub(r"([*_<\[])", r"\\\1", piece) for at, piece in enumerate(pieces))


def fenced(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


def manual() -> list[Page]:
    """The pages, those without a place in PAGES last."""
    families: dict[str, list[Entry]] = {}
    for entry in all_entries().values():
        if not entry.alias_of:
            families.setdefault(entry.module, []).append(entry)
    shared = {module for _, _, modules in PAGES for module in modules}
    own = [(module, module.replace("-", " ").capitalize(), (module,)) for module in sorted({*families} - shared)]
    return [
        Page(file, title, sorted((e for module in modules for e in families.get(module, ())), key=lambda e: e.name))
        for file, title, modules in (*PAGES, *own)
    ]


def index(pages: list[Page]) -> str:
    """The list of the pages, and all names from A to Z."""
    families = "\n".join(f"- [{page.title}]({page.file}.md)" for page in pages)
    rows = [
        (name, row(name, page, entry))
        for page in pages
        for entry in page.entries
        for name in (entry.name, *entry.aliases)
    ]
    return INDEX.format(families=families, rows="\n".join(text for _, text in sorted(rows)))


def row(name: str, page: Page, entry: Entry) -> str:
    mark = "" if name in reference_names() else " ◆"
    summary = markdown(entry.summary) if name == entry.name else f"the same as `{entry.name}`"
    return f"| [`{name}`]({page.file}.md#{anchor(entry.name)}){mark} | {summary.replace('|', BAR)} |"


def main() -> int:
    pages = manual()
    texts = {"index.md": index(pages), **{f"{page.file}.md": page.text() for page in pages}}
    on_disk = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    on_disk = {name: text for name, text in on_disk.items() if name in texts or ALL_NAMES in text}
    if "--check" in sys.argv:
        return 0 if texts == on_disk else 1
    FOLDER.mkdir(exist_ok=True)
    for name in on_disk.keys() - texts.keys():
        (FOLDER / name).unlink()
    for name, text in texts.items():
        if on_disk.get(name) != text:
            (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(pages)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
