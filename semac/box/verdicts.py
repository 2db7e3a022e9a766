"""What an exception of a program means to the host: a stable reason, one sentence, a place in the source."""

from __future__ import annotations

import re
from typing import Any

from sema_runtime.box.codec import TooLarge
from sema_runtime.conditions.describe import condition_of, describe
from sema_runtime.conditions.usage import failing_builtin
from sema_runtime.values.digits import MOST_DIGITS
from sema_runtime.values.errors import (
    ArityError,
    OutOfBounds,
    ReaderError,
    SemaError,
    SemaTypeError,
    Thrown,
    UnboundError,
)
from semac.box.admission import IN_MACROS, Refused
from semac.box.type_errors import with_function
from semac.pipeline import TOO_DEEP

MOST_TEXT = 2_000  # characters of a message
TOO_MANY_DIGITS = re.compile(r"(ValueError: )?Exceeds the limit \(\d+ digits\) for integer string conversion.*")
UNWRITABLE = f"an integer has more than {MOST_DIGITS} digits, too many to write down"
TOO_NESTED = "nested too deeply (limit"
SPEAKERS = ("error", "assert")  # builtins whose errors say what the program wants
IN_WORDS = (  # Python's own errors
    (UnicodeError, "the text has half of a surrogate pair, which can't be written"),
    (OverflowError, "a number is too large for this"),
)
ARITHMETIC = ("division by zero", "overflow", "NaN", "infinity", "square root", "logarithm")


def verdict(error: BaseException, is_running: bool) -> dict[str, Any]:
    """The part of an answer that says what went wrong. is_running: whether the program had begun."""
    if isinstance(error, Refused):
        line, column = (error.span.line, error.span.col) if error.span is not None else (None, None)
        return entry(error.reason, error.message, error.hint, line, column)
    shown = describe(error)
    message = TOO_MANY_DIGITS.sub(UNWRITABLE, cut(shown.message))
    why = reason(error, is_running)
    condition = condition_of(error) if why == "type_error" else None
    if isinstance(condition, SemaTypeError):
        message = with_function(message, error, condition, shown.frames)
    for kind, words in IN_WORDS:
        if isinstance(error, kind):
            message = ": ".join(filter(None, (failing_builtin(error), words)))
    line, column = shown.place or (None, None)
    if line is None and shown.frames:
        line, column = shown.frames[0].line or None, shown.frames[0].col or None
    hint = IN_MACROS if why == "unbound_var" and not is_running else shown.hint
    if isinstance(error, ReaderError) and TOO_NESTED in message:
        hint = f"{hint}; the host can raise nesting"
    return entry(why, message, hint, line, column)


def entry(reason: str, message: str, hint: str | None, line: int | None, column: int | None) -> dict[str, Any]:
    hint = visible(cut(hint)) if hint else None
    return {"status": "error", "reason": reason, "message": visible(cut(message)), "hint": hint, "line": line,
            "column": column}  # fmt: skip


def over(reason: str, name: str, most: int, instead: str) -> dict[str, Any]:
    """The answer to a program that passed a limit."""
    message = f"limit {name} of {most} exceeded; nothing that the program defined was kept"
    return entry(reason, message, f"{instead}; the host can raise {name}", None, None)


def unfit(problem: TooLarge, most: int) -> dict[str, Any]:
    """The answer to a program whose value can't leave the box."""
    message = f"the value {problem.message}, too much for limit result_bytes of {most}"
    hint = "return a part or a summary; the host can raise result_bytes"
    return entry("result_exceeded", f"{message}; nothing that the program defined was kept", hint, None, None)


def cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}... (cut)"


def visible(text: str) -> str:
    """A text without control characters, which could speak to a terminal in the program's name."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\u{{{ord(char):x}}}" for char in text)


def reason(error: BaseException, is_running: bool) -> str:
    """One of the reasons of sandbox.md, 5.1."""
    if isinstance(error, ReaderError):
        return "parse_error"
    if isinstance(error, RecursionError):
        return "stack_exceeded" if is_running else "parse_error"
    if isinstance(error, MemoryError):
        return "memory_exceeded"
    if isinstance(error, ZeroDivisionError | OverflowError | ArithmeticError):
        return "arithmetic_error"
    if isinstance(error, Thrown):
        return "runtime_error"
    condition = condition_of(error)
    if isinstance(condition, UnboundError):
        return "unbound_var"
    if isinstance(condition, ArityError):
        return "arity_error" if is_running else "invalid_arity"
    if not is_running or condition.message == TOO_DEEP:  # which Python's compiler says last
        return "invalid_form"
    if condition.kind in ("tool-error", "validation-error"):
        return condition.kind.replace("-", "_")
    if failing_builtin(error) in SPEAKERS:
        return "runtime_error"
    message = condition.display()
    if message.startswith("not callable"):
        return "not_callable"
    if isinstance(condition, OutOfBounds):
        return "index_error"
    if isinstance(condition, SemaTypeError):
        return "type_error"
    if "maximum" in message and "depth" in message:
        return "stack_exceeded"
    if any(word in message for word in ARITHMETIC):
        return "arithmetic_error"
    return "runtime_error" if isinstance(condition, SemaError) else "internal_error"
