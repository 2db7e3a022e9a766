"""What a program comes to, as one line: for tables of sources and expectations."""

from __future__ import annotations

from sema_runtime.conditions.describe import describe
from sema_runtime.values.printer import to_text
from semac.session import Session


def outcome(source: str) -> str:
    """The printed value of a program, or `! ` and the message of its error."""
    try:
        return to_text(Session().run(source))
    except Exception as error:
        return "! " + describe(error).message.splitlines()[0]
