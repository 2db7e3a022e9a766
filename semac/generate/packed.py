"""Modules whose seldom used code is packed (`sema_runtime/packed_code.py`).

A public function that has a private copy becomes a stub: its documentation, the test at its entry and the call of the
copy, then a call of what `unpacked` gives. Where the copy isn't called often, it stands in the stub itself, behind the
test, and there is one function instead of two.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple

from sema_runtime.packed_code import BEGINNING, PACKED, UNPACKED, packed
from sema_runtime.values.naming import PRIVATE
from semac.generate.functions import is_docstring
from semac.generate.pyast import NOWHERE, Loc, assign, call, const, name, negate, position

TOGETHER = 24000  # bytes of code that are packed together: zlib sees 32 KB

Compile = Callable[[ast.Module], CodeType]


class Parts(NamedTuple):
    """What a public function consists of. test: whether its copy will do; call: of the copy, if there is a test."""

    documentation: list[ast.stmt]
    scopes: list[ast.Global]
    test: ast.expr | None
    call: ast.stmt | None
    general: list[ast.stmt]


def module_code(tree: ast.Module, compiled: Compile) -> CodeType:
    """The code of a module, with stubs in place of functions where that makes it smaller.

    compiled: code as it is kept, with the places of its calls.
    """
    seldom = [node for node in tree.body if isinstance(node, ast.FunctionDef) and hasattr(node, "has_copy")]
    if not seldom:
        return compiled(tree)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    stubs: dict[ast.stmt, list[ast.stmt]] = {}
    wholes: list[ast.stmt] = []
    for function in seldom:
        parts, copy = parts_of(function), functions.get(PRIVATE + function.name)
        if copy is not None and can_be_one(function, copy, parts):
            wholes.append(whole_of(function, copy, parts))
            stubs[copy] = []
            stubs[function] = [one(function, copy, parts), assign(copy.name, name(function.name, NOWHERE), NOWHERE)]
        else:
            wholes.append(function)
            stubs[function] = [stub(function, parts)]
    body = [each for node in tree.body for each in stubs.get(node, [node])]
    first = next((at for at, node in enumerate(body) if not isinstance(node, ast.ImportFrom)), 0)
    imported = ast.ImportFrom("sema_runtime", [ast.alias("unpacked", UNPACKED, **NOWHERE)], 0, **NOWHERE)
    body[first:first] = [imported, assign(PACKED, const(BEGINNING, NOWHERE), NOWHERE)]
    return filled(compiled(ast.Module(body, [])), codes_in(compiled(ast.Module(wholes, []))))


def codes_in(module: CodeType) -> dict[str, CodeType]:
    """The code of the functions of a module, by Python name."""
    return {code.co_qualname: code for code in module.co_consts if type(code) is CodeType}


def filled(module: CodeType, wholes: dict[str, CodeType]) -> CodeType:
    """The module with the packed code that its stubs need, or in their place the whole code where that is smaller."""
    codes = codes_in(module)
    packs: list[tuple[Any, ...]] = []
    open_stubs: dict[CodeType, CodeType] = {}
    for names in groups(wholes):
        similar = [codes.get(PRIVATE + each, codes[each]) for each in names]
        pack = packed([wholes[each] for each in names], similar)
        if len(pack[0]) + sum(size(codes[each]) for each in names) < sum(size(wholes[each]) for each in names):
            packs.append(pack)
        else:
            open_stubs |= {codes[each]: wholes[each] for each in names}
    constants = [open_stubs.get(each, each) if type(each) is CodeType else each for each in module.co_consts]
    constants = [tuple(packs) if type(each) is bytes and each == BEGINNING else each for each in constants]
    return module.replace(co_consts=tuple(constants))


def groups(wholes: dict[str, CodeType]) -> Iterator[list[str]]:
    """The functions whose code is packed together."""
    names: list[str] = []
    bytes_in_all = 0
    for each, code in wholes.items():
        bytes_in_all += size(code)
        if bytes_in_all > TOGETHER and names:
            yield names
            names, bytes_in_all = [], size(code)
        names.append(each)
    yield names


def size(code: CodeType) -> int:
    return len(marshal.dumps(code))


# Functions


def parts_of(function: ast.FunctionDef) -> Parts:
    body = list(function.body)
    documentation = [body.pop(0)] if is_docstring(body[0]) else []
    scopes = [each for each in body if isinstance(each, ast.Global)]
    body = [each for each in body if not isinstance(each, ast.Global)]
    first = body[0] if body else None
    if isinstance(first, ast.If) and is_entry(first):
        return Parts(documentation, scopes, first.test, first.body[0], body[1:])
    return Parts(documentation, scopes, None, None, body)


def is_entry(statement: ast.If) -> bool:
    """Whether a statement calls the private copy, if the arguments are right for it."""
    return not statement.orelse and len(statement.body) == 1 and isinstance(statement.body[0], ast.Return)


def stub(function: ast.FunctionDef, parts: Parts) -> ast.FunctionDef:
    """The function that unpacks its own code where its copy won't do."""
    entry: list[ast.stmt] = [] if parts.test is None or parts.call is None else [
        ast.copy_location(ast.If(parts.test, [parts.call], []), parts.call)
    ]
    return like(function, [*parts.documentation, *entry, unpacking(function)])


def one(function: ast.FunctionDef, copy: ast.FunctionDef, parts: Parts) -> ast.FunctionDef:
    """The function that is its own copy, and unpacks its own code where that won't do."""
    assert parts.test is not None
    loc = position(function)
    refuse = ast.If(negate(parts.test, loc), [unpacking(function)], [], **loc)
    return like(function, [*parts.documentation, refuse, *copy.body])


def whole_of(function: ast.FunctionDef, copy: ast.FunctionDef, parts: Parts) -> ast.FunctionDef:
    """The function that is its own copy, and does what it does else."""
    assert parts.test is not None
    loc = position(function)
    own = [each for each in copy.body if not isinstance(each, ast.Global)]
    scopes = [*parts.scopes, *(each for each in copy.body if isinstance(each, ast.Global))]
    names = sorted({name for scope in scopes for name in scope.names})
    head: list[ast.stmt] = [*parts.documentation, *([ast.Global(names, **loc)] if names else [])]
    entry = ast.If(parts.test, [*own, ast.Return(None, **loc)], [], **loc)
    return like(function, [*head, entry, *parts.general])


def like(function: ast.FunctionDef, body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.copy_location(ast.FunctionDef(**dict(ast.iter_fields(function))), function)
    made.body = body
    return made


def unpacking(function: ast.FunctionDef) -> ast.stmt:
    """Calls the function again once it has its whole code; the call has no columns, so that traces leave it out."""
    loc: Loc = {**NOWHERE, "lineno": function.lineno, "end_lineno": function.lineno}
    parameters = function.args
    given: list[ast.expr] = [name(arg.arg, loc) for arg in parameters.args]
    if parameters.vararg is not None:
        given.append(ast.Starred(name(parameters.vararg.arg, loc), ast.Load(), **loc))
    unpacked = call(name(UNPACKED, loc), [], loc)
    return ast.Return(call(unpacked, given, loc), **loc)


# Copies that are a part of their function


def can_be_one(function: ast.FunctionDef, copy: ast.FunctionDef, parts: Parts) -> bool:
    """Whether a function and its copy may be one: the copy isn't called often, and no name means two things."""
    if parts.test is None or function.copy_is_often_called:
        return False
    parameters, others = ([arg.arg for arg in each.args.args] for each in (function, copy))
    if parameters != others or function.args.vararg is not None:
        return False
    bound, read = names_in([*function.body])
    bound_there, read_there = names_in(copy.body)
    local = set(parameters)
    return not (bound | local) & (read_there - bound_there - local) and not (bound_there | local) & (read - bound - local)


def names_in(body: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names that statements bind, here or in functions inside, and those that they read."""
    bound: set[str] = set()
    read: set[str] = set()
    work: list[object] = list(body)
    while work:
        node = work.pop()
        if type(node) is list:
            work += node
        elif type(node) is ast.Name:
            (read if type(node.ctx) is ast.Load else bound).add(node.id)
        elif isinstance(node, ast.AST) and type(node) is not ast.Constant:
            if isinstance(node, ast.FunctionDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.alias):
                bound.update(filter(None, (node.name, getattr(node, "asname", None))))
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                bound.add(node.rest)
            elif isinstance(node, ast.ClassDef):
                bound.add(node.name)
            work += [getattr(node, field, None) for field in node._fields]
    return bound, read
