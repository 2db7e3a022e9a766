"""Python text that runs with the places of the Sema source (`sema_runtime/source_maps.py` reads it)."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

from sema_runtime.source_maps import POSITION, digest_of, encoded_map, positioned
from semac.generate.pyast import NOWHERE
from semac.generate.text import body_text
from semac.generate.text.f_strings import readable
from semac.generate.text.flat import quoted
from semac.generate.text.layout import STEP

HEAD = '''"""Compiled from {name} by semac."""

from sema_runtime.source_maps import runs_as_source

if not runs_as_source(globals(), {quoted}, "{digest}"):
'''


class Unfaithful(Exception):
    """The text does not say what the tree says."""


def mapped_text(
    tree: ast.Module, name: str, source: str | None, places: dict[Any, Any], calls: list[tuple[str, int, int, int]]
) -> str:
    """The module as text. Where its places are read, it runs as the code that the import hook makes of the source.

    name: of the source file. places, calls: the tables of the unit. Raises Unfaithful for a tree that text can't say.
    """
    tree = ast.Module([readable(statement) for statement in tree.body] or [ast.Pass(**NOWHERE)], [])
    text = body_text(tree, name, source, STEP).lstrip("\n")
    try:
        parsed = ast.parse(f"if 1:\n{text}").body[0]
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise Unfaithful(str(error)) from None
    assert isinstance(parsed, ast.If)
    align(tree.body, parsed.body)
    spans = [[getattr(node, name) for name in POSITION] for node in positioned(parsed.body)]
    facts = {"places": [*places.values()], "calls": calls, "positions": [*differences(spans)]}
    comment = encoded_map(json.dumps(facts, separators=(",", ":")))
    return HEAD.format(name=name, quoted=quoted(name), digest=digest_of(text + comment)) + text + comment


def differences(spans: list[list[int]]) -> Iterator[int]:
    """The numbers of each place as differences to those of the place before."""
    before = [0] * len(POSITION)
    for span in spans:
        yield from (number - old for number, old in zip(span, before, strict=True))
        before = span


def align(own: Any, parsed: Any) -> None:
    """Gives parsed nodes the places of those that they were printed from. Raises Unfaithful where there are none."""
    if isinstance(own, list):
        if not isinstance(parsed, list) or len(own) != len(parsed):
            raise Unfaithful("a text has other parts than its tree")
        for pair in zip(own, parsed, strict=True):
            align(*pair)
    elif not isinstance(own, ast.AST):
        if own is not parsed and (type(own) is not type(parsed) or repr(own) != repr(parsed)):
            raise Unfaithful(f"{own!r} is written as {parsed!r}")
    elif isinstance(own, ast.Constant) and not isinstance(parsed, ast.Constant):
        cover(own, parsed)  # -1 is an operation in a text, and folded again
    elif isinstance(own, ast.Assign) and isinstance(parsed, ast.AugAssign) and isinstance(own.value, ast.BinOp):
        place(own.value, parsed)
        align(own.value.left, parsed.target)
        align([own.value.op, own.value.right], [parsed.op, parsed.value])
    elif type(own) is not type(parsed):
        raise Unfaithful(f"{type(own).__name__} is written as {type(parsed).__name__}")
    else:
        place(own, parsed)
        for field in own._fields:
            if field not in ("kind", "type_comment", "type_params", "ctx"):
                align(getattr(own, field, None), getattr(parsed, field, None))


def place(own: Any, parsed: Any) -> None:
    """Copies the place of a node; what ends nowhere ends where it starts."""
    if "lineno" in parsed._attributes:
        line, col = own.lineno, own.col_offset
        ends = getattr(own, "end_lineno", None), getattr(own, "end_col_offset", None)
        parsed.lineno, parsed.col_offset = line, col
        parsed.end_lineno, parsed.end_col_offset = (line, col) if None in ends else ends


def cover(own: ast.expr, parsed: ast.expr) -> None:
    for node in ast.walk(parsed):
        place(own, node)
