"""git/*: real repositories, with the names, states and settings that confuse readers of git's output."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sema_runtime import capabilities
from sema_runtime.conditions.describe import condition_map, describe
from sema_runtime.lib.system import git
from sema_runtime.values.errors import PermissionDenied, SemaError
from sema_runtime.values.printer import to_text
from semac.session import Session

ODD = ["two\nlines.txt", ' sp "quoted" é.txt', "a -> b", "-q", "\ttab", os.fsdecode(b"bad\xff")]


def git_command(*words: str) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True)


def commit(message: str) -> None:
    git_command("add", "-A")
    git_command("commit", "-qm", message, "--allow-empty")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where nothing above counts as a repository, and no settings of the machine apply."""
    for name in git.ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path.parent / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("LC_ALL", "C")
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def repository(empty_folder: Path) -> Path:
    git_command("init", "-q", "-b", "main")
    git_command("config", "user.email", "ada@example.com")
    git_command("config", "user.name", "Ada")
    return empty_folder


def test_root_and_branch(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit("first")
    (repository / "deep").mkdir()
    monkeypatch.chdir(repository / "deep")
    assert git.git_root() == os.path.realpath(repository)
    assert git.git_current_branch() == "main"
    git_command("checkout", "-q", "--detach")
    assert git.git_current_branch() == "HEAD"


def test_status(repository: Path) -> None:
    for name in ("changed", "staged", "gone", "old"):
        (repository / name).write_text(name * 20)
    commit("first")
    (repository / "changed").write_text("x")
    (repository / "staged").write_text("x")
    git_command("add", "staged")
    (repository / "gone").unlink()
    git_command("mv", "old", "renamed")
    (repository / "new").write_text("x")
    found = {one["path"]: to_text(one) for one in git.git_status()}
    assert found == {
        "changed": '{:path "changed" :staged #f :status " M" :untracked #f}',
        "gone": '{:path "gone" :staged #f :status " D" :untracked #f}',
        "new": '{:path "new" :staged #f :status "??" :untracked #t}',
        "renamed": '{:path "renamed" :staged #t :status "R " :untracked #f}',
        "staged": '{:path "staged" :staged #t :status "M " :untracked #f}',
    }
    assert sorted(git.git_changed_files()) == sorted(found)
    assert to_text(git.git_diff_files()) == '("changed" "gone")'


def test_odd_names_come_as_they_are(repository: Path) -> None:
    for name in ODD:
        (repository / name).write_text("1")
    assert sorted(git.git_changed_files()) == sorted(ODD)
    commit("odd")
    for name in ODD:
        (repository / name).write_text("2")
    assert sorted(git.git_diff_files()) == sorted(ODD)
    assert sorted(git.git_recent_files()) == sorted(ODD)
    assert "+2" in git.git_diff("-q")
    (repository / ".gitignore").write_text("-q\n")
    git_command("rm", "-q", "--cached", "--", "-q")
    assert git.git_is_ignore_matches("-q")


def test_recent_files(repository: Path) -> None:
    for commits in (["a"], ["b"], [], ["a", "c"]):
        for name in commits:
            with open(name, "a") as file:
                file.write("x")
        commit("one")
    assert to_text(git.git_recent_files()) == '("a" "c" "b")'
    assert to_text(git.git_recent_files(2)) == '("a" "c")'
    assert to_text(git.git_recent_files(0)) == "()"
    with pytest.raises(SemaError, match="expected int, got string"):
        git.git_recent_files("5")


def test_diff(repository: Path) -> None:
    for name in ("a", "b"):
        (repository / name).write_text("old\n")
    commit("first")
    for name in ("a", "b"):
        (repository / name).write_bytes(b"new \xff\n")
    git_command("config", "color.ui", "always")
    git_command("config", "diff.noprefix", "true")
    git_command("config", "diff.external", "false")
    assert "--- a/a\n+++ b/a\n" in git.git_diff()
    assert git.git_diff("b").splitlines()[-2:] == ["-old", "+new �"]
    assert git.git_diff("missing") == ""
    with pytest.raises(SemaError, match="expected string, got int"):
        git.git_diff(5)


def test_ignored_paths(repository: Path) -> None:
    (repository / ".gitignore").write_text("target/\n")
    assert git.git_is_ignore_matches("target/x")
    assert not git.git_is_ignore_matches("src/x")
    with pytest.raises(SemaError, match=r"^git check-ignore \.\./x: exit 128: fatal: .* is outside repository"):
        git.git_is_ignore_matches("../x")


def test_a_hook_asks_about_its_own_folder(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit("first")
    git_command("init", "-q", "-b", "other", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    assert git.git_root() == os.path.realpath(repository)
    assert git.git_current_branch() == "main"


def test_before_the_first_commit(repository: Path) -> None:
    (repository / "a").write_text("x")
    with pytest.raises(SemaError, match=r"^git rev-parse --abbrev-ref HEAD: fatal: ambiguous argument 'HEAD'"):
        git.git_current_branch()
    with pytest.raises(SemaError, match=r"^git log .* does not have any commits yet"):
        git.git_recent_files()
    assert to_text(git.git_changed_files()) == '("a")'
    assert git.git_diff() == ""


def test_without_a_repository() -> None:
    calls = [git.git_root, git.git_current_branch, git.git_status, git.git_changed_files, git.git_recent_files]
    for call in calls:
        with pytest.raises(SemaError, match=r"^git .*: fatal: not a git repository") as raised:
            call()
        assert to_text(condition_map(raised.value)["type"]) == ":eval"
    with pytest.raises(SemaError, match=r"^git check-ignore x: exit 128: fatal: not a git repository"):
        git.git_is_ignore_matches("x")


def test_in_a_bare_repository() -> None:
    git_command("init", "-q", "--bare")
    with pytest.raises(SemaError, match="fatal: this operation must be run in a work tree"):
        git.git_root()
    with pytest.raises(SemaError, match="fatal: this operation must be run in a work tree"):
        git.git_status()


def test_without_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(SemaError) as raised:
        git.git_root()
    message = "git: failed to run `git` (is it installed and on PATH?): No such file or directory"
    assert describe(raised.value).message == f"I/O error: {message}"


def test_huge_output_is_an_error(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "a").write_text("")
    commit("first")
    (repository / "a").write_text("x\n" * 100_000)
    monkeypatch.setattr(git, "LIMIT", 10_000)
    with pytest.raises(SemaError, match="git: output exceeded the 10000-byte limit"):
        git.git_diff()


def test_the_sandbox(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", {"process"})
    with pytest.raises(PermissionDenied, match="git/status requires 'process' capability"):
        git.git_status()
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", [os.path.realpath(repository)])
    assert not git.git_is_ignore_matches("x")
    with pytest.raises(PermissionDenied, match="outside allowed directories"):
        git.git_diff("/etc/passwd")


def test_in_tasks(repository: Path) -> None:
    (repository / "a").write_text("x")
    source = "(async/all (list (async (git/changed-files)) (async (count (git/status)))))"
    assert to_text(Session().run(source)) == '(("a") 1)'
