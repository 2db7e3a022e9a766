"""Python's own tools that learn of .sema files when they are loaded, and tools that tell functions by their code."""

from __future__ import annotations

import sys

from sema_runtime import when_loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


# Tools that keep the code of functions, or count by it, and are often loaded when the modules are that they look at.
WATCHERS = ("cProfile", "pdb", "line_profiler", "pysnooper", "hunter", "viztracer")


def teach_tools() -> None:
    """Has `inspect` find the source of Sema functions, and `pdb` stand in them; free until these are loaded."""
    for name in WATCHERS:
        if name != "pdb":  # which learns more
            when_loaded(name, _open_all)
    when_loaded("inspect", _teach_inspect)
    when_loaded("pdb", _teach_pdb)


def is_watched() -> bool:
    """Whether a tool is loaded for which a function should have one code from the beginning."""
    return any(name in sys.modules for name in WATCHERS)


def _open_all(tool: ModuleType) -> None:
    """Gives functions that were imported before their whole code."""
    from sema_runtime.packed_code import open_all

    open_all([module.__dict__ for module in [*sys.modules.values()] if type(module) is type(sys)])


def _teach_inspect(inspect: ModuleType) -> None:
    from semac.imports.source_text import teach_inspect

    teach_inspect(inspect)


def _teach_pdb(pdb: ModuleType) -> None:
    from semac.diagnostics.stacks import teach_pdb

    teach_pdb(pdb)
    _open_all(pdb)
