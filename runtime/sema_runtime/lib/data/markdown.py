"""Markdown: CommonMark to HTML, headings, front matter. The parser is pulldown-cmark (pyromark), without extensions."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.data.html_limits import check_size
from sema_runtime.support.missing_packages import package_missing
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

FENCE = "---"


@builtin("markdown/to-html", type="str -> str")
def markdown_to_html(markdown: Any) -> str:
    """Converts a text in CommonMark to HTML. HTML inside the text stays as it is.

    (markdown/to-html "# Title\\n\\nHello **world**.") => "<h1>Title</h1>\\n<p>Hello <strong>world</strong>.</p>\\n"
    """
    text = _checked("markdown/to-html", markdown)
    html: str = _pyromark("markdown/to-html").html(text)
    return html


@builtin("markdown/headings", type="str -> flat (map keyword (int|str)) fresh")
def markdown_headings(markdown: Any) -> List:
    """The headings of a text in order, as maps `{:level 1 to 6 :text plain}`.

    (markdown/headings "# Intro\\n\\n## *Set* up") => ({:level 1 :text "Intro"} {:level 2 :text "Set up"})
    """
    text = _checked("markdown/headings", markdown)
    headings = []
    parts: list[str] | None = None  # of the heading that is being read
    for event in _pyromark("markdown/headings").events(text):
        if type(event) is str:
            if parts is not None and event in ("SoftBreak", "HardBreak"):
                parts.append(" ")
            continue
        ((kind, content),) = event.items()
        if kind == "Start" and "Heading" in content:
            parts, level = [], int(content["Heading"]["level"][1:])
        elif parts is not None and kind in ("Text", "Code"):
            parts.append(content)
        elif parts is not None and kind == "End" and "Heading" in content:
            shown = " ".join("".join(parts).split())
            headings.append(Map({keyword("level"): level, keyword("text"): shown}))
            parts = None
    return List(headings)


@builtin("markdown/frontmatter", type="str -> map keyword (str|nil) fresh", pure=True)
def markdown_frontmatter(markdown: Any) -> Map:
    """Splits a text into `{:frontmatter text :body text}`: the lines between two `---` lines at its beginning, not
    parsed, and the rest.

    :frontmatter is nil when the text doesn't begin so.

    (markdown/frontmatter "---\\ntitle: A\\n---\\nText") => {:body "Text" :frontmatter "title: A\\n"}
    """
    text = text_of(markdown)
    check_size("markdown/frontmatter", text)
    front, body = _split(text)
    return Map({keyword("frontmatter"): front, keyword("body"): body})


def _split(text: str) -> tuple[str | None, str]:
    start = text.find("\n") + 1
    if text[:start] not in (f"{FENCE}\n", f"{FENCE}\r\n"):
        return None, text
    at = start
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        if text[at:end].removesuffix("\n").removesuffix("\r") == FENCE:
            return text[start:at], text[end:]
        at = end
    return None, text


def _checked(function: str, markdown: Any) -> str:
    text = text_of(markdown)
    check_size(function, text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SemaError(f"{function}: character {error.start} of the text is half of a surrogate pair") from None
    return text


def _pyromark(function: str) -> ModuleType:
    try:
        import pyromark
    except ImportError:
        raise package_missing(function, "pyromark", "markup") from None
    return pyromark
