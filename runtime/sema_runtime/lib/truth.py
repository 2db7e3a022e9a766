"""Booleans."""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue import builtin


@builtin("not", returns="bool", pure=True)
def not_(value: Any) -> bool:
    """#t for #f and nil, else #f."""
    return value is None or value is False
