"""What one pass of the compiler makes of a source, as text: `sema compile --dump PASS`."""

from __future__ import annotations

import ast

from sema_runtime.values.errors import SemaError
from semac.ir.unit import Unit
from semac.optimize.passes import PASSES
from semac.pipeline import CompiledUnit

NAMES = ("expanded", "tree", "build", *(one.name for one in PASSES), "ast", "py")


class Dumps:
    """Watches a compilation for the pass of a name. Raises SemaError for a name that no pass has."""

    def __init__(self, name: str) -> None:
        if name not in NAMES:
            raise SemaError(f"no pass is called {name}", f"one of {', '.join(NAMES)}")
        self.name = name
        self.text = ""

    def watch(self, name: str, unit: Unit) -> None:
        """Keeps the text of a unit that the pass has just been over: the next one changes it in place."""
        from semac.anf import dump as anf_dump
        from semac.ir import dump as tree_dump

        if name == "tree" and self.name == "expanded":
            self.text = tree_dump.expanded_text(unit)
        elif name == self.name:
            self.text = tree_dump.tree_text(unit) if name == "tree" else anf_dump.unit_text(unit)

    def of(self, compiled: CompiledUnit) -> str:
        """The text, once the unit is compiled: empty for a pass that didn't run (SEMA_OPT=0, SEMA_SKIP)."""
        if self.name == "py":
            return compiled.python_text()
        if self.name == "ast":
            return ast.dump(compiled.tree, indent=2) + "\n"
        return self.text
