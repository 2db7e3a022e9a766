"""What the compiler believes of a program holds while it runs: inferred types."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from corpus import FILES, SAMPLE, cases_of
from paths import SCRIPTS

sys.path.insert(0, str(SCRIPTS))

from check_types import faults_of
from random_modules import Modules


@pytest.mark.parametrize("seed", range(4))
def test_values_have_the_types_that_were_inferred(seed: int) -> None:
    programs = Modules(500 + seed)
    for _ in range(25):
        source = programs.program()
        assert faults_of(source) == [], source


@pytest.mark.parametrize("path", FILES or [SAMPLE], ids=lambda path: path.stem)
def test_values_of_the_corpus_have_the_types_that_were_inferred(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every fourth case; `scripts/check_types.py --corpus` has them all."""
    monkeypatch.chdir(tmp_path)  # some programs write files
    for case in cases_of(path)[::4]:
        assert faults_of(case["src"]) == [], case["id"]
