"""Sema in notebooks: the kernel, the magic `%%sema` of IPython (`%load_ext semac.jupyter`), `.sema-nb` files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext semac.jupyter`."""
    from semac.jupyter.magic import load

    load(shell)
