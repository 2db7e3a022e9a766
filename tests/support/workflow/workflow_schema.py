"""Holds what runs have written against the JSON Schema of events that ships with the project."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sema_runtime import workflow

SCHEMA = json.loads(next(Path(workflow.__file__).parent.rglob("events.schema.json")).read_text())
FIRST = 300
"""Events of a file that are looked at, and as many at its end."""


@cache
def _validator(kind: str) -> Draft202012Validator:
    """That of one kind of event, which is much faster than the choice of all; KeyError for an unknown kind."""
    return Draft202012Validator({**SCHEMA["$defs"][kind], "$defs": SCHEMA["$defs"]})


def check(event: dict[str, Any]) -> None:
    """Raises when an event isn't one."""
    _validator(event["event"]).validate(event)


def check_journals(folder: Path) -> set[str]:
    """The names of the events in all journals below a folder; raises when one of them doesn't fit the schema, or the
    events of a file aren't numbered 0, 1, 2..."""
    names = set()
    for file in [*folder.rglob("events.jsonl"), *folder.rglob("events.resume-*.jsonl")]:
        if not file.is_file():
            continue
        lines = file.read_bytes().split(b"\n")[:-1]  # without a line that a process died in
        for line in lines if len(lines) <= 2 * FIRST else lines[:FIRST] + lines[-FIRST:]:
            event = json.loads(line)
            check(event)
            names.add(event["event"])
        numbers = [event["seq"] for event in map(json.loads, lines) if "seq" in event]
        assert numbers == sorted(set(numbers)), file
        if "journal.overflow" not in names:
            assert numbers == list(range(len(numbers))), file
    return names


@pytest.fixture(autouse=True)
def journals_fit_their_schema(request: pytest.FixtureRequest) -> Iterator[None]:
    """Holds the journals that a test leaves against the schema, in each file that imports this.

    Not where the marker `journals_by_hand` says that the test writes them itself, damaged ones too.
    """
    yield
    folder = request.node.funcargs.get("tmp_path")
    if folder is not None and request.node.get_closest_marker("journals_by_hand") is None:
        check_journals(folder)
