"""Destructuring: patterns as tuple assignment and look-ups."""

from __future__ import annotations

import ast
from typing import Any

from semac.anf.nodes import (
    AnyPattern,
    BadPattern,
    CallBuiltin,
    Comprehension,
    Destructure,
    Expr,
    Lit,
    MakeMap,
    MakeVector,
    MapPattern,
    Pattern,
    Python,
    Ref,
    SequencePattern,
    VarPattern,
)
from semac.generate.constants import stored_key
from semac.generate.context import Context
from semac.generate.destination import Dest
from semac.generate.pyast import Loc, assign, attribute, boolop, builtin, call, compare, const, name, unless_kind
from semac.generate.sources import is_list_object
from semac.ir.intrinsics import ITEMS_OF
from semac.types.lattice import FLAT, VECTOR

BARE = frozenset((*ITEMS_OF.values(), "spliced_items", "tuple"))
MATCHING = "sema_runtime.values.matching:"
LIST = "sema_runtime.values.lists:List"
MAP = "sema_runtime.values.maps:Map"


def destructure(c: Context, op: Destructure, dest: Dest) -> None:
    if not known_shape(c, op):
        pattern, loc = op.pattern, c.loc(op)
        is_own = is_own_items(op.value)
        if type(pattern) is SequencePattern and not pattern.or_nil and (is_own or is_flat(c, op.value)):
            items = c.expr(op.value)
            items = items if is_own else attribute(items, "flat", loc)
            assign_items(c, pattern, items if pattern.fits else of_items(c, items, pattern, loc), loc)
        else:
            take_apart(c, pattern, c.expr(op.value), loc)
    if dest.after:
        c.append(ast.Break(**c.loc(op)))


def is_flat(c: Context, value: Expr) -> bool:
    """Whether a value is a list that has its items at hand."""
    return value.type.only(FLAT) and is_list_object(value) and not c.module.unit.is_text


def is_own_items(value: Expr) -> bool:
    """Whether a value prints as the items of a list, which is one of Python's own (optimize/loops/bare.py)."""
    made = value.var.op if type(value) is Ref else value
    if type(made) is Python:
        return made.kind in BARE and value.type.only(FLAT)
    return type(made) is Comprehension and made.bare


def of_items(c: Context, items: ast.expr, pattern: SequencePattern, loc: Loc) -> ast.expr:
    """`xs.flat if len(xs.flat) == 2 else destructure(xs.flat, 2)`: where they are too few or too many, it raises."""
    if not isinstance(items, ast.Name) and not (isinstance(items, ast.Attribute) and isinstance(items.value, ast.Name)):
        items = c.save(items, "items", loc)
    size = const(len(pattern.parts), loc)
    function, order = ("destructure", ast.Eq()) if pattern.rest is None else ("destructure_rest", ast.GtE())
    test = compare(call(builtin("len", loc), [items], loc), order, size, loc)
    return ast.IfExp(test, items, call(c.runtime(MATCHING + function, loc), [items, size], loc), **loc)


def known_shape(c: Context, op: Destructure) -> bool:
    """Destructuring of a list, vector or map written out on the spot: plain assignments."""
    pattern, value = op.pattern, op.value
    if type(pattern) is SequencePattern:
        items = written_items(value)
        parts, rest = pattern.parts, pattern.rest
        flat = all(type(part) in (VarPattern, AnyPattern) for part in parts) and type(rest) in (VarPattern, type(None))
        if items is None or not flat or len(items) < len(parts) or (rest is None and len(items) != len(parts)):
            return False
        values = c.exprs(items)
        loc = c.loc(op)
        for part, item in zip(parts, values, strict=False):
            assign_part(c, part, item, loc)
        if rest is not None:
            more = ast.List(values[len(parts) :], ast.Load(), **loc)
            assign_part(c, rest, more if is_bare(rest) else call(c.runtime(LIST, loc), [more], loc), loc)
        return True
    if type(pattern) is MapPattern and type(value) is MakeMap and all(type(key) is Lit for key in value.items[0::2]):
        if not all(type(part) in (VarPattern, AnyPattern) for _, part, _ in pattern.entries):
            return False
        keys = [key.value for key in value.items[0::2]]  # type: ignore[union-attr]
        if not {key for key, _, _ in pattern.entries} >= set(keys):
            return False  # a value that nobody takes is computed all the same
        entries = dict(zip(keys, c.exprs(value.items[1::2]), strict=True))
        loc = c.loc(op)
        for key, part, _ in pattern.entries:
            assign_part(c, part, entries.get(key, const(None, loc)), loc)
        return True
    return False


def written_items(value: Expr) -> list[Expr] | None:
    """The items of a vector or list that is written out."""
    if type(value) is MakeVector:
        return value.items
    if type(value) is CallBuiltin and value.name == "list":
        return value.args
    return None


def is_bare(rest: Pattern) -> bool:
    """Whether the rest of a sequence stays one of Python's own (optimize/loops/bare.py)."""
    return type(rest) is VarPattern and rest.var.type is not None and rest.var.type.only(VECTOR)


def assign_part(c: Context, part: Pattern, value: ast.expr, loc: Loc) -> None:
    if type(part) is AnyPattern:
        if not isinstance(value, ast.Name | ast.Constant):
            c.append(ast.Expr(value, **loc))
    elif type(part) is VarPattern:
        c.append(assign(c.bind(part.var), value, loc))
    elif type(part) is BadPattern:
        c.append(ast.Expr(malformed(c, part, loc), **loc))
    else:
        take_apart(c, part, value, loc)


def malformed(c: Context, pattern: BadPattern, loc: Loc) -> ast.expr:
    """A call that raises what is wrong with a pattern."""
    texts: list[ast.expr] = [const(text, loc) for text in (pattern.message, pattern.hint) if text is not None]
    return call(c.runtime(MATCHING + "malformed", loc), texts, loc)


def take_apart(c: Context, pattern: Pattern, value: ast.expr, loc: Loc) -> None:
    if type(pattern) is SequencePattern:
        take_sequence_apart(c, pattern, value, loc)
    elif type(pattern) is MapPattern:
        entries = c.save(entries_of(c, pattern, value, loc), "entries", loc)
        for key, part, _ in pattern.entries:
            got = call(attribute(entries, "get", loc), [stored_key(c, key, loc)], loc)
            assign_part(c, part, got, loc)
    else:
        assign_part(c, pattern, value, loc)


def entries_of(c: Context, pattern: MapPattern, value: ast.expr, loc: Loc) -> ast.expr:
    """The dict of stored keys of a value to destructure; mostly it is a map."""
    if pattern.fits and not c.module.unit.is_text:
        return attribute(value, "d", loc)
    general = c.runtime(MATCHING + "destructure_map", loc)
    if c.module.unit.is_text or not isinstance(value, ast.Name):
        return call(general, [value], loc)
    kind = c.runtime(MAP, loc)
    assert isinstance(kind, ast.Name)
    return unless_kind(value.id, kind.id, attribute(value, "d", loc), general, loc)


def take_sequence_apart(c: Context, pattern: SequencePattern, value: ast.expr, loc: Loc) -> None:
    source = value if pattern.fits and not pattern.or_nil else of_length(c, value, pattern, loc)
    assign_items(c, pattern, source, loc)


def assign_items(c: Context, pattern: SequencePattern, source: ast.expr, loc: Loc) -> None:
    """Assigns the items of a sequence of Python, which are as many as the pattern takes."""
    parts, rest = pattern.parts, pattern.rest
    targets: list[ast.expr] = []
    later: list[tuple[Any, str]] = []
    for part in [*parts, *([rest] if rest is not None else [])]:
        if type(part) is VarPattern:
            target = c.bind(part.var)
        else:
            target = c.names.temporary("unused" if type(part) is AnyPattern else "part")
        if type(part) not in (VarPattern, AnyPattern) or part is rest:
            later.append((part, target))
        stored: ast.expr = ast.Name(target, ast.Store(), **loc)
        targets.append(ast.Starred(stored, ast.Store(), **loc) if part is rest else stored)
    if targets:
        c.append(ast.Assign([ast.Tuple(targets, ast.Store(), **loc)], source, **loc))
    else:
        c.append(ast.Expr(source, **loc))
    for part, target in later:
        if part is rest and not is_bare(rest):
            wrapped = call(c.runtime(LIST, loc), [name(target, loc)], loc)
            c.append(assign(target, wrapped, loc))
        if type(part) not in (VarPattern, AnyPattern):
            take_apart(c, part, name(target, loc), loc)


def of_length(c: Context, value: ast.expr, pattern: SequencePattern, loc: Loc) -> ast.expr:
    """A value to destructure, checked to be a sequence of as many items, or of at least as many with a rest."""
    size = len(pattern.parts)
    if pattern.rest is not None:
        return call(c.runtime(MATCHING + "destructure_rest", loc), [value, const(size, loc)], loc)
    if not isinstance(value, ast.Name) and not c.module.unit.is_text:
        value = c.save(value, "items", loc)
    checked = call(c.runtime(MATCHING + "destructure", loc), [value, const(size, loc)], loc)
    if c.module.unit.is_text:
        return checked
    if pattern.or_nil:
        test: ast.expr = compare(value, ast.IsNot(), const(None, loc), loc)
    else:
        fits = compare(call(builtin("len", loc), [value], loc), ast.Eq(), const(size, loc), loc)
        kind = compare(call(builtin("type", loc), [value], loc), ast.Is(), builtin("tuple", loc), loc)
        test = boolop(ast.And(), [kind, fits], loc)
    return ast.IfExp(test, value, checked, **loc)
