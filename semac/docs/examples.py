"""The examples in a doc text: written beside the implementation, shown in `sema doc` and the manual, run by tests.

A paragraph below the first one that starts with `(`, `'(` or `; ` holds examples, one a line; an indented line
continues the one before:

* `(nth '(10 20) 1) => 20`: a call and its printed value
* `(nth '(10) 5) ! index 5 out of bounds (length 1)`: a call and its error message
* `(println "a" "b") prints a b`: what is written to stdout, `\\n` between lines, the last end of line left out
* `(define xs '(1 2))`: for its effect
* `; (http/get "https://example.com")`: shown and checked, but not run; may have a value too

All examples of one entry run in order, in one fresh session and an empty folder.
"""

from __future__ import annotations

import re

from sema_runtime.values.errors import ReaderError
from semac.syntax.reader import read_program

ARROW = re.compile(r"\s(=>|!|prints)(?=\s|$)")
SHOWN = {"=>": "=>", "!": "error:", "prints": "prints:"}
STARTS = ("(", "'(", "; ")
NOT_RUN = "; "


class Example:
    """One example. source: the call; kind: `=>`, `!`, `prints` or ""; expected: the text after it; runs: whether tests
    run it."""

    __slots__ = ("expected", "kind", "runs", "source")

    def __init__(self, text: str) -> None:
        self.runs = not text.startswith(NOT_RUN)
        text = text.removeprefix(NOT_RUN)
        self.source, self.kind, self.expected = text, "", ""
        for match in ARROW.finditer(text):
            if _is_complete(text[: match.start()]):
                self.source, self.kind = text[: match.start()].rstrip(), match[1]
                self.expected = text[match.end() :].strip()
                break

    def shown(self) -> str:
        """The example as a line of a program, with its result in a comment."""
        return f"{self.source}  ; {SHOWN[self.kind]} {self.expected}".rstrip() if self.kind else self.source


def split_examples(body: str) -> tuple[str, list[Example]]:
    """The prose of a doc text, and its examples."""
    first, *paragraphs = body.split("\n\n")
    prose, examples = [first], []
    for paragraph in paragraphs:
        if paragraph.startswith(STARTS):
            examples += [Example(text) for text in re.split(r"\n(?!\s)", paragraph)]
        else:
            prose.append(paragraph)
    return "\n\n".join(prose).strip(), examples


def _is_complete(text: str) -> bool:
    try:
        return bool(read_program(text).items)
    except ReaderError:
        return False
