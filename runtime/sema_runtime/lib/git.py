"""What git knows of the repository around the current directory. Nothing here changes it.

The answers are those of the `git` program, asked so that the settings of the user and of a caller (a hook, which sets
GIT_DIR) don't change their form or their subject.
"""

from __future__ import annotations

import os

from sema_runtime.catalogue import builtin
from sema_runtime.lib.children import Child, Settings, piped
from sema_runtime.lib.files import checked
from sema_runtime.tasks.threads import in_background
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import IoError, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING, Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LIMIT = 64 << 20  # bytes of output of one call
CONFIG = (
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.relative=false",
    "log.showSignature=false",
    "log.showRoot=true",
)
ELSEWHERE = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_DIFF_OPTS",
)  # environment variables that make git answer about something else, or otherwise


class _Git:
    """A call of git that has ended. code: its status; out: what it wrote; error: what it complained about."""

    __slots__ = ("code", "error", "out")

    def __init__(self, *words: str) -> None:
        child = _started(words)
        in_background(lambda: child.ends_within(None), stop=child.kill)
        if child.exceeded:
            raise SemaError(f"git: output exceeded the {LIMIT}-byte limit; the process group was terminated")
        self.code = child.status()
        self.out = child.outputs[0].take()
        self.error = child.outputs[1].take().decode(errors="replace").strip()


def _started(words: tuple[str, ...]) -> Child:
    settings = Settings("git", None)
    settings.env = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    settings.env["GIT_OPTIONAL_LOCKS"] = "0"  # without it `git status` writes the index
    line = ["git", *(part for one in CONFIG for part in ("-c", one)), *words]
    try:
        return piped(line, settings, limit=LIMIT)
    except OSError as error:
        message = f"git: failed to run `git` (is it installed and on PATH?): {error.strerror}"
        raise IoError(message) from None
    except ValueError as error:  # a NUL character in a path
        raise SemaError(f"git {words[0]}: {error}") from None


def _answer(shown: str, *words: str) -> bytes:
    """What git writes. shown: how a message calls the command. Raises with git's own complaint."""
    done = _Git(*words)
    if done.code != 0:
        raise SemaError(f"git {shown}: {done.error}")
    return done.out


def _fields(output: bytes) -> Iterator[str]:
    """The parts that end with a NUL: names of files may contain anything else."""
    return (os.fsdecode(part) for part in output.split(b"\0") if part)


def _entries() -> Iterator[tuple[str, str]]:
    """(code, path) of each changed file. A renamed or copied one is followed by its old name, which is left out."""
    fields = _fields(_answer("status --porcelain=v1 -z", "status", "--porcelain=v1", "-z"))
    for field in fields:
        code = field[:2]
        if "R" in code or "C" in code:
            next(fields, None)
        yield code, field[3:]


@builtin("git/root", returns="string", cap="process")
def git_root() -> str:
    """The directory that the repository around the current directory is checked out in.

    ; (git/root) => "/home/ada/project"
    """
    out = _answer("rev-parse --show-toplevel", "rev-parse", "--show-toplevel")
    return os.fsdecode(out.removesuffix(b"\n"))


@builtin("git/current-branch", returns="string", cap="process")
def git_current_branch() -> str:
    """The name of the branch that is checked out, "HEAD" when none is. An error before the first commit.

    ; (git/current-branch) => "main"
    """
    out = _answer("rev-parse --abbrev-ref HEAD", "rev-parse", "--abbrev-ref", "HEAD")
    return os.fsdecode(out.strip())


@builtin("git/status", returns="list[map]", cap="process")
def git_status() -> List:
    """The changed files: a list of `{:path p :status code :staged bool :untracked bool}`.

    Paths start at the root of the repository; that of a renamed file is the new one. The code is that of `git status
    --porcelain`, as " M" or "??"; :staged is whether a change stands in the index.

    ; (git/status) => ({:path "a.txt" :staged #f :status " M" :untracked #f})
    """
    return List([_status(code, path) for code, path in _entries()])


def _status(code: str, path: str) -> Map:
    untracked = code == "??"
    return Map(
        {
            keyword("path"): path,
            keyword("status"): code,
            keyword("staged"): not untracked and code[0] != " ",
            keyword("untracked"): untracked,
        }
    )


@builtin("git/changed-files", returns="list[string]", cap="process")
def git_changed_files() -> List:
    """The paths of all changed files, staged, unstaged and untracked.

    ; (git/changed-files) => ("a.txt" "new.txt")
    """
    return List([path for _, path in _entries()])


@builtin("git/diff", returns="string", cap="process")
def git_diff(path: Any = MISSING) -> str:
    """The changes that aren't staged, as a unified diff; of the files that path names, or of all.

    ; (git/diff "src/main.sema")
    """
    words = ["diff", "--no-color", "--no-ext-diff"]
    if path is MISSING:
        return _answer("diff", *words).decode(errors="replace")
    found = checked("git/diff", path)
    return _answer(f"diff -- {found}", *words, "--", found).decode(errors="replace")


@builtin("git/diff-files", returns="list[string]", cap="process")
def git_diff_files() -> List:
    """The paths of the files with changes that aren't staged.

    ; (git/diff-files) => ("a.txt")
    """
    return List(list(_fields(_answer("diff --name-only", "diff", "--name-only", "-z"))))


@builtin("git/recent-files", returns="list[string]", cap="process")
def git_recent_files(n: Any = 20) -> List:
    """The paths of the files that the last n commits changed, each once, the latest first.

    ; (git/recent-files 5) => ("a.txt" "b.txt")
    """
    if type(n) is not int:
        type_error("int", n)
    words = ("log", "--name-only", "-z", "--pretty=tformat:", "-n", str(n))
    shown = f"log --name-only --pretty=format: -n {n}"
    return List(list(dict.fromkeys(_fields(_answer(shown, *words)))))


@builtin("git/ignore-matches?", returns="bool", cap="process")
def git_is_ignore_matches(path: Any) -> bool:
    """Whether git ignores the path, which need not exist.

    ; (git/ignore-matches? "target/x") => #t
    """
    found = checked("git/ignore-matches?", path)
    done = _Git("check-ignore", "-q", "--", found)
    if done.code not in (0, 1):
        code = "signal" if done.code == -1 else done.code
        raise SemaError(f"git check-ignore {found}: exit {code}: {done.error}")
    return done.code == 0
