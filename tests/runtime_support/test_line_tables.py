"""Tables of positions with fewer entries, and the table of places: what they say stays the same."""

from __future__ import annotations

import argparse
import typing
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sema_runtime.conditions.line_tables import merged
from sema_runtime.conditions.places import KINDS, decoded, encoded


def codes(code: CodeType) -> list[CodeType]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [code, *(other for each in inner for other in codes(each))]


LONG_LINES = "\n".join(f"{' ' * 0}value = f({'a, ' * count}b)(c\n, d)" for count in range(1, 90, 7))


@pytest.mark.parametrize("text", [Path(argparse.__file__).read_text(), Path(typing.__file__).read_text(), LONG_LINES])
def test_positions_stay(text: str) -> None:
    for code in codes(compile(text, "<test>", "exec")):
        table, positions = merged(code.co_linetable, code.co_firstlineno)
        assert len(table) <= len(code.co_linetable)
        assert list(code.replace(co_linetable=table).co_positions()) == list(code.co_positions())
        places = set(code.co_positions())
        assert positions == {(line, col + 1, end or 0) for line, _, col, end in places if line and col is not None}


numbers = st.integers(1, 100_000)
position = st.tuples(numbers, numbers)
loop = st.one_of(st.just(("", 0, 0)), st.tuples(st.text(st.characters(exclude_characters="\0")), numbers, numbers))
place = st.builds(
    lambda at, shown, kind, loop, later: (*at, *(at if shown is None else shown), kind, *loop, *later),
    position,
    st.one_of(st.none(), st.just((0, 0)), position),
    st.sampled_from(KINDS),
    loop,
    st.one_of(st.just((0, 0)), position),
)


@given(st.lists(place), numbers)
def test_places_stay(places: list[Any], start: int) -> None:
    assert decoded(encoded(sorted(places), start), start) == sorted(places)
