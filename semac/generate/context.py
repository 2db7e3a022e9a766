"""What all printers share: the module, the function being printed, its block, names and positions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.atoms import Keyword
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Comprehension, Expr, GetField, Lit, Op, Python
from semac.fingerprint import is_traced
from semac.generate.destination import Dest
from semac.generate.names import LocalNames, ModuleNames
from semac.generate.pyast import NOWHERE, Loc, assign, builtin, call, compare, loc_of, name
from semac.ir.identifiers import mangle
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit, left_out

HINTS = {
    "sort-by": "in_order", "group-by": "by_group", "key-by": "index", "find": "found", "any": "is_any",
    "every": "is_every", "list": "items", "Try": "outcome", "Match": "result", "For": "result",
}  # fmt: skip


SEVERAL = 2  # questions for a type of which it pays to hold it
AT_INDEX = ("indexed", (0,))  # the test of a guard that looks for an item of what may be a vector or a list
INDEXED = "sema_runtime.values.atoms:INDEXED"
HELD_ITEMS = "sema_runtime.values.lists:held_items"
VAGUE = ("value", "function")


def hint_of(op: Any) -> str:
    """What the value of an operation would like to be called."""
    if type(op) is GetField:
        return op.member.slot
    if type(op) in (Python, CallRuntime, CallBuiltin):  # `(:name user)`, in whatever way it is looked up
        key = op.args[1].value if len(op.args) == 2 and type(op.args[1]) is Lit else None
        return mangle(key.name) if type(key) is Keyword else ""
    return HINTS.get(op.kind if type(op) is Comprehension else type(op).__name__, "")


class ModuleState:
    """What the contexts of all functions of a module share."""

    def __init__(self, unit: Unit, names: ModuleNames, printers: Printers) -> None:
        self.unit = unit
        self.names = names
        self.printers = printers
        self.locs: dict[int, tuple[Any, Loc]] = {}  # of spans, by identity, as most are asked for several times
        skipped = left_out(unit)
        is_elsewhere = unit.is_text or unit.is_native
        self.cuts_rests = unit.optimize and not is_elsewhere and "cut" not in skipped  # of loops (sources.py)
        self.asks_once = "once" not in skipped  # for all operands of nested arithmetic (nested/numbers.py)
        keeps = not (unit.is_text or unit.is_native or is_traced())
        self.keeps_types = keeps and unit.optimize and "kinds" not in skipped  # of variables (functions.py)
        self.keeps_items = self.keeps_types and "held" not in skipped  # of what may be a vector or a list
        merges = unit.is_text or not (unit.is_native or is_traced())  # what people read is the same under a debugger
        self.merges_copies = merges and unit.optimize and "copies" not in skipped  # (coalesce/)


class Printers:
    """The tables of printers: for an operation as an expression, and as a statement whose value has a destination."""

    __slots__ = ("block", "expr", "instructions", "stmt", "test")

    def __init__(
        self,
        expr: Callable[[Context, Expr], ast.expr],
        stmt: Callable[[Context, Expr, Dest], None],
        test: Callable[[Context, Expr], ast.expr],
        block: Callable[[Context, Block, Dest], None],
        instructions: Callable[[Context, Block], bool],
    ) -> None:
        self.expr = expr
        self.stmt = stmt
        self.test = test
        self.block = block
        self.instructions = instructions


class Context:
    """The state of printing one Python function, or the top level of a module where `at_module`."""

    def __init__(self, module: ModuleState, parent: Context | None, avoid: set[str], at_module: bool = False) -> None:
        """avoid: names of globals that the function uses."""
        self.module = module
        self.parent = parent
        self.at_module = at_module
        self.names: LocalNames = LocalNames(module.names, parent.names if parent else None, avoid, is_top=at_module)
        self.out: list[ast.stmt] = []
        self.function: Function | None = None
        self.owned: set[Var] = set()  # variables that this function binds
        self.errors: set[Var] = set()  # caught errors that are exceptions, not condition maps
        self.assigned_globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.changed_inside: set[str] = set()  # variables of this function that functions made in it assign
        self.defining = ""  # the global whose value is printed
        self.repeats = 0  # comprehensions around
        self.questions: dict[Var, int] = {}  # how often guards of this function ask for the types of its variables
        # Names of variables → those of what holds their types, and how many comprehensions there are around it.
        self.kinds: dict[str, tuple[str, int]] = {}
        self.indexed: dict[Var, int] = {}  # how often guards read items of them by an index
        self.items: dict[str, str] = {}  # names of variables → those of what holds their items
        self.loops: list[Any] = []  # loops around, innermost last; None for what a jump can't leave
        self.current: Loc = parent.current if parent else NOWHERE

    # Dispatch

    def expr(self, expr: Expr) -> ast.expr:
        """The expression of an operand."""
        return self.module.printers.expr(self, expr)

    def exprs(self, values: list[Expr]) -> list[ast.expr]:
        return [self.expr(value) for value in values]

    def stmt(self, expr: Expr, dest: Dest) -> None:
        """Statements by which a value reaches its destination."""
        self.module.printers.stmt(self, expr, dest)

    def test(self, expr: Expr) -> ast.expr:
        """An expression whose Python truth is the Sema truth of an operand."""
        return self.module.printers.test(self, expr)

    def block(self, block: Block, dest: Dest) -> None:
        """The statements of a block, whose value reaches a destination."""
        self.module.printers.block(self, block, dest)

    def instructions(self, block: Block) -> bool:
        """The statements of the instructions of a block, without its exit. Returns whether that can be reached."""
        return self.module.printers.instructions(self, block)

    # Positions, names

    def loc(self, op: Op | Any) -> Loc:
        span = op.span
        if span is not None:
            known = self.module.locs.get(id(span))
            if known is None:
                known = self.module.locs[id(span)] = span, loc_of(span)
            self.current = known[1]
        return self.current

    def runtime(self, path: str, loc: Loc) -> ast.expr:
        """A function of the runtime, imported; path is "module:name"."""
        module, _, attr = path.partition(":")
        if module == "builtins":
            return builtin(attr, loc)
        return name(self.module.names.runtime(module, attr), loc)

    def builtin_function(self, sema: str, loc: Loc) -> ast.expr:
        """The function of a builtin, whatever the program defines later."""
        module, python, *_ = INDEX[sema]
        return self.runtime(f"sema_runtime.{module}:{python}", loc)

    def builtin(self, sema: str, loc: Loc) -> ast.expr:
        """A builtin that the program names."""
        shared = self.module.names.shared_builtin(sema)
        return self.builtin_function(sema, loc) if shared is None else name(shared, loc)

    def bind(self, var: Var) -> str:
        """Names a variable that this function owns."""
        self.owned.add(var)
        if not var.name:
            hint = "" if var.hint in VAGUE else var.hint
            hint = hint or hint_of(var.op) or var.hint or "value"
            var.py = self.names.temporary(hint)
            return var.py
        return self.names.local(var)

    def bound(self, var: Var) -> str:
        """The name of a variable that this function owns; a new one at its first binding."""
        return var.py if var in self.owned and var.py else self.bind(var)

    def change(self, var: Var) -> None:
        """Notes that this function assigns a variable of one around it."""
        self.nonlocals.add(var.py)
        owner = self.parent
        while owner is not None and var not in owner.owned:
            owner = owner.parent
        if owner is not None:
            owner.changed_inside.add(var.py)

    def type_of(self, value: ast.expr, loc: Loc) -> ast.expr:
        """`type(x)`, or the variable that holds it."""
        if self.kinds and isinstance(value, ast.Name) and value.id in self.kinds:
            held, repeats = self.kinds[value.id]
            if repeats == self.repeats:
                return name(held, loc)
        return call(builtin("type", loc), [value], loc)

    def hold_type(self, var: Var) -> None:
        """Has variables hold the type of one that was just bound, and its items, if these are asked for several times.

        The items are the value itself where Python finds them by an index, those of a list of the language where it has
        them at hand, and none of anything else, so that it costs the same whether they are read or not.
        """
        asked, reads = self.questions.get(var, 0), self.indexed.get(var, 0)
        if max(asked, reads) < SEVERAL or var.assigned or not var.py:
            return
        line = self.current["lineno"]
        loc: Loc = {**NOWHERE, "lineno": line, "end_lineno": line}
        value = name(var.py, loc)
        if asked - (reads - 1 if reads >= SEVERAL else 0) >= SEVERAL:
            held = self.names.temporary("kind")
            self.kinds[var.py] = held, self.repeats
            self.append(assign(held, call(builtin("type", loc), [value], loc), loc))
        if reads >= SEVERAL:
            is_indexed = compare(self.type_of(value, loc), ast.In(), self.runtime(INDEXED, loc), loc)
            otherwise = call(self.runtime(HELD_ITEMS, loc), [value], loc)
            self.items[var.py] = items = self.names.temporary("items")
            self.append(assign(items, ast.IfExp(is_indexed, value, otherwise, **loc), loc))

    def items_of(self, value: ast.expr) -> str:
        """The name of the variable that holds the items of a value; "" where none does."""
        if self.items and isinstance(value, ast.Name) and not self.repeats:
            return self.items.get(value.id, "")
        return ""

    # Statements

    def append(self, statement: ast.stmt) -> None:
        self.out.append(statement)

    def save(self, value: ast.expr, base: str, loc: Loc) -> ast.Name:
        """Assigns an expression to a temporary; returns the name."""
        target = self.names.temporary(base)
        self.append(assign(target, value, loc))
        return name(target, loc)

    def was_assigned(self, value: ast.expr) -> bool:
        """Whether a value is the variable that the last statement assigns: then it is there."""
        last = self.out[-1] if self.out else None
        target = last.targets[0] if isinstance(last, ast.Assign) else None
        return isinstance(value, ast.Name) and isinstance(target, ast.Name) and target.id == value.id

    def in_block(self, emit: Callable[[], Any]) -> tuple[Any, list[ast.stmt]]:
        """Runs emit() with a fresh list of statements: (its result, the statements)."""
        outer, self.out = self.out, []
        try:
            return emit(), self.out
        finally:
            self.out = outer

    def statements(self, block: Block, dest: Dest) -> list[ast.stmt]:
        """The statements of a block, apart."""
        return self.in_block(lambda: self.block(block, dest))[1]

    def finish(self, value: ast.expr, dest: Dest, loc: Loc, effects: bool = True) -> None:
        """Delivers a value to its destination."""
        if dest.kind == "return":
            self.append(ast.Return(value, **loc))
            return
        if dest.kind == "assign":
            if self.at_module or not (isinstance(value, ast.Name) and value.id == dest.target):
                self.append(assign(dest.target, value, loc))
        elif effects and not isinstance(value, ast.Constant) and not self.was_assigned(value):
            self.append(ast.Expr(value, **loc))
        if dest.after:
            self.append(ast.Break(**loc))
