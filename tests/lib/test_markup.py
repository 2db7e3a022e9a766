"""Markdown and HTML: results, broken and hostile input, and a program without the packages."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from sema_runtime.conditions.describe import describe
from sema_runtime.lib.data import html, html_limits, markdown
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text
from semac.session import Session

LEVELS = 100_000


def value(source: str) -> str:
    return to_text(Session().run(source))


# Markdown


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", ""),
        ("# Hi", "<h1>Hi</h1>\n"),
        ("Title\n===\n\nSub\n---", "<h1>Title</h1>\n<h2>Sub</h2>\n"),
        ("a *b* **c** `d<` \\*e\\*", "<p>a <em>b</em> <strong>c</strong> <code>d&lt;</code> *e*</p>\n"),
        ('say "hi" & <3', '<p>say "hi" &amp; &lt;3</p>\n'),
        ("- one\n- two\n\n1. x", "<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n<ol>\n<li>x</li>\n</ol>\n"),
        ("> q\n> r", "<blockquote>\n<p>q\nr</p>\n</blockquote>\n"),
        ("```rust\nlet x;\n```", '<pre><code class="language-rust">let x;\n</code></pre>\n'),
        ("[a](/b 'c') ![d](e)", '<p><a href="/b" title="c">a</a> <img src="e" alt="d" /></p>\n'),
        ("[a]\n\n[a]: /b", '<p><a href="/b">a</a></p>\n'),
        ("a  \nb\\\nc", "<p>a<br />\nb<br />\nc</p>\n"),
        ("***", "<hr />\n"),
        ("<div>\n*a*\n</div>\n\n<b>c</b>", "<div>\n*a*\n</div>\n<p><b>c</b></p>\n"),
        ("&copy; &#0;", "<p>© \ufffd</p>\n"),
        ("| a |\n|---|\n| b |", "<p>| a |\n|---|\n| b |</p>\n"),  # tables are an extension
        ("~~a~~", "<p>~~a~~</p>\n"),
        ("a\r\nb", "<p>a\nb</p>\n"),
    ],
)
def test_markdown_to_html(text: str, result: str) -> None:
    assert markdown.markdown_to_html(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("no headings", "()"),
        ("# A\n\n## B ##\n\nC\n=\n", '({:level 1 :text "A"} {:level 2 :text "B"} {:level 1 :text "C"})'),
        ("### *one*  `two` <b>three</b>\n", '({:level 3 :text "one two three"})'),
        ("line one\n  line two\\\nthree\n===", '({:level 1 :text "line one line two three"})'),
        ("> - # [deep](x) ![alt](y)\n", '({:level 1 :text "deep alt"})'),
        ("    # code\n\n```\n# code\n```\n\n#nothing", "()"),
        ("####### seven\n\n#\n", '({:level 1 :text ""})'),
    ],
)
def test_headings(text: str, result: str) -> None:
    assert to_text(markdown.markdown_headings(text)) == result


@pytest.mark.parametrize(
    ("text", "front", "body"),
    [
        ("---\ntitle: A\n---\nBody\n", "title: A\n", "Body\n"),
        ("---\r\na\r\n---\r\nb", "a\r\n", "b"),
        ("---\n---\n", "", ""),
        ("---\na\n---", "a\n", ""),
        ("---\na\n--- \n---b\n---\nc", "a\n--- \n---b\n", "c"),
        ("---\nnever closed", None, "---\nnever closed"),
        ("---", None, "---"),
        (" ---\na\n---\n", None, " ---\na\n---\n"),
        ("text", None, "text"),
        ("", None, ""),
    ],
)
def test_front_matter(text: str, front: str | None, body: str) -> None:
    found = markdown.markdown_frontmatter(text)
    assert (found["frontmatter"], found["body"]) == (front, body)


@pytest.mark.parametrize("piece", ["> ", "[", "*a ", "- ", "`a", "<a ", "[a](", "![", "**", "&", "1. "])
def test_hostile_markdown_takes_no_time(piece: str) -> None:
    text = piece * LEVELS + "x"
    assert "x" in markdown.markdown_to_html(text)
    assert isinstance(markdown.markdown_headings(text), List)


def test_half_a_surrogate_pair_is_a_condition() -> None:
    with pytest.raises(SemaError, match=r"^markdown/to-html: character 2 of the text is half of a surrogate pair$"):
        markdown.markdown_to_html("ab\ud800")
    assert html.html_text("ab\ud800c") == "abc"


# HTML


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", "<html><head></head><body></body></html>"),
        ("<p>a<p>b", "<html><head></head><body><p>a</p><p>b</p></body></html>"),
        ("<b><i>x</b>y</i>", "<html><head></head><body><b><i>x</i></b><i>y</i></body></html>"),
        ("<table><td>1", "<html><head></head><body><table><tbody><tr><td>1</td></tr></tbody></table></body></html>"),
        ("<!doctype html><title>T", "<!DOCTYPE html><html><head><title>T</title></head><body></body></html>"),
        ("&lt;&eacute;&bogus;<", "<html><head></head><body>&lt;é&amp;bogus;&lt;</body></html>"),
        ("<a href=x class='y\" z'>", '<html><head></head><body><a href="x" class="y&quot; z"></a></body></html>'),
        ("</nothing><", "<html><head></head><body>&lt;</body></html>"),
    ],
)
def test_parsing_repairs(text: str, result: str) -> None:
    assert html.html_parse(text) == result
    assert html.html_parse(result) == result


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("p", ["a b", "c"]),
        ("p.x", ["a b"]),
        ("#i", ["c"]),
        ("div > p", ["c"]),
        ("p ~ div", ["c d"]),
        ("[data-k=v]", ["a b"]),
        ("p:not(.x)", ["c"]),
        ("p:first-child", ["a b", "c"]),
        (".x, p, #i, [data-k]", ["a b", "c"]),  # each once, in the order of the document
        ("div, b, p", ["a b", "b", "c d", "c"]),
        ("div:has(> p)", ["c d"]),
        ("h1", []),
        ("P", ["a b", "c"]),
        ("script", ["var s"]),
    ],
)
def test_selectors(selector: str, found: list[str]) -> None:
    page = "<p class='x y' data-k=v>a<b>b</b></p><div><p id=i>c</p>d</div><script>var s</script>"
    assert html.html_select_text(page, selector) == List(found)
    assert len(html.html_select(page, selector)) == len(found)


def test_selected_elements_are_html() -> None:
    assert value('(html/select "<ul><li>1<li class=a>2 &amp; 3</ul>" "li")') == (
        '("<li>1</li>" "<li class=\\"a\\">2 &amp; 3</li>")'
    )
    assert value('(html/select-text (html/parse "<p>hello<p>world") "p")') == '("hello" "world")'


@pytest.mark.parametrize(
    "selector", ["", " ", ">>>bad", "p[", "p,", "p:nosuch", "::before", "..", "\ud800", "p > ", "#" * LEVELS]
)
def test_bad_selectors_are_conditions(selector: str) -> None:
    for function in (html.html_select, html.html_select_text):
        with pytest.raises(SemaError) as caught:
            function("<p>a", selector)
        assert caught.value.message == f"invalid selector: {selector}"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("<h1>Title</h1><p>Some <b>bold</b> body.</p>", "Title Some bold body."),
        ("<title>T</title><style>p{}</style><script>x</script><p> a \n\n b&nbsp;c<!-- d --></p>", "T a b c"),
        ("<script>only", ""),
        ("", ""),
        ("a < b", "a < b"),
        ("<textarea>&lt;p></textarea><pre>x\n  y</pre>", "<p> x y"),
    ],
)
def test_text(text: str, result: str) -> None:
    assert html.html_text(text) == result


# Limits


@pytest.mark.parametrize("tag", ["span", "b", "p", "custom-tag"])
def test_deep_nesting(tag: str) -> None:
    page = f"<{tag}>" * LEVELS + "deep"
    assert html.html_text(page) == "deep"
    assert html.html_parse(page).count(f"</{tag}>") == LEVELS


@pytest.mark.parametrize(
    ("page", "selector"),
    [
        ("<span>" * LEVELS, "div span"),
        ("<span>" * LEVELS, ":has(i)"),
        ("<ul>" + "<li></li>" * LEVELS, "li:nth-child(2n)"),
        ("<b></b>" * LEVELS, "i ~ b"),
    ],
)
def test_a_search_that_would_take_minutes_is_a_condition(page: str, selector: str) -> None:
    for function, name in ((html.html_select, "html/select"), (html.html_select_text, "html/select-text")):
        with pytest.raises(SemaError) as caught:
            function(page, selector)
        assert caught.value.message == f"{name}: the document is too large for the selector {selector}"


def test_searches_in_large_pages() -> None:
    rows = "".join(f"<tr><td>{n}</td><td>b</td></tr>" for n in range(10_000))
    page = f"<table>{rows}</table>"
    assert len(html.html_select(page, "tr:nth-child(2n) td")) == 10_000
    assert html.html_select_text(page, "tr:first-child ~ tr:last-child td")[0] == "9999"
    assert len(html.html_select_text("<li>a" * LEVELS, "li")) == LEVELS


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<div>" * LEVELS, "elements are nested too deeply"),
        ("<ul><li>" * LEVELS, "elements are nested too deeply"),
        ("<span>" * LEVELS + "</p>" * LEVELS, "elements are nested too deeply"),
        (
            "<p>" + "".join(f"<font color={n}>" for n in range(5000)) + "<p>x" * 5000,
            "DOM nodes 5000703 exceeds the quarantined limit 5000000",
        ),
        ("<p " + " ".join(f"a{n}=1" for n in range(LEVELS)), "an element has more than 20000 attributes"),
        ("x" * (html_limits.BYTES + 1), "input bytes 33554433 exceeds the quarantined limit 33554432"),
        ("é" * (html_limits.BYTES // 2 + 1), "input bytes 33554434 exceeds the quarantined limit 33554432"),
    ],
    ids=["div", "li", "ends", "styles", "attributes", "bytes", "utf-8"],
)
def test_what_would_take_minutes_or_gigabytes_is_a_condition(page: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        html.html_parse(page)
    assert caught.value.message == f"html/parse: {message}"
    assert caught.value.hint == "reduce or split the markup input"


@pytest.mark.parametrize(
    "page",
    [
        "<div><p>a</p><img src=x><br/></div>\n" * 5000,
        "<ul>" + "<li>a" * 30_000 + "</ul>",
        "<p>a<b>b</b>" * 30_000,
        "<b>never closed<p>x" * 5000,
        "<svg>" + "<path d='M0'/>" * 30_000 + "</svg>" + "<div></div>" * 5000,
        f"<p data-json='{{{'1, ' * 50_000}}}'>x",
        "<script>" + "if (a<b) x = '<div>';" * 1000 + "</script>",
    ],
    ids=["pages", "list", "paragraphs", "unclosed", "svg", "data", "script"],
)
def test_large_ordinary_pages_are_read(page: str) -> None:
    assert html.html_parse(page).startswith("<html>")


def test_matches_that_repeat_each_other_have_a_limit() -> None:
    with pytest.raises(SemaError, match=r"^html/select: the text of the matches exceeds 33554432 characters$"):
        html.html_select("<span>" * 20_000, "span")


@pytest.mark.parametrize(
    "name", ["markdown/to-html", "markdown/headings", "markdown/frontmatter", "html/parse", "html/text"]
)
def test_input_of_another_type(name: str) -> None:
    for argument, given in (("5", "int"), ("nil", "nil"), ("'(1)", "list")):
        with pytest.raises(Exception) as caught:
            Session().run(f"({name} {argument})")
        assert describe(caught.value).message == f"expected string, got {given}"


def test_a_program_without_the_packages_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] in ("pyromark", "selectolax"):
            raise ModuleNotFoundError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    for function, package in (("html/text", "selectolax"), ("markdown/to-html", "pyromark")):
        with pytest.raises(SemaError) as caught:
            Session().run(f'({function} "x")')
        assert caught.value.message == f"{function} needs the package {package}: pip install 'semac[markup]'"
    assert value('(markdown/frontmatter "x")') == '{:body "x" :frontmatter nil}'
