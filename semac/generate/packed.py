"""Modules whose seldom used code is packed (`sema_runtime/packed_code.py`).

A public function that has a private copy becomes a stub: its documentation, the test at its entry and the call of the
copy, then a call of what `unpacked` gives. What it did is compiled beside the module.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Callable
from types import CodeType

from sema_runtime.packed_code import MODULE, PACKED, packed
from semac.generate.functions import is_docstring
from semac.generate.pyast import NOWHERE, assign, call, const, name, position

STUB = 350  # bytes that a stub takes, about
SETUP = 50  # and what all stubs of a module need
UNPACKED = "__sema_unpacked"

Compile = Callable[[ast.Module], CodeType]


def with_stubs(tree: ast.Module, compiled: Compile) -> ast.Module:
    """The module with stubs in place of functions, where that makes it smaller.

    compiled: code as it is kept, with the places of its calls.
    """
    seldom = [node for node in tree.body if isinstance(node, ast.FunctionDef) and hasattr(node, "has_copy")]
    if not seldom:
        return tree
    together = compiled(ast.Module([*seldom], []))
    sizes = {code: len(marshal.dumps(code)) for code in together.co_consts if type(code) is CodeType}
    codes = {code.co_name: code for code, size in sizes.items() if size > STUB}
    text = packed(codes)
    if sum(sizes[code] - STUB for code in codes.values()) < len(text) + SETUP:
        return tree
    stubs: dict[ast.stmt, ast.stmt] = {each: stub(each) for each in seldom if each.name in codes}
    body = [stubs.get(node, node) for node in tree.body]
    first = next((at for at, node in enumerate(body) if not isinstance(node, ast.ImportFrom)), 0)
    body.insert(first, assign(PACKED, const(text, NOWHERE), NOWHERE))
    return ast.Module(body, [])


def stub(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function that unpacks its own code."""
    loc = position(function)
    head = list(function.body[: 1 if is_docstring(function.body[0]) else 0])
    if is_entry(function.body[len(head)]):
        head.append(function.body[len(head)])
    parameters = function.args
    given: list[ast.expr] = [name(arg.arg, loc) for arg in parameters.args]
    if parameters.vararg is not None:
        given.append(ast.Starred(name(parameters.vararg.arg, loc), ast.Load(), **loc))
    made = ast.copy_location(ast.FunctionDef(**dict(ast.iter_fields(function))), function)
    imported = ast.ImportFrom(MODULE, [ast.alias("unpacked", UNPACKED, **loc)], 0, **loc)  # none at start
    made.body = [*head, imported, ast.Return(call(call(name(UNPACKED, loc), [], loc), given, loc), **loc)]
    return made


def is_entry(statement: ast.stmt) -> bool:
    """Whether a statement calls the private copy, if the arguments are right for it."""
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and len(statement.body) == 1
        and isinstance(statement.body[0], ast.Return)
    )
