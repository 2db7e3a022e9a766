"""A client of the viewer's server, and the token of its page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from viewer_support import signing_key as signing_key
from viewer_support import viewer as viewer

from sema_runtime.workflow.viewer.server import Viewer


@pytest.fixture
def client(viewer: Viewer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=viewer.url, timeout=20) as made:
        yield made


def token(client: httpx.Client) -> str:
    found = re.search(r'name="sema-view-token" content="([0-9a-f]{32})"', client.get("/").text)
    assert found
    return found[1]
