"""Reading and pruning tapes of `llm/with-cassette`, for `sema cassette`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from stat import S_ISLNK, S_ISREG
from typing import Any, BinaryIO, NamedTuple

# How keys of well-known services begin.
PREFIXES = (
    *("sk-", "sk_", "rk_", "gsk_", "csk-", "xai-", "hf_", "pplx-", "jina_", "AIza", "AKIA", "glpat-", "npm_", "pypi-"),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"),
)
# What every secret of a kind contains, and what it looks like; the first is quick to look for.
SECRETS = (
    *((prefix, rf"\b{prefix}[A-Za-z0-9_-]{{16,}}") for prefix in PREFIXES),
    ("Bearer", r"\bBearer\s+[A-Za-z0-9._~+/-]{16,}"),
    ("eyJ", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}"),  # JSON web token
    ("PRIVATE KEY-----", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
)
SHOWN_OF_SECRET = 4  # characters


class Finding(NamedTuple):
    """A line and what is wrong with it. kind: damaged, newer, duplicate or secret."""

    line: int
    kind: str
    reason: str


def findings(path: str) -> tuple[int, list[Finding]]:
    """(number of entries that can be read, everything that is wrong with a tape). Raises OSError, SemaError."""
    from sema_runtime.llm.recordings.cassette_file import lines, open_cassette
    from sema_runtime.support.secrets import known

    entries, problems = 0, []
    first: dict[str, int] = {}
    hidden = known()
    with open_cassette(path) as file:
        for line in lines(file):
            if line.entry is None:
                problems.append(Finding(line.number, "newer" if line.newer else "damaged", line.problem))
                text = line.data.decode(errors="replace")
            else:
                entries += 1
                before = first.setdefault(line.entry["key"], line.number)
                if before != line.number:
                    problems.append(
                        Finding(line.number, "duplicate", f"line {before} has the same key and is replayed")
                    )
                text = "\n".join(strings(line.entry))
            if reason := _secret(text, hidden):
                problems.append(Finding(line.number, "secret", reason))
    return entries, problems


def strings(value: Any) -> Iterator[str]:
    """All strings in decoded JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list) and not (value and isinstance(value[0], float)):
        for inner in value:
            yield from strings(inner)


def _secret(text: str, hidden: list[str]) -> str:
    """The part of a text that looks like a key, shortened; "" for none."""
    if any(secret in text for secret in hidden):
        return "holds the value of a key or token in the environment"
    for part, pattern in SECRETS:
        if part in text and (match := re.search(pattern, text)):
            return f"holds what looks like a key ({match[0][:SHOWN_OF_SECRET]}...)"
    return ""


# Choosing entries


class Choice(ValueError):
    """The choice names no entry or several; the message says which."""


def chosen(path: str, which: str) -> int:
    """The line of the chosen entry: by its number, or else by the beginning of its key (then the one that is replayed).
    Raises Choice, OSError, SemaError."""
    from sema_runtime.llm.recordings.cassette_file import lines, open_cassette

    matches: dict[str, int] = {}
    number = int(which) if which.isdecimal() and len(which) < 10 else 0
    with open_cassette(path) as file:
        for line in lines(file):
            if line.number == number:
                if line.entry is None:
                    raise Choice(f"line {number} of {path} is damaged: {line.problem}")
                return number
            if line.entry is not None and line.entry["key"].startswith(which):
                matches.setdefault(line.entry["key"], line.number)
    if not matches:
        raise Choice(f"{path} has no line {which} and no key that begins with it")
    if len(matches) > 1:
        known = ", ".join(f"{key[:12]} (line {place})" for key, place in list(matches.items())[:5])
        raise Choice(f"{len(matches)} keys of {path} begin with {which}: {known}; give more characters of the key")
    return next(iter(matches.values()))


# Pruning


def doomed(path: str, keep_last: bool, unwanted: set[int]) -> dict[int, str]:
    """The lines that pruning removes, each with the reason. keep_last: of entries with the same key the last one stays,
    else the first. unwanted: further lines. Lines of later versions stay. Raises OSError, SemaError."""
    from sema_runtime.llm.recordings.cassette_file import lines, open_cassette

    out: dict[int, str] = {}
    kept: dict[str, int] = {}
    with open_cassette(path) as file:
        for line in lines(file):
            if line.number in unwanted:
                out[line.number] = "chosen"
            elif line.entry is None:
                if not line.newer:
                    out[line.number] = f"damaged: {line.problem}"
            else:
                key = line.entry["key"]
                other = kept.get(key)
                if other is None or keep_last:
                    kept[key] = line.number
                if other is not None:
                    stays, goes = (line.number, other) if keep_last else (other, line.number)
                    out[goes] = f"duplicate: line {stays} has the same key"
    return dict(sorted(out.items()))


def prune(path: str, keep_last: bool, unwanted: set[int], backup: str | None) -> dict[int, str]:
    """Removes lines from a tape (see `doomed`), which is replaced as a whole; programs that record to it continue in
    the new one. backup: the new name of the old file. Raises OSError, SemaError."""
    from sema_runtime.llm.recordings.cassette_file import open_cassette
    from sema_runtime.support.replacing import Replacement
    from sema_runtime.support.shared_files import append_to, lock

    with open_cassette(path) as old:
        lock(old.fileno())
        out = doomed(path, keep_last, unwanted)
        if not out:
            return out
        with Replacement(path, sync=True) as new:
            _copy(old, new, out)
            if backup is not None:
                _keep_as(path, backup)
        late = old.read()  # of a program that could not wait for us
        if late:
            append_to(path, late)
    return out


def _copy(old: BinaryIO, new: BinaryIO, out: dict[int, str]) -> None:
    for number, data in enumerate(old, 1):
        if number not in out:
            new.write(data if data.endswith(b"\n") else data + b"\n")


def _keep_as(path: str, backup: str) -> None:
    """Gives a file a second name."""
    import shutil

    if os.path.lexists(backup):
        mode = os.lstat(backup).st_mode
        if not S_ISREG(mode) and not S_ISLNK(mode):
            raise FileExistsError(17, "The backup would replace a device, a pipe or a folder", backup)
        os.remove(backup)
    try:
        os.link(path, backup)
    except OSError:  # the file system has no second names
        shutil.copy2(path, backup)
