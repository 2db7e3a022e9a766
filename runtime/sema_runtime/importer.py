"""Imports of `.sema` files for programs that import the runtime only; `semac.importer` does the work."""

from __future__ import annotations

__all__ = ["install"]


def install() -> None:
    """Makes .sema files importable in this interpreter. Raises SemaError where the compiler isn't installed."""
    from sema_runtime.compiler_bridge import install_importer

    install_importer()
