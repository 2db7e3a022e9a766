"""The tutorial in docs/tutorial, followed from its first page to its last: see tests/support/followed_pages.py."""

from __future__ import annotations

import re
from pathlib import Path

from followed_pages import follow, forgotten
from paths import DOCS

FOLDER = DOCS / "tutorial"
PAGES = [FOLDER / "first-agent.md", *sorted(FOLDER.glob("[0-9]*.md"))]


def test_the_tutorial(tmp_path: Path) -> None:
    follow(PAGES, tmp_path)


def test_every_page_is_followed() -> None:
    assert [place for page in PAGES for place in forgotten(page)] == []
    linked = re.findall(r"\((\d[\w-]+\.md)\)", PAGES[0].read_text())
    assert set(linked) == {page.name for page in PAGES[1:]}
