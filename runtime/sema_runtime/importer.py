"""Imports of `.sema` files for programs that import the runtime only; `semac.importer` does the work."""

from __future__ import annotations

__all__ = ["install"]


def install() -> None:
    """Makes .sema files importable in this interpreter; without the compiler, importing one says what to do."""
    from sema_runtime.compiler_bridge import install_importer

    install_importer()
