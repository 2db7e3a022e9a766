"""Guides in docs/how-to whose every block is followed: see tests/support/followed_pages.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from followed_pages import follow, forgotten
from paths import DOCS

from sema_runtime.box import Pool, Unprotected

GUIDE = DOCS / "how-to" / "data-analyst.md"


def test_a_data_analyst(tmp_path: Path) -> None:
    try:
        Pool(spare=0).close()
    except Unprotected as problem:
        pytest.skip(problem.message)
    follow([GUIDE], tmp_path)


def test_no_block_is_forgotten() -> None:
    assert forgotten(GUIDE) == []
