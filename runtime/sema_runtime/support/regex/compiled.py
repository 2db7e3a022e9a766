"""A compiled pattern: the choice between `re` and the engine that runs in linear time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

from sema_runtime.capabilities import restricted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    from sema_runtime.support.regex.linear import Found, Linear

    Match = re.Match[str] | Found

MOST_STEPS = 4000  # of a pattern in the linear engine, which takes memory for the square of their number
LONG = 500  # characters


class Compiled:
    """A pattern, compiled for ASCII texts or for all texts.

    `re` runs it, unless that could take much more than linear time: then linear.py does.
    """

    def __init__(self, pattern: str, ascii_text: bool) -> None:
        import re

        from sema_runtime.support.regex.classes import ASCII, UNICODE
        from sema_runtime.support.regex.syntax import Parser
        from sema_runtime.support.regex.tree import loops, rendered, repeats, shortest, size

        self.tree, self.names, self.groups = Parser(pattern, ASCII if ascii_text else UNICODE).parse()
        self.flags = re.ASCII if ascii_text and pattern.isascii() else re.NOFLAG
        self.regex = re.compile(rendered(self.tree), self.flags)
        self.can_be_empty = shortest(self.tree) == 0
        self.repeats = repeats(self.tree)
        self.size = size(self.tree)
        self.always_unsafe, self.unsafe_run = False, None
        loop_count = loops(self.tree)
        if loop_count is None:
            self.always_unsafe = True
        elif loop_count > 1:
            from sema_runtime.support.regex.risk import risk

            self.always_unsafe, self.unsafe_run = risk(self.tree, pattern, self.flags)
        self.is_harmless = not self.always_unsafe and self.unsafe_run is None

    @cached_property
    def linear(self) -> Linear:
        from sema_runtime.support.regex.errors import too_large
        from sema_runtime.support.regex.linear import Linear

        if self.size > MOST_STEPS:
            raise too_large()
        return Linear(self.tree, self.groups, self.flags)

    def is_safe(self, text: str) -> bool:
        """Whether `re` may run on that text.

        It may not on long texts in a sandbox, where most loops can be made quadratic. Elsewhere, huge patterns always
        use `re`.
        """
        safe = not self.always_unsafe and (self.unsafe_run is None or self.unsafe_run.search(text) is None)
        if safe and len(text) <= LONG:
            return True
        if restricted():
            return safe and not self.repeats
        return safe or self.size > MOST_STEPS

    def plain(self, text: str) -> re.Pattern[str] | None:
        """The pattern of `re`, where all that it does with a text is right: it may run, and no match of it is empty."""
        return self.regex if not self.can_be_empty and self.is_safe(text) else None

    def search(self, text: str) -> Match | None:
        """The first match, None without one."""
        if (self.is_harmless and len(text) <= LONG) or self.is_safe(text):
            return self.regex.search(text)
        return self.linear.search(text)

    def matches(self, text: str) -> Iterator[Match]:
        """All matches. Unlike in Python, no empty match directly follows another match."""
        if not self.is_safe(text):
            return self.linear.matches(text)
        return self._with_empty(text) if self.can_be_empty else self.regex.finditer(text)

    def _with_empty(self, text: str) -> Iterator[Match]:
        last = empty = -1  # where the last match ended, the last empty one
        for match in self.regex.finditer(text):
            start, end = match.span()
            if start == empty != end:  # Python's second choice where the empty match is the first
                yield from self._one_by_one(text, start + 1, start)
                return
            if not start == end == last:
                yield match
            last, empty = end, end if start == end else -1

    def _one_by_one(self, text: str, at: int, last: int) -> Iterator[Match]:
        search = self.regex.search
        while at <= len(text) and (match := search(text, at)):
            if match.end() == match.start() == last:
                at = last + 1
                continue
            yield match
            at = last = match.end()


compiled = lru_cache(1024)(Compiled)
