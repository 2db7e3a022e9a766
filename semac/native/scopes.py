"""Which variables a Python function has: its own, those that functions inside share, those of functions around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.Lambda
COMPREHENSIONS = (ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)


class Scope:
    """params: in order, a rest parameter last. own: all variables. cells: those that functions inside use, too.
    free: variables of functions around it, in the order of its closure."""

    __slots__ = ("cells", "free", "globals", "inner", "own", "params", "rest")

    free: list[str]

    def __init__(self, node: Function, around: frozenset[str]) -> None:
        args = node.args
        self.params = [arg.arg for arg in args.args]
        self.rest = args.vararg.arg if args.vararg is not None else None
        self.globals: set[str] = set()
        given = {*self.params, *([self.rest] if self.rest else [])}
        nonlocals: set[str] = set()
        assigned: set[str] = set()
        read: set[str] = set()
        body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
        functions: list[Function] = []
        for part in walk(body):
            if isinstance(part, ast.Global):
                self.globals.update(part.names)
            elif isinstance(part, ast.Nonlocal):
                nonlocals.update(part.names)
            elif isinstance(part, ast.Name):
                (read if isinstance(part.ctx, ast.Load) else assigned).add(part.id)
            elif isinstance(part, ast.ExceptHandler) and part.name:
                assigned.add(part.name)
            elif isinstance(part, ast.ImportFrom | ast.Import):
                assigned.update((alias.asname or alias.name).partition(".")[0] for alias in part.names)
            elif isinstance(part, ast.FunctionDef | ast.Lambda):
                functions.append(part)
                if isinstance(part, ast.FunctionDef):
                    assigned.add(part.name)
        self.own = (assigned | given) - self.globals - nonlocals
        visible = (around | self.own) - self.globals
        self.inner = {function: Scope(function, visible) for function in functions}
        wanted: set[str] = {name for scope in self.inner.values() for name in scope.free}
        self.cells = wanted & self.own
        self.free = sorted(((read | nonlocals | wanted) - self.own - self.globals) & around)


def walk(body: list[ast.stmt] | list[ast.expr]) -> Iterator[ast.AST]:
    """The nodes of a function, but not those of functions inside. What a comprehension binds is none of its names."""
    stack: list[tuple[ast.AST, frozenset[str]]] = [(part, frozenset()) for part in body]
    while stack:
        node, bound = stack.pop()
        if isinstance(node, ast.Name) and node.id in bound:
            continue
        yield node
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            continue
        if isinstance(node, COMPREHENSIONS):
            targets = {
                part.id for each in node.generators for part in ast.walk(each.target) if isinstance(part, ast.Name)
            }
            stack.append((node.generators[0].iter, bound))
            bound = bound | targets
            parts: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            parts += [test for each in node.generators for test in each.ifs]
            parts += [each.iter for each in node.generators[1:]]
            stack += [(part, bound) for part in parts]
            continue
        stack += [(part, bound) for part in ast.iter_child_nodes(node)]
