"""The failure of a check in a test."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import pretty, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EQUALITIES = ("=", "equal?", "eq?", "eqv?")
MOST_LINES = 60  # of one difference


class CheckFailed(SemaError, AssertionError):
    """`(is form)` was false.

    form: as it was written. values: of its arguments, where are_arguments, else its own value. reason: instead of them.
    contexts: those of `testing` around it, the outermost first.
    """

    kind = "assertion"

    def __init__(
        self, form: Any, values: list[Any], are_arguments: bool, said: str | None = None, reason: str | None = None
    ) -> None:
        shown = reason or ", ".join(map(to_text, values))
        failed = f"{to_text(form)} is false: {shown}" if reason is None else f"{to_text(form)}: {reason}"
        super().__init__(f"{said}: {failed}" if said else failed)
        self.form = form
        self.values = values
        self.are_arguments = are_arguments
        self.said = said
        self.reason = reason
        self.contexts: list[str] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return CheckFailed, (self.form, self.values, self.are_arguments, self.said, self.reason), self.__dict__

    def explained(self, everything: bool = False) -> list[str]:
        """Lines for a report: contexts, form, the values of its parts, and the difference of two that should be equal.

        everything: also of long differences, which else end after 60 lines.
        """
        lines = [" > ".join(self.contexts)] if self.contexts else []
        lines += [self.said] if self.said else []
        lines.append(
            f"is false: {to_text(self.form)}" if self.reason is None else f"{to_text(self.form)}: {self.reason}"
        )
        if not self.are_arguments:
            return lines + [f"  value: {to_text(value)}" for value in self.values]
        items = self.form.items
        lines += [
            f"  {to_text(part)} is {_cut(to_text(value), everything)}"
            for part, value in zip(items[1:], self.values, strict=True)
            if to_text(part) != to_text(value)
        ]
        if items[0].name in EQUALITIES and len(self.values) == 2:
            lines += _difference(self.values[0], self.values[1], everything)
        return lines


def _cut(text: str, everything: bool) -> str:
    return text if everything or len(text) <= 240 else f"{text[:200]} … ({len(text)} characters, -vv shows all)"


def _difference(left: Any, right: Any, everything: bool) -> list[str]:
    """The lines of two values that differ, `-` for the left one, `+` for the right one; none for short values."""
    texts = [value if isinstance(value, str) else pretty(value, 40) for value in (left, right)]
    if all("\n" not in text for text in texts):
        return []
    from difflib import ndiff

    lines = [line.rstrip("\n") for line in ndiff(texts[0].splitlines(), texts[1].splitlines())]
    if len(lines) > MOST_LINES and not everything:
        lines[MOST_LINES:] = [f"... {len(lines) - MOST_LINES} more lines, -vv shows them"]
    return ["difference (- left, + right):", *(f"  {line}" for line in lines)]
