"""Importing Sema modules sets the thresholds of Python's collector, where nobody else has (decision 125)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

THRESHOLDS = [10_000, 200, 100]


@pytest.mark.parametrize(
    ("before", "environment", "first"),
    [
        ("", {}, 10_000),
        ("gc.set_threshold(5_000); ", {}, 5_000),
        ("gc.set_threshold(0); ", {}, 0),
        ("default = gc.get_threshold()[0]; ", {"SEMA_GC": "host"}, None),
    ],
)
def test_thresholds(tmp_path: Path, before: str, environment: dict[str, str], first: int | None) -> None:
    (tmp_path / "numbers_of.sema").write_text("(define numbers (map abs '(1 -2)))")
    code = f"import gc, json, sys; {before}from sema_runtime import importer; importer.install(); import numbers_of; "
    code += "print(json.dumps([default if 'default' in globals() else None, *gc.get_threshold()]))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    default, *thresholds = json.loads(done.stdout)
    assert thresholds[0] == (default if first is None else first)
    assert first != THRESHOLDS[0] or thresholds == THRESHOLDS
