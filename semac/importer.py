"""Imports of `.sema` files from Python: `import semac.importer; semac.importer.install()`, then `import my_module`.

The finder itself is in `semac.imports.finder`; this is its public name.
"""

from semac.imports.finder import SemaFinder, SemaSyntaxError, install, uninstall

__all__ = ["SemaFinder", "SemaSyntaxError", "install", "uninstall"]
