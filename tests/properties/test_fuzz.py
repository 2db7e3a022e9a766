"""A short run of the fuzz driver: any text gives forms and code, or a Sema error with a place; and a value."""

from __future__ import annotations

import subprocess
import sys

import pytest
from paths import SCRIPTS

from sema_runtime.values.errors import SemaError
from semac.pipeline import compile_source

DRIVER = SCRIPTS / "fuzz.py"


@pytest.mark.parametrize("part", ["reader", "compiler", "library"])
def test_no_internal_errors(part: str) -> None:
    command = [sys.executable, str(DRIVER), "--inputs", "3000", "--seed", "5", "--part", part]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3000 inputs" in done.stdout


def test_a_dot_cannot_be_a_variable_of_a_named_let() -> None:
    with pytest.raises(SemaError, match=r"named let: `\.` cannot be a variable") as caught:
        compile_source("1\n((let l((. 0)(c(())))((()))))", "f.sema", "program")
    assert caught.value.span.line == 2  # type: ignore[attr-defined]
