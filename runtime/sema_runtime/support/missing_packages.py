"""The error for a missing package that only some functions need; extras of the distribution `semac` install them."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError


def package_missing(function: str, package: str, extra: str) -> SemaError:
    """The error of a function whose package is missing; it says what to install."""
    return SemaError(f"{function} needs the package {package}: pip install 'semac[{extra}]'")
