"""git/* in repositories that want a command run: by their configuration, attributes, hooks, submodules or remotes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sema_runtime.lib.system import git

ASK = {
    "root": git.git_root,
    "current-branch": git.git_current_branch,
    "status": git.git_status,
    "changed-files": git.git_changed_files,
    "diff": git.git_diff,
    "diff of a path": lambda: git.git_diff("a.txt"),
    "diff of an option": lambda: git.git_diff("--output=a.txt"),
    "diff-files": git.git_diff_files,
    "recent-files": git.git_recent_files,
    "ignore-matches?": lambda: git.git_is_ignore_matches("a.txt"),
}


def run(*words: str, cwd: Path | None = None) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True, cwd=cwd)


class Hostile:
    """A repository with one changed file, a.txt. Each command that its configuration names leaves a file in `ran`."""

    def __init__(self, folder: Path, ran: Path) -> None:
        self.folder = folder
        self.ran = ran
        folder.mkdir()
        run("init", "-q", "-b", "main", cwd=folder)
        for name, value in (("user.email", "eve@example.com"), ("user.name", "Eve")):
            run("config", name, value, cwd=folder)
        (folder / "a.txt").write_text("one\n")
        run("add", "-A", cwd=folder)
        run("commit", "-qm", "first", cwd=folder)
        (folder / "a.txt").write_text("two\n")

    def command(self, name: str, then: str = "cat") -> str:
        """A command, as git takes one, that tells of its run and passes its input on, or does what then says."""
        script = self.ran.parent / f"{name}.sh"
        script.write_text(f"#!/bin/sh\ntouch '{self.ran}/{name}'\n{then}\n")
        script.chmod(0o755)
        return str(script)

    def config(self, key: str, value: str) -> None:
        run("config", key, value, cwd=self.folder)

    def attribute(self, line: str) -> None:
        with open(self.folder / ".gitattributes", "a") as file:
            file.write(line + "\n")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    for name in (*git.ELSEWHERE, "GIT_CONFIG_COUNT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C")
    (tmp_path / "ran").mkdir()
    found = Hostile(tmp_path / "work", tmp_path / "ran")
    monkeypatch.chdir(found.folder)
    return found


def asked_all(hostile: Hostile) -> list[str]:
    """What has run after all questions."""
    for ask in ASK.values():
        try:
            ask()
        except git.SemaError:
            continue  # what can't be read is an error
    return sorted(os.listdir(hostile.ran))


def ran_by_git(hostile: Hostile, *words: str) -> list[str]:
    """What runs when git is asked without precautions: else the repository would prove nothing."""
    subprocess.run(["git", *words], capture_output=True, cwd=hostile.folder, stdin=subprocess.DEVNULL)
    found = sorted(os.listdir(hostile.ran))
    for name in found:
        (hostile.ran / name).unlink()
    os.utime(hostile.folder / "a.txt")
    return found


@pytest.mark.parametrize("name", ["evil", "with=sign", "with space.and.dot", "Two\tTabs"])
@pytest.mark.parametrize("kind", ["clean", "process"])
def test_no_filter_of_the_repository_runs(hostile: Hostile, name: str, kind: str) -> None:
    hostile.config(f"filter.{name}.{kind}", hostile.command("filter"))
    hostile.config(f"filter.{name}.required", "true")
    info = hostile.folder / ".git" / "info"
    info.mkdir(exist_ok=True)
    plain = name.isalpha()
    (info / "attributes").write_text(f"* filter={name}\n" if plain else f'* filter="{name}"\n')
    if plain:
        assert ran_by_git(hostile, "status") == ["filter"]
    assert asked_all(hostile) == []
    assert list(git.git_changed_files()) == ["a.txt"]
    assert "+two" in git.git_diff()


def test_filters_of_the_user_run(hostile: Hostile, tmp_path: Path) -> None:
    run("config", "--file", str(tmp_path / "global"), "filter.lfs.clean", hostile.command("mine"))
    hostile.config("filter.lfs.clean", hostile.command("theirs"))
    hostile.attribute("* filter=lfs")
    assert asked_all(hostile) == ["mine"]


def test_file_monitor_and_hooks(hostile: Hostile) -> None:
    hostile.config("core.fsmonitor", hostile.command("monitor"))
    hooks = hostile.folder / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        os.symlink(hostile.command(name), hooks / name)
        os.symlink(hostile.command(name), hostile.folder / ".git" / "hooks" / name)
    hostile.config("core.hooksPath", "hooks")
    assert ran_by_git(hostile, "status") == ["monitor", "post-index-change"]
    assert asked_all(hostile) == []


def test_included_configuration(hostile: Hostile, tmp_path: Path) -> None:
    (hostile.folder / "more").write_text(
        f'[core]\nfsmonitor = {hostile.command("monitor")}\n[filter "evil"]\nclean = {hostile.command("clean")}\n'
    )
    hostile.config(f"includeIf.gitdir:{hostile.folder}/.path", "../more")
    hostile.attribute("* filter=evil")
    assert ran_by_git(hostile, "status") == ["clean", "monitor"]
    assert asked_all(hostile) == []


def test_configuration_of_a_worktree(hostile: Hostile) -> None:
    hostile.config("extensions.worktreeConfig", "true")
    run("config", "--worktree", "core.fsmonitor", hostile.command("monitor"), cwd=hostile.folder)
    run("config", "--worktree", "filter.evil.clean", hostile.command("clean"), cwd=hostile.folder)
    hostile.attribute("* filter=evil")
    assert ran_by_git(hostile, "status") == ["clean", "monitor"]
    assert asked_all(hostile) == []


def test_programs_that_show(hostile: Hostile) -> None:
    for key in ("diff.external", "diff.evil.command", "diff.evil.textconv", "core.pager", "pager.diff", "core.editor"):
        hostile.config(key, hostile.command(key))
    for key in ("sequence.editor", "interactive.diffFilter", "core.alternateRefsCommand", "gpg.program"):
        hostile.config(key, hostile.command(key))
    for name in ("status", "diff", "log", "rev-parse", "check-ignore", "config"):
        hostile.config(f"alias.{name}", "!" + hostile.command("alias"))
    hostile.config("log.showSignature", "true")
    hostile.attribute("* diff=evil")
    assert ran_by_git(hostile, "diff") != []
    assert asked_all(hostile) == []


def test_submodule_with_a_configuration_of_its_own(hostile: Hostile) -> None:
    inner = Hostile(hostile.folder / "inner", hostile.ran)
    subprocess.run(["git", "add", "inner"], capture_output=True, cwd=hostile.folder)
    run("commit", "-qm", "second", cwd=hostile.folder)
    inner.config("core.fsmonitor", hostile.command("monitor"))
    inner.config("filter.evil.clean", hostile.command("clean"))
    inner.attribute("* filter=evil")
    for key, value in (
        ("status.submoduleSummary", "true"),
        ("diff.submodule", "diff"),
        ("diff.ignoreSubmodules", "none"),
    ):
        hostile.config(key, value)
    (hostile.folder / ".gitmodules").write_text('[submodule "inner"]\npath = inner\nurl = x\nignore = none\n')
    assert ran_by_git(hostile, "status") == ["clean", "monitor"]
    assert asked_all(hostile) == []


@pytest.mark.parametrize("remote", ["ext", "uploadpack", "vcs", "ssh"])
def test_missing_objects_are_not_fetched(hostile: Hostile, remote: str) -> None:
    command = hostile.command("fetch", "exit 1")
    url = {"ext": f"ext::{command} %S", "ssh": "ssh://example.invalid/x"}.get(remote, str(hostile.folder))
    hostile.config("remote.origin.url", url)
    hostile.config("remote.origin.uploadpack", command)
    hostile.config("remote.origin.promisor", "true")
    hostile.config("extensions.partialClone", "origin")
    hostile.config("core.repositoryFormatVersion", "1")
    hostile.config("core.sshCommand", command)
    for protocol in ("ext", "file", "ssh", "vcs"):
        hostile.config(f"protocol.{protocol}.allow", "always")
    if remote == "vcs":
        hostile.config("remote.origin.vcs", "ext")
        hostile.config("remote.origin.url", f"{command} %S")
    blob = subprocess.check_output(["git", "rev-parse", "HEAD:a.txt"], text=True, cwd=hostile.folder).strip()
    (hostile.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert ran_by_git(hostile, "diff") == ["fetch"]
    assert asked_all(hostile) == []


def test_files_named_as_options(hostile: Hostile) -> None:
    for name in ("--output=written", "-O", "--exec=x"):
        (hostile.folder / name).write_text("x")
        assert git.git_is_ignore_matches(name) is False
        assert git.git_diff(name) == ""
    assert sorted(git.git_changed_files()) == ["--exec=x", "--output=written", "-O", "a.txt"]
    assert not (hostile.folder / "written").exists()


@pytest.mark.parametrize("trick", ["common folder", "file named .git", "bare repository in a folder"])
def test_configuration_from_elsewhere(hostile: Hostile, tmp_path: Path, trick: str) -> None:
    other = Hostile(tmp_path / "other", hostile.ran)
    other.config("core.fsmonitor", hostile.command("monitor"))
    other.config("filter.evil.clean", hostile.command("clean"))
    (other.folder / ".git" / "info").mkdir(exist_ok=True)
    (other.folder / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    if trick == "common folder":
        (hostile.folder / ".git" / "commondir").write_text(f"{other.folder}/.git")
    elif trick == "file named .git":
        shutil.rmtree(hostile.folder / ".git")
        (hostile.folder / ".git").write_text(f"gitdir: {other.folder}/.git\n")
    else:
        shutil.rmtree(hostile.folder / ".git")
        shutil.copytree(other.folder / ".git", hostile.folder, dirs_exist_ok=True)
        hostile.config("core.worktree", ".")
    assert "monitor" in ran_by_git(hostile, "status")
    assert asked_all(hostile) == []
