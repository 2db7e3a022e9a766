"""Constants in emitted code: literals, atoms, and quoted data, which is made once in a constant of the module."""

from __future__ import annotations

import ast
from fractions import Fraction
from math import isfinite
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro, embed
from sema_runtime.values.maps import PLAIN, HashMap, Map
from sema_runtime.values.numbers import Complex
from semac.generate.context import Context
from semac.generate.names import VALUES
from semac.generate.pyast import Loc, attribute, call, const, name

ATOMS = (int, float, str, bool, bytes, type(None))
NAMES_OF_DATA = {
    str: "TEXTS", Keyword: "KEYS", Symbol: "SYMBOLS", Char: "CHARS",
    List: "ROWS", tuple: "ROWS", Map: "RECORDS", HashMap: "RECORDS",
}  # fmt: skip
LISTS = "sema_runtime.values.lists:"
MAPS = "sema_runtime.values.maps:"


def constant(c: Context, value: Any, loc: Loc) -> ast.expr:
    """An expression for any constant."""
    if isinstance(value, ATOMS):
        return const(value, loc) if type(value) is not float or isfinite(value) else not_finite(c, value, loc)
    if type(value) in (Keyword, Symbol, Char, Fraction):
        return c.module.names.atom(value, loc)
    if type(value) is Complex:
        halves = [constant(c, value.re, loc), constant(c, value.im, loc)]
        return call(c.runtime("sema_runtime.values.numbers:Complex", loc), halves, loc)
    if type(value) is Macro:
        parts: list[ast.expr] = [const(value.name, loc), const(None, loc)]
        return call(c.runtime("sema_runtime.values.macros:Macro", loc), parts, loc)
    if type(value) is List and not value.items:
        return c.runtime(LISTS + "EMPTY", loc)
    if type(value) not in (List, tuple, Map, HashMap):
        return embedded(c, value, loc)
    data = quoted(c, value, loc)
    if c.module.unit.is_text and ((c.at_module and not c.loops and not c.repeats) or is_literal(data)):
        return data
    return name(c.module.names.constant(("quoted", id(value)), data_name(value), data), loc)


def is_literal(data: ast.expr) -> bool:
    """Whether Python makes a value but once however often an expression runs."""
    if isinstance(data, ast.Tuple):
        return all(map(is_literal, data.elts))
    return isinstance(data, ast.Constant)


def data_name(value: Any) -> str:
    """What the constant of quoted data would like to be called."""
    items = value.items if type(value) is List else value if type(value) is tuple else ()
    kinds = set(map(type, items))
    if kinds and kinds <= {int, float, Fraction}:
        return "NUMBERS"
    return next((NAMES_OF_DATA[kind] for kind in NAMES_OF_DATA if kinds == {kind}), "DATA")


def not_finite(c: Context, value: float, loc: Loc) -> ast.expr:
    """`inf`, `-inf` or `nan`."""
    positive = c.runtime("math:nan" if value != value else "math:inf", loc)
    return ast.UnaryOp(ast.USub(), positive, **loc) if value < 0 else positive


def embedded(c: Context, value: Any, loc: Loc) -> ast.expr:
    """A value that no text can say; an input of a session keeps its own, so that they go with it."""
    unit = c.module.unit
    unit.is_portable = False
    if c.module.names.shared is None:
        return call(c.runtime("sema_runtime.values.macros:embedded", loc), [const(embed(value), loc)], loc)
    unit.values.append(value)
    return ast.Subscript(name(VALUES, loc), const(len(unit.values) - 1, loc), ast.Load(), **loc)


def quoted(c: Context, value: Any, loc: Loc) -> ast.expr:
    if type(value) is List:
        items = [quoted(c, item, loc) for item in value.items]
        return call(c.runtime(LISTS + "List", loc), [ast.List(items, ast.Load(), **loc)] if items else [], loc)
    if type(value) is tuple:
        return ast.Tuple([quoted(c, item, loc) for item in value], ast.Load(), **loc)
    if type(value) is Map or type(value) is HashMap:
        kind = c.runtime(MAPS + type(value).__name__, loc)
        pairs: list[ast.expr] = [
            ast.Tuple([quoted(c, k, loc), quoted(c, v, loc)], ast.Load(), **loc) for k, v in value.pairs()
        ]
        return call(attribute(kind, "of", loc), [ast.List(pairs, ast.Load(), **loc)], loc)
    return constant(c, value, loc)


def stored_key(c: Context, key: Any, loc: Loc) -> ast.expr:
    """A constant map key in the form in which maps store it."""
    value = constant(c, key, loc)
    return value if type(key) in PLAIN else call(c.runtime(MAPS + "stored", loc), [value], loc)
