"""Folders that tests read, wherever a test itself is."""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
DATA = TESTS / "data"
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
SCRIPTS = ROOT / "scripts"
RUNTIME = ROOT / "runtime"
SHARED = ROOT.parent / "shared"
"""Material that is no part of the project: tests that need it are skipped where it is missing."""
CORPUS = Path(os.environ.get("SEMA_CORPUS") or SHARED / "conformance")
"""The whole conformance corpus; its sample is in `tests/conformance`."""
