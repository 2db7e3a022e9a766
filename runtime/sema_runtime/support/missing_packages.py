"""Messages for missing packages that only some functions need; extras of the distributions install them."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError


def package_missing(function: str, package: str, extra: str) -> SemaError:
    """The error of a function whose package is missing; it says what to install."""
    return SemaError(f"{function} needs the package {package}: {install(extra)}")


def install(extra: str) -> str:
    """The command that installs an extra, of semac where that is there, else of sema-runtime."""
    from importlib.util import find_spec

    distribution = "semac" if find_spec("semac") is not None else "sema-runtime"
    return f"pip install '{distribution}[{extra}]'"
