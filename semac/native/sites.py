"""Where the operations of native functions stand in the bytecode of their Python twins.

The module is compiled once more with the number of each node as its column: bytecode tells of each instruction which
node it comes from. Columns change nothing else, so the instructions are those of the real code.
"""

from __future__ import annotations

import ast
import copy
import dis
import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from types import CodeType
from typing import Any

from semac.native.function import FunctionCode
from semac.native.scopes import COMPREHENSIONS

EMPTY = {dis.opmap[name] for name in ("NOP", "EXTENDED_ARG", "CACHE") if name in dis.opmap}
PLAIN = {
    dis.opmap[name]
    for name in ("LOAD_CONST", "LOAD_FAST", "STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "POP_TOP",
                 "RETURN_VALUE", "PUSH_NULL", "COPY", "SWAP", "RESUME", "MAKE_CELL", "COPY_FREE_VARS", "JUMP_FORWARD",
                 "JUMP_BACKWARD", "RETURN_CONST", "END_FOR", "PRECALL", "KW_NAMES", "TO_BOOL")
    if name in dis.opmap
}  # fmt: skip
ADDED = 1 << 24  # the number of nodes that linking has added
Path = tuple[int, ...]


class Twin:
    """The code of one function, in a module: where it is found from the module's code, and where nodes stand in it."""

    def __init__(self, path: Path, code: CodeType, places: dict[int, tuple[int, int]]) -> None:
        self.path = path
        self.code = code
        self.places = places


class Twins:
    """The code objects of a module, by the numbers of the nodes that they come from. code: the real one."""

    def __init__(self, tree: ast.Module, code: CodeType) -> None:
        marked = copy.deepcopy(tree)
        self.owners: dict[int, int] = {}
        for node in ast.walk(marked):
            if hasattr(node, "lineno"):
                node.col_offset = node.number  # type: ignore[attr-defined]
                node.end_col_offset = node.number + 1  # type: ignore[attr-defined]
        self.note_owners(marked, -1)
        self.empty: dict[tuple[str, int], list[int]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and all(map(is_nothing, node.body)):
                self.empty.setdefault((node.name, first_line(node)), []).append(node.number)  # type: ignore[attr-defined]
        self.by_node: dict[int, list[Twin]] = {}
        self.unfound: set[int] = set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # whoever compiled the module has seen them
            self.pair(compile(marked, "<marked>", "exec", dont_inherit=True), code, ())

    def note_owners(self, node: ast.AST, owner: int) -> None:
        """Notes in which function or comprehension each node stands."""
        stack = [(node, owner)]
        first: dict[ast.AST, int] = {}  # what comprehensions run over, which the code around them computes
        while stack:
            part, owner = stack.pop()
            owner = first.get(part, owner)
            number: int = part.number  # type: ignore[attr-defined]
            if number != ADDED:
                self.owners[number] = owner
            inside = number if isinstance(part, (ast.FunctionDef, ast.Lambda, *COMPREHENSIONS)) else owner
            if isinstance(part, COMPREHENSIONS):
                first[part.generators[0].iter] = owner
            stack += [(each, inside) for each in ast.iter_child_nodes(part)]

    def of(self, node: ast.AST, base: Path) -> Twin | None:
        """The code that a function or comprehension has, inside of that at a path."""
        number: int = node.number  # type: ignore[attr-defined]
        return next((twin for twin in self.by_node.get(number, ()) if twin.path[: len(base)] == base), None)

    def is_unfound(self, node: ast.AST) -> bool:
        """Whether the real code of a function of the top level, or of one inside of it, isn't found."""
        number: int = node.number  # type: ignore[attr-defined]
        return number in self.unfound

    def owners_of(self, marked: CodeType) -> list[int]:
        """The number of the function or comprehension that a code object is of; those of functions that are alike."""
        columns = [position[2] for position in marked.co_positions()]
        owners = Counter(self.owners[column] for column in columns if column and column in self.owners)
        if not owners:
            return self.empty.get((marked.co_name, marked.co_firstlineno), [])
        return [owners.most_common(1)[0][0]]

    def pair(self, marked: CodeType, real: CodeType, path: Path, tops: Sequence[int] = ()) -> None:
        """tops: the function of the top level that both are in."""
        owners = self.owners_of(marked)
        if path and owners:
            places = zip(instructions(marked), instructions(real), strict=True)
            plain: dict[int, tuple[int, int]] = {}
            failing: dict[int, tuple[int, int]] = {}
            for (operation, _, position), (_, at, real_position) in places:
                if position[2] is not None:
                    (plain if operation in PLAIN else failing)[position[2]] = at, real_position[0] or 0
            for owner in owners:
                self.by_node.setdefault(owner, []).append(Twin(path, real, {**plain, **failing}))
        inner = [(at, value) for at, value in enumerate(real.co_consts) if isinstance(value, CodeType)]
        left = list(inner)
        for value in marked.co_consts:
            if not isinstance(value, CodeType):
                continue
            outermost = tops or self.owners_of(value)
            # equal functions may be one constant
            found = next((each for each in [*left, *inner] if is_like(value, each[1])), None)
            if found is None:
                self.unfound.update(outermost)
                continue
            if found in left:
                left.remove(found)
            self.pair(value, found[1], (*path, found[0]), outermost)


def is_nothing(statement: ast.stmt) -> bool:
    """Whether a statement leaves no instruction."""
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, ast.Pass | ast.Global | ast.Nonlocal)


def first_line(node: ast.FunctionDef) -> int:
    """The line where the code of a function begins: that of its first decorator."""
    return min(node.lineno, *(each.lineno for each in node.decorator_list)) if node.decorator_list else node.lineno


Position = tuple[int | None, int | None, int | None, int | None]


def instructions(code: CodeType) -> list[tuple[int, int, Position]]:
    """(operation, offset, position) of the instructions that do something."""
    operations = islice(code.co_code, 0, None, 2)
    rows = enumerate(zip(operations, code.co_positions(), strict=False))
    return [(operation, 2 * at, position) for at, (operation, position) in rows if operation not in EMPTY]


def is_like(marked: CodeType, real: CodeType) -> bool:
    """Whether two code objects come from the same function, but for columns and what the compiler has added."""
    return (
        marked.co_varnames == real.co_varnames and marked.co_names == real.co_names
        and marked.co_freevars == real.co_freevars
        and marked.co_firstlineno == real.co_firstlineno
        and [row[0] for row in instructions(marked)] == [row[0] for row in instructions(real)]
    )  # fmt: skip


def site_rows(f: FunctionCode, twins: Twins, base: Path) -> tuple[list[tuple[int, int, int, int]], list[Path]]:
    """(code, site around, instruction, line) of the places of a function, and where its code objects are found.

    base: where the function of the top level around it is. Python leaves out functions that no code gets to: these have
    none.
    """
    own = twins.of(f.node, base)
    if own is None:
        return [(0, -1, 0, 0) for _ in f.sites], []
    codes: list[Twin | None] = [own, *(twins.of(node, own.path) for node in f.comprehension_nodes)]
    rows = []
    for node_number, code, up in f.sites:
        twin = codes[code]
        if twin is None:  # this Python has no code of its own for comprehensions
            code, up, twin = 0, -1, own
        at, line = twin.places.get(node_number) or first_place(twin)
        rows.append((code, up, at, line))
    return rows, [twin.path if twin is not None else () for twin in codes]


def first_place(twin: Twin) -> tuple[int, int]:
    """Where a function begins: for what has no place of its own."""
    return 0, twin.code.co_firstlineno


def relative(path: Path, base: Path) -> Path:
    assert path[: len(base)] == base
    return path[len(base) :]


def code_at(code: Any, path: Path) -> Any:
    for index in path:
        code = code.co_consts[index]
    return code
