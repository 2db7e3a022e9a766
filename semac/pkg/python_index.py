"""Distributions of Python's own index: pip installs them into the environment that runs Sema."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec

from semac.pkg.errors import PackageError

SHOWN = 8  # lines of what the installer says


def install(requirements: list[str]) -> None:
    """Installs distributions. Raises PackageError with what the installer says."""
    if not requirements:
        return
    done = subprocess.run(
        [*installer(), *requirements], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-SHOWN:])
        raise PackageError(f"{', '.join(requirements)} can't be installed:\n{said}")


def installer() -> list[str]:
    """The command that installs what follows. Raises PackageError where there is none."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    raise PackageError(f"{sys.executable} has no pip, and there is no uv: python -m ensurepip")


def version(name: str) -> str:
    """The version of a distribution that is installed; "" for one that is not."""
    import importlib

    importlib.invalidate_caches()
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
