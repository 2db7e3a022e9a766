"""Asks for an approval on the terminal. Other tasks run meanwhile."""

from __future__ import annotations

import sys

from sema_runtime.support.visible import visible
from sema_runtime.workflow.approvals.records import APPROVE, LONGEST, REJECT, Request

QUESTION = "Approve? [y]es, [n]o, anything else: later "


def asked(request: Request) -> tuple[str | None, str | None]:
    """(verdict, reason). Nothing but a clear answer is one: without, as at the end of the input, the run is left for
    later. Ctrl-C ends the program as everywhere."""
    shown = f"\nApproval needed: {indented(request.reason)}\n"
    if request.preview is not None:
        shown += f"  {indented(request.preview)}\n"
    _forget_what_was_typed()
    answer = (_answer(f"{shown}{QUESTION}") or "").lower()
    if answer in ("y", "yes"):
        return APPROVE, None
    if answer not in ("n", "no"):
        return None, None
    return REJECT, (_answer("Why? ") or "")[:LONGEST] or "rejected on the terminal"


def _answer(question: str) -> str | None:
    """The line that answers a question, None at the end of the input."""
    from sema_runtime.tasks.inputs import standard_input
    from sema_runtime.values.errors import SemaError

    try:
        print(question, end="", file=sys.stderr, flush=True)
        line = standard_input().line("approval")
    except (OSError, SemaError):  # no terminal any more, or nothing that a person types
        line = b""
    if not line.endswith(b"\n"):
        print(file=sys.stderr)
    return line.decode(errors="replace").strip() if line else None


def _forget_what_was_typed() -> None:
    """Keys that were pressed before the question was there don't answer it."""
    from sema_runtime.tasks.inputs import standard_input

    if sys.stdin is None or not sys.stdin.isatty():
        return
    try:
        from termios import TCIFLUSH, error, tcflush
    except ImportError:
        return
    standard_input().buffer.clear()
    try:
        tcflush(sys.stdin.fileno(), TCIFLUSH)
    except error:
        return


def indented(text: str) -> str:
    """A text of the program, its later lines set in, without what a terminal would obey: it can't be made to show
    something else, or what looks like a question of ours."""
    return visible(text, "\n").replace("\n", "\n  ")
