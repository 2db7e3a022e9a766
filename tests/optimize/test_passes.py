"""Programs give the same answers with all passes, with none, and with any one left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from corpus import SAMPLE

from semac.optimize.passes import PASSES


def answers(**environment: str) -> list[dict[str, Any]]:
    """What `sema eval --jsonl` says of the sample of the corpus, without hints: they may name an outer call."""
    run = subprocess.run(
        [sys.executable, "-m", "semac.cli.entry", "eval", "--jsonl"],
        input=SAMPLE.read_text("utf-8"),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [{**json.loads(line), "hint": None} for line in run.stdout.splitlines()]


@pytest.fixture(scope="module")
def expected() -> list[dict[str, Any]]:
    return answers(SEMA_OPT="0")


def test_answers_with_all_passes(expected: list[dict[str, Any]]) -> None:
    assert answers() == expected


@pytest.mark.parametrize("name", [*(one.name for one in PASSES if one.optional), "signs"])
def test_a_pass_can_be_left_out(name: str, expected: list[dict[str, Any]]) -> None:
    assert answers(SEMA_SKIP=name) == expected


def test_values_are_of_their_inferred_types(expected: list[dict[str, Any]]) -> None:
    assert answers(SEMA_ASSERT_TYPES="1") == expected
