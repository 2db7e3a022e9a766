"""Records: a class for each type, its constructor as a function, fields as attributes.

The contract with the runtime stands in `sema_runtime/values/records.py`.
"""

from __future__ import annotations

import ast
from typing import Any

from sema_runtime.values.records import class_name
from semac.anf.nodes import GetField, IsRecord, MakeRecordType, RecordFunction
from semac.anf.records import RecordType, of_type
from semac.generate.context import Context
from semac.generate.functions import TYPE_PARAMS, annotation
from semac.generate.pyast import (
    Loc,
    assign,
    attribute,
    boolop,
    call,
    compare,
    const,
    name,
    opposite,
    tuple_of,
    walrus,
)
from semac.ir.identifiers import mangle, unique
from semac.types.lattice import NIL, RECORD, Type

RECORDS = "sema_runtime.lib.collections.records:"


# Types


def record_class(c: Context, op: MakeRecordType) -> str:
    """Prints the class of a record type; its name."""
    record, loc = op.record, c.loc(op)
    record.py = c.module.names.fresh_global(mangle(class_name(record.name)))
    body = [assign("__slots__", names(record.slots, loc), loc), assign("sema_tag", const(record.name, loc), loc)]
    if record.slots != record.params:
        body.append(assign("sema_fields", names(record.params, loc), loc))
    if c.module.unit.is_text:
        body += annotated(record, loc)
    base = c.runtime("sema_runtime.values.records:Record", loc)
    extra: dict[str, Any] = {**loc, **TYPE_PARAMS}
    c.append(ast.ClassDef(record.py, [base], [], body, [], **extra))
    return record.py


def annotated(record: RecordType, loc: Loc) -> list[ast.stmt]:
    """`x: float` for the fields of which a Python type is known."""
    found: list[ast.stmt] = []
    for slot, param in zip(record.slots, record.params, strict=True):
        kind = annotation(record.fields[param].type, loc)
        if kind is not None:
            found.append(ast.AnnAssign(ast.Name(slot, ast.Store(), **loc), kind, None, 1, **loc))
    return found


def names(texts: tuple[str, ...], loc: Loc) -> ast.expr:
    return tuple_of([const(text, loc) for text in texts], loc)


def make_record_type(c: Context, op: MakeRecordType) -> ast.expr:
    """A type that may be made often, or never."""
    loc = c.loc(op)
    return call(
        c.runtime(RECORDS + "make_record_type", loc), [const(op.record.name, loc), names(op.record.params, loc)], loc
    )


# Functions


def define_constructor(c: Context, op: RecordFunction, target: str) -> None:
    """Prints the constructor of a type that is a class: it makes a record and fills its slots."""
    record, loc = op.function.record, c.loc(op)
    c.module.names.note(target, op.function.name)
    made = unique("record", set(record.slots))
    body: list[ast.stmt] = [assign(made, call(name(record.py, loc), [], loc), loc)]
    params = []
    for slot in record.slots:
        param = slot if slot != record.py else unique(slot, {record.py, made, *record.slots})
        place = ast.Attribute(name(made, loc), slot, ast.Store(), **loc)
        body.append(ast.Assign([place], name(param, loc), **loc))
        params.append(ast.arg(param, None, **loc))
    body.append(ast.Return(name(made, loc), **loc))
    arguments = ast.arguments([], params, None, [], [], None, [])
    extra: dict[str, Any] = {**loc, **TYPE_PARAMS}
    mark = c.runtime("sema_runtime.values.records:constructor", loc)
    c.append(ast.FunctionDef(target, arguments, body, [mark], None, **extra))


def record_function(c: Context, op: RecordFunction) -> ast.expr:
    """A function of a record type that the runtime makes."""
    member = op.function
    kind = c.expr(op.kind)
    loc = c.loc(op)
    args = [kind, const(member.name, loc)]
    if member.role == "constructor":
        args.append(names(member.record.params, loc))
    elif member.role == "accessor":
        args.append(const(member.field, loc))
    return call(c.runtime(f"{RECORDS}record_{member.role}", loc), args, loc)


# Uses


def get_field(c: Context, op: GetField) -> ast.expr:
    """`p.x`, or `p.x if type(p) is Point else point_x(p)`."""
    value = c.expr(op.record)
    record, slot, loc = op.member.record, op.member.slot, c.loc(op)
    if op.is_sure:
        return attribute(value, slot, loc)
    asked, again = plain(c, value)
    test = is_some(asked, loc) if is_optional(op.record.type, record) else has_class(c, record, asked, loc)
    return ast.IfExp(test, attribute(again, slot, loc), call(c.expr(op.head), [again], loc), **loc)


def is_record(c: Context, op: IsRecord) -> ast.expr:
    """`type(p) is Point`, or `type(p) is Point or type(p) is not Line and is_point(p)`; `p is not None` where p is a
    point or nil."""
    value, loc = c.expr(op.value), c.loc(op)
    if op.is_sure and is_optional(op.value.type, op.record):
        return is_some(value, loc)
    if op.is_sure:
        return has_class(c, op.record, value, loc)
    asked, again = plain(c, value)
    predicate: ast.expr = call(c.expr(op.head), [again], loc)
    if op.others:
        classes = [opposite(has_class(c, other, name(again.id, loc), loc), loc) for other in op.others]
        predicate = boolop(ast.And(), [*classes, predicate], loc)
    return boolop(ast.Or(), [has_class(c, op.record, asked, loc), predicate], loc)


def is_optional(type_: Type, record: RecordType) -> bool:
    """Whether a value surely is a record of a type, or nil."""
    return type_.only(NIL | RECORD) and of_type(type_.records, record) == type_.records


def is_some(value: ast.expr, loc: Loc) -> ast.expr:
    return compare(value, ast.IsNot(), const(None, loc), loc)


def has_class(c: Context, record: RecordType, value: ast.expr, loc: Loc) -> ast.expr:
    return compare(c.type_of(value, loc), ast.Is(), name(record.py, loc), loc)


def plain(c: Context, value: ast.expr) -> tuple[ast.expr, ast.Name]:
    """A value where it is used first, and where it is used again at once."""
    if isinstance(value, ast.Name):
        return value, value
    held = c.names.temporary("record")
    return walrus(held, value, c.current), name(held, c.current)
