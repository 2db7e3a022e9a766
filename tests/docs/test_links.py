"""Each link of the documentation leads to a file and a heading in it. The index, docs/README.md, lists all pages."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from paths import ROOT

DOCS = ROOT / "docs"
TOP = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "semac" / "docs" / "guide.md")
PAGES = sorted([*TOP, *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
GENERATED = "\n[All names](index.md)\n"  # a line of each page that scripts/build_manual.py writes, except the index
PARTS = ["Status", "Context", "Decision", "Consequences"]  # of a decision record; a measurement may follow
CODE = re.compile(r"^```.*?^```|^    .*?$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+)\)")
FILE = re.compile(r"`(?:python |pytest |SEMA_\w+=\w+ pytest )?((?:scripts|tests)/[\w./]+)(?![\w./*])")
HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)


def links(page: Path) -> list[str]:
    """The targets of the relative links of a page."""
    return [target for target in LINK.findall(CODE.sub("", page.read_text())) if "://" not in target]


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page: explicit ones, and those that GitHub makes of its headings."""
    text = page.read_text()
    explicit = set(re.findall(r'<a id="([^"]+)"', text))
    headings = HEADING.findall(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    return explicit | {slug(heading) for heading in headings}


def slug(heading: str) -> str:
    shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")


def fault(page: Path, link: str) -> str | None:
    """What is wrong with a link of a page, if anything."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return "no such file"
    if anchor and anchor not in anchors(target):
        return "no such heading"
    return None


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    faults = {link: fault(page, link) for link in links(page)}
    assert {link: found for link, found in faults.items() if found} == {}


def test_named_scripts_and_tests_exist() -> None:
    """Commands that repeat a measurement can be run. A changelog may name files of earlier versions."""
    texts = [page.read_text() for page in PAGES if page.name != "CHANGELOG.md"]
    assert [name for text in texts for name in FILE.findall(text) if not (ROOT / name).exists()] == []


def test_the_index_lists_all_pages() -> None:
    """Other lists have the rest: generated pages, decision records, and the parts of the tutorial."""
    lists = [DOCS / "README.md", DOCS / "tutorial" / "first-agent.md"]
    listed = {(page.parent / link.partition("#")[0]).resolve() for page in lists for link in links(page)}
    written = {page for page in DOCS.rglob("*.md") if GENERATED not in page.read_text()}
    records = set((DOCS / "decisions").glob("*.md"))
    assert written - records - {DOCS / "README.md"} - listed == set()


def test_decision_records() -> None:
    """Records have a number each, the same parts in the same order, and are listed in docs/decisions.md."""
    records = sorted((DOCS / "decisions").glob("*.md"))
    numbers = [int(record.name[:4]) for record in records]
    assert len(set(numbers)) == len(numbers)
    listed = [DOCS / link for link in links(DOCS / "decisions.md") if link.startswith("decisions/")]
    assert set(listed) >= set(records)
    for number, record in zip(numbers, records, strict=True):
        title, *parts = HEADING.findall(record.read_text())
        assert title.startswith(f"{number}. ")
        assert parts in (PARTS, [*PARTS, "Measurement"]), record.name
