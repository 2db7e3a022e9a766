"""Python text of a compiled unit: readable, complete, with the Sema comments and the place each part came from."""

from __future__ import annotations

import ast
import os

from semac import __version__
from semac.generate.pyast import NOWHERE
from semac.generate.text.f_strings import readable
from semac.generate.text.statements import statement_lines

NOTE = 98  # characters of a line of a comment


def version_line() -> str:
    """The first line of a `.py` file that is written: the semac that compiled it."""
    return f"# Compiled with semac {__version__}\n"


def module_text(tree: ast.Module, filename: str, source: str | None = None) -> str:
    """The module as Python source. filename: of the Sema text; source: the text itself, for its comments."""
    shown = os.path.basename(filename)
    body = body_text(tree, shown, source)
    return f'"""Compiled from {shown} by semac."""\n{body}' if body else f'"""Compiled from {shown} by semac."""\n'


def body_text(tree: ast.Module, shown: str, source: str | None, indent: int = 0) -> str:
    """The statements of a module as lines. shown: the name of the Sema file."""
    comments = comments_above(source) if source is not None else {}
    from textwrap import indent as indented
    from textwrap import wrap

    parts = []
    previous: ast.stmt | None = None
    for statement in tree.body:
        line = statement.lineno
        text = "\n".join(statement_lines(readable(statement), indent))
        is_def = isinstance(statement, ast.FunctionDef | ast.ClassDef)
        notes = comments.pop(line, []) if not is_preamble(statement) else []
        if is_def and not notes:
            notes = [f"{shown}:{line}"]
        notes = [line for note in notes for line in wrap(note, NOTE) or [""]]
        gap = (
            "\n\n"
            if is_def or isinstance(previous, ast.FunctionDef | ast.ClassDef)
            else "\n"
            if separates(previous, statement)
            else ""
        )
        parts.append(gap + indented("".join(f"# {note}\n" for note in notes), " " * indent) + text + "\n")
        previous = statement
    return "".join(parts)


def is_preamble(statement: ast.stmt) -> bool:
    """Imports and module constants, which stand for no form of the source."""
    place = (statement.lineno, statement.col_offset, statement.end_lineno, statement.end_col_offset)
    return place == tuple(NOWHERE.values())


def separates(previous: ast.stmt | None, statement: ast.stmt) -> bool:
    """Whether a blank line stands between two statements: after the docstring, imports and constants."""
    if previous is None or is_preamble(previous) != is_preamble(statement):
        return True
    return type(previous) is not type(statement) and not (is_import(previous) and is_import(statement))


def is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def comments_above(source: str) -> dict[int, list[str]]:
    """Line of a top-level form → the comment lines directly above it, without their semicolons."""
    from semac.syntax.reader import read_recovering

    forms, _, comments = read_recovering(source)
    by_line = {comment.span.line: comment.text.lstrip(";").strip() for comment in comments if comment.span.col == 1}
    comments_of: dict[int, list[str]] = {}
    for span in forms.span.children if forms.span is not None else ():
        lines: list[str] = []
        line = span.line - 1
        while line in by_line:
            lines.insert(0, by_line[line])
            line -= 1
        if lines:
            comments_of[span.line] = lines
    return comments_of
