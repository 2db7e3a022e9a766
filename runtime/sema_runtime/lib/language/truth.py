"""Booleans."""

from __future__ import annotations

from sema_runtime.catalogue import builtin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("not", type="any -> bool", pure=True, total=True)
def not_(value: Any) -> bool:
    """#t for #f and nil, else #f.

    (not nil) => #t
    (not 0) => #f
    """
    return value is None or value is False
