"""The examples of docs/reference/box.md: each program ends for the reason and with the message that the table has."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from paths import ROOT

from sema_runtime.box import Pool, Session

ROW = re.compile(r"\| `(.+?)` \| (?:`(\w+)=(\d+)`)? ?\| `(\w+)` \| (.+) \|")
DOC = (ROOT / "docs/reference/box.md").read_text(encoding="utf-8")
EXAMPLES = [match.groups() for match in map(ROW.fullmatch, DOC.split("\n")) if match]
# a line and a column are known of every error but that of a limit of the whole program
OF_PROGRAMS = re.compile(r"(?!stack)\w+_exceeded|timeout")


def search(query: str, limit: int = 10) -> list[Any]:
    return [query] * limit


def broken() -> None:
    raise ValueError("no connection")


@pytest.mark.parametrize(("source", "limit", "most", "reason", "message"), EXAMPLES)
def test_a_program_ends_for_the_reason_in_the_reference(
    pool: Pool, source: str, limit: str | None, most: str | None, reason: str, message: str
) -> None:
    limits = replace(pool.limits, **{limit: int(most)}) if limit and most else pool.limits
    with Session(pool, tools={"search": search, "broken": broken}, limits=limits) as session:
        outcome = session.run(source)
    assert (outcome.status, outcome.reason, outcome.message) == ("error", reason, message)
    assert (outcome.line is not None and outcome.excerpt is not None) == (OF_PROGRAMS.fullmatch(reason) is None)


def test_every_reason_of_programs_has_an_example() -> None:
    section = DOC.partition("## Reasons")[2].partition("An example of each")[0]
    listed = {name for row in re.findall(r"^\| (`.+?) \|", section, re.M) for name in re.findall(r"`(\w+)`", row)}
    assert listed - {example[3] for example in EXAMPLES} == {"worker_died", "internal_error", "invalid_request"}
