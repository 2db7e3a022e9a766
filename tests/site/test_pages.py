"""The pages of the site: built from docs/, no dead links, no requests to other hosts, search in a real browser."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium_support import Page, browser
from paths import DOCS, SCRIPTS
from site_support import built, served

sys.path.insert(0, str(SCRIPTS / "website"))
import links
import versions


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical", reason="pip install 'semac[site]'")
    folder = tmp_path_factory.mktemp("site")
    done = built(folder, "--no-playground")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def page(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_every_page_of_the_docs_is_there_as_html_and_as_markdown(site: Path) -> None:
    written = [path.relative_to(DOCS) for path in DOCS.rglob("*.md") if path != DOCS / "README.md"]
    expected = [*written, Path("index.md"), Path("guide.md"), Path("api/sema_runtime.ai.md"), Path("examples/index.md")]
    missing = [
        path for path in expected if not (site / path).exists() or not (site / path.with_suffix(".html")).exists()
    ]
    assert missing == [] and len(expected) > 150


def test_dead_links_are_found(site: Path, tmp_path: Path) -> None:
    """The builder has found none; it would have found these."""
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html">b</a> <a href="#top">top</a> <a href="#end">end</a>'
        '<a href="https://example.com">elsewhere</a> <script src="https://example.com/x.js"></script>'
    )
    assert links.faults_of(tmp_path) == [
        "a.html: #end: no such heading",
        "a.html: b.html: no such file",
        "a.html: https://example.com/x.js: loaded from elsewhere",
    ]


def test_files_for_programs(site: Path) -> None:
    index = (site / "llms.txt").read_text()
    assert index.startswith("# Sema\n\n> ")
    listed = [line.partition("](")[2].partition(")")[0] for line in index.splitlines() if line.startswith("- [")]
    assert len(listed) > 100 and [name for name in listed if not (site / name).exists()] == []
    everything = (site / "llms-full.txt").read_text()
    for heading in ("# Sema on one page", "# Language models", "# Tutorial: your first agent"):
        assert f"\n{heading}\n" in everything
    assert re.search(r"^#.*\{#", everything, re.MULTILINE) is None


def test_programs_are_coloured(site: Path) -> None:
    """By our lexer: `define` and the name behind it have classes of their own."""
    text = (site / "how-to" / "macros.html").read_text()
    assert 'class="language-sema highlight"' in text and '<span class="kd">' in text


def test_python_api(site: Path) -> None:
    text = (site / "api" / "sema_runtime.ai.md").read_text()
    assert "async def complete(" in text and "## `budget`" in text


def test_search_from_local_files(site: Path, page: Page) -> None:
    page.go((site / "index.html").as_uri())
    page.until("document.readyState === 'complete' && document.querySelector('.md-search__button') !== null")
    dialog = "[...document.querySelectorAll('div')].find((part) => part.shadowRoot)?.shadowRoot"
    page.until(f"{dialog} !== undefined")
    page.click(".md-search__button")
    page.until(f"{dialog}.activeElement?.tagName === 'INPUT'")
    page.call("Input.insertText", text="budgets hold")
    page.until(f"{dialog}.textContent.includes('How budgets hold')")
    assert page.said == []


def test_blocks_lead_to_the_playground(site: Path, page: Page) -> None:
    with served(site) as base:
        page.go(f"{base}/how-to/macros.html")
        page.until("document.querySelector('.sema-run') !== null")
        link = page.run("document.querySelector('.sema-run').href")
        assert link.startswith(f"{base}/playground/index.html#text=")
        markdown = page.run("fetch(document.querySelector('.sema-markdown').href).then((got) => got.text())")
        assert markdown.startswith("# ")


def test_dark_and_light(site: Path, page: Page) -> None:
    for scheme, expected in (("dark", "slate"), ("light", "default")):
        page.colours(scheme)
        page.go("about:blank")
        page.go((site / "contents.html").as_uri())
        page.until(f"document.body?.dataset.mdColorScheme === {json.dumps(expected)}")


def test_versions(tmp_path: Path) -> None:
    """The newest has the second name `latest`; an older one that is built again doesn't take it."""
    site, folder = tmp_path / "site", tmp_path / "all"
    site.mkdir()
    for version in ("0.9", "0.10", "dev", "0.9"):
        (site / "index.html").write_text(version)
        versions.publish(site, folder, version)
    entries = json.loads((folder / "versions.json").read_text())
    assert [(entry["version"], entry["aliases"]) for entry in entries] == [
        ("0.10", ["latest"]),
        ("0.9", []),
        ("dev", []),
    ]
    assert (folder / "latest" / "index.html").read_text() == "0.10"
    assert "latest/index.html" in (folder / "index.html").read_text()
