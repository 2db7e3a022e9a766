"""Makes a release of the current commit. `scripts/release` calls it.

The work happens in a clone: the checkout changes only when the wheel has been built, installed and tried.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION_FILE, CHANGELOG = "semac/__init__.py", "CHANGELOG.md"
RUNTIME_FILE = "runtime/sema_runtime/__init__.py"  # has the same version
VERSION_LINE = re.compile(r'^__version__ = "(\d+)\.(\d+)\.(\d+)"', re.MULTILINE)
HEADING = "## [Unreleased]\n"
PARTS = ("major", "minor", "patch")


class Problem(Exception):
    """The reason why no release can be made."""


def next_version(source: str, wanted: str) -> str:
    """The version to release. source: text of VERSION_FILE; wanted: X.Y.Z, or the part of the version to raise."""
    line = VERSION_LINE.search(source)
    if line is None:
        raise Problem(f'{VERSION_FILE} has no line __version__ = "X.Y.Z"')
    current = tuple(map(int, line.groups()))
    if wanted in PARTS:
        at = PARTS.index(wanted)
        new = (*current[:at], current[at] + 1, *[0] * (2 - at))
    elif re.fullmatch(r"\d+\.\d+\.\d+", wanted):
        new = tuple(map(int, wanted.split(".")))
    else:
        raise Problem(f"'{wanted}' is not a version: give X.Y.Z, major, minor or patch")
    if new <= current:
        raise Problem(f"{wanted} is not above the current version {'.'.join(map(str, current))}")
    return ".".join(map(str, new))


def released(changelog: str, version: str, day: date) -> str:
    """The changelog with the unreleased changes under the version's heading, and an empty section above it."""
    before, heading, rest = changelog.partition(HEADING)
    if not heading or not rest.partition("\n## ")[0].strip():
        raise Problem(f"{CHANGELOG} has nothing under '{HEADING.strip()}': write what has changed there")
    return f"{before}{HEADING}\n## [{version}] - {day.isoformat()}\n{rest}"


def run(*command: str | Path, cwd: Path | str = ROOT) -> str:
    """Runs a command and returns its output. Raises Problem with the output when it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Problem(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr).strip()}")
    return done.stdout.strip()


def say(text: str) -> None:
    print(f"== {text}", file=sys.stderr)


def prepare(clone: Path, wanted: str) -> str:
    """Writes version and changelog in a clone, commits and tags them, and returns the version."""
    source = (clone / VERSION_FILE).read_text(encoding="utf-8")
    version = next_version(source, wanted)
    if run("git", "tag", "--list", f"v{version}"):
        raise Problem(f"the tag v{version} exists: choose another version")
    for name in (VERSION_FILE, RUNTIME_FILE):
        text = (clone / name).read_text(encoding="utf-8")
        (clone / name).write_text(VERSION_LINE.sub(f'__version__ = "{version}"', text), encoding="utf-8")
    changelog = (clone / CHANGELOG).read_text(encoding="utf-8")
    (clone / CHANGELOG).write_text(released(changelog, version, date.today()), encoding="utf-8")
    say(f"version {version}")
    print(run("git", "diff", "--unified=1", cwd=clone))
    for name in ("user.name", "user.email"):
        run("git", "config", name, run("git", "config", name), cwd=clone)
    run("git", "commit", "--quiet", "--all", "--message", f"Release {version}", cwd=clone)
    run("git", "tag", "--annotate", f"v{version}", "--message", f"semac {version}", cwd=clone)
    return version


def build(clone: Path, version: str) -> list[Path]:
    """Builds sdist and wheel of compiler and runtime, tries them in fresh environments, and returns their paths."""
    say("building sdists and wheels")
    for project in (clone, clone / "runtime"):
        run(sys.executable, "-m", "build", "--outdir", clone / "dist", project, cwd=clone)
    files = sorted((clone / "dist").iterdir())
    names = [f"{name}-{version}{end}" for name in ("sema_runtime", "semac") for end in ("-py3-none-any.whl", ".tar.gz")]
    if [path.name for path in files] != names:
        raise Problem(f"expected {', '.join(names)}, got {', '.join(path.name for path in files)}")
    runtime, compiler = files[0], files[2]
    say("trying the wheels in fresh environments")
    trial = environment(clone / "trial", runtime, compiler)
    expect(run(trial / "sema", "-e", "(+ 1 2)", cwd=clone), "3")
    expect(run(trial / "sema", "--version", cwd=clone), f"sema {version}")
    (clone / "three.sema").write_text("(println (+ 1 2))\n", encoding="utf-8")
    run(trial / "sema", "compile", "three.sema", cwd=clone)
    alone = environment(clone / "alone", runtime)
    expect(run(alone / "python", "three.py", cwd=clone), "3")
    has_compiler = "import importlib.util; print(importlib.util.find_spec('semac') is not None)"
    expect(run(alone / "python", "-c", has_compiler, cwd="/"), "False")
    return files


def environment(folder: Path, *wheels: Path) -> Path:
    """The folder of the commands of a new environment with these wheels."""
    venv.create(folder, with_pip=True)
    commands = folder / "bin"
    run(commands / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wheels, cwd=folder)
    return commands


def expect(answer: str, expected: str) -> None:
    if answer != expected:
        raise Problem(f"the installed package prints {answer!r}, not {expected!r}")


def release(wanted: str, dry_run: bool, publish: bool) -> None:
    """Makes the release. dry_run: only show it and try its wheel. publish: upload and push."""
    if run("git", "status", "--porcelain"):
        raise Problem("the checkout has changes: commit or stash them first")
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "semac"
        run("git", "clone", "--quiet", "--shared", ROOT, clone)
        version = prepare(clone, wanted)
        files = build(clone, version)
        names = " ".join(f"dist/{path.name}" for path in files)
        if dry_run:
            say(f"a release would write {names}, commit, tag v{version}" + (" and upload" if publish else ""))
            return
        (ROOT / "dist").mkdir(exist_ok=True)
        for path in files:
            shutil.copy(path, ROOT / "dist")
        run("git", "fetch", "--quiet", clone, "tag", f"v{version}")
        run("git", "merge", "--quiet", "--ff-only", f"v{version}")
    say(f"made {names}, the commit and the tag v{version}")
    if publish:
        run(sys.executable, "-m", "twine", "upload", *(ROOT / "dist" / path.name for path in files))
        run("git", "push", "--follow-tags")
        say("uploaded and pushed")
    else:
        say(f"to publish: python -m twine upload {names} && git push --follow-tags")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/release", description="Make a release of the current commit.")
    parser.add_argument("version", help="X.Y.Z, major, minor or patch")
    parser.add_argument("--dry-run", action="store_true", help="show it and try the wheel; change nothing here")
    parser.add_argument("--publish", action="store_true", help="upload to the package index (twine) and push")
    options = parser.parse_args()
    try:
        release(options.version, options.dry_run, options.publish)
    except Problem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
