"""What a broken rule raises."""

from __future__ import annotations

from typing import Any

from semac.anf.nodes import Op
from semac.ir.nodes import Function


class Fault(BaseException):
    """A unit breaks a rule of the intermediate representation. No handler of a program catches it."""


class Place:
    """Where the verifier stands: after which pass, in which function, at which instruction."""

    __slots__ = ("after", "function", "op")

    def __init__(self, after: str) -> None:
        self.after = after
        self.function: Function | None = None
        self.op: Any = None

    def fault(self, rule: str, message: str) -> Fault:
        """The error of a rule that is broken here."""
        function = f"function {self.function.name}" if self.function is not None else "the top level"
        span = getattr(self.op, "span", None)
        position = f" at {span.line}:{span.col}" if span is not None else ""
        shown = f", {shown_op(self.op)}" if self.op is not None else ""
        return Fault(f"after {self.after}, {rule}: {message} (in {function}{shown}{position})")


def shown_op(op: Any) -> str:
    """An operation by its class and what distinguishes it: `CallBuiltin car`, `Python add`."""
    kind = type(op).__name__
    if not isinstance(op, Op):
        return kind
    detail = getattr(op, "name", None) or getattr(op, "kind", None) or getattr(op, "path", None)
    return f"{kind} {detail}" if type(detail) is str else kind
