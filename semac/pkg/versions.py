"""Versions X.Y.Z of a registry, and what `sema.toml` asks of them.

| asked | takes |
|---|---|
| `1.2.3` | this one |
| `^1.2`, `~1.2` | from 1.2 below 2 (below 0.3 for ^0.2); from 1.2 below 1.3 |
| `>=1.2` | from 1.2 on |
| `*`, nothing | the newest |
"""

from __future__ import annotations

import re
from collections.abc import Iterable

VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
Key = tuple[int, int, int, int, tuple[tuple[int, int, str], ...]]


def key(version: str) -> Key | None:
    """What orders versions; None for a text that is none."""
    match = VERSION.fullmatch(version)
    if match is None:
        return None
    major, minor, patch, pre = match.groups()
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in (pre or "").split(".") if part)
    return int(major), int(minor or 0), int(patch or 0), 0 if pre else 1, parts


def is_complete(version: str) -> bool:
    """Whether a text is X.Y.Z, with or without a pre-release."""
    match = VERSION.fullmatch(version)
    return match is not None and match[3] is not None


def newest(versions: Iterable[str], wanted: str) -> str | None:
    """The newest version that fits; pre-releases only where one is asked for."""
    known = {version: order for version in versions if (order := key(version)) is not None}
    fitting = [version for version, order in known.items() if fits(version, order, wanted)]
    return max(fitting, key=known.__getitem__, default=None)


def fits(version: str, order: Key, wanted: str) -> bool:
    if version == wanted:
        return True
    mark = re.match(r"[\^~]|>=|", wanted)
    sign = mark[0] if mark else ""
    least = key(wanted[len(sign) :])
    if wanted not in ("", "*") and (least is None or not sign):
        return False
    if order[3] == 0 and "-" not in wanted:
        return False
    if least is None:
        return True
    return least <= order and (sign == ">=" or order[:3] < above(sign, wanted, least))


def above(sign: str, wanted: str, least: Key) -> tuple[int, int, int]:
    """The first version that `^` and `~` don't take."""
    major, minor, patch = least[:3]
    if sign == "~":
        return (major, minor + 1, 0) if "." in wanted else (major + 1, 0, 0)
    if major:
        return major + 1, 0, 0
    return (0, minor + 1, 0) if minor or ("." in wanted and wanted.count(".") < 2) else (0, 0, patch + 1)
