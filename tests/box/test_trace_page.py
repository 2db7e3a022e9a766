"""The page of a trace: programs, calls of tools, memory, and two runs beside each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from llm_support import llm as llm
from python_llm_support import playing
from selectolax.lexbor import LexborHTMLParser

from sema_runtime.ai import sync
from sema_runtime.box import Pool
from sema_runtime.values.errors import SemaError
from semac.cli.box.commands import main

pytestmark = pytest.mark.usefixtures("llm")


def fetch(region: str) -> dict[str, str]:
    """Fetches the name of a region."""
    if region == "west":
        raise ValueError("no <such> region")
    return {"name": region}


def recorded(pool: Pool, path: Path, *programs: str) -> Path:
    playing(*(f"```sema\n{program}\n```" for program in programs))
    sync.ProgramAgent(pool=pool, name="clerk", tools=[fetch]).run("Which <b>region</b>?", trace=path)
    return path


FIRST = (
    '; look\n(define got (tool/fetch {:region "north"}))\n(println (:name got))',
    "(define count 3)\n(car 5)",
    '(try (tool/fetch {:region "west"}) (catch e (println (:message e))))',
    "(define got (range 1000))\n(return :done)",
)


def page_of(*args: object) -> LexborHTMLParser:
    path = Path(str(args[-1]))
    main(["trace", *map(str, args)])
    return LexborHTMLParser(path.read_text())


def texts(page: LexborHTMLParser, selector: str) -> list[str]:
    return [node.text() for node in page.css(selector)]


def test_a_run(pool: Pool, tmp_path: Path) -> None:
    path = recorded(pool, tmp_path / "run.jsonl", *FIRST)
    page = page_of(path, "--html", tmp_path / "page.html")
    assert texts(page, ".question") == ["Which <b>region</b>?"]
    assert len(page.css("ol.program")) == 4 and texts(page, "ol.program")[0].replace("\n", "") == FIRST[0].replace(
        "\n", ""
    )
    assert texts(page, "ol.program .comment") == ["; look"] and "define" in texts(page, "ol.program .form")
    assert texts(page, "li.wrong") == ["(car 5)"]
    assert texts(page, ".printed")[0] == "north" and "no <such> region" in texts(page, ".call pre.error")[0]
    assert [text.split(":")[0] for text in texts(page, ".status")] == [
        "value", "error (type_error) at line 2, column 1", "value", "return", "return",
    ]  # fmt: skip
    assert texts(page, "tr") == ["gotmap of 1: :name"] * 3 + ["gotlist of 1000"]
    assert len(page.css("tr.added")) == 1 and len(page.css("tr.changed")) == 1
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600


def test_two_runs(pool: Pool, tmp_path: Path) -> None:
    one = recorded(pool, tmp_path / "one.jsonl", *FIRST)
    two = recorded(pool, tmp_path / "two.jsonl", FIRST[0].replace("north", "south"), "(return 1)")
    page = page_of(one, "--diff", two, "--html", tmp_path / "page.html")
    assert "programs: 4 / 2" in texts(page, ".differences li")
    first = page.css_first(".pair.differs")
    assert [node.text() for node in first.css("li.changed")] == [
        '(define got (tool/fetch {:region "north"}))',
        '(define got (tool/fetch {:region "south"}))',
    ]
    assert "no such turn" in texts(page, ".pair .soft")
    same = page_of(one, "--diff", one, "--html", tmp_path / "same.html")
    assert texts(same, ".differences li") == ["no differences"] and not same.css(".differs, li.changed")


def test_a_run_that_never_ended_and_one_without_programs(pool: Pool, tmp_path: Path) -> None:
    path = recorded(pool, tmp_path / "run.jsonl", "(return 1)")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    page = page_of(path, "--html", tmp_path / "page.html")
    assert "No outcome was recorded." in texts(page, ".soft") and "the process ended" in texts(page, ".status")[0]
    playing("I have no idea.\x1b[31m")
    sync.ProgramAgent(pool=pool).run("?", trace=tmp_path / "none.jsonl")
    page = page_of(tmp_path / "none.jsonl", "--html", tmp_path / "none.html")
    assert texts(page, "pre")[1] == "I have no idea.\\x1b[31m" and not page.css("ol.program")


def test_the_page_has_no_scripts_and_what_it_holds_is_text(pool: Pool, tmp_path: Path) -> None:
    path = recorded(pool, tmp_path / "run.jsonl", '(println "</pre><script>alert(1)</script>") (return "<img src=x>")')
    page = page_of(path, "--html", tmp_path / "page.html")
    assert not page.css("script, img") and "default-src 'none'" in page.html


def test_what_is_no_trace_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("nonsense\n{}\n")
    page = tmp_path / "page.html"
    with pytest.raises(SemaError, match="not an event of an agent's trace"):
        main(["trace", str(tmp_path / "x.jsonl"), "--html", str(page)])
    assert not page.exists()
