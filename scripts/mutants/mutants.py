"""Mutants of a module: its tree with one small change, each of a kind that is mostly a fault."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
}  # fmt: skip
NAMES = {"any": "all", "all": "any", "max": "min", "min": "max", "union": "intersection"}


Change = Callable[[Any], bool]  # changes a node in place and returns whether it did


class Mutant(NamedTuple):
    """path: of the module. lines: of what was changed, and of its statement. before, after: its text. tree: of the
    whole module."""

    path: Path
    lines: tuple[int, int]
    before: str
    after: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.path}:{self.lines[0]}: {self.before} -> {self.after}"


class Place(NamedTuple):
    """path: of a module. number: of a node, in the order of `ast.walk`. line: of the node. change: what it gets."""

    path: Path
    number: int
    line: int
    change: Change


def places(path: Path) -> list[Place]:
    """Where a module can be changed, and how."""
    tree = ast.parse(path.read_text("utf-8"))
    bodies = [
        (node.body[0].lineno, node.end_lineno or 0) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    ]
    found = []
    for number, node in enumerate(ast.walk(tree)):
        line = getattr(node, "lineno", 0)
        if any(first <= line <= last for first, last in bodies):
            found += [Place(path, number, line, change) for change in CHANGES if isinstance(node, KINDS[change])]
    return found


def mutant_at(place: Place, root: Path) -> Mutant | None:
    """The mutant of a place; None where the change changes nothing."""
    tree = ast.parse(place.path.read_text("utf-8"))
    node: Any = next(node for index, node in enumerate(ast.walk(tree)) if index == place.number)
    around = [
        its for its in ast.walk(tree) if isinstance(its, ast.stmt) and any(part is node for part in ast.walk(its))
    ]
    lines = place.line, around[-1].lineno
    before = text(node)
    if not place.change(node) or text(node) == before:
        return None
    return Mutant(place.path.relative_to(root), lines, before, text(node), ast.fix_missing_locations(tree))


def text(node: Any) -> str:
    """A node in one line; of a statement or expression with a test, the test."""
    return " ".join(ast.unparse(getattr(node, "test", node)).split())


# Changes


def compares_otherwise(node: ast.Compare) -> bool:
    other = COMPARISONS.get(type(node.ops[0]))
    if other is None:
        return False
    node.ops[0] = other()
    return True


def connects_otherwise(node: ast.BoolOp) -> bool:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return True


def drops_first(node: ast.BoolOp) -> bool:
    node.values = node.values[1:] if len(node.values) > 2 else [node.values[1], node.values[1]]
    return True


def drops_last(node: ast.BoolOp) -> bool:
    node.values = node.values[:-1] if len(node.values) > 2 else [node.values[0], node.values[0]]
    return True


def is_always_true(node: ast.If | ast.IfExp) -> bool:
    node.test = ast.Constant(True)
    return True


def is_never_true(node: ast.If | ast.IfExp) -> bool:
    node.test = ast.Constant(False)
    return True


def computes_otherwise(node: ast.BinOp) -> bool:
    other = ARITHMETIC.get(type(node.op))
    if other is None:
        return False
    node.op = other()
    return True


def says_otherwise(node: ast.Constant) -> bool:
    if type(node.value) is bool:
        node.value = not node.value
        return True
    if type(node.value) is int:
        node.value += 1
        return True
    return False


def calls_otherwise(node: ast.Name) -> bool:
    if node.id not in NAMES:
        return False
    node.id = NAMES[node.id]
    return True


def returns_nothing(node: ast.Return) -> bool:
    if node.value is None or (isinstance(node.value, ast.Constant) and not node.value.value):
        return False
    node.value = ast.Constant(None)
    return True


def affirms(node: ast.UnaryOp) -> bool:
    if not isinstance(node.op, ast.Not):
        return False
    node.op = ast.UAdd()
    node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
    return True


def does_nothing(node: ast.Expr) -> bool:
    if isinstance(node.value, ast.Constant):
        return False
    node.value = ast.Constant(None)
    return True


def adds_nothing(node: ast.AugAssign) -> bool:
    node.value = copy.deepcopy(node.target)
    node.op = ast.BitOr() if isinstance(node.op, ast.BitOr) else node.op
    return isinstance(node.op, ast.BitOr)


def skips_rounds(node: ast.Break) -> bool:
    node.__class__ = ast.Continue
    return True


KINDS: dict[Change, Any] = {
    compares_otherwise: ast.Compare, connects_otherwise: ast.BoolOp, drops_first: ast.BoolOp, drops_last: ast.BoolOp,
    is_always_true: (ast.If, ast.IfExp), is_never_true: (ast.If, ast.IfExp), computes_otherwise: ast.BinOp,
    says_otherwise: ast.Constant, calls_otherwise: ast.Name, returns_nothing: ast.Return, affirms: ast.UnaryOp,
    does_nothing: ast.Expr, adds_nothing: ast.AugAssign, skips_rounds: ast.Break,
}  # fmt: skip
CHANGES = list(KINDS)


def drawn(paths: list[Path], root: Path, seed: int) -> Iterator[Mutant]:
    """The mutants of modules in an order that the seed decides."""
    found = [place for path in paths for place in places(path)]
    random.Random(seed).shuffle(found)
    yield from filter(None, (mutant_at(place, root) for place in found))


def named(names: set[str], root: Path) -> Iterator[Mutant]:
    """The mutants of these names, where they are left."""
    wanted = {tuple(name.split(":")[:2]) for name in names}
    for path in sorted({path for path, _ in wanted}):
        for place in places(root / path) if (root / path).exists() else ():
            mutant = mutant_at(place, root) if (path, str(place.line)) in wanted else None
            if mutant is not None and str(mutant) in names:
                names = names - {str(mutant)}
                yield mutant
