"""`sema` without arguments: the REPL, with the prompt before the compiler."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from semac.session import Session


def main() -> int:
    """Runs the REPL and returns the exit status."""
    from semac.cli.repl.loop import Repl

    sys.argv = ["sema"]
    return Repl(new_session).run()


def new_session() -> Session:
    """A session that finds modules as a program does."""
    from semac.cli.running import find_sema_modules
    from semac.session import Session

    find_sema_modules()
    return Session(closed=False)
