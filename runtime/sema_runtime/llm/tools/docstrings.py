"""Descriptions of functions and parameters from docstrings in the styles of Google, NumPy and Sphinx."""

from __future__ import annotations

import re
from inspect import cleandoc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

GOOGLE = re.compile(
    r"(Args|Arguments|Parameters|Params|Keyword Args|Other Parameters|Returns?|Yields?|Raises|Examples?|Notes?"
    r"|References|See Also|Warnings?|Attributes|Todo):"
)
NUMPY = re.compile(
    r"(Parameters|Other Parameters|Returns|Yields|Receives|Raises|Warns|Examples|Notes|References|See Also|Warnings"
    r"|Attributes)"
)
UNDERLINE = re.compile(r"-{3,}")
PARAMETERS = ("Args", "Arguments", "Parameters", "Params", "Keyword Args", "Other Parameters")
FIELD = re.compile(r":(\w+)(?: ([^:]*))?:(.*)")
FIELD_PARAMETERS = ("param", "parameter", "arg", "argument", "key", "keyword")
GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+) *(?:\(.*?\))?:(?: |$)(.*)")
NUMPY_ITEM = re.compile(r"\*{0,2}(\w+(?: *, *\*{0,2}\w+)*) *(?::.*)?$")


def parsed(text: str | None) -> tuple[str, dict[str, str]]:
    """Returns the description and the text by parameter. Other sections are left out."""
    description: list[str] = []
    parameters: dict[str, str] = {}
    for title, lines in _sections(cleandoc(text or "").splitlines()):
        if not title:
            description = lines
        elif title == "fields":
            parameters.update(_fields(lines))
        elif title in PARAMETERS:
            parameters.update(_items(lines))
    return _paragraphs(description), parameters


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields (title, lines) of each section: "" for the first one, `fields` from the first Sphinx field on."""
    title, held = "", list[str]()
    position = 0
    while position < len(lines):
        line = lines[position]
        following = lines[position + 1].strip() if position + 1 < len(lines) else ""
        if title != "fields" and FIELD.match(line):
            yield title, held
            title, held = "fields", [line]
        elif NUMPY.fullmatch(line.strip()) and UNDERLINE.fullmatch(following):
            yield title, held
            title, held = line.strip(), []
            position += 1
        elif GOOGLE.fullmatch(line.rstrip()):
            yield title, held
            title, held = line.rstrip()[:-1], []
        else:
            held.append(line)
        position += 1
    yield title, held


def _fields(lines: list[str]) -> dict[str, str]:
    """Returns the texts of Sphinx fields, `:param int name: text`."""
    texts: dict[str, str] = {}
    name = ""
    for line in lines:
        match = FIELD.match(line)
        if match is None:
            texts[name] = f"{texts.get(name, '')} {line.strip()}".strip()
            continue
        words = (match[2] or "").split()
        name = words[-1] if words and match[1] in FIELD_PARAMETERS else ""
        texts[name] = match[3].strip()
    texts.pop("", None)
    return texts


def _items(lines: list[str]) -> dict[str, str]:
    """Returns the texts of items: `name (type): text` of Google, `name : type` with an indented text of NumPy."""
    filled = [line for line in lines if line.strip()]
    margin = min((_indent(line) for line in filled), default=0)
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in filled:
        text = line.strip()
        match = (GOOGLE_ITEM if margin else NUMPY_ITEM).match(text) if _indent(line) == margin else None
        if match is not None:
            names = [name.strip(" *") for name in match[1].split(",")]
            text = match[2] if margin else ""
        for name in names:
            texts[name] = f"{texts.get(name, '')} {text}".strip()
    return texts


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _paragraphs(lines: list[str]) -> str:
    """Returns the text with its lines joined, an empty line between paragraphs."""
    blocks = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(" ".join(line.strip() for line in block.splitlines()) for block in blocks)
