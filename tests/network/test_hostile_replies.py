"""Our HTTP client over the table of hostile replies, in a process of its own, whose memory is measured."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import hostile_replies as hostile
import pytest
from paths import SCRIPTS

sys.path.insert(0, str(SCRIPTS))

from compare_http import Worker

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure memory")


@pytest.fixture(scope="module")
def client() -> Iterator[Worker]:
    worker = Worker("ours", timeout=0.5)
    yield worker
    worker.close()


@pytest.mark.parametrize("case", hostile.cases(), ids=lambda case: case.name)
def test_hostile_replies(case: hostile.Case, client: Worker) -> None:
    outcome = client.play(case)
    assert outcome.unsafe == "", outcome
