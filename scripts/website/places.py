"""Where the site's sources and files of the build are; messages; the error of a build that can't be done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SOURCES = DOCS / "site"
PLAYGROUND = SOURCES / "playground"
WORK = ROOT / "build" / "site"  # caches and pages on their way; the site itself is in build/site/html


class Problem(Exception):
    """What keeps the site from being built, for people."""


def say(text: str) -> None:
    print(f"== {text}", file=sys.stderr, flush=True)


def ran(command: list[str | Path], folder: Path, problem: str) -> str:
    """Runs a command; returns what it printed. Raises Problem with its errors when it fails."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError as error:
        raise Problem(f"{problem}: {command[0]}: {error.strerror}") from error
    if done.returncode:
        raise Problem(f"{problem}: {(done.stderr.strip() or done.stdout.strip())[-2000:]}")
    return done.stdout
