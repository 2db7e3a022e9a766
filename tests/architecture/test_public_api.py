"""docs/reference/public-api.md names exactly the public modules and what their `__all__` lists."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sema_runtime

ROOT = Path(__file__).resolve().parent
while not (ROOT / "pyproject.toml").exists():
    ROOT = ROOT.parent
PAGE = (ROOT / "docs" / "reference" / "public-api.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `([\w.]+)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def names_on_page(module: str) -> list[str]:
    """The names in the first column of the table of a module."""
    rows = [line for line in SECTIONS[module].splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([\w.]+)`", row.split("|")[1])]


@pytest.mark.parametrize("module", SECTIONS)
def test_the_page_names_what_a_module_exports(module: str) -> None:
    names = names_on_page(module)
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(import_module(module).__all__)


@pytest.mark.parametrize("module", SECTIONS)
def test_what_a_module_exports_is_there(module: str) -> None:
    code = f"from {module} import *; print(*[name for name in dir() if not name.startswith('_')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(import_module(module).__all__) <= set(done.stdout.split())


def test_every_public_module_has_a_section() -> None:
    assert {f"sema_runtime.{name}" for name in sema_runtime.__all__} <= set(SECTIONS)


def test_importing_the_package_loads_none_of_its_modules() -> None:
    code = "import sys, sema_runtime; print(*[name for name in sys.modules if name.startswith('sema_runtime.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
