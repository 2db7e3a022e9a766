"""The import hook, loaded when a program first imports something that may be a .sema file."""

from __future__ import annotations

import sys

from semac.imports.tools import teach_tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

OURS = ("semac", "sema_runtime")


class FirstImport:
    """Stands before the other finders until a module is imported that is neither Python's nor ours."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Puts the finder of .sema files in its own place, and asks that."""
        top = fullname.partition(".")[0]
        if top in sys.stdlib_module_names or top in OURS:
            return None
        from semac.imports.finder import SemaFinder, install

        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        install(sets_hooks=False)
        return next(finder for finder in sys.meta_path if type(finder) is SemaFinder).find_spec(fullname, path, target)


def prepare() -> None:
    """Makes .sema files importable in this process; costs nothing where none is imported. Idempotent."""
    if not any(type(finder).__name__ in ("FirstImport", "SemaFinder") for finder in sys.meta_path):
        sys.meta_path.insert(0, FirstImport())
    teach_tools()
