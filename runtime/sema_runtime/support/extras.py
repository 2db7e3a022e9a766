"""Packages that only some functions need: they are installed as extras of ours."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError


def extra_missing(function: str, package: str, extra: str) -> SemaError:
    """The condition of a function whose package isn't there; it says what to install."""
    return SemaError(f"{function} needs the package {package}: pip install 'semac[{extra}]'")
