"""Texts as they are typed: whether they are complete, their open brackets, the name at a place."""

from __future__ import annotations

import re

from sema_runtime.values.errors import ReaderError, SemaError
from semac.syntax.reader import read_program

NAME = re.compile(r"[^\s()\[\]{}'`\",@;]+")
BODY = re.compile(
    r"(def|let|fn$|lambda$|when|unless|do$|begin$|if|cond|match|try|catch|async|with|for|parameterize|testing)"
)


def incomplete(text: str) -> bool:
    """Whether the text ends within a form. An empty line after an unfinished f-string or the like ends it anyway."""
    try:
        read_program(text)
    except ReaderError as error:
        return error.message.startswith("unterminated") and not text.endswith("\n\n")
    except SemaError:
        return False
    return False


def broken(text: str) -> bool:
    """Whether no continuation can make a program of the text."""
    try:
        read_program(text)
    except ReaderError as error:
        return not error.message.startswith("unterminated")
    except SemaError:
        return True
    return False


def open_brackets(text: str) -> tuple[list[int], int | None]:
    """(the offsets of brackets that are open at the end, the offset of the string that is open there or None)."""
    stack: list[int] = []
    index, size = 0, len(text)
    while index < size:
        char = text[index]
        if char == '"':
            end = _string_end(text, index + 1)
            if end is None:
                return stack, index
            index = end
        elif char == ";":
            newline = text.find("\n", index)
            index = size if newline < 0 else newline
        elif char == "\\" or text.startswith("#\\", index):
            index += 2 if char == "#" else 1  # a character such as #\( is no bracket
        elif char in "([{":
            stack.append(index)
        elif char in ")]}" and stack:
            stack.pop()
        index += 1
    return stack, None


def _string_end(text: str, index: int) -> int | None:
    """The offset of the quote that ends the string with its contents at index; None where it is open."""
    while index < len(text):
        if text[index] == "\\":
            index += 1
        elif text[index] == '"':
            return index
        index += 1
    return None


def indentation(text: str) -> int:
    """How many columns the line after text is indented by: two in bodies, else below the first argument or item."""
    stack, string = open_brackets(text)
    if not stack or string is not None:
        return 0
    at = stack[-1]
    column = at - (text.rfind("\n", 0, at) + 1)
    if text[at] != "(":
        return column + 1
    rest = text[at + 1 :].split("\n", 1)[0]
    head = NAME.match(rest)
    if head is None:
        return column + 1
    if BODY.match(head.group()):
        return column + 2
    after = rest[head.end() :]
    argument = after.lstrip()
    return column + 2 if not argument else column + 1 + head.end() + len(after) - len(argument)


def name_at(text: str, cursor: int) -> tuple[int, str]:
    """(the start of the name that the cursor stands in or behind, the name); an empty one where there is none."""
    for found in NAME.finditer(text):
        if found.start() <= cursor <= found.end():
            return found.start(), found.group()
    return cursor, ""


def function_at(text: str, cursor: int) -> str:
    """The head of the innermost call around the cursor; empty outside of calls."""
    for at in reversed(open_brackets(text[:cursor])[0]):
        if text[at] == "(":
            head = NAME.match(text, at + 1)
            return head.group() if head else ""
    return ""


def call_at(text: str, cursor: int) -> tuple[str, int]:
    """(the head of the innermost call around the cursor, the number of the argument there, from 0); an empty head
    outside of calls."""
    before = text[:cursor]
    for at in reversed(open_brackets(before)[0]):
        head = NAME.match(text, at + 1) if text[at] == "(" else None
        if head is not None and head.end() < cursor:
            return head.group(), items_begun(before[head.end() :]) - 1
        if text[at] == "(":
            break
    return "", 0


def items_begun(text: str) -> int:
    """How many items begin in a text behind a head; one more where the last one has ended."""
    count = depth = index = 0
    between = True
    while index < len(text):
        char = text[index]
        if char == ";":
            newline = text.find("\n", index)
            index = len(text) if newline < 0 else newline
            continue
        if char.isspace():
            between = between or depth == 0
        else:
            count += between
            between = False
            depth += (char in "([{") - (char in ")]}")
            if char == '"':
                index = _string_end(text, index + 1) or len(text)
        index += 1
    return count + between
