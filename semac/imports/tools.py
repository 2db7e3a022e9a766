"""Python's own tools that learn of .sema files when they are loaded."""

from __future__ import annotations

from sema_runtime import when_loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def teach_tools() -> None:
    """Has `inspect` find the source of Sema functions, and `pdb` stand in them; free until these are loaded."""
    when_loaded("inspect", _teach_inspect)
    when_loaded("pdb", _teach_pdb)


def _teach_inspect(inspect: ModuleType) -> None:
    from semac.imports.source_text import teach_inspect

    teach_inspect(inspect)


def _teach_pdb(pdb: ModuleType) -> None:
    from semac.diagnostics.stacks import teach_pdb

    teach_pdb(pdb)
