"""`sema new`: each project tests, formats and packages itself."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest
from wheels import build_runtime, environment, run

from semac.project.command import main
from semac.project.skeleton import TEMPLATES, NotPossible, create, package_of, project_files, replacements

SEMA = [sys.executable, "-m", "semac.cli.entry"]


def new(folder: Path, *arguments: str) -> str:
    return run(*SEMA, "new", *arguments, cwd=folder)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_project_tests_and_formats_itself(template: str, tmp_path: Path) -> None:
    new(tmp_path, "my-thing", "--template", template)
    project = tmp_path / "my-thing"
    sources = sorted(str(path.relative_to(project)) for path in project.rglob("*.sema"))
    assert " passed in " in run(*SEMA, "test", "-p", "no:cacheprovider", cwd=project)
    assert "already formatted" in run(*SEMA, "fmt", "--check", cwd=project)
    run(*SEMA, "check", *sources, cwd=project)
    if template != "script":
        assert run(*SEMA, "run", "-m", "my_thing", "--help", cwd=project).startswith("usage: my-thing ")
    run(sys.executable, "-m", "ruff", "check", ".", cwd=project)
    run(sys.executable, "-m", "ruff", "format", "--check", ".", cwd=project)
    for path in project.rglob("*.json"):
        json.loads(path.read_text())
    assert (project / ".git").is_dir()


def test_a_project_becomes_a_wheel_with_a_command(tmp_path: Path) -> None:
    new(tmp_path, "my-agent", "--no-git")
    project = tmp_path / "my-agent"
    assert not (project / ".git").exists()
    run(sys.executable, "-m", "hatchling", "build", cwd=project)
    wheel = project / "dist" / "my_agent-0.1.0-py3-none-any.whl"
    python = environment(tmp_path / "venv", build_runtime(tmp_path), wheel)
    shown = run(python.parent / "my-agent", cwd=tmp_path, fails=True)
    assert shown.startswith("usage: my-agent QUESTION\n")
    shown = run(python.parent / "my-agent", "What", "now?", cwd=tmp_path, fails=True, SEMA_NO_LLM="1")
    assert shown.startswith("Error: ")
    assert "Traceback" not in shown


@pytest.mark.parametrize("template", TEMPLATES)
def test_all_words_of_templates_are_replaced(template: str) -> None:
    texts = project_files("my-thing", template)
    text = "\n".join([*texts, *texts.values()])
    assert [word for word in replacements("my-thing", template) if word in text] == []


@pytest.mark.parametrize("template", [name for name in TEMPLATES if name != "script"])
def test_a_project_names_versions_that_fit(template: str, tmp_path: Path) -> None:
    from semac import __version__

    create(str(tmp_path / "a.b-c"), "a.b-c", template)
    project = tomllib.loads((tmp_path / "a.b-c" / "pyproject.toml").read_text())
    assert project["project"]["name"] == "a.b-c"
    assert project["project"]["scripts"] == {"a-b-c": "a_b_c.cli:main"}
    major, minor, _ = __version__.split(".")
    assert project["project"]["dependencies"] == [f"sema-runtime>={major}.{minor},<{major}.{int(minor) + 1}"]
    assert (tmp_path / "a.b-c" / "a_b_c" / "cli.sema").is_file()


@pytest.mark.parametrize("name", ["json", "class", "1st", "-x", "a b", "Test", "sema-runtime", "ä", "a..", "x/"])
def test_names_that_python_cannot_import_are_refused(name: str) -> None:
    with pytest.raises(NotPossible):
        package_of(name)


def test_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    assert main(["full"]) == 1
    assert main(["file"]) == 1
    assert main(["missing/../full"]) == 1
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]
    assert (tmp_path / "file").read_text() == "mine"
    shown = capsys.readouterr().err
    assert "Error: full is not empty; choose another folder, nothing was written\n" in shown
    assert "Error: file is a file; choose another name\n" in shown
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert main([".", "--template", "script", "--no-git"]) == 0
    assert (tmp_path / "empty" / "main.sema").is_file()


def test_a_project_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from semac.project import skeleton

    def failing(name: str, template: str) -> dict[str, str]:
        return {"one.txt": "1", "one.txt/two.txt": "2"}

    monkeypatch.setattr(skeleton, "project_files", failing)
    with pytest.raises(NotPossible, match="cannot write"):
        create(str(tmp_path / "new"), "new", "script")
    assert list(tmp_path.iterdir()) == []
