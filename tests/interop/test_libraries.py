"""The programs of docs/how-to/python-libraries.md, each run with the library that it is about."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import DOCS

PAGE = (DOCS / "how-to" / "python-libraries.md").read_text()
PROGRAM = re.compile(r"^## ([^\n]+)\n\n```sema\n(.*?)```\n\n```text\n(.*?)```$", re.MULTILINE | re.DOTALL)
PROGRAMS = PROGRAM.findall(PAGE)
MODULES = re.compile(r'\(py/(?:import|from) "([a-zA-Z_]+)')
SEMA = Path(sys.executable).with_name("sema")


def test_the_page_has_many() -> None:
    assert len(PROGRAMS) == PAGE.count("\n## ") > 20


@pytest.mark.parametrize(("title", "text", "printed"), PROGRAMS, ids=[title for title, _, _ in PROGRAMS])
def test_programs_print_what_the_page_says(title: str, text: str, printed: str, tmp_path: Path) -> None:
    for module in MODULES.findall(text):
        if importlib.util.find_spec(module) is None:
            pytest.skip("pip install 'semac[dev-interop]'")
    (tmp_path / "main.sema").write_text(text)
    done = subprocess.run([SEMA, "main.sema"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == (printed, "")
