"""Builtins and functions of the runtime that passes know by name."""

from __future__ import annotations

KEYWORD_GET = "sema_runtime.values.lookup:keyword_get"  # what `(:key map)` calls

# As in the reference, calls of OPERATORS ignore inner definitions of the name, those of INTRINSICS ignore `set!`.
OPERATORS = frozenset(["+", "-", "*", "/", "<", ">", "<=", ">=", "=", "not"])
INTRINSICS = OPERATORS | frozenset([
    "car", "cdr", "cons", "length", "null?", "nth", "get", "append", "mod", "first", "rest", "string-length", "pair?",
    "list?", "number?", "string?", "symbol?", "contains?", "string-ref",
])  # fmt: skip
# Builtins that say something of a character → the table of it, in lib/text/chars.py
CHAR_TABLES = {
    "char-alphabetic?": "ALPHABETIC", "char-numeric?": "NUMERIC", "char-whitespace?": "WHITE",
    "char-upper-case?": "UPPER_CASE", "char-lower-case?": "LOWER_CASE",
    "char-upcase": "UPCASED", "char-downcase": "DOWNCASED",
}  # fmt: skip
