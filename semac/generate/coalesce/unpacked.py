"""Loops over items that are taken apart at once: `for name, size in items` of `for item in items: name, size = item`.

Sound where nothing else mentions the item: Python unpacks it in the same way, before anything else of the round.
"""

from __future__ import annotations

import ast
import re

from semac.generate.coalesce.scan import Names
from semac.generate.pyast import position

PATTERN = re.compile(r"arg-\d+")  # what the compiler calls a parameter that is a pattern


def opened_by(node: ast.For) -> ast.Tuple | None:
    """The variables that a round gives the parts of its item first of all."""
    first = node.body[0]
    if not isinstance(first, ast.Assign) or len(first.targets) > 1 or not isinstance(node.target, ast.Name):
        return None
    opened, value = first.targets[0], first.value
    is_item = isinstance(value, ast.Name) and value.id == node.target.id
    return opened if is_item and isinstance(opened, ast.Tuple) else None


def unpack_items(loops: list[ast.For], names: Names, program: dict[str, str]) -> None:
    """Changes loops over items that nothing else mentions."""
    for loop in loops:
        opened = opened_by(loop)
        assert isinstance(loop.target, ast.Name)
        item = loop.target.id
        is_ours = item not in program or PATTERN.fullmatch(program[item])
        if opened is None or not is_ours or item in names.kept or len(names.nodes[item]) > 2:
            continue
        loop.target = opened
        loop.body = loop.body[1:] or [ast.Pass(**position(loop))]
