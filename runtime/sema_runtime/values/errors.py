"""Conditions: the one family of exceptions that Sema programs raise and catch.

    SemaError                 :eval            a plain message
    ├── OutOfBounds           :eval            index N out of bounds (an IndexError)
    ├── SemaTypeError         :type-error      expected X, got Y (a TypeError)
    ├── ArityError            :arity           NAME expects N arguments, got M (a TypeError)
    ├── UnboundError          :unbound         Unbound variable: NAME (a NameError)
    ├── ReaderError           :reader          bad source text
    ├── Thrown                :user            (throw value)
    ├── IoError               :io              files, network
    ├── LlmError              :llm             providers
    ├── PermissionDenied      :permission-denied
    ├── PolicyDenied          :policy-denied    a workflow's policy
    └── InternalError         :internal        a mistake of semac's

Errors that Python itself raises (NameError, ZeroDivisionError, TypeError of a call or an operator, RecursionError)
cost nothing on the way; `conditions/describe.py` translates them when a program catches them or when they are shown,
and builds the map that `catch` binds, only when it is needed.
"""

from __future__ import annotations

from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.base_errors import ArityError as ArityError
from sema_runtime.values.base_errors import OutOfBounds as OutOfBounds
from sema_runtime.values.base_errors import SemaError as SemaError
from sema_runtime.values.base_errors import SemaTypeError as SemaTypeError
from sema_runtime.values.base_errors import arity_words as arity_words
from sema_runtime.values.base_errors import type_error as type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.values.maps import Map

for _base in (SemaError, SemaTypeError, ArityError, OutOfBounds):
    _base.__module__ = __name__  # what tracebacks and pickles call them

# What the :type of a condition map can be
KINDS = frozenset((
    "reader", "eval", "type-error", "arity", "unbound", "user", "io", "llm", "python", "permission-denied",
    "policy-denied", "cancelled", "timeout",
))  # fmt: skip


class DivisionByZero(ZeroDivisionError):
    """`(/ 1 0)`. Cheaper to raise than Python's own, and known at once not to come from the code of a library."""

    __slots__ = ()


class UnboundError(SemaError, NameError):
    kind = "unbound"

    def __init__(self, name: str) -> None:
        super().__init__(f"Unbound variable: {name}", name=name)


class ReaderError(SemaError):
    """Bad source text. span: where, as (line, column, end line, end column), 1-based."""

    kind = "reader"

    def __init__(self, message: str, span: Any = None, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.span = span


class Thrown(SemaError):
    """The error that `throw` raises; value is any Sema value."""

    kind = "user"
    hint = None
    note = None

    __init__ = BaseException.__init__  # the value stays where Python puts it: raising is as cheap as it gets

    @property
    def value(self) -> Any:
        return self.args[0]

    @property
    def fields(self) -> dict[str, Any]:  # type: ignore[override]
        return {"value": self.value}

    @property
    def message(self) -> str:  # type: ignore[override]
        from sema_runtime.values.printer import to_text

        return to_text(self.value)

    def display(self) -> str:
        return f"User exception: {self.message}"


class ThrownMap(Thrown):
    """`(throw {...})` of a map literal, held as a dict of stored keys: most handlers read one entry. The map is built
    when the value is read."""

    @property
    def value(self) -> Any:
        held = self.args[0]
        if type(held) is dict:
            from sema_runtime.values.maps import Map

            held = Map(held)
            self.args = (held,)
        return held

    def __str__(self) -> str:
        return str(self.value)


class Rethrown(Thrown):
    """A thrown map like those that `catch` binds (with a :type): it stands for that condition again."""

    def __str__(self) -> str:
        return self.display()

    def display(self) -> str:
        condition = self.condition()
        return super().display() if condition is None else str(condition["message"])

    def condition(self) -> Map | None:
        """The map that was thrown, when it has the :type and the :message of a condition; else None."""
        thrown: Map = self.value
        kind = thrown.d.get(keyword("type"))
        is_condition = type(kind) is Keyword and kind.name in KINDS and type(thrown.d.get(keyword("message"))) is str
        return thrown if is_condition else None


class InternalError(SemaError):
    """An error that only a mistake of the compiler or the runtime can cause."""

    kind = "internal"

    def __init__(self, message: str) -> None:
        super().__init__(
            f"internal error: {message}",
            "this is a bug in semac, not in your program; SEMA_OPT=0 may avoid it",
            "please report the program, this message with SEMA_TRACEBACK=1 set, and what `sema doctor` prints",
        )


class IoError(SemaError):
    kind = "io"

    def display(self) -> str:
        return f"I/O error: {self.message}"


class LlmError(SemaError):
    """An error of the layer that asks models."""

    kind = "llm"

    def display(self) -> str:
        return f"LLM error: {self.message}"


class PermissionDenied(SemaError):
    kind = "permission-denied"

    def __init__(self, function: str, capability: str) -> None:
        super().__init__(
            f"Permission denied: {function} requires '{capability}' capability",
            function=function,
            capability=capability,
        )


class PolicyDenied(SemaError):
    """boundary: model, tool, llm.input or llm.output. subject: what was stopped there. rule: the rule that denied it.
    action: fail, skip, tool-error or block. source: request, cache or cassette."""

    kind = "policy-denied"

    def __init__(
        self, policy: str, boundary: str, subject: str, rule: str, reason: str, action: str, source: str = "request"
    ) -> None:
        super().__init__(
            f"Policy '{policy}' denied {boundary} '{subject}': {reason}",
            policy=policy,
            boundary=boundary,
            subject=subject,
            rule=rule,
            reason=reason,
            action=action,
            source=source,
        )
        self.policy, self.boundary, self.subject, self.rule = policy, boundary, subject, rule
        self.reason, self.action, self.source = reason, action, source
