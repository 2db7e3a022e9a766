"""One pool for the tests of the box."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sema_runtime.box import Limits, Pool, Unprotected


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    try:
        made = Pool(Limits(wall_ms=5_000))
    except Unprotected as problem:
        pytest.skip(problem.message)
    with made:
        yield made
