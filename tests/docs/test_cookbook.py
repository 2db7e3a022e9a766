"""The recipes of docs/how-to/cookbook.md print what stands below them; tests/data/cookbook.sema plays the providers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import DATA, DOCS

RECIPE = re.compile(r"^## (.*?)\n.*?```sema\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL | re.MULTILINE)
RECIPES = RECIPE.findall((DOCS / "how-to" / "cookbook.md").read_text())
KEYS = ("_API_KEY", "_HOST", "_BASE_URL")


def test_all_recipes_are_found() -> None:
    page = (DOCS / "how-to" / "cookbook.md").read_text()
    assert len(RECIPES) == page.count("```sema") == page.count("\n## ")


@pytest.mark.parametrize(
    ("source", "printed"), [recipe[1:] for recipe in RECIPES], ids=[title for title, *_ in RECIPES]
)
def test_recipe(source: str, printed: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.sema").write_text(source)
    env = {name: value for name, value in os.environ.items() if not name.endswith(KEYS)}
    env |= {"HOME": str(tmp_path), "NO_COLOR": "1"}
    command = [
        sys.executable,
        "-m",
        "semac.cli.entry",
        "-l",
        str(DATA / "cookbook.sema"),
        "recipe.sema",
    ]
    done = subprocess.run(command, cwd=tmp_path, env=env, input="n\n", capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == (printed, "", 0)
