"""What follows a star in a display is written so that Python reads it back as it was."""

from __future__ import annotations

import ast

import pytest

from semac.generate.text.flat import flat
from semac.generate.text.layout import inside

LONG = "some_quite_long_name_of_a_variable_that_has_to_be_in_the_next_line"
DISPLAYS = [
    "[*(a if b else c), d]",
    "(*(a or b), d)",
    "{*(not a), d}",
    "{**(a if b else c), 'k': d}",
    "f(*(a if b else c), **(d or {}))",
    "[*a.b, *c | d]",
    f"[*({LONG} if {LONG} is not None else c), {LONG}]",
]


@pytest.mark.parametrize("text", DISPLAYS)
def test_displays_are_read_back(text: str) -> None:
    node = ast.parse(text, mode="eval").body
    for written in (flat(node), "\n".join(inside(node, 0, "", ""))):
        assert ast.dump(ast.parse(written, mode="eval").body) == ast.dump(node)
