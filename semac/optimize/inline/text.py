"""Strings and characters: joining, comparing and converting those whose types are known."""

from __future__ import annotations

from semac.anf.nodes import CallBuiltin, Expr, Lit, Move, Op, Python
from semac.ir.intrinsics import CHAR_TABLES
from semac.optimize.inline.table import Place, inlines, python
from semac.types.lattice import CHAR, INT, STR, atom

MANY_PARTS = 8  # of a string, before a call reads better
ON_STRINGS = {
    "string/contains?": "in", "includes?": "in", "string/starts-with?": "startswith", "starts-with?": "startswith",
    "string/ends-with?": "endswith", "ends-with?": "endswith", "string/reverse": "turned",
}  # fmt: skip
ON_CHARS = {"char=?": "eq", "char<?": "lt", "char>?": "gt", "char<=?": "le", "char>=?": "ge"}


@inlines(*CHAR_TABLES)
def looked_up(op: CallBuiltin, place: Place) -> Op | None:
    """What is known of a character, in a table."""
    return Python(op.name, op.args) if len(op.args) == 1 and op.args[0].type.only(CHAR) else None


@inlines("str", "string-append", "string/append")
def joined(op: CallBuiltin, place: Place) -> Op | None:
    """`f"{a}{b}"`: strings as they are, ints in digits. Anything else has a display form of the language."""
    if not 0 < len(op.args) <= MANY_PARTS or not all(arg.type.only(STR | INT) for arg in op.args):
        return None
    if len(op.args) == 1 and op.args[0].type.only(STR):
        return Move(op.args[0])
    return Python("joined", op.args)


@inlines("number->string", "number/to-string")
def digits(op: CallBuiltin, place: Place) -> Op | None:
    return Python("digits", op.args) if len(op.args) == 1 and op.args[0].type.only(INT) else None


@inlines(*ON_STRINGS)
def on_strings(op: CallBuiltin, place: Place) -> Op | None:
    kind = ON_STRINGS[op.name]
    count = 1 if kind == "turned" else 2
    if len(op.args) != count or not all(arg.type.only(STR) for arg in op.args):
        return None
    return Python(kind, op.args[::-1] if kind == "in" else op.args)


@inlines("char->string", "char/to-string")
def character(op: CallBuiltin, place: Place) -> Op | None:
    return Python("value", op.args) if len(op.args) == 1 and op.args[0].type.only(CHAR) else None


@inlines(*ON_CHARS)
def on_chars(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2 or not all(arg.type.only(CHAR) for arg in op.args):
        return None
    texts: list[Expr] = [
        Lit(arg.value.value, atom(STR)) if type(arg) is Lit else place.bind(python("value", arg), "text", atom(STR))
        for arg in op.args
    ]
    return Python(ON_CHARS[op.name], texts)
