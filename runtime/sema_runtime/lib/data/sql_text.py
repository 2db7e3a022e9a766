"""Facts about a SQL text that are needed before SQLite reads it: where statements end, and which parameters have
names."""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match, Pattern


@cache
def _tokens() -> Pattern[str]:
    """Words, quoted text and comments as a whole, parameters, semicolons. A doubled quote is two quoted texts."""
    from re import DOTALL, compile

    quoted = r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]"
    comment = r"--[^\n]*|/\*.*?(?:\*/|\Z)"
    return compile(rf"\w[\w$]*|{quoted}|{comment}|[:@$]\w[\w$]*|\?\d*|;", DOTALL)


def statements(sql: str) -> list[str]:
    """The statements of a text, each up to and with its semicolon."""
    from sqlite3 import complete_statement

    complete = []
    start = 0
    for match in _tokens().finditer(sql):
        if match[0] != ";":
            continue
        piece = sql[start : match.end()]
        if "trigger" in piece.lower() and not complete_statement(piece):
            continue  # a semicolon in the body of CREATE TRIGGER
        complete.append(piece)
        start = match.end()
    return [*complete, sql[start:]]


def unnamed(sql: str) -> tuple[str, list[int]]:
    """The text with a plain `?` for each parameter, and which of the program's values stands for each, from 0.

    Python binds `:a`, `@a`, `$a` and `?1` only by name; Sema programs pass values in the order in which SQLite numbers
    the names.
    """
    numbers: dict[str, int] = {}
    order: list[int] = []

    def plain(match: Match[str]) -> str:
        token = match[0]
        if token[0] not in "?:@$":
            return token
        new = max(order, default=-1) + 1
        if len(token) == 1:
            order.append(new)
        elif token[0] == "?":
            order.append(int(token[1:]) - 1)
        else:
            order.append(numbers.setdefault(token, new))
        return "?"

    return _tokens().sub(plain, sql), order
