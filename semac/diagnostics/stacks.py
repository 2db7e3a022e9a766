"""Stacks as pdb shows them: without the frames of the runtime and the compiler. Doesn't import pdb."""

from __future__ import annotations

from types import FrameType, ModuleType, TracebackType
from typing import Any

from sema_runtime.conditions.tracebacks import is_ours
from semac.diagnostics.tracebacks import is_sema


def without(
    hidden: list[bool], stack: list[tuple[FrameType, int]], current: int
) -> tuple[list[tuple[FrameType, int]], int]:
    """A stack without its hidden entries, and the index there of the entry that was current."""
    kept = [entry for entry, is_hidden in zip(stack, hidden, strict=True) if not is_hidden]
    return kept, current - sum(hidden[:current])


def teach_pdb(module: ModuleType) -> None:
    """Has Python's pdb stand in the Sema function that failed, and show stacks of Sema code without our own frames."""
    tools: Any = module
    original = tools.Pdb.get_stack
    if hasattr(original, "untaught"):
        return

    def get_stack(self: Any, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        stack, current = original(self, f, t)
        shown = [not is_ours(frame.f_globals) for frame, _ in stack]
        if not any(is_shown and is_sema(frame) for is_shown, (frame, _) in zip(shown, stack, strict=True)):
            return stack, current
        if t is not None:  # an error: the innermost frame of the program is where to look
            last = max(index for index, is_shown in enumerate(shown) if is_shown)
            current = min(current, last)
        hidden = [not is_shown and index != current for index, is_shown in enumerate(shown)]
        return without(hidden, stack, current)

    get_stack.untaught = original  # type: ignore[attr-defined]
    tools.Pdb.get_stack = get_stack
