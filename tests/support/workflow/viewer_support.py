"""What tests of the workflow viewer share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from workflow_journals import Segment, written

from sema_runtime.workflow.viewer.server import Viewer


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[Viewer]:
    made = Viewer(tmp_path / "runs", port=0)
    made.root.mkdir()
    made.start()
    yield made
    made.stop()


def asked(root: Path, key: Any) -> str:
    """A run that waits for an approval; its id."""
    from sema_runtime.workflow.approvals import files
    from sema_runtime.workflow.approvals.keys import public_of
    from sema_runtime.workflow.approvals.records import request_of

    run = Segment("ship", "a")
    run.end("needs-approval")
    folder = written(root, "a", run)
    identity = {
        "schema_version": 2, "revision": 1, "run_id": "a", "workflow": "ship", "code_version": "", "args_digest": "0",
        "phase": "Ship", "key": "release", "occurrence": 0, "subject_digest": "1", "reason": "goes to all customers",
        "preview": "version 3",
    }  # fmt: skip
    request = request_of(identity, "2026-01-01T00:00:00Z", public_of(key))
    assert files.publish(str(folder), request)
    return request.approval_id


@pytest.fixture
def signing_key(tmp_path: Path) -> Any:
    pytest.importorskip("cryptography")
    from sema_runtime.workflow.approvals import keys

    keys.generate(str(tmp_path / "private"), str(tmp_path / "public"))
    return keys.read_private(str(tmp_path / "private"))
