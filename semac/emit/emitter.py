"""What all parts of an emitter share: the current block, names, positions, and what they call of each other."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from typing import Any

from sema_runtime.catalogue_index import INDEX
from semac.emit.destination import Dest
from semac.emit.names import LocalNames, ModuleNames
from semac.emit.pyast import NOWHERE, Loc, assign, loc_of, name
from semac.ir import nodes as ir
from semac.ir.facts import globals_of, is_stable
from semac.ir.unit import Unit


class ModuleState:
    """What the emitters of all functions of a module share."""

    def __init__(self, unit: Unit, names: ModuleNames) -> None:
        self.unit = unit
        self.names = names
        self.defined: set[ir.Var] = set()  # globals whose definition stands above the current form


class Emitter(ABC):
    """The state of the emission of one function, and what its parts have in common.

    The parts are `Calls`, `Flow`, `Tests` and `Matches`; `FunctionEmitter` is all of them.
    """

    def __init__(self, module: ModuleState, parent: Emitter | None, root: Any) -> None:
        self.module = module
        self.parent = parent
        self.names: LocalNames = LocalNames(
            module.names,
            parent.names if parent else None,
            globals_of(root) if root is not None and not parent else set(),
            is_top=root is None,
        )
        self.block: list[ast.stmt] = []
        self.at_module = root is None
        self.errors: set[ir.Var] = set()  # caught errors that are exceptions, not condition maps
        self.assigned_globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.function: ir.Function | None = None
        self.owned: set[Any] = set()
        self.current: Loc = parent.current if parent else NOWHERE
        self.counted: dict[Any, ir.Var] = {}  # loops that became `for`: the variable that range() steps
        self.loops: list[Any] = []

    # Positions, names

    def loc(self, node: Any) -> Loc:
        span = node.span
        if span is not None:
            self.current = loc_of(span)
        return self.current

    def runtime(self, path: str, loc: Loc) -> ast.expr:
        """A function of the runtime, imported; path is "module:name"."""
        module, _, attr = path.partition(":")
        if module == "builtins":
            return name(attr, loc)
        return name(self.module.names.runtime(module, attr), loc)

    def builtin_path(self, sema: str) -> str:
        """The path of the function of a builtin, for `runtime`."""
        module, python, *_ = INDEX[sema]
        return f"sema_runtime.{module}:{python}"

    def bind(self, var: ir.Var) -> str:
        """Names a local variable that this function owns."""
        self.owned.add(var)
        return self.names.local(var)

    def append(self, statement: ast.stmt) -> None:
        self.block.append(statement)

    def save(self, value: ast.expr, base: str, loc: Loc) -> ast.Name:
        """Assigns an expression to a temporary; returns the name."""
        target = self.names.temporary(base)
        self.append(assign(target, value, loc))
        return name(target, loc)

    def in_block(self, emit: Any) -> tuple[Any, list[ast.stmt]]:
        """Runs emit() with a fresh block: (its result, the statements)."""
        outer, self.block = self.block, []
        try:
            result = emit()
            return result, self.block
        finally:
            self.block = outer

    def finish(self, value: ast.expr, dest: Dest, loc: Loc, effects: bool = True) -> None:
        """Delivers a value to its destination."""
        if dest.kind == "return":
            self.append(ast.Return(value, **loc))
            return
        if dest.kind == "assign":
            if self.at_module or not (isinstance(value, ast.Name) and value.id == dest.target):
                self.append(assign(dest.target, value, loc))
        elif effects and not isinstance(value, ast.Constant):
            self.append(ast.Expr(value, **loc))
        if dest.after:
            self.append(ast.Break(**loc))

    def exprs(self, nodes: list[Any]) -> list[ast.expr]:
        """Expressions in order. When a later one needs statements, the earlier ones are saved before them."""
        values: list[ast.expr] = []
        for index, node in enumerate(nodes):
            mark = len(self.block)
            value = self.expr(node)
            if len(self.block) > mark:
                statements = self.block[mark:]
                del self.block[mark:]
                for before in range(index):
                    if not is_stable(nodes[before]) and not is_temporary(values[before]):
                        values[before] = self.save(values[before], "value", self.current)
                self.block += statements
            values.append(value)
        return values

    def wrap(self, value: ast.expr, kind: str) -> ast.expr:
        """A Map or HashMap around a raw dict."""
        return ast.Call(self.runtime(f"sema_runtime.values.maps:{kind}", self.current), [value], [], **self.current)

    def is_owned(self, node: Any) -> bool:
        """Whether a node is a variable that holds a raw dict here."""
        return type(node) is ir.Ref and bool(node.var.owned)

    def expr_statement(self, node: Any) -> ast.expr:
        """A node that is naturally a statement: its value goes through a temporary."""
        target = self.names.temporary("result")
        self.stmt(node, Dest("assign", target))
        return name(target, self.current)

    # What the parts of an emitter call of each other

    @abstractmethod
    def stmt(self, node: Any, dest: Dest) -> None:
        """Emits node so that its value reaches dest."""

    @abstractmethod
    def expr(self, node: Any) -> ast.expr:
        """Emits node as an expression; statements it needs go to the current block first."""

    @abstractmethod
    def test(self, node: Any) -> ast.expr:
        """An expression whose Python truth is the Sema truth of node."""

    @abstractmethod
    def truth_of(self, value: ast.expr, mask: int) -> ast.expr:
        """The Python truth of an emitted value of type mask."""

    @abstractmethod
    def expr_if(self, node: Any) -> ast.expr:
        """An `if` as an expression."""

    @abstractmethod
    def expr_and(self, node: Any) -> ast.expr:
        """An `and` as an expression."""

    @abstractmethod
    def expr_or(self, node: Any) -> ast.expr:
        """An `or` as an expression."""

    @abstractmethod
    def let_bindings(self, node: Any) -> None:
        """Assigns the variables of a Let."""

    @abstractmethod
    def def_lambda(self, node: Any, target: str) -> None:
        """Emits `def target(...)` for a Lambda."""

    @abstractmethod
    def recur(self, node: Any) -> None:
        """Emits a call that jumps back to the start of a loop."""

    @abstractmethod
    def constant_data(self, value: Any, loc: Loc) -> ast.expr:
        """An expression for any constant."""


def is_temporary(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant)
