"""What the lines below the input say: how the function around the cursor is called, or a page of documentation."""

from __future__ import annotations

import re
import shutil

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Owner(Protocol):
        """What the tips use of the prompt."""

        session: Any
        repl: Any
        ready: bool


LEAST_ROWS = 6
KEYS = "F1 closes, PageDown and PageUp scroll"
WORD = re.compile(r"\S+")


class Tips:
    """page: lines of documentation that are shown, None for none; at: the first one on the screen."""

    def __init__(self, prompt: Owner) -> None:
        self.prompt = prompt
        self.page: list[str] | None = None
        self.at = 0

    def rows(self) -> int:
        """Lines of a page that fit: half a screen."""
        return max(LEAST_ROWS, shutil.get_terminal_size().lines // 2)

    def toggle(self, document: Document) -> None:
        """Shows the documentation of the name at the cursor or of the function that is called there; or closes it."""
        if self.page is not None:
            self.page = None
            return
        from semac.interact.documentation import describe_name
        from semac.interact.forms import function_at, name_at

        for name in (
            name_at(document.text, document.cursor_position)[1],
            function_at(document.text, document.cursor_position),
        ):
            text = describe_name(self.prompt.repl.session, name) if name else None
            if text is not None:
                self.page, self.at = text.split("\n"), 0
                return

    def scroll(self, screens: int) -> None:
        assert self.page is not None
        self.at = max(0, min(self.at + screens * (self.rows() - 2), len(self.page) - self.rows()))

    def shown(self) -> StyleAndTextTuples | None:
        """The text of the toolbar; None for none."""
        if self.page is not None:
            return self.paged(self.page)
        if not self.prompt.ready:
            return None
        from semac.interact.forms import call_at

        document = self.prompt.session.default_buffer.document
        name, number = call_at(document.text, document.cursor_position)
        return self.call(name, number) if name else None

    def paged(self, page: list[str]) -> StyleAndTextTuples:
        lines = page[self.at : self.at + self.rows()]
        fragments: StyleAndTextTuples = [("class:tip.heading" if self.at == 0 else "", lines[0])]
        fragments += [("", f"\n{line}") for line in lines[1:]]
        more = len(page) - self.at - len(lines)
        return [*fragments, ("class:tip.keys", f"\n{KEYS}{f', {more} more lines' if more > 0 else ''}")]

    def call(self, name: str, number: int) -> StyleAndTextTuples | None:
        """Signature, with the argument at the cursor, and first sentence."""
        from semac.interact.documentation import summary

        text = summary(self.prompt.repl.session, name)
        if not text:
            return None
        call, dash, rest = text.partition(" — ")
        words = list(WORD.finditer(call))
        place = argument_word([word.group() for word in words], number)
        if place is None:
            return [("", text)]
        start, end = words[place].span()
        end -= len(words[place].group()) - len(words[place].group().rstrip(")"))
        return [("", call[:start]), ("class:tip.argument", call[start:end]), ("", call[end:] + dash + rest)]


def argument_word(words: list[str], number: int) -> int | None:
    """The index of the word in `(name a b . more)` that stands for an argument; None where none does."""
    if not words or not words[0].startswith("(") or any("(" in word or "[" in word for word in words[1:]):
        return None  # no plain list of parameters
    if "." in words:
        rest = words.index(".")
        return number + 1 if number + 1 < rest else rest + 1 if rest + 1 < len(words) else None
    return number + 1 if number + 1 < len(words) else None
