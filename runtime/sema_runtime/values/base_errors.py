"""The conditions that values themselves raise: SemaError, SemaTypeError, ArityError. errors.py has all of them.

A condition is also the exception of Python that callers in Python catch for such a mistake.
"""

from __future__ import annotations

from sema_runtime.values.typenames import type_name

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


class OutOfBounds(SemaError, IndexError):
    """An index that a sequence doesn't have."""


class SemaTypeError(SemaError, TypeError):
    kind = "type-error"

    def __init__(self, expected: str, got: str, hint: str | None = None) -> None:
        super().__init__(f"expected {expected}, got {got}", hint, expected=expected, got=got)


class ArityError(SemaError, TypeError):
    """expected: `1`, `2+` or `1-2` (what the catch map holds); given: the number of arguments."""

    kind = "arity"

    def __init__(self, function: str, expected: str, given: int) -> None:
        super().__init__(
            f"{function} expects {arity_words(expected)}, got {given}", function=function, expected=expected, got=given
        )


def _restored(kind: type[SemaError], args: tuple[Any, ...], state: dict[str, Any]) -> SemaError:
    """A pickled condition: its parts are known, so no constructor has to make them again."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


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
    raise SemaTypeError(expected, type_name(value), hint)
