"""Questions to git about the repository around the current directory. Nothing here changes it.

The `git` program answers them. It runs so that settings of the user and of a caller (a hook, which sets GIT_DIR) change
neither the form nor the repository.

A repository may be hostile: its configuration can name commands that git runs to watch, convert or show files or to
fetch missing objects. None of these runs. Commands in the user's own configuration, such as the filter of Git LFS, do.
"""

from __future__ import annotations

import os

from sema_runtime.catalogue import builtin
from sema_runtime.support.file_access import checked
from sema_runtime.tasks.children import Child, Settings, piped
from sema_runtime.tasks.threads import in_background
from sema_runtime.values.atoms import keyword
from sema_runtime.values.digits import small
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
    # what a repository could have run
    "core.fsmonitor=",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "core.sshCommand=",
    "core.askPass=",
    "credential.helper=",
    "protocol.allow=never",
    "diff.autoRefreshIndex=false",
    "diff.ignoreSubmodules=dirty",
    "diff.submodule=short",
    "status.submoduleSummary=false",
)
ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # without it `git status` writes the index
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",  # no fetch of objects that are missing, whatever protocol.*.allow says
    "GIT_NO_LAZY_FETCH": "1",
}
TRUSTED = (b"system", b"global", b"command")  # where a configuration may name filters
FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
STATUS = ("--porcelain=v1", "-z", "--ignore-submodules=dirty")
PLAIN = ("--no-ext-diff", "--no-textconv")
DIFF = (*PLAIN, "--ignore-submodules=dirty", "--submodule=short")
MOST_SETTINGS = 1 << 20
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

    def __init__(self, *words: str, overrides: dict[str, str] | None = None) -> None:
        child = _started(words, overrides or {})
        in_background(lambda: child.ends_within(None), stop=child.kill)
        if child.exceeded:
            raise SemaError(f"git: output exceeded the {LIMIT}-byte limit; the process group was terminated")
        self.code = child.status()
        self.out = child.outputs[0].take()
        self.error = child.outputs[1].take().decode(errors="replace").strip()


def _started(words: tuple[str, ...], overrides: dict[str, str]) -> Child:
    settings = Settings("git", None)
    settings.env = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    settings.env.update(ENVIRONMENT)
    _configure(settings.env, overrides)
    line = ["git", "--no-pager", *(part for setting in CONFIG for part in ("-c", setting)), *words]
    try:
        return piped(line, settings, limit=LIMIT)
    except OSError as error:
        message = f"git: failed to run `git` (is it installed and on PATH?): {error.strerror}"
        raise IoError(message) from None
    except ValueError as error:  # a NUL character in a path
        raise SemaError(f"git {words[0]}: {error}") from None


def _configure(env: dict[str, str], settings: dict[str, str]) -> None:
    """Adds settings whose names may hold any character, which `-c NAME=VALUE` can't say."""
    if not settings:
        return
    known = env.get("GIT_CONFIG_COUNT", "")
    count = small(known, MOST_SETTINGS) if known.isascii() and known.isdecimal() else 0
    for name, value in settings.items():
        env[f"GIT_CONFIG_KEY_{count}"], env[f"GIT_CONFIG_VALUE_{count}"] = name, value
        count += 1
    env["GIT_CONFIG_COUNT"] = str(count)


def _filters() -> dict[str, str]:
    """The settings that replace each filter in the repository's configuration by the user's filter of the same name, or
    by none."""
    done = _Git("config", "-z", "--show-scope", "--get-regexp", FILTERS)
    if done.code not in (0, 1):
        raise SemaError(f"git config: {done.error}")
    fields = done.out.split(b"\0")
    users: dict[str, str] = {}
    foreign: set[str] = set()
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = os.fsdecode(entry).partition("\n")
        if scope in TRUSTED:
            users[name] = value
        else:
            foreign.add(name)
    return {name: users.get(name, "false" if name.endswith(".required") else "") for name in foreign}


def _answer(shown: str, *words: str, converts: bool = False) -> bytes:
    """The output of git. shown: the command as messages name it. converts: whether git reads files of the working tree,
    which go through filters. Raises SemaError with git's message."""
    done = _Git(*words, overrides=_filters() if converts else None)
    if done.code != 0:
        raise SemaError(f"git {shown}: {done.error}")
    return done.out


def _fields(output: bytes) -> Iterator[str]:
    """The parts that end with a NUL, since file names may contain anything else."""
    return (os.fsdecode(part) for part in output.split(b"\0") if part)


def _entries() -> Iterator[tuple[str, str]]:
    """(code, path) of each changed file. A renamed or copied one is followed by its old name, which is left out."""
    fields = _fields(_answer("status --porcelain=v1 -z", "status", *STATUS, converts=True))
    for field in fields:
        code = field[:2]
        if "R" in code or "C" in code:
            next(fields, None)
        yield code, field[3:]


@builtin("git/root", type="-> str", cap="process")
def git_root() -> str:
    """The root directory of the repository around the current directory.

    ; (git/root) => "/home/ada/project"
    """
    out = _answer("rev-parse --show-toplevel", "rev-parse", "--show-toplevel")
    return os.fsdecode(out.removesuffix(b"\n"))


@builtin("git/current-branch", type="-> str", cap="process")
def git_current_branch() -> str:
    """The name of the current branch, "HEAD" when none is checked out. Raises an error before the first commit.

    ; (git/current-branch) => "main"
    """
    out = _answer("rev-parse --abbrev-ref HEAD", "rev-parse", "--abbrev-ref", "HEAD")
    return os.fsdecode(out.strip())


@builtin("git/status", type="-> list (map keyword (str|bool)) fresh", cap="process")
def git_status() -> List:
    """The changed files: a list of `{:path p :status code :staged bool :untracked bool}`.

    Paths start at the root of the repository; a renamed file has its new path. The code is that of `git status
    --porcelain`, such as " M" or "??"; :staged is whether the index has a change. A submodule counts as changed when
    another commit is checked out in it; its files aren't read.

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


@builtin("git/changed-files", type="-> list str fresh", cap="process")
def git_changed_files() -> List:
    """The paths of all changed files, staged, unstaged and untracked.

    ; (git/changed-files) => ("a.txt" "new.txt")
    """
    return List([path for _, path in _entries()])


@builtin("git/diff", type="str? -> str", cap="process")
def git_diff(path: Any = MISSING) -> str:
    """The unstaged changes as a unified diff, of the files at path or of all files.

    ; (git/diff "src/main.sema")
    """
    words = ["diff", "--no-color", *DIFF]
    if path is MISSING:
        return _answer("diff", *words, converts=True).decode(errors="replace")
    target = checked("git/diff", path)
    return _answer(f"diff -- {target}", *words, "--", target, converts=True).decode(errors="replace")


@builtin("git/diff-files", type="-> list str fresh", cap="process")
def git_diff_files() -> List:
    """The paths of the files with unstaged changes.

    ; (git/diff-files) => ("a.txt")
    """
    return List(list(_fields(_answer("diff --name-only", "diff", "--name-only", "-z", *DIFF, converts=True))))


@builtin("git/recent-files", type="int? -> list str fresh", cap="process")
def git_recent_files(n: Any = 20) -> List:
    """The paths of the files changed by the last n commits, each once, the latest first.

    ; (git/recent-files 5) => ("a.txt" "b.txt")
    """
    if type(n) is not int:
        type_error("int", n)
    words = (
        "log",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--name-only",
        "-z",
        "--pretty=tformat:",
        "-n",
        str(n),
    )
    shown = f"log --name-only --pretty=format: -n {n}"
    return List(list(dict.fromkeys(_fields(_answer(shown, *words)))))


@builtin("git/ignore-matches?", type="str -> bool", cap="process")
def git_is_ignore_matches(path: Any) -> bool:
    """Whether git ignores a path, which needn't exist.

    ; (git/ignore-matches? "target/x") => #t
    """
    target = checked("git/ignore-matches?", path)
    done = _Git("check-ignore", "-q", "--", target)
    if done.code not in (0, 1):
        code = "signal" if done.code == -1 else done.code
        raise SemaError(f"git check-ignore {target}: exit {code}: {done.error}")
    return done.code == 0
