"""HTML: normalizing, CSS selectors, text. Broken markup is repaired as browsers do; the parser is selectolax's lexbor.

A parsed document is its normalized text, so that all functions take any HTML and programs can store and print it.
"""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.data.html_limits import BYTES, HINT, check_cost, check_selector, check_size
from sema_runtime.support.missing_packages import package_missing
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from selectolax.lexbor import LexborHTMLParser, LexborNode

INVISIBLE = "script, style"


@builtin("html/parse", type="str -> str")
def html_parse(html: Any) -> str:
    """Parses HTML and returns a whole, repaired document as text. The other html functions take it like any other HTML.

    (html/parse "<p>one<p>two") => "<html><head></head><body><p>one</p><p>two</p></body></html>"
    """
    document, _ = _parsed("html/parse", html)
    return document.html or ""


@builtin("html/text", type="str -> str")
def html_text(html: Any) -> str:
    """The text of a document without tags, scripts and style sheets; white space becomes single spaces.

    (html/text "<h1>Title</h1><p>Some <b>bold</b> text.</p>") => "Title Some bold text."
    """
    document, _ = _parsed("html/text", html)
    for element in document.css(INVISIBLE):
        element.decompose()
    return _text(document.root)


@builtin("html/select", type="str, str -> flat str fresh")
def html_select(html: Any, selector: Any) -> List:
    """The elements that a CSS selector matches, in the order of the document, each as HTML.

    (html/select "<p class=x>a</p><p>b</p>" "p.x") => ("<p class=\\"x\\">a</p>")
    """
    return _of_each("html/select", html, selector, lambda element: element.html or "")


@builtin("html/select-text", type="str, str -> flat str fresh")
def html_select_text(html: Any, selector: Any) -> List:
    """The texts of the elements that a CSS selector matches; white space becomes single spaces.

    (html/select-text "<ul><li>one<li>two</ul>" "li") => ("one" "two")
    """
    return _of_each("html/select-text", html, selector, _text)


def _parsed(function: str, html: Any) -> tuple[LexborHTMLParser, int]:
    """The document, and the sum of the depths of its elements."""
    text = text_of(html)
    check_size(function, text)
    depths = check_cost(function, text)
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        raise package_missing(function, "selectolax", "markup") from None
    return LexborHTMLParser(text), depths


def _of_each(function: str, html: Any, selector: Any, part: Callable[[LexborNode], str]) -> List:
    """The list of one part of every element that matches. Parts of nested matches repeat text, so their size is
    limited."""
    pattern = text_of(selector)
    document, depths = _parsed(function, html)
    check_selector(function, document, depths, pattern)
    texts, size = [], 0
    for element in _matches(document, pattern):
        texts.append(part(element))
        size += len(texts[-1])
        if size > BYTES:
            raise SemaError(f"{function}: the text of the matches exceeds {BYTES} characters", HINT)
    return List(texts)


def _matches(document: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """The elements, each once, though it may match several alternatives of the selector."""
    from selectolax.lexbor import SelectolaxError

    try:
        elements = document.css(selector)
    except (SelectolaxError, UnicodeEncodeError):
        raise SemaError(f"invalid selector: {selector}") from None
    return list({element.mem_id: element for element in elements}.values())


def _text(element: LexborNode | None) -> str:
    return " ".join(element.text(separator=" ").split()) if element is not None else ""
