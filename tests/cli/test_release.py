"""The version stands in one place, and `scripts/release` moves it and the changelog."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from datetime import date

import pytest
from paths import ROOT

import sema_runtime
import semac

sys.path.insert(0, str(ROOT / "scripts"))

from release import Problem, next_version, released

SOURCE = '"""The compiler."""\n\n__version__ = "0.9.3"\n'
CHANGES = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [0.9.3] - 2026-11-20\n"


def test_the_command_the_package_and_the_changelog_name_the_same_version() -> None:
    shown = subprocess.run([sys.executable, "-m", "semac.cli.entry", "--version"], capture_output=True, text=True)
    heading = re.search(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert heading is not None
    assert shown.stdout == f"sema {heading[1]}\n"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["dependencies", "version"]
    assert project["tool"]["hatch"]["version"]["path"] == "semac/__init__.py"
    assert sema_runtime.__version__ == semac.__version__


def test_the_extras_of_the_runtime_are_those_of_the_compiler() -> None:
    files = (ROOT / "pyproject.toml", ROOT / "runtime" / "pyproject.toml")
    compiler, runtime = (tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files)
    extras = compiler["optional-dependencies"]
    assert runtime["optional-dependencies"] == {name: extras[name] for name in runtime["optional-dependencies"]}
    assert all(compiler[key] == runtime[key] for key in ("requires-python", "license"))
    assert (ROOT / "runtime" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize(
    ("wanted", "version"), [("patch", "0.9.4"), ("minor", "0.10.0"), ("major", "1.0.0"), ("0.9.10", "0.9.10")]
)
def test_the_next_version(wanted: str, version: str) -> None:
    assert next_version(SOURCE, wanted) == version


@pytest.mark.parametrize("wanted", ["0.9.3", "0.9.2", "1.0", "1.0.0rc1", "next"])
def test_versions_that_are_refused(wanted: str) -> None:
    with pytest.raises(Problem):
        next_version(SOURCE, wanted)


def test_the_changelog_of_a_release() -> None:
    assert released(CHANGES, "1.0.0", date(2026, 12, 1)) == (
        "# Changelog\n\n## [Unreleased]\n\n## [1.0.0] - 2026-12-01\n\n### Added\n\n- A thing.\n\n"
        "## [0.9.3] - 2026-11-20\n"
    )


def test_a_release_without_changes_is_refused() -> None:
    empty = released(CHANGES, "1.0.0", date(2026, 12, 1))
    with pytest.raises(Problem, match="nothing under"):
        released(empty, "1.0.1", date(2026, 12, 2))
