"""Dead links in a built site, and requests to other hosts that its pages would make."""

from __future__ import annotations

import html
import os
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

TAG = re.compile(r"<(a|script|link|img|iframe|source)\b([^>]*)>")
ATTRIBUTE = re.compile(r"""\b(href|src|rel)=(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
ANCHOR = re.compile(r"""\b(?:id|name)=(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
SCRIPT = re.compile(r"(<script\b[^>]*>).*?</script>", re.DOTALL)
NOT_LOADED = ("canonical", "next", "prev", "alternate")


class Page:
    """What a page links to, what it loads, and which anchors it has."""

    def __init__(self, text: str) -> None:
        text = SCRIPT.sub(r"\1", text)
        self.anchors = {html.unescape("".join(groups)) for groups in ANCHOR.findall(text)}
        self.links: list[str] = []
        self.loads: list[str] = []
        for tag, rest in TAG.findall(text):
            values = {name: html.unescape("".join(value)) for name, *value in ATTRIBUTE.findall(rest)}
            if tag == "a":
                self.links += [values["href"]] if values.get("href") else []
            elif values.get("rel") not in NOT_LOADED:
                self.loads += [value for name, value in values.items() if name != "rel" and value]


@cache
def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def faults_of(folder: Path) -> list[str]:
    """`PAGE: LINK: what is wrong` for each link within the site that leads nowhere, each load from another host."""
    faults: list[str] = []
    for path in sorted(folder.rglob("*.html")):
        page, name = read(path), path.relative_to(folder).as_posix()
        if name == "404.html":
            continue  # its links are absolute: any missing page shows it
        faults += [f"{name}: {load}: loaded from elsewhere" for load in page.loads if urlsplit(load).netloc]
        targets = sorted({*page.links, *page.loads})
        faults += [f"{name}: {link}: {fault}" for link in targets if (fault := problem(path, link))]
    return sorted(set(faults))


def problem(path: Path, link: str) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = path.parent / unquote(parts.path) if parts.path else path
    target = Path(os.path.normpath(target))
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and not anchor.startswith(("text=", "code=", "example=")) and target.suffix == ".html":
        return None if anchor in read(target).anchors else "no such heading"
    return None
