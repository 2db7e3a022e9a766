"""What holds for all tests."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from child_support import Witness
from hypothesis import HealthCheck, settings

# A busy machine is no finding. The examples are the same every time, unless one wants to look for new ones.
PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", **PATIENT, derandomize=True, database=None)
settings.register_profile("random", **PATIENT, print_blob=True)
settings.load_profile("random" if os.environ.get("SEMA_TEST_RANDOM") else "same")

os.environ["SEMA_USAGE"] = "off"  # what tests spend doesn't belong into anybody's ledger
os.umask(0o022)  # tests look at the permissions of files

# Background jobs of a shell ignore Ctrl-C, and hand that on to the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # by nohup; we go on, but don't hand that on
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty working directory, and afterwards no tasks for the next test."""
    from sema_runtime.tasks import scheduler
    from sema_runtime.tasks.loops import close

    monkeypatch.chdir(tmp_path)
    yield
    used, scheduler._per_thread.scheduler = scheduler._per_thread.scheduler, None
    if used is not None and used.private_loop is not None:
        close(used.private_loop)


@pytest.fixture(autouse=True)
def connections_dont_pile_up() -> Iterator[None]:
    """Those that are kept for a next request are closed: there is none to the server of this test."""
    yield
    client = sys.modules.get("sema_runtime.net.client")
    for loop, connections in list(client._connections.items()) if client is not None else ():
        if not (loop.is_closed() or loop.is_running()):
            connections.pool.close_idle()
            loop.run_until_complete(asyncio.sleep(0))


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    """What knows whether programs that a test has started still run."""
    return Witness(tmp_path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from distribution import Files

    if config.option.dist != "loadfile":
        return None
    config.option.loadscopereorder = False  # by the number of tests
    return Files(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        from distribution import longest_first

        longest_first(items)
