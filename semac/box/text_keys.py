"""Warns of texts as keys of inputs: these have keywords, so `(get row "total")` is nil, as elsewhere in Sema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sema_runtime.values.atoms import Keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.anf import nodes
from semac.anf.walk import all_blocks
from semac.ir.unit import Unit

LOOK_UPS = ("get", "contains?", "hash-ref")  # the key is their second argument
MOST_PARTS = 2_000  # of the inputs, that are looked through
MOST_ITEMS = 20  # of one list


def text_key_warnings(unit: Unit, inputs: Iterable[Any]) -> list[str]:
    """A line for each text that a unit looks up and that an input has as a keyword."""
    asked = dict(looked_up(unit))
    known = set(keys_of(inputs)) if asked else set()
    return [
        f'{f"line {span.line}: " if span is not None else ""}the key "{key}" is a text, but inputs have keywords: '
        f"write (:{key} row), or (get row :{key})"
        for key, span in asked.items()
        if key in known
    ]


def looked_up(unit: Unit) -> Iterator[tuple[str, Any]]:
    """The texts that stand as keys in a unit, with their places."""
    for form in unit.blocks:
        for block in all_blocks(form):
            for instr in block.instrs:
                op = instr.op
                if isinstance(op, nodes.CallBuiltin | nodes.CallOpen) and op.name in LOOK_UPS and len(op.args) > 1:
                    key = getattr(op.args[1], "value", None)
                    if type(key) is str:
                        yield key, op.span


def keys_of(inputs: Iterable[Any]) -> Iterator[str]:
    """The names of the keywords that are keys in inputs, as far as these are looked through."""
    waiting, left = list(inputs), MOST_PARTS
    while waiting and left:
        value = waiting.pop()
        left -= 1
        if type(value) is Map:
            yield from (key.name for key, _ in value.pairs() if type(key) is Keyword)
            waiting.extend(part for _, part in value.pairs())
        elif type(value) is tuple or type(value) is List:
            waiting.extend(list(value)[:MOST_ITEMS])
