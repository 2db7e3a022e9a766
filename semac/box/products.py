"""Keeps the products of ints within the limit of bits: compiled code multiplies by Python's own operator.

A product is compared with a number of 30 bits, which Python does at once, and one beyond it with one of 47 or 62 bits;
a larger one is handed to a function that knows the limit. The factors are within it, so a product takes at most twice
as much before it is refused. Left alone are products of floats, those of two small numbers, such as the counters of
loops, and those that nothing keeps: what is compared, divided with remainder, or an index. What such a product is made
of has been compared, or is a product of small numbers itself.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from semac.box.checker import FIELDS, nodes_of

CHECK = "__Box_product"  # names which no name of a program becomes
HELD = "__Box_held"
KIND = "__Box_kind"
SMALL = (1 << 30) - 1  # ints of one digit, as Python has them
LARGE = 1 << 47  # with an int of 48 bits at most Python compares a float at once
LARGE_INT = 1 << 62
MOST_FACTORS = 4  # of a product of products that is compared once
MOST_LEVELS = 8  # of expressions that are looked through
MOST_ROUNDS = 10  # until all is known of which names are small
ARITHMETIC = "sema_runtime.lib.numbers.arithmetic"
REMAINDERS = ((ARITHMETIC, "mod"), (ARITHMETIC, "modulo"), (ARITHMETIC, "remainder"))
SUMS = (ast.Add, ast.Sub)
OTHER_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


def bound_products(nodes: list[ast.AST], imports: Mapping[str, tuple[str, str]]) -> None:
    """Rewrites the products of a module in place. nodes: all of it. imports: names of the session that hold things of
    the runtime."""
    known = {**imports, **imported(nodes)}
    times = {name for name, thing in known.items() if thing == (ARITHMETIC, "mul")}
    if any(type(node) is ast.Mult or (type(node) is ast.Name and node.id in times) for node in nodes):
        Products(nodes, known).rewrite()


def imported(nodes: list[ast.AST]) -> dict[str, tuple[str, str]]:
    """The names that a module imports itself, as the code of macros does."""
    own = [(node.module or "", alias) for node in nodes if type(node) is ast.ImportFrom for alias in node.names]
    return {alias.asname or alias.name: (module, alias.name) for module, alias in own}


class Products:
    """The products of a module."""

    def __init__(self, nodes: list[ast.AST], imports: Mapping[str, tuple[str, str]]) -> None:
        self.nodes = nodes
        self.parents: dict[int, tuple[ast.AST, str, int]] = {}  # by id of a node: of what it is which part
        for node in nodes:
            for field in FIELDS.get(type(node), node._fields):
                value = getattr(node, field, None)
                for index, part in enumerate(value if type(value) is list else (value,)):
                    self.parents[id(part)] = node, field, index
        self.inner: set[int] = set()  # products of several factors inside of others
        factors: dict[int, int] = {}
        for node in reversed(nodes):  # parts come first
            if isinstance(node, ast.BinOp) and type(node.op) is ast.Mult:
                parts = [part for part in (id(node.left), id(node.right)) if part in factors]
                factors[id(node)] = sum(factors[part] for part in parts) + 2 - len(parts)
                if factors[id(node)] > MOST_FACTORS:
                    self.inner.update(parts)
                    factors[id(node)] = 2
        self.remainders = {name for name, thing in imports.items() if thing in REMAINDERS} | {"type"}
        self.sums = {name for name, thing in imports.items() if thing in ((ARITHMETIC, "add"), (ARITHMETIC, "sub"))}
        self.kinds = {name for name, thing in imports.items() if thing == (ARITHMETIC, "INT_OR_FLOAT")}
        self.times = {name for name, thing in imports.items() if thing == (ARITHMETIC, "mul")}
        self.loads: dict[str, list[ast.Name]] = {}
        self.stores: dict[str, list[ast.Name]] = {}
        self.params: set[str] = set()  # names that get values elsewhere
        for node in nodes:
            if type(node) is ast.Name:
                (self.loads if type(node.ctx) is ast.Load else self.stores).setdefault(node.id, []).append(node)
            elif isinstance(node, ast.arg):
                self.params.add(node.arg)
            elif isinstance(node, ast.Global):  # other programs of the session may set them
                self.params.update(node.names)
        self.small = {name for name in self.stores if name not in self.params}
        for _ in range(MOST_ROUNDS):
            others = {name for name in self.small if not all(map(self.gets_small, self.stores[name]))}
            self.small -= others
            if not others:
                break
        else:
            self.small = set()

    def rewrite(self) -> None:
        free = {id(inner) for node in self.nodes if type(node) is ast.Subscript for inner in nodes_of(node.slice)}
        sources = {id(inner) for node in self.nodes if type(node) is ast.comprehension for inner in nodes_of(node.iter)}
        calls = [node for node in self.nodes if any(is_call_of(node, name) for name in self.times)]
        for call in calls:
            self.replace(call, as_call(call))
        for node in self.nodes:
            if not is_product(node) or id(node) in free or self.is_harmless(node):
                continue
            parent, *_ = self.parents[id(node)]
            new: ast.AST
            if id(node) in sources or id(node) in self.inner:
                new = as_call(value_of(node))
            elif isinstance(parent, ast.IfExp) and parent.body is node and self.asks_for_number(parent.test):
                by_kind(parent)
                continue
            else:
                new = compared(value_of(node), numbers_of(node))
            if isinstance(node, ast.AugAssign):
                new = ast.copy_location(ast.Assign([node.target], new), node)
            self.replace(node, new)

    def replace(self, node: ast.AST, new: ast.AST) -> None:
        parent, field, index = self.parents[id(node)]
        value = getattr(parent, field)
        if type(value) is list:
            value[index] = new
        else:
            setattr(parent, field, new)

    def asks_for_number(self, test: ast.expr) -> bool:
        """Whether a test is `type(a) is type(b) in INT_OR_FLOAT`."""
        last = test.comparators[-1] if isinstance(test, ast.Compare) and type(test.ops[-1]) is ast.In else None
        return isinstance(last, ast.Name) and last.id in self.kinds

    # Which products need no comparison

    def is_harmless(self, product: Any) -> bool:
        if type(product) is ast.AugAssign:
            return type(product.target) is not ast.Name or is_float(product.value)
        if numbers_of(product) == "float" or is_float(product.left) or is_float(product.right):
            return True
        return (self.is_small(product.left) and self.is_small(product.right)) or self.is_transient(product)

    def is_transient(self, node: ast.AST, levels: int = MOST_LEVELS) -> bool:
        """Whether nothing keeps a value, or a sum that it is part of."""
        parent, field, _ = self.parents[id(node)]
        if not levels:
            return False
        if isinstance(parent, ast.Compare):
            return True
        if isinstance(parent, ast.BinOp):
            if type(parent.op) is ast.Mod:
                return field == "left"
            if type(parent.op) is ast.Mult:
                return id(node) not in self.inner
            return type(parent.op) in SUMS and self.is_transient(parent, levels - 1)
        if isinstance(parent, ast.IfExp):
            return field != "test" and self.is_transient(parent, levels - 1)
        if isinstance(parent, ast.NamedExpr):
            target = parent.target.id
            is_own = target not in self.params and len(self.stores[target]) == 1
            loads = self.loads.get(target, ())
            return is_own and self.is_tested(parent) and all(self.is_transient(load, levels - 1) for load in loads)
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
            if parent.func.id in self.remainders:
                return parent.args[:1] == [node]
            return parent.func.id in self.sums and self.is_transient(parent, levels - 1)
        return False

    def is_tested(self, named: ast.NamedExpr) -> bool:
        """Whether a value gets its name where its type is asked for."""
        call, *_ = self.parents[id(named)]
        return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "type"

    # Which values are small: of some 64 bits, and of one more for each time that a loop adds to them

    def gets_small(self, store: ast.Name) -> bool:
        """Whether what a name is given is small."""
        parent, field, _ = self.parents[id(store)]
        if isinstance(parent, ast.For | ast.comprehension) and field == "target":
            return is_count(parent.iter)
        if isinstance(parent, ast.Assign):
            return len(parent.targets) == 1 and self.is_small(parent.value)
        if isinstance(parent, ast.AugAssign):
            return type(parent.op) in (*SUMS, ast.Mod) and self.is_small(parent.value)
        return isinstance(parent, ast.NamedExpr) and self.is_small(parent.value)

    def is_small(self, node: ast.AST, levels: int = MOST_LEVELS) -> bool:
        if not levels:
            return False
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int | float) and abs(node.value) <= LARGE
        if isinstance(node, ast.Name):
            return node.id in self.small
        if isinstance(node, ast.BinOp):
            if type(node.op) is ast.Mod:
                return self.is_small(node.right, levels - 1)
            return type(node.op) in SUMS and all(self.is_small(part, levels - 1) for part in (node.left, node.right))
        if isinstance(node, ast.IfExp):
            return self.is_small(node.body, levels - 1) and self.is_small(node.orelse, levels - 1)
        if isinstance(node, ast.UnaryOp):
            return type(node.op) is ast.USub and self.is_small(node.operand, levels - 1)
        return is_call_of(node, "len") or is_call_of(node, "ord")


def by_kind(choice: Any) -> None:
    """Has a product of two numbers of one type that stands behind its test be compared where these are ints alone.

    choice: `a * b if type(a) is type(b) in INT_OR_FLOAT else mul(a, b)`, which asks for the type once from now on.
    """

    def at(node: Any) -> Any:
        return ast.copy_location(node, choice)

    def is_kind(asked: ast.expr, kind: str) -> ast.expr:
        return at(ast.Compare(asked, [ast.Is()], [at(ast.Name(kind, ast.Load()))]))  # type: ignore[no-any-return]

    test, product, other = choice.test, choice.body, choice.orelse
    others: list[ast.expr] = [test.left, *test.comparators[:-1]]
    last = others.pop()
    kind = at(ast.NamedExpr(at(ast.Name(KIND, ast.Store())), last))  # what follows is no other product's
    again = at(ast.Name(KIND, ast.Load()))
    floats = at(ast.IfExp(is_kind(again, "float"), product, other))
    ints = compared(product, numbers_of(product) or "int")
    if not others:
        choice.test, choice.body, choice.orelse = is_kind(kind, "int"), ints, floats
        return
    are_one = at(ast.Compare(others[0], test.ops[:-1], [*others[1:], kind]))
    inner = at(ast.IfExp(is_kind(at(ast.Name(KIND, ast.Load())), "int"), ints, floats))
    choice.test, choice.body, choice.orelse = are_one, inner, other


def is_product(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) is ast.Mult


def is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def is_count(source: ast.AST) -> bool:
    """Whether the items are numbers from a small one on, by small steps: nobody lives to see a large one."""
    if not is_call_of(source, "range"):
        return False
    args = source.args  # type: ignore[attr-defined]
    return all(isinstance(arg, ast.Constant) for arg in [*(args[:1] if len(args) > 1 else ()), *args[2:]])


def is_float(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is float


def value_of(product: Any) -> ast.expr:
    """What is multiplied, also where the product is assigned at once."""
    if not isinstance(product, ast.AugAssign):
        return product  # type: ignore[no-any-return]
    target = ast.copy_location(ast.Name(product.target.id, ast.Load()), product)  # type: ignore[union-attr]
    return ast.copy_location(ast.BinOp(target, product.op, product.value), product)


def as_call(value: Any) -> ast.expr:
    """What CHECK makes of a product."""
    call = ast.Call(ast.copy_location(ast.Name(CHECK, ast.Load()), value), [value], [])
    return ast.copy_location(call, value)


def numbers_of(product: ast.AST) -> str:
    """What the compiler knows of a product: "float", "int", "natural", or "" for nothing."""
    return getattr(product, "numbers", "")


def compared(product: ast.expr, numbers: str) -> ast.expr:
    """The product where it is below a number, what CHECK makes of it elsewhere. numbers: as in `numbers_of`."""
    large = LARGE_INT if numbers else LARGE

    def at(node: Any) -> Any:
        return ast.copy_location(node, product)

    def held() -> ast.expr:
        return at(ast.Name(HELD, ast.Load()))  # type: ignore[no-any-return]

    is_natural = numbers == "natural"

    def is_below(most: int, number: ast.expr) -> ast.expr:
        parts = [number] if is_natural else [number, at(ast.UnaryOp(ast.USub(), at(ast.Constant(most))))]
        return at(ast.Compare(at(ast.Constant(most)), [ast.Gt() for _ in parts], parts))  # type: ignore[no-any-return]

    named = at(ast.NamedExpr(at(ast.Name(HELD, ast.Store())), product))
    if is_square(product):  # never negative, and seldom small
        is_small = at(ast.Compare(at(ast.Constant(large)), [ast.Gt()], [named]))
        return at(ast.IfExp(is_small, held(), at(as_call(held()))))  # type: ignore[no-any-return]
    larger = at(ast.IfExp(is_below(large, held()), held(), at(as_call(held()))))
    return at(ast.IfExp(is_below(SMALL, named), held(), larger))  # type: ignore[no-any-return]


def is_square(product: ast.expr) -> bool:
    if not isinstance(product, ast.BinOp):
        return False
    left, right = product.left, product.right
    return isinstance(left, ast.Name) and isinstance(right, ast.Name) and left.id == right.id
