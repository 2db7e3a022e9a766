"""Builtins and functions of the runtime that passes know by name."""

from __future__ import annotations

KEYWORD_GET = "sema_runtime.values.lookup:keyword_get"  # what `(:key map)` calls

# As in the reference, calls of OPERATORS ignore inner definitions of the name, those of INTRINSICS ignore `set!`.
OPERATORS = frozenset(["+", "-", "*", "/", "<", ">", "<=", ">=", "=", "not"])
INTRINSICS = OPERATORS | frozenset([
    "car", "cdr", "cons", "length", "null?", "nth", "get", "append", "mod", "first", "rest", "string-length", "pair?",
    "list?", "number?", "string?", "symbol?", "contains?", "string-ref",
])  # fmt: skip
