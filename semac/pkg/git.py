"""Packages from git repositories, fetched by the program `git` with the user's own settings and credentials."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from semac.pkg.errors import PackageError

COMMIT = re.compile(r"[0-9a-f]{7,64}")
SETTINGS = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "fetch.recurseSubmodules=false", "gc.auto=0")
ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX")
WHOLE = 0x7FFFFFFF  # a depth that git takes for the whole history
SHOWN = 2  # lines of what git says


def fetched(name: str, ref: str, commit: str, folder: str) -> str:
    """Writes the files of a repository at a ref into a new folder; the commit.

    name: host/path. commit: the one that the files must be of, "" for the newest of the ref. Raises PackageError.
    """
    if shutil.which("git") is None:
        raise PackageError(f"{name} comes from git, and the program git is not installed")
    work = f"{folder}.git"
    try:
        run(name, None, "init", "--bare", "--quiet", work)
        found = fetch(name, work, ref, commit)
        archive = f"{folder}.tar"
        run(name, work, "archive", "--format=tar", f"--output={archive}", found)
        unpack(name, archive, folder)
        os.remove(archive)
        return found
    finally:
        shutil.rmtree(work, ignore_errors=True)


def fetch(name: str, work: str, ref: str, commit: str) -> str:
    """Fetches what is needed into a bare repository; the commit."""
    url = f"https://{name}"
    options = ("--quiet", "--no-tags", "--no-recurse-submodules")
    try:
        run(name, work, "fetch", *options, "--depth=1", "--", url, commit or ref)
        found = resolved(work, "FETCH_HEAD")
        if found and commit in ("", found):
            return found
    except PackageError as error:
        if not COMMIT.fullmatch(commit or ref) and not is_missing(str(error)):
            raise
    every = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
    run(name, work, "fetch", *options, f"--depth={WHOLE}", "--", url, *every)
    if commit:
        found = resolved(work, commit)
        if not found:
            raise PackageError(f"{name}: the commit {commit} of sema.lock is gone from {url}; sema pkg update {name}")
        return found
    for candidate in (f"refs/heads/{ref}", f"refs/tags/{ref}", ref if COMMIT.fullmatch(ref) else ""):
        found = resolved(work, candidate) if candidate else ""
        if found:
            return found
    known = run(name, work, "for-each-ref", "--count=10", "--format=%(refname:short)").split()
    there = f"there are {', '.join(known)}" if known else "it is empty"
    raise PackageError(f"{url} has no branch, tag or commit '{ref}': {there}")


def is_missing(message: str) -> bool:
    return "couldn't find remote ref" in message or "not our ref" in message or "unadvertised object" in message


def resolved(work: str, name: str) -> str:
    """The commit of a name; "" where there is none."""
    done = git(work, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return done.stdout.strip() if done.returncode == 0 else ""


def run(name: str, work: str | None, *words: str) -> str:
    """What a git command prints. Raises PackageError with what it says."""
    done = git(work, *words)
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[:SHOWN]) or f"status {done.returncode}"
        raise PackageError(f"git {words[0]} of {name} failed: {said}")
    return done.stdout


def git(work: str | None, *words: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key not in ELSEWHERE}
    env.update(GIT_TERMINAL_PROMPT="0", GIT_ALLOW_PROTOCOL="https:http:ssh:git:file", LC_ALL="C")
    command = ["git", *(part for setting in SETTINGS for part in ("-c", setting))]
    command += [f"--git-dir={work}"] if work is not None else []
    return subprocess.run(
        [*command, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )


def unpack(name: str, archive: str, folder: str) -> None:
    """Extracts an archive that nobody trusts into a new folder. Raises PackageError."""
    from sema_runtime.lib.files.archives import tar_extract
    from sema_runtime.values.errors import SemaError

    try:
        tar_extract(archive, folder)
    except SemaError as error:
        shutil.rmtree(folder, ignore_errors=True)
        message = str(error).replace(archive, "archive")
        raise PackageError(f"{name}: {message.removeprefix('tar/extract ')}") from None
    os.makedirs(folder, exist_ok=True)  # an archive may be empty
