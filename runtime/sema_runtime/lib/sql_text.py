"""What must be known of a SQL text before SQLite reads it: where statements end, and which parameters have names."""

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
    """The statements of a text, cut behind their semicolons."""
    from sqlite3 import complete_statement

    found = []
    start = 0
    for match in _tokens().finditer(sql):
        if match[0] != ";":
            continue
        piece = sql[start : match.end()]
        if "trigger" in piece.lower() and not complete_statement(piece):
            continue  # a semicolon in the body of CREATE TRIGGER
        found.append(piece)
        start = match.end()
    return [*found, sql[start:]]


def numbered(sql: str) -> str:
    """The text with numbers for the names of parameters (`:a`, `@a`, `$a`), counted as SQLite does.

    Python wants names and values for such parameters; Sema programs give values in the order of the names.
    """
    numbers: dict[str, int] = {}
    highest = 0

    def number(match: Match[str]) -> str:
        nonlocal highest
        token = match[0]
        if token[0] == "?":
            highest = max(highest, int(token[1:] or highest + 1))
        elif token[0] in ":@$":
            if token not in numbers:
                highest += 1
                numbers[token] = highest
            return f"?{numbers[token]}"
        return token

    return _tokens().sub(number, sql)
