"""Conditions: the one family of exceptions that Sema programs raise and catch.

    SemaError                 :eval            a plain message
    ├── SemaTypeError         :type-error      expected X, got Y
    ├── ArityError            :arity           NAME expects N arguments, got M
    ├── UnboundError          :unbound         Unbound variable: NAME
    ├── ReaderError           :reader          bad source text
    ├── Thrown                :user            (throw value)
    ├── IoError               :io              files, network
    ├── LlmError              :llm             providers
    ├── PermissionDenied      :permission-denied
    ├── PolicyDenied          :policy-denied    a workflow's policy
    └── InternalError         :internal        a mistake of semac's

Errors that Python itself raises (NameError, ZeroDivisionError, TypeError of a call or an operator, RecursionError)
cost nothing on the way; `conditions.py` translates them when they are caught by a program or shown.
The map that `catch` binds is built there too, only when it is needed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class SemaError(Exception):
    """A condition. message: without prefix; hint, note: advice shown below it; fields: extra catch-map entries."""

    kind = "eval"

    def __init__(self, message: str, hint: str | None = None, note: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.note = note
        self.fields = fields

    def display(self) -> str:
        """The text behind `Error: `."""
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class DivisionByZero(ZeroDivisionError):
    """`(/ 1 0)`. Cheaper to raise than Python's own, and known at once not to come from the code of a library."""

    __slots__ = ()


class SemaTypeError(SemaError):
    kind = "type-error"

    def __init__(self, expected: str, got: str, hint: str | None = None, note: str | None = None) -> None:
        super().__init__(f"expected {expected}, got {got}", hint, note, expected=expected, got=got)


class ArityError(SemaError):
    """expected: `1`, `2+` or `1-2` (what the catch map holds); given: the number of arguments."""

    kind = "arity"

    def __init__(self, function: str, expected: str, given: int) -> None:
        super().__init__(
            f"{function} expects {arity_words(expected)}, got {given}", function=function, expected=expected, got=given
        )


class UnboundError(SemaError):
    kind = "unbound"

    def __init__(self, name: str, hint: str | None = None) -> None:
        super().__init__(f"Unbound variable: {name}", hint, name=name)


class ReaderError(SemaError):
    """Bad source text. span: where, as (line, column, end line, end column), 1-based."""

    kind = "reader"

    def __init__(self, message: str, span: Any = None, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.span = span


class Thrown(SemaError):
    """What `throw` raises; value is any Sema value."""

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
        from sema_runtime.conditions.describe import rethrown

        condition = rethrown(self)
        return f"User exception: {self.message}" if condition is None else str(condition["message"])


class ThrownMap(Thrown):
    """`(throw {...})` of a map literal, held as a dict of stored keys: most handlers take one entry out of it. The map
    is made when somebody asks for the value."""

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
    """A thrown map that looks like one that `catch` binds (it has a :type): it stands for that condition again."""

    def __str__(self) -> str:
        return self.display()


class InternalError(SemaError):
    """What only a mistake of the compiler or the runtime can raise."""

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
    """boundary: model, tool, llm.input or llm.output; subject: what was to pass it. rule: the one that denied it.
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


def _restored(kind: type[SemaError], args: tuple[Any, ...], state: dict[str, Any]) -> SemaError:
    """A pickled condition: its parts are known, so no constructor has to make them again."""
    made = kind.__new__(kind, *args)
    made.__dict__.update(state)
    return made


def arity_words(expected: str) -> str:
    """`0` -> "no arguments", `1` -> "1 argument", `2+` -> "2 or more arguments", `1-2` -> "1 to 2 arguments"."""
    if expected in ("0", "1"):
        return "1 argument" if expected == "1" else "no arguments"
    if expected.endswith("+"):
        return f"{expected[:-1]} or more arguments"
    low, dash, high = expected.partition("-")
    return f"{low} to {high} arguments" if dash else f"{expected} arguments"


def type_error(expected: str, value: Any, hint: str | None = None) -> NoReturn:
    """Raises `expected EXPECTED, got <type of value>`."""
    from sema_runtime.values.typenames import type_name

    raise SemaTypeError(expected, type_name(value), hint)
