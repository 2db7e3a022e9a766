"""Public functions that have a private copy, in the forms that a module may have them in (`module.py`).

As the generator prints it, a function has a test at its entry and calls the copy where that will do; else it goes on by
itself. A stub unpacks its own code instead of going on. Where the copy stands in the function itself, behind the test,
there is one function instead of two.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, NamedTuple

from sema_runtime.packed_code import UNPACKED
from sema_runtime.values.naming import PRIVATE
from semac.generate.functions import is_docstring
from semac.generate.pyast import NOWHERE, Loc, call, name, negate, position

BINDERS = frozenset(
    (
        ast.FunctionDef,
        ast.ClassDef,
        ast.ExceptHandler,
        ast.MatchAs,
        ast.MatchStar,
        ast.MatchMapping,
        ast.alias,
        ast.arg,
    )
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
INNER = frozenset(
    (ast.FunctionDef, ast.Lambda, ast.GeneratorExp, *(COMPREHENSIONS if sys.version_info < (3, 12) else ()))
)


class Parts(NamedTuple):
    """What a public function consists of. test: whether its copy will do; call: of the copy, if there is a test."""

    documentation: list[ast.stmt]
    scopes: list[ast.Global]
    test: ast.expr | None
    call: ast.stmt | None
    general: list[ast.stmt]


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
    entry: list[ast.stmt] = []
    if parts.test is not None and parts.call is not None:
        entry.append(ast.If(parts.test, [parts.call], [], **position(parts.call)))
    return like(function, [*parts.documentation, *entry, unpacking(function)])


def loading(function: ast.FunctionDef, parts: Parts) -> ast.FunctionDef:
    """The function that unpacks its own code when it is called."""
    return like(function, [*parts.documentation, unpacking(function)])


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
    """Calls the function again once it has its own code; the call has no columns, so that traces leave it out."""
    loc: Loc = {**NOWHERE, "lineno": function.lineno, "end_lineno": function.lineno}
    parameters = function.args
    given: list[ast.expr] = [name(arg.arg, loc) for arg in parameters.args]
    if parameters.vararg is not None:
        given.append(ast.Starred(name(parameters.vararg.arg, loc), ast.Load(), **loc))
    unpacked = call(name(UNPACKED, loc), [], loc)
    return ast.Return(call(unpacked, given, loc), **loc)


# Copies that are their function


def equal_copies(functions: dict[str, ast.FunctionDef]) -> set[str]:
    """The functions that do what their private copies do, written in the same way: what is known of the arguments
    changes nothing in them. Where they call others of these, either name stands for the same."""
    found = {
        each
        for each, function in functions.items()
        if hasattr(function, "has_copy") and PRIVATE + each in functions and not function.decorator_list
    }
    while True:
        other = {each for each in found if not are_equal(functions[each], functions[PRIVATE + each], found)}
        if not other:
            return found
        found -= other


def are_equal(function: ast.FunctionDef, copy: ast.FunctionDef, names: set[str]) -> bool:
    """Whether two functions are the same but for documentation and where they stand. names: of functions of which
    either name will do."""
    body = function.body[1:] if is_docstring(function.body[0]) else function.body
    work: list[tuple[object, object]] = [(function.args, copy.args), (body, copy.body)]
    while work:
        one, other = work.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id != other.id:
            if other.id != PRIVATE + one.id or one.id not in names:
                return False
        elif isinstance(one, ast.Name):
            continue
        elif isinstance(one, ast.AST):
            work += ((getattr(one, field, None), getattr(other, field, None)) for field in one._fields)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            work += zip(one, other, strict=True)
        elif one is not other and one != other:
            return False
    return True


# Copies that are a part of their function


def names_of_one(function: ast.FunctionDef, copy: ast.FunctionDef, parts: Parts) -> Names | None:
    """The names in a copy that may be one with its function: it isn't called often, and no name means two things. None
    for other copies."""
    if parts.test is None or function.copy_is_often_called:  # type: ignore[attr-defined]  # functions.py
        return None
    parameters, others = ([arg.arg for arg in each.args.args] for each in (function, copy))
    if parameters != others or function.args.vararg is not None or not is_call_of(parts.call, copy):
        return None
    names = Names(copy)
    return names if mean_the_same(Names(function), names) else None


def is_call_of(statement: ast.stmt | None, copy: ast.FunctionDef) -> bool:
    """Whether a statement returns what the copy gives for the parameters, both as they are."""
    value = statement.value if isinstance(statement, ast.Return) else None
    if not isinstance(value, ast.Call) or value.keywords:
        return False
    names = [each.id if isinstance(each, ast.Name) else "" for each in (value.func, *value.args)]
    return names == [copy.name, *(arg.arg for arg in copy.args.args)]


class Names:
    """The names in a function: those that it binds, here or in functions inside, says to be global, and reads.

    has_inner: whether statements have code of their own inside: functions, comprehensions.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        self.bound = {arg.arg for arg in function.args.args}
        self.scoped: set[str] = set()
        self.read: set[str] = set()
        self.has_inner = False
        work: list[Any] = list(function.body)
        while work:
            node = work.pop()
            kind = type(node)
            if kind is ast.Name:
                (self.read if type(node.ctx) is ast.Load else self.bound).add(node.id)
            elif kind is list:
                work += node
            elif isinstance(node, ast.AST) and kind is not ast.Constant:
                self.has_inner = self.has_inner or kind in INNER
                if kind in BINDERS:
                    names = (getattr(node, field, None) for field in ("name", "arg", "asname", "rest"))
                    self.bound.update(each for each in names if each)
                elif isinstance(node, ast.Global):
                    self.scoped.update(node.names)
                work += [getattr(node, field, None) for field in kind._fields]


def mean_the_same(a: Names, b: Names) -> bool:
    """Whether each name means the same in two functions, a variable of their own or one of the module."""
    bound = (a.bound | b.bound) - (a.scoped & b.scoped)
    outer = (a.read - a.bound) | (b.read - b.bound) | a.scoped ^ b.scoped
    return not bound & outer
