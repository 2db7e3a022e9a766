"""Functions: `def`, `lambda`, parameters, docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from semac.anf.nodes import (
    Assign,
    Block,
    Closure,
    Comprehension,
    Expr,
    Fits,
    For,
    GetField,
    Guarded,
    If,
    IsRecord,
    Loop,
    Op,
    Read,
    Ref,
    Result,
)
from semac.anf.walk import NESTING, OPERANDS, blocks, exit_operands
from semac.generate.coalesce import coalesce
from semac.generate.context import AT_INDEX, Context
from semac.generate.destination import RETURN
from semac.generate.loops import loop_body
from semac.generate.names import local_base
from semac.generate.nest import has_trampoline
from semac.generate.pyast import Loc, assign, binop, builtin, const, name
from semac.ir.nodes import Function, Var
from semac.types.lattice import BOOL, FLOAT, INT, NIL, REAL, STR, VECTOR

TYPE_PARAMS: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}

# Kinds of tests of a guard (guards.py) that ask for the types of their operands.
ASK_TYPES = frozenset((
    "int", "float", "str", "tuple", "list", "List", "Map", "MutableArray", "number", "alike", "plain", "atomic",
    "indexed",
))  # fmt: skip
ANNOTATIONS = {INT: "int", FLOAT: "float", STR: "str", BOOL: "bool", REAL: "float", VECTOR: "tuple"}


def empty_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def globals_of(block: Block) -> set[str]:
    """Python names of the globals mentioned in a block."""
    names: set[str] = set()
    stack: list[Any] = [block]
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind is Block:
            values = [instr.op for instr in part.instrs]
            values += exit_operands(part.exit)
        else:
            if kind is Read or kind is Assign:
                if part.var.is_global:
                    names.add(part.var.py)
            elif kind is Closure:
                stack.append(part.function.code)
            elif kind in NESTING:
                stack += blocks(part)
            values = OPERANDS[kind](part)
        for value in values:
            if type(value) is Ref:
                if value.var.is_global:
                    names.add(value.var.py)
            elif isinstance(value, Op):
                stack.append(value)
    return names


def function_context(c: Context, function: Function) -> Context:
    """The context of a function inside of c."""
    avoid = globals_of(function.code) if c.at_module or c.parent is None else set()
    inner = Context(c.module, c, avoid)
    inner.function = function
    inner.names.reserve({local_base(var.name) for var in [*function.params, *function.locals]})
    return inner


def define_function(c: Context, op: Closure, target: str) -> None:
    """Prints `def target(...)`."""
    function = op.function
    loc = c.loc(op)
    if function.anonymous and target in c.module.names.told:  # errors would call the other function `<lambda>`, too
        own = c.names.temporary("fn")
        define_function(c, op, own)
        c.append(assign(target, name(own, loc), loc))
        return
    inner = function_context(c, function)
    shown = "<lambda>" if function.anonymous else function.name
    if function.original is None:  # the code of a private copy has the name of the public function
        c.module.names.note(target, shown)
    arguments = parameters(inner, function, loc)
    note_silence(c, function, target, arguments, loc)
    if function.doc is not None:
        inner.append(ast.Expr(const(function.doc, loc), **loc))
    if function.rest is not None and not is_bare(function.rest):
        rest = function.rest.py
        as_list = ast.Call(inner.runtime("sema_runtime.values.lists:List", loc), [name(rest, loc)], [], **loc)
        inner.append(assign(rest, as_list, loc))
    if c.module.keeps_types:
        count_questions(inner, function)
    function_body(inner, function)
    if function.is_generator and not yields(inner.out):  # where it would can't be reached, and was left out
        inner.append(ast.If(const(False, loc), [ast.Expr(ast.Yield(None, **loc), **loc)], [], **loc))
    made = definition(inner, target, arguments, inner.out, loc)
    if c.module.unit.is_text:
        annotate(made, function, loc)
    if function.has_copy and not function.is_generator:
        made.has_copy = True  # type: ignore[attr-defined]  # packed/
        made.copy_is_often_called = function.copy_is_often_called  # type: ignore[attr-defined]
    c.append(made)


def count_questions(inner: Context, function: Function) -> None:
    """Counts how often the code of a function asks for the types of its variables: `Context.hold_type` has a variable
    hold what is asked for several times (`SEMA_SKIP=kinds` leaves it out).

    Sound as the type of a value doesn't change, nor what a variable has that nothing assigns, between two times that it
    is bound. Comprehensions count for themselves (`iteration.held_type`). A function that tests its arguments at entry
    seldom goes on from there.
    """
    code = function.code
    first = code.exit.value if type(code.exit) is Result else None
    first = code.instrs[0].op if code.instrs else first
    if type(first) is If and type(first.test) is Fits:
        return
    again: set[Var] = set()  # what a loop binds again in each of its rounds
    for op in own_operations([code]):
        count_asked(op, inner.questions)
        if type(op) is Guarded and op.tests[0] == AT_INDEX and type(op.args[0]) is Ref:
            var = op.args[0].var
            inner.indexed[var] = inner.indexed.get(var, 0) + inner.module.keeps_items
        if type(op) in (Loop, For):
            again.update(op.params)  # type: ignore[attr-defined]
    if not function.self_tail:
        for var in function.params:
            if var not in again:
                inner.hold_type(var)


def own_operations(code: list[Any]) -> Iterator[Op]:
    """The operations in blocks and operands, those in the code of comprehensions left out."""
    while code:
        part = code.pop()
        kind = type(part)
        if kind is Block:
            code += [instr.op for instr in part.instrs]
            code += exit_operands(part.exit)
        elif kind is not Ref and kind is not Comprehension and isinstance(part, Op):
            yield part
            code += OPERANDS[kind](part)
            if kind in NESTING:
                code += blocks(part)


def count_asked(op: Op, counts: dict[Var, int]) -> None:
    """Counts the variables for whose types an operation asks."""
    for value in asked_for_types(op):
        if type(value) is Ref:
            counts[value.var] = counts.get(value.var, 0) + 1


def asked_for_types(op: Op) -> list[Expr]:
    """The operands of whose types an operation asks, once for each time."""
    if type(op) is Guarded:
        asked = [op.args[at] for kind, places in op.tests if kind in ASK_TYPES for at in places]
        return [*asked, op.args[0]] if op.foreign else asked
    if type(op) is GetField:
        return [] if op.is_sure else [op.record]
    return [op.value] if type(op) is IsRecord else []


def note_silence(c: Context, function: Function, target: str, arguments: ast.arguments, loc: Loc) -> None:
    """Notes for `sema_runtime/tasks/still.py` which functions are silent. Of those that can't be told apart none is."""
    silent = c.module.unit.silent
    key = loc["lineno"], target, tuple(arg.arg for arg in arguments.args)
    names = tuple(sorted(globals_of(function.code))) if function.is_silent else None
    if function.is_silent or silent:
        silent[key] = names if silent.setdefault(key, names) is not None else None


def is_bare(rest: Var) -> bool:
    """Whether the rest of the arguments stays the tuple that it is (optimize/loops/bare.py)."""
    return rest.type is not None and rest.type.only(VECTOR)


def parameters(inner: Context, function: Function, loc: Loc) -> ast.arguments:
    args = []
    last: dict[str, Var] = {var.name: var for var in function.params}
    for var in function.params:
        if var.name and last[var.name] is not var:  # of equal names the last one counts
            args.append(ast.arg(inner.names.temporary("unused"), None, **loc))
            continue
        args.append(ast.arg(inner.bind(var), None, **loc))
    vararg = ast.arg(inner.bind(function.rest), None, **loc) if function.rest is not None else None
    return ast.arguments([], args, vararg, [], [], None, [])


def function_body(inner: Context, function: Function) -> None:
    if function.self_tail:
        loop_body(inner, function, function.code, RETURN, function.body.span)
    else:
        inner.block(function.code, RETURN)
    last = inner.out[-1] if inner.out else None
    value = last.value if isinstance(last, ast.Return) else None
    if isinstance(value, ast.Constant) and value.value is None:
        inner.out.pop()
    elif inner.module.unit.is_text and isinstance(value, ast.Call) and function.type is not None:
        exit_ = function.code.exit
        if function.type.only(NIL) and type(exit_) is Result and not has_trampoline(exit_.value):
            inner.out[-1] = ast.Expr(value, **inner.current)


def definition(
    inner: Context, target: str, arguments: ast.arguments, body: list[ast.stmt], loc: Loc
) -> ast.FunctionDef:
    head: list[ast.stmt] = []
    if inner.module.merges_copies:
        outer = inner.assigned_globals | inner.nonlocals
        body = coalesce(body, [arg.arg for arg in every(arguments)], inner.names.program, outer)
    if inner.assigned_globals:
        head.append(ast.Global(sorted(inner.assigned_globals), **loc))
    if inner.nonlocals:
        head.append(ast.Nonlocal(sorted(inner.nonlocals), **loc))
    if inner.changed_inside:  # the value of one may never be reached, but Python wants it bound somewhere
        given = {arg.arg for arg in every(arguments)}
        unbound = inner.changed_inside - given - bound_names(body) - inner.nonlocals
        head += [assign(local, const(None, loc), loc) for local in sorted(unbound)]
    position = 1 if body and is_docstring(body[0]) else 0
    body[position:position] = head
    extra: dict[str, Any] = dict(loc)
    return ast.FunctionDef(target, arguments, body or [ast.Pass(**loc)], [], None, **extra, **TYPE_PARAMS)


def every(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.args, *([arguments.vararg] if arguments.vararg else [])]


def bound_names(body: list[ast.stmt]) -> set[str]:
    """The names that statements bind, functions inside left out."""
    names: set[str] = set()
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.ExceptHandler) and node.name:
            names.add(node.name)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            stack += ast.iter_child_nodes(node)
    return names


def yields(body: list[ast.stmt]) -> bool:
    """Whether statements have a `yield`, functions inside left out."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            stack += ast.iter_child_nodes(node)
    return False


def annotate(made: ast.FunctionDef, function: Function, loc: Loc) -> None:
    """Says what the parameters and the result of a function are, where that is known."""
    named = [var for var in function.params if var.py]
    by_name = {var.py: annotation(var.type, loc) for var in named if not var.assigned}
    for arg in made.args.args:
        arg.annotation = by_name.get(arg.arg)
    made.returns = annotation(function.type, loc)


def annotation(type_: Any, loc: Loc) -> ast.expr | None:
    """The Python type of the values of a type, None where no one type says it."""
    if type_ is None or not type_.tags:
        return None
    if type_.only(NIL):
        return const(None, loc)
    for tags, text in ANNOTATIONS.items():
        if type_.only(tags):
            return builtin(text, loc)
        if type_.only(tags | NIL):
            return binop(builtin(text, loc), ast.BitOr(), const(None, loc), loc)
    return None


def is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def lambda_expression(c: Context, op: Closure) -> ast.expr:
    """`lambda ...: body`, of a function whose body is an expression."""
    function = op.function
    loc = c.loc(op)
    inner = function_context(c, function)
    arguments = parameters(inner, function, loc)
    note_silence(c, function, "<lambda>", arguments, loc)
    assert type(function.code.exit) is Result
    body = inner.expr(function.code.exit.value)
    return ast.Lambda(arguments, body, **loc)
