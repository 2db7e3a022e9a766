"""The same tests for pytest, as a Python project that uses a Sema module would have them.

python -m pytest examples/tested
"""

from __future__ import annotations

from pathlib import Path

import pytest

import semac.importer

semac.importer.install()

import triage  # noqa: E402  triage.sema, beside this file

TAPE = Path(__file__).parent / "triage.jsonl"


@pytest.fixture(autouse=True)
def tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call leaves the tape, whatever keys this machine has."""
    monkeypatch.setenv("SEMA_LLM_CASSETTE", str(TAPE))
    monkeypatch.setenv("SEMA_LLM_CASSETTE_MODE", "replay")


def test_a_refund_is_for_billing() -> None:
    found = triage.triage("I was charged twice for order B-1204, please refund one of them.")
    assert found["team"].name == "billing"
    assert found["order"] == "B-1204"


def test_what_is_not_on_the_tape_fails() -> None:
    with pytest.raises(Exception, match="cassette miss"):
        triage.triage("Something never asked before.")
