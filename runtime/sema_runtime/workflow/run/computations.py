"""Whether two thunks compute the same: the same code of the program, with equal values of the variables it captures.

`workflow/step` and `checkpoint` are keyed by names, and a name says little about what is computed. An attempt that is
repeated has a thunk of its own, made by the same code from the same values; the next item of a loop has other values.
"""

from __future__ import annotations

from sema_runtime.values.equality import equal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEEPEST = 8  # functions that capture functions


def is_same(thunk: Any, other: Any, depth: int = 0) -> bool:
    """Whether two thunks compute the same, as far as can be seen. None is the same as any other."""
    if thunk is other or thunk is None or other is None:
        return True
    code = getattr(thunk, "__code__", None)
    if code is None or code is not getattr(other, "__code__", None) or depth == DEEPEST:
        return False
    captured = zip(thunk.__closure__ or (), other.__closure__ or (), strict=True)
    if not all(cell is its or _alike(_content(cell), _content(its), depth) for cell, its in captured):
        return False
    return _alike(thunk.__defaults__ or (), other.__defaults__ or (), depth)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that has no value yet
        return None


def _alike(value: Any, other: Any, depth: int) -> bool:
    if value is other:
        return True
    if callable(value) and callable(other):
        return is_same(value, other, depth + 1)
    try:
        return equal(value, other)
    except Exception:  # values of Python whose comparison fails
        return False
