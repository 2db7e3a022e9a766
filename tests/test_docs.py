"""The examples in the user pages: each `; =>` line prints that value, each `; error:` line ends with that message."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sema_runtime.values.conditions import describe
from sema_runtime.values.printer import to_text
from semac.session import Session

DOCS = Path(__file__).parent.parent / "docs"
FENCE = re.compile(r"```sema\n(.*?)```", re.DOTALL)
EXPECTED = re.compile(r"^(.*?)  ; (=>|error:) (.*)$")


def blocks(page: str) -> list[str]:
    return FENCE.findall((DOCS / page).read_text())


@pytest.mark.parametrize(
    ("page", "block"), [(page, block) for page in ("language.md", "macros.md", "python.md") for block in blocks(page)]
)
def test_examples(page: str, block: str) -> None:
    before: list[str] = []
    for line in block.splitlines():
        match = EXPECTED.match(line)
        if match is None:
            before.append(line)
            continue
        source, kind, expected = match.groups()
        program = "\n".join([*before, source])
        if kind == "=>":
            assert to_text(Session().run(program)) == expected, line
        else:
            with pytest.raises(Exception) as caught:
                Session().run(program)
            assert describe(caught.value).message == expected, line
