"""What holds for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from child_support import Witness

os.environ["SEMA_USAGE"] = "off"  # what tests spend doesn't belong into anybody's ledger

# Background jobs of a shell ignore Ctrl-C, and hand that on to the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty working directory, and afterwards no tasks for the next test."""
    from sema_runtime.tasks import scheduler

    monkeypatch.chdir(tmp_path)
    yield
    scheduler._here.scheduler = None


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    """What knows whether programs that a test has started still run."""
    return Witness(tmp_path)
