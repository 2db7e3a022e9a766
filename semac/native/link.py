"""The Python of a module, linked with the extension that holds its native functions.

Each function stays what it is, and begins with a call of its native twin, which answers that it can't where the C stack
is nearly used up or an argument is of another type than it was compiled for. When all globals that a function relies on
are defined, a call of `bind` puts the native function in place, also for calls from C (`sema_runtime/native.py`).
"""

from __future__ import annotations

import ast
from typing import Any

from sema_runtime.native import code_digest
from semac.native.extension import ModuleCode, known_by
from semac.native.function import FunctionCode
from semac.native.intrinsics import OPERATORS
from semac.native.sites import ADDED, Path, Twins, relative, site_rows

RUNTIME = "sema_runtime.native"
PREFIX = "__sema_native_"
DIRECT = f"{PREFIX}c_"


def insert_calls(tree: ast.Module, code: ModuleCode, entries: set[str], name: str, path: str) -> None:
    """Puts the calls of native functions into the tree.

    name, path: the extension's name and file; a relative path starts in the folder of the module.
    """
    tops = [each for each in code.native if not each.is_inner]
    places: dict[int, list[FunctionCode]] = {}
    for each in tops:
        if each.name:
            places.setdefault(bound_at(each, code), []).append(each)
            if each.name in entries:
                add_call(each)
    wrapped = {each.node: each.index for each in tops if not each.name}
    direct = directly_called(tree, places)
    body: list[ast.stmt] = []
    for place, statement in enumerate(tree.body):
        body.append(Lambdas(wrapped).visit(statement) if wrapped else statement)
        if place in places:
            body += located(f"{PREFIX}bind({place})", statement)
        for each in places.get(place, ()):
            if each.name in direct:
                body += located(f"{DIRECT}{each.name} = {PREFIX}direct({each.index}, {each.name})", statement)
    head = located(
        f"from {RUNTIME} import FAILED as {PREFIX}failed, link as {PREFIX}link\n"
        f"{PREFIX}bind, {PREFIX}made, {PREFIX}direct = "
        f"{PREFIX}link(globals(), {name!r}, {path!r}, {(*sorted(entries),)!r})",
        None,
    )
    first = next((at for at, each in enumerate(body) if not isinstance(each, ast.ImportFrom | ast.Import)), len(body))
    body[first:first] = head
    tree.body = body


def directly_called(tree: ast.Module, places: dict[int, list[FunctionCode]]) -> set[str]:
    """Has calls in the top level's own code, and in its comprehensions, call the native functions that are bound by
    then; gives their names. Another call of Python's would cost more than short functions gain."""
    found: set[str] = set()
    bound: set[str] = set()
    for place, statement in enumerate(tree.body):
        stack: list[ast.AST] = [] if isinstance(statement, ast.FunctionDef | ast.ClassDef) else [statement]
        while stack:
            part = stack.pop()
            if isinstance(part, ast.Lambda | ast.FunctionDef):
                continue
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in bound:
                if not part.keywords and not any(isinstance(arg, ast.Starred) for arg in part.args):
                    found.add(part.func.id)
                    part.func.id = DIRECT + part.func.id
            stack += ast.iter_child_nodes(part)
        bound |= {each.name for each in places.get(place, ())}
    return found


class Lambdas(ast.NodeTransformer):
    """Has `made` see each lambda of the top level."""

    def __init__(self, indexes: dict[Any, int]) -> None:
        self.indexes = indexes

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        if node not in self.indexes:
            return node
        call = ast.parse(f"{PREFIX}made({self.indexes[node]}, 0)", mode="eval").body
        assert isinstance(call, ast.Call)
        for part in ast.walk(call):
            ast.copy_location(part, node)
            part.number = node.number  # type: ignore[attr-defined]
        call.args[1] = node
        return call

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node


def add_call(f: FunctionCode) -> None:
    """Puts the call of the native function at the head of a function, below its docstring and its declarations."""
    node = f.node
    assert isinstance(node, ast.FunctionDef)
    args = [*f.scope.params, *([f"*{f.scope.rest}"] if f.scope.rest else [])]
    result = f"{PREFIX}result"
    source = f"{result} = {PREFIX}{f.name}({', '.join(args)})\nif {result} is not {PREFIX}failed:\n    return {result}"
    at = 0
    while at < len(node.body) and (
        isinstance(node.body[at], ast.Global | ast.Nonlocal)
        or (at == 0 and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant))
    ):
        at += 1
    node.body[at:at] = located(source, node)


def located(source: str, node: ast.stmt | None) -> list[ast.stmt]:
    """Statements that stand where another one does, in no columns."""
    statements = ast.parse(source).body
    for statement in statements:
        for part in ast.walk(statement):
            part.number = ADDED  # type: ignore[attr-defined]
            if hasattr(part, "lineno"):
                part.lineno = part.end_lineno = node.lineno if node is not None else 1  # type: ignore[attr-defined]
                part.col_offset = part.end_col_offset = 0  # type: ignore[attr-defined]
    return statements


def bound_at(f: FunctionCode, code: ModuleCode) -> int:
    """The place of the last definition that a function needs."""
    return max(code.globals[name].place for name in needed(f, code))


def needed(f: FunctionCode, code: ModuleCode) -> list[str]:
    """The globals on which a function relies, with those of the functions that it calls natively, and the operators
    that the module may hand to it."""
    names = {name for name, found in code.globals.items() if found.path in OPERATORS}
    seen: set[int] = set()
    todo = [f]
    while todo:
        each = todo.pop()
        if each.index in seen:
            continue
        seen.add(each.index)
        names |= each.needs
        if each.name:
            names.add(each.name.partition(".")[0])
        todo += [other for other in code.all if other.c_name in each.called or (other.outer is each and not other.why)]
    return sorted(names)


def entered(code: ModuleCode) -> set[str]:
    """The functions that Python code should enter natively: those with loops or recursion, below them too. A call of
    one costs more than others gain."""
    by_name = {each.c_name: each for each in code.native}
    long: set[str] = {each.c_name for each in code.native if each.loops or calls_itself(each)}
    calls = {
        each.c_name: each.called | {other.c_name for other in code.native if other.outer is each}
        for each in code.native
    }
    for each in code.native:
        reached: set[str] = set()
        todo = list(calls[each.c_name])
        while todo:
            callee = todo.pop()
            if callee not in reached and callee in by_name:
                reached.add(callee)
                todo += calls[callee]
        if each.c_name in reached or reached & long:
            long.add(each.c_name)
    return {each.name for each in code.native if each.name and each.c_name in long}


def calls_itself(f: FunctionCode) -> bool:
    """Whether a function inside of another uses the variable that holds it."""
    return isinstance(f.node, ast.FunctionDef) and f.is_inner and f.node.name in f.scope.free


class Plan:
    """What binds the functions when the module runs, which the extension keeps, and the places for the extension.

    sites: by function, as `site_rows` gives them. lost: functions whose code isn't found in the module's.
    """

    def __init__(self, code: ModuleCode, twins: Twins, entries: set[str]) -> None:
        self.code = code
        self.twins = twins
        self.slots = {c: at for at, c in enumerate(code.slots)}
        self.sites: dict[int, list[tuple[int, int, int, int]]] = {}
        self.paths: dict[int, list[Path]] = {}
        for each in code.native:
            base = () if each.outer is None else next(iter(self.paths[root(each).index]), None)
            rows = (
                ([], []) if base is None else site_rows(each, twins, base)
            )  # where nothing gets to, Python has no code
            self.sites[each.index], self.paths[each.index] = rows
        tops = [each for each in code.native if not each.is_inner]
        self.lost = {known_by(top) for top in tops if twins.is_unfound(top.node)}
        rows_of_plan = tuple(self.row(top, entries) for top in tops if self.paths[top.index])
        values = tuple(value for _, value in code.constant_values)
        facts = tuple(code.names), tuple(code.builtins), tuple(code.objects)
        self.value: Any = (values, *facts, rows_of_plan)

    def row(self, top: FunctionCode, entries: set[str]) -> tuple[object, ...]:
        """A `Row` (sema_runtime/native.py) of a function of the top level."""
        code, slots = self.code, self.slots
        base = self.paths[top.index][0]
        codes = [
            (slots[f"codes_{each.index}[{at}]"], relative(path, base))
            for each in within(top, code)
            for at, path in enumerate(self.paths[each.index])
            if path
        ]
        inner = [each for each in code.all if root(each) is top]
        twin_of = {each.index: self.twins.of(each.node, base) for each in inner}
        codes += [
            (slots[f"K_{index}"], relative(twin.path, base)) for index, twin in twin_of.items() if twin is not None
        ]
        own = self.twins.of(top.node, base)
        assert own is not None
        return (
            top.index,
            top.name,
            bound_at(top, code) if top.name else -1,
            tuple((slots[code.globals[name].c], name) for name in needed(top, code)),
            tuple(codes),
            slots[f"fo_{top.index}"],
            top.name in entries,
            own.code.co_firstlineno,
            code_digest(own.code.co_code),
        )


def within(top: FunctionCode, code: ModuleCode) -> list[FunctionCode]:
    """A function and the native ones inside of it."""
    return [each for each in code.native if root(each) is top]


def root(f: FunctionCode) -> FunctionCode:
    while f.outer is not None:
        f = f.outer
    return f
