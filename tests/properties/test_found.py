"""Programs that were compiled wrongly once, or try what passes rewrite, with the reference's answers: plain and
optimized code gives them, as a program, as a module and as an input of a session."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from paths import DATA, SCRIPTS

sys.path.insert(0, str(SCRIPTS))

from programs.configurations import configuration
from programs.reference import WAYS, answer

FILES = ("found_programs.jsonl", "inner_defines.jsonl", "tried_programs.jsonl")
FOUND = [json.loads(line) for file in FILES for line in (DATA / file).read_text("utf-8").splitlines()]
CONFIGURATIONS = tuple(map(configuration, ("plain", "optimized")))


@pytest.mark.parametrize("case", FOUND, ids=lambda case: case["id"])
def test_found(case: dict[str, Any]) -> None:
    expected = case["value"], case["output"], case["error"]
    for option in CONFIGURATIONS:
        for way in WAYS:
            assert answer(case["src"], option, way) == expected, (option.name, way)
