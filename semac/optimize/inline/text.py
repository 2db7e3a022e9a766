"""Strings and characters: joining, comparing and converting those whose types are known."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sema_runtime.values.atoms import keyword, symbol
from semac.anf.build import is_fixed
from semac.anf.literals import literal
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Expr, If, Lit, Move, Op, Python, Ref, Result
from semac.ir.intrinsics import CHAR_TABLES
from semac.optimize.inline.table import Place, guarded, inlines, may_be, python
from semac.types.lattice import BOOL, CHAR, FLOAT, INT, KEYWORD, NATURAL, NIL, STR, SYMBOL, atom

SHOWN = re.compile("~[aA]")  # in a template: the next value as `str` shows it
ATOMS = {
    "string->symbol": "symbol",
    "string/to-symbol": "symbol",
    "string->keyword": "keyword",
    "string/to-keyword": "keyword",
}
MAKERS: dict[str, Callable[[str], Any]] = {"symbol": symbol, "keyword": keyword}
MANY_PARTS = 8  # of a string, before a call reads better to people
MANY_UNKNOWN = 2  # pieces of a string that are asked what they are
ON_STRINGS = {
    "string/contains?": "in", "includes?": "in", "string/starts-with?": "startswith", "starts-with?": "startswith",
    "string/ends-with?": "endswith", "ends-with?": "endswith", "string/reverse": "turned",
}  # fmt: skip
METHODS = {  # builtins that Python's `str` has as methods → their kinds, and how many arguments they take
    "string/replace": ("replaced", 3), "replace": ("replaced", 3),
    "string/trim": ("trimmed", 1), "string-trim": ("trimmed", 1), "trim": ("trimmed", 1),
    "string/upper": ("upper", 1), "string-upcase": ("upper", 1), "upper": ("upper", 1), "upper-case": ("upper", 1),
    "string/lower": ("lower", 1), "string-downcase": ("lower", 1), "lower": ("lower", 1), "lower-case": ("lower", 1),
}  # fmt: skip
ON_CHARS = {"char=?": "eq", "char<?": "lt", "char>?": "gt", "char<=?": "le", "char>=?": "ge"}


@inlines(*CHAR_TABLES)
def looked_up(op: CallBuiltin, place: Place) -> Op | None:
    """What is known of a character, in a table."""
    return Python(op.name, op.args) if len(op.args) == 1 and op.args[0].type.only(CHAR) else None


@inlines("str", "string-append", "string/append")
def joined(op: CallBuiltin, place: Place) -> Op | None:
    """`f"{a}{b}"`: strings as they are, ints in digits, floats in those of the language. Anything else has a display
    form of the language."""
    unknown = [at for at, arg in enumerate(op.args) if not (arg.type.only(STR | INT) or arg.type.only(FLOAT))]
    if not op.args or (place.is_text and len(op.args) > MANY_PARTS):
        return None
    if unknown:
        return shown(op, unknown, place)
    if len(op.args) == 1 and op.args[0].type.only(STR):
        return Move(op.args[0])
    return Python("joined", [in_digits(arg, place) if arg.type.only(FLOAT) else arg for arg in op.args])


def shown(op: CallBuiltin, unknown: list[int], place: Place) -> Op | None:
    """The same where few pieces aren't known, which are asked whether they are strings or ints."""
    likely = all(may_be(op.args[at].type, STR | INT) and type(op.args[at]) is not Lit for at in unknown)
    if not place.guards or len(unknown) > MANY_UNKNOWN or not likely or op.as_value:
        return None
    pieces = [in_digits(arg, place) if arg.type.only(FLOAT) else arg for arg in op.args]
    on_pieces = CallBuiltin(op.name, pieces, fixed=op.fixed)
    return guarded(on_pieces, "joined", *(("shown", (at,)) for at in unknown))


def in_digits(number: Expr, place: Place) -> Expr:
    """The text of a float."""
    return place.bind(python("float_text", number), "text", atom(STR))


@inlines("format")
def formatted(op: CallBuiltin, place: Place) -> Op | None:
    """A template that is written out, with a value for each `~a` and nothing else to do, as `str` of its pieces."""
    if not op.args or type(op.args[0]) is not Lit or type(op.args[0].value) is not str:
        return None
    first, *texts = SHOWN.split(op.args[0].value)
    if len(texts) != len(op.args) - 1 or any("~" in text for text in (first, *texts)):
        return None
    parts: list[Expr] = [Lit(first, atom(STR))] if first or not texts else []
    for value, text in zip(op.args[1:], texts, strict=True):
        parts += [value, Lit(text, atom(STR))] if text else [value]
    together = CallBuiltin("string-append", parts)
    return joined(together, place) or together


@inlines("substring", "string/slice")
def part_of(op: CallBuiltin, place: Place) -> Op | None:
    """`text[start:end]` where the indices are inside, `text[i]` for one character."""
    if len(op.args) not in (2, 3) or not place.guards or op.as_value:
        return None
    is_text = [] if op.args[0].type.only(STR) else [("str", (0,))]
    if not is_text and surely_inside(op.args[0], op.args[1]):
        if len(op.args) == 2 or is_length_of(op.args[2], op.args[0]):
            return python("rest_of_text", *op.args[:2])
        if type(op.args[1]) is Lit and surely_inside(op.args[0], op.args[2]):
            return python("slice", *op.args)
    if not may_be(op.args[0].type, STR) or not all(arg.type.only(NATURAL) for arg in op.args[1:]):
        return None
    if len(op.args) == 2:
        return guarded(op, "rest_of_text", *is_text, ("ends_at", (0, 1)))
    text, start, end = op.args
    if is_length_of(end, text):
        from_start = CallBuiltin(op.name, [text, start], fixed=op.fixed)
        return guarded(from_start, "rest_of_text", *is_text, ("ends_at", (0, 1)))
    if is_next(end, start):
        return guarded(op, "text_item", *is_text, ("natural_index", (0, 1)))
    if type(start) is Lit and start.value == 0:
        return guarded(op, "slice", *is_text, ("ends_at", (0, 2)))
    return guarded(op, "slice", *is_text, ("slice", (0, 1, 2)))


def surely_inside(text: Expr, index: Expr) -> bool:
    """Whether an index is 0, where a part of the text was found, or where that part ends."""
    if type(index) is Lit:
        return bool(index.value == 0)
    if not index.type.only(INT):
        return False
    if part_at(text, index) is not None:
        return True
    op = index.var.op if type(index) is Ref and is_fixed(index.var) else None
    if type(op) is not CallBuiltin or op.name != "+" or len(op.args) != 2 or not op.args[0].type.only(INT):
        return False
    part = part_at(text, op.args[0])
    return part is not None and is_at_most_length(op.args[1], part)


def part_at(text: Expr, index: Expr) -> Expr | None:
    """The part of a text that was found at an index, where that is sure."""
    choice = index.var.op if type(index) is Ref and is_fixed(index.var) else None
    if type(choice) is not If or type(choice.then.exit) is not Result:
        return None
    place = choice.then.exit.value
    find = place.var.op if type(place) is Ref and is_fixed(place.var) else None
    if type(find) is not Python or find.kind != "find" or not is_same(find.args[0], text):
        return None
    return find.args[1]


def is_at_most_length(count: Expr, part: Expr) -> bool:
    """Whether a count is the length of a part, or of a literal one not more than that."""
    if type(count) is Lit:
        return type(part) is Lit and type(count.value) is int and 0 <= count.value <= len(part.value)
    op = count.var.op if type(count) is Ref and is_fixed(count.var) else None
    if type(op) is Move:
        return is_at_most_length(op.value, part)
    return type(op) is Python and op.kind == "len" and is_same(op.args[0], part)


def is_same(one: Expr, other: Expr) -> bool:
    """Whether two operands are the same variable, which nobody assigns, or equal texts that are written out."""
    if type(one) is Ref and type(other) is Ref:
        return one.var is other.var and is_fixed(one.var)
    return (
        type(one) is Lit
        and type(other) is Lit
        and type(one.value) is type(other.value) is str
        and one.value == other.value
    )


def is_length_of(end: Expr, text: Expr) -> bool:
    """Whether an index is the length of a text that nobody assigns."""
    made = end.var.op if type(end) is Ref and not end.var.name and is_fixed(end.var) else None
    if type(made) is not Python or made.kind != "len" or type(text) is not Ref or not is_fixed(text.var):
        return False
    return type(made.args[0]) is Ref and made.args[0].var is text.var


def is_next(end: Expr, start: Expr) -> bool:
    """Whether an index is the one after another."""
    if type(end) is Lit and type(start) is Lit:
        return bool(end.value == start.value + 1)
    op = end.var.op if type(end) is Ref and not end.var.name else None
    if type(op) is not CallBuiltin or op.name != "+" or len(op.args) != 2 or type(start) is not Ref:
        return False
    ones = [type(arg) is Lit and arg.value == 1 for arg in op.args]
    same = [type(arg) is Ref and arg.var is start.var and is_fixed(start.var) for arg in op.args]
    return (ones[0] and same[1]) or (ones[1] and same[0])


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


@inlines(*METHODS)
def by_method(op: CallBuiltin, place: Place) -> Op | None:
    """`text.replace(old, new)`. Trimming names the white space of the language, which people needn't read."""
    kind, count = METHODS[op.name]
    if len(op.args) != count or not all(arg.type.only(STR) for arg in op.args):
        return None
    return None if place.is_text and kind == "trimmed" else Python(kind, op.args)


@inlines("string/split", "string-split")
def split(op: CallBuiltin, place: Place) -> Op | None:
    """`List(text.split(","))`, where the separator is written out: Python has no empty one."""
    if len(op.args) != 2 or not all(arg.type.only(STR) for arg in op.args):
        return None
    return Python("split", op.args) if type(op.args[1]) is Lit and op.args[1].value else None


@inlines("char->string", "char/to-string")
def character(op: CallBuiltin, place: Place) -> Op | None:
    return Python("value", op.args) if len(op.args) == 1 and op.args[0].type.only(CHAR) else None


@inlines("symbol->string", "symbol/to-string", "keyword->string", "keyword/to-string")
def name_of(op: CallBuiltin, place: Place) -> Op | None:
    """`atom.name`."""
    tags = SYMBOL if op.name.startswith("symbol") else KEYWORD
    return Python("name", op.args) if len(op.args) == 1 and op.args[0].type.only(tags) else None


@inlines(*ATOMS)
def interned(op: CallBuiltin, place: Place) -> Op | None:
    """`keyword(text)`."""
    if len(op.args) != 1 or not op.args[0].type.only(STR):
        return None
    text = op.args[0].value if type(op.args[0]) is Lit and not place.is_text else ""
    if text:
        return Move(literal(MAKERS[ATOMS[op.name]](text)))
    return CallRuntime(f"sema_runtime.values.atoms:{ATOMS[op.name]}", op.args)


@inlines("string->number", "string/to-number")
def number_of(op: CallBuiltin, place: Place) -> Op | None:
    """`int(text) if text.isdecimal() and text.isascii() and len(text) < 20 else string_to_number(text)`."""
    if len(op.args) != 1 or not place.guards or not op.args[0].type.only(STR):
        return None
    return guarded(op, "int", ("digits", (0,)))


@inlines("string/index-of")
def index_of(op: CallBuiltin, place: Place) -> Op | None:
    """`text.find(part)`; nil for -1."""
    if len(op.args) != 2 or not all(arg.type.only(STR) for arg in op.args):
        return None
    index = place.bind(python("find", *op.args), "index", atom(INT))
    test = place.bind(python("ge", index, Lit(0, atom(INT))), "test", atom(BOOL))
    return If(test, Block([], Result(index)), Block([], Result(Lit(None, atom(NIL)))))


@inlines(*ON_CHARS)
def on_chars(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2 or not all(arg.type.only(CHAR) for arg in op.args):
        return None
    texts: list[Expr] = [
        Lit(arg.value.value, atom(STR)) if type(arg) is Lit else place.bind(python("value", arg), "text", atom(STR))
        for arg in op.args
    ]
    return Python(ON_CHARS[op.name], texts)
