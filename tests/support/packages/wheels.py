"""Wheels that are built and installed for real, without a package index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from paths import ROOT

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_", "SEMA_"))}


def run(*command: str | Path, cwd: Path, fails: bool = False, text: str = "", **environment: str) -> str:
    """What a command prints, on both streams; it succeeds, unless it is expected to fail. text: its input."""
    done = subprocess.run(
        command, cwd=cwd, env={**CLEAN, **environment}, text=True, timeout=300,
        input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout


def build(project: Path, out: Path, *options: str) -> list[str]:
    """Builds sdist and wheel, or what the options say, with the packages that are installed; the names of the files."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, *options, project, cwd=out)
    return sorted(path.name for path in out.iterdir() if path.suffix in (".whl", ".gz"))


def build_runtime(out: Path) -> Path:
    """The wheel of sema-runtime."""
    names = build(ROOT / "runtime", out, "--wheel")
    return out / next(name for name in names if name.startswith("sema_runtime-"))


def environment(folder: Path, *wheels: Path) -> Path:
    """The Python of a new virtual environment with these wheels and nothing else."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    if wheels:
        install(python, *wheels)
    return python


def site_of(python: Path) -> Path:
    """The folder of the packages of an environment."""
    return next(python.parent.parent.glob("lib/python3*/site-packages"))


def install(python: Path, *wheels: Path) -> None:
    """Installs wheels without what they depend on."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet"]
    run(*pip, "--no-index", "--no-deps", "--no-compile", *wheels, cwd=python.parent)
