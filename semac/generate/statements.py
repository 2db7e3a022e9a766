"""Statements: a table of functions over (context, operation, destination of the value)."""

from __future__ import annotations

import ast
from typing import Any

from semac.anf.nodes import (
    Assign,
    Block,
    Call,
    CallBuiltin,
    Closure,
    Comprehension,
    Declare,
    Destructure,
    Expr,
    For,
    If,
    Jump,
    Let,
    Logic,
    Loop,
    MakeRecordType,
    Match,
    Op,
    PyImport,
    PySetAttr,
    Read,
    RecordFunction,
    Ref,
    Result,
    SetArrayItem,
    SetItem,
    Throw,
    Try,
    While,
    With,
)
from semac.anf.step_nodes import Give, Receive, Send, YieldFrom
from semac.anf.walk import expressions
from semac.generate.context import Context
from semac.generate.destination import DROP, Dest
from semac.generate.destructuring import destructure
from semac.generate.expressions import EXPRESSIONS, expression
from semac.generate.functions import define_function
from semac.generate.iteration import collect, for_, result_param
from semac.generate.loops import jump, named_let, while_
from semac.generate.matching import match
from semac.generate.nest import has_trampoline
from semac.generate.pyast import assign, attribute, builtin, call, const, loc_of, name, negate, terminates
from semac.generate.records import define_constructor, record_class
from semac.generate.steps import give, receive, send, yield_from
from semac.generate.truth import truth_of
from semac.ir.identifiers import mangle
from semac.ir.nodes import Var
from semac.types.lattice import BOOL, FN, MAP, OTHER, RECORD, Type

SMALL = 5  # nodes of a branch that is worth writing as `a if test else b`


def block(c: Context, block_: Block, dest: Dest) -> None:
    """The statements of a block, whose value reaches dest."""
    if not instructions(c, block_):
        return
    if isinstance(block_.exit, Jump):
        jump(c, block_.exit)
        return
    if block_.exit.span is not None:  # a variable's name has no place of its own
        c.current = loc_of(block_.exit.span)
    statement(c, block_.exit.value, dest)


def instructions(c: Context, block_: Block) -> bool:
    """Returns whether anything after them can be reached: what follows a `throw` may name what it would have bound."""
    for instr in block_.instrs:
        count = len(c.out)
        let(c, instr)
        if len(c.out) > count and terminates(c.out):
            return False
    return True


def let(c: Context, instr: Let) -> None:
    var, op = instr.var, instr.op
    if var is None:
        statement(c, op, DROP)
        return
    if type(op) is Closure and (var.known_function is op.function or not op.weight):
        define_function(c, op, c.bound(var) if var.name else function_name(c, instr))
        return
    param = result_param(op) if type(op) is For else None
    if not var.name:
        if param is not None:  # nothing changes it before the loop runs again
            statement(c, op, DROP)
            var.py = param.py
            c.owned.add(var)
            return
        statement(c, op, Dest("assign", c.bind(var)))
        c.hold_type(var)
        return
    if type(op) is MakeRecordType and op.record.form >= 0:
        var.py = record_class(c, op)
        return
    target = var.py if var in c.owned else c.names.local(var)
    if param is not None and not (var.early or var.assigned or c.at_module):
        param.py = target
        c.owned.add(param)
    statement(c, op, Dest("assign", target))
    c.owned.add(var)
    c.hold_type(var)


def function_name(c: Context, instr: Let) -> str:
    assert instr.var is not None and type(instr.op) is Closure
    function = instr.op.function
    instr.var.hint = mangle(function.py or function.own_name or "fn")
    return c.bind(instr.var)


def statement(c: Context, expr: Expr, dest: Dest) -> None:
    """Statements by which a value reaches dest."""
    if isinstance(expr, Op):
        c.loc(expr)  # its operands may have no place of their own
    method = STATEMENTS.get(type(expr))
    if method is not None:
        method(c, expr, dest)
        return
    value = EXPRESSIONS[type(expr)](c, expr)  # also one that is too large to be an operand
    c.finish(value, dest, c.loc(expr) if isinstance(expr, Op) else c.current, has_effects(expr))


def has_effects(expr: Expr) -> bool:
    """Whether evaluating an expression for nothing could still be noticed."""
    if type(expr) is Read:
        return expr.var.is_global  # it may be unbound
    return isinstance(expr, Op) and type(expr) is not Closure


# Variables


def declare(c: Context, op: Declare, dest: Dest) -> None:
    for var in op.vars:
        c.bind(var)


def assign_(c: Context, op: Assign, dest: Dest) -> None:
    var, loc = op.var, c.loc(op)
    if var.is_global:
        if not c.at_module:
            c.assigned_globals.add(var.py)
    elif not var.py:  # defined in the middle of an expression
        c.bind(var)
    elif var not in c.owned:
        c.change(var)
    if type(op.value) is Closure and op.define and (var.is_global or var in c.owned):
        define_function(c, op.value, var.py)
    elif type(op.value) is RecordFunction and op.value.function.is_constructor and op.value.function.record.py:
        define_constructor(c, op.value, var.py)
    else:
        c.defining = var.py if op.define == "global" and c.at_module else ""
        statement(c, op.value, Dest("assign", var.py))
        c.defining = ""
    if dest.kind != "drop":
        c.finish(const(None, loc) if op.define == "global" else name(var.py, loc), dest, loc)
    elif dest.after:
        c.append(ast.Break(**loc))


def closure(c: Context, op: Closure, dest: Dest) -> None:
    if op.weight or dest.kind != "assign":
        c.finish(expression(c, op), dest, c.loc(op), False)
    elif dest.target in c.names.taken and not c.at_module:
        define_function(c, op, dest.target)
        if dest.after:
            c.append(ast.Break(**c.loc(op)))
    else:
        c.finish(expression(c, op), dest, c.loc(op), False)


def set_item(c: Context, op: SetItem, dest: Dest) -> None:
    subject, key, value = c.exprs([op.subject, op.key, op.value])
    loc = c.loc(op)
    c.append(ast.Assign([ast.Subscript(subject, key, ast.Store(), **loc)], value, **loc))


def set_array_item(c: Context, op: SetArrayItem, dest: Dest) -> None:
    array, index, value = c.exprs([op.array, op.index, op.value])
    loc = c.loc(op)
    target = ast.Subscript(attribute(array, "items", loc), index, ast.Store(), **loc)
    c.append(ast.Assign([target], value, **loc))


# Branches


def if_(c: Context, op: If, dest: Dest) -> None:
    is_kept = any(map(keeps, (op.then, op.otherwise), (dest, dest)))
    if is_assignment(dest) and op.weight and not is_kept and is_small(op.then) and is_small(op.otherwise):
        c.finish(expression(c, op), dest, c.loc(op))
        return
    test = c.test(op.test)
    loc = c.loc(op)
    then = c.statements(op.then, dest)
    otherwise = c.statements(op.otherwise, dest)
    branch(c, test, then, otherwise, loc)


def branch(c: Context, test: ast.expr, then: list[ast.stmt], otherwise: list[ast.stmt], loc: Any) -> None:
    if not then and not otherwise:
        c.append(ast.Expr(test, **loc))
    elif not then:
        c.append(ast.If(negate(test, loc), otherwise, [], **loc))
    elif terminates(then) and otherwise:
        c.append(ast.If(test, then, [], **loc))
        c.out += otherwise
    else:
        c.append(ast.If(test, then, otherwise, **loc))


def is_assignment(dest: Dest) -> bool:
    return dest.kind == "assign" and not dest.after


def keeps(block_: Block, dest: Dest) -> bool:
    """Whether all that a block does is to give a variable the value that it has."""
    value = None if block_.instrs or type(block_.exit) is not Result else block_.exit.value
    return (type(value) is Ref or type(value) is Read) and dest.kind == "assign" and value.var.py == dest.target


def is_small(block_: Block) -> bool:
    if block_.instrs or type(block_.exit) is not Result:
        return False
    value = block_.exit.value
    return not has_trampoline(value) and (not isinstance(value, Op) or 0 < value.weight <= SMALL)


def logic(c: Context, op: Logic, dest: Dest) -> None:
    if dest.kind != "drop" and op.weight and not has_trampoline(op):
        c.finish(expression(c, op), dest, c.loc(op))
        return
    loc = c.loc(op)
    if op.first.type.only(BOOL) or dest.kind == "drop":
        test = c.test(op.first)
        stop = c.in_block(lambda: c.finish(const(not op.is_and, loc), dest, loc))[1]
    else:
        value = c.expr(op.first)
        kept = value if isinstance(value, ast.Name) else c.save(value, "value", loc)
        test = truth_of(c, kept, op.first.type)
        stop = c.in_block(lambda: c.finish(name(kept.id, loc), dest, loc))[1]
    more = c.statements(op.rest, dest)
    if op.is_and:
        test = negate(test, loc)
    if not stop:
        c.append(ast.If(negate(test, loc), more or [ast.Pass(**loc)], [], **loc))
    elif terminates(stop):
        c.append(ast.If(test, stop, [], **loc))
        c.out += more
    else:
        c.append(ast.If(test, stop, more, **loc))


# Errors


def throw(c: Context, op: Throw, dest: Dest) -> None:
    maker = "sema_runtime.lib.language.control:throw_value"
    if op.is_map:
        maker = "sema_runtime.values.errors:ThrownMap"
    elif throws_plainly(op.value.type):
        maker = "sema_runtime.values.errors:Thrown"
    value = c.expr(op.value)
    loc = c.loc(op)
    c.append(ast.Raise(call(c.runtime(maker, loc), [value], loc), None, **loc))


def throws_plainly(type_: Type) -> bool:
    """Whether a thrown value is surely neither an exception of Python's nor a map that stands for a condition."""
    return bool(type_.tags) and not type_.tags & (OTHER | MAP | RECORD)


def try_(c: Context, op: Try, dest: Dest) -> None:
    loc = c.loc(op)
    c.loops.append(None)
    body = c.statements(op.body, dest)
    c.loops.pop()
    if not body:
        return
    if op.is_exception:
        error = c.bind(op.var)
        inside = c.statements(op.handler, dest)
        clause = ast.ExceptHandler(builtin("Exception", loc), error, inside or [ast.Pass(**loc)], **loc)
        c.append(ast.Try(body, [clause], [], [], **loc))
        return
    error = c.names.temporary("error")
    used = mentions(op.handler, op.var)

    def handler() -> None:
        if used:
            target = c.bind(op.var)
            maker = c.runtime("sema_runtime.conditions.describe:condition_map", loc)
            c.append(assign(target, call(maker, [name(error, loc)], loc), loc))
        c.block(op.handler, dest)

    _, inside = c.in_block(handler)
    clause = ast.ExceptHandler(builtin("Exception", loc), error if used else None, inside or [ast.Pass(**loc)], **loc)
    c.append(ast.Try(body, [clause], [], [], **loc))


def mentions(block_: Block, var: Var) -> bool:
    """Whether a block reads or sets a variable."""
    return any(
        (type(expr) is Ref or type(expr) is Read or type(expr) is Assign) and expr.var is var
        for expr in expressions(block_)
    )


def with_(c: Context, op: With, dest: Dest) -> None:
    context = c.expr(op.context)
    loc = c.loc(op)
    target = ast.Name(c.bind(op.target), ast.Store(), **loc) if op.target is not None else None
    outcome = c.names.temporary("outcome") if op.target is not None and dest.kind == "assign" else ""
    if outcome:  # the value is nil where the context manager swallows an exception
        c.append(assign(outcome, const(None, loc), loc))
    body = c.statements(op.body, Dest("assign", outcome) if outcome else dest)
    c.append(ast.With([ast.withitem(context, target)], body or [ast.Pass(**loc)], **loc))
    if outcome:
        c.finish(name(outcome, loc), dest, loc)
    elif op.target is not None and (dest.after or (dest.kind == "return" and c.loops)):  # and no loop goes on
        c.finish(const(None, loc), dest, loc, effects=False)


# Calls


def call_(c: Context, op: Call, dest: Dest) -> None:
    if op.trampolined and dest.kind == "return":
        head, args = c.expr(op.head), c.exprs(op.args)
        loc = c.loc(op)
        tail_call = c.runtime("sema_runtime.values.functions:tail_call", loc)
        c.finish(call(tail_call, [head, *args], loc), dest, loc)
        return
    c.finish(EXPRESSIONS[Call](c, op), dest, c.loc(op))


def ends_at_once(head: Expr) -> bool:
    """Whether a function surely is a builtin that hands its tail call on to no other."""
    members = head.type.fns if head.type.only(FN) else None
    return bool(members) and all(type(member) is str and member != "apply" for member in members)  # type: ignore[union-attr]


def call_builtin(c: Context, op: CallBuiltin, dest: Dest) -> None:
    if op.tail and dest.kind == "return" and op.name == "apply" and len(op.args) >= 2 and not ends_at_once(op.args[0]):
        args = c.exprs(op.args)
        loc = c.loc(op)
        c.finish(call(c.runtime("sema_runtime.values.functions:tail_apply", loc), args, loc), dest, loc)
        return
    value = EXPRESSIONS[CallBuiltin](c, op)
    c.finish(value, dest, c.loc(op), not isinstance(value, ast.Constant))


# Python


def py_import(c: Context, op: PyImport, dest: Dest) -> None:
    loc = c.loc(op)
    variables = [op.var] if op.names is None else [var for _, var in op.names]
    if not c.at_module:
        c.assigned_globals.update(var.py for var in variables)
    if op.names is None:
        local = None if op.var.py == op.module.partition(".")[0] else op.var.py  # `import a.b` binds a
        c.append(ast.Import([ast.alias(op.module, local, **loc)], **loc))
    else:
        aliases = [ast.alias(attr, None if var.py == attr else var.py, **loc) for attr, var in op.names]
        absolute = op.module.lstrip(".")
        c.append(ast.ImportFrom(absolute or None, aliases, len(op.module) - len(absolute), **loc))
    c.finish(const(None, loc), dest, loc, False)


def py_set_attr(c: Context, op: PySetAttr, dest: Dest) -> None:
    target, value = c.exprs([op.object, op.value])
    loc = c.loc(op)
    place = ast.Attribute(target, op.name, ast.Store(), **loc)
    c.append(ast.Assign([place], value, **loc))
    c.finish(value, dest, loc, False)


STATEMENTS: dict[type, Any] = {
    Assign: assign_,
    Declare: declare,
    Closure: closure,
    If: if_,
    Logic: logic,
    Throw: throw,
    Try: try_,
    With: with_,
    While: while_,
    Loop: named_let,
    For: for_,
    Comprehension: collect,
    Match: match,
    Destructure: destructure,
    Call: call_,
    CallBuiltin: call_builtin,
    PyImport: py_import,
    PySetAttr: py_set_attr,
    SetItem: set_item,
    SetArrayItem: set_array_item,
    Give: give,
    Receive: receive,
    Send: send,
    YieldFrom: yield_from,
}
