"""Where the operations of native functions stand in the bytecode of their Python twins.

The module is compiled once more with the number of each node as its line: bytecode tells of each instruction which node
it comes from. The real bytecode has the same instructions but for some that do nothing, so they are counted off.
"""

from __future__ import annotations

import ast
import copy
import dis
from itertools import islice
from types import CodeType
from typing import Any

from semac.native.function import FunctionCode
from semac.native.values import NotNative

EMPTY = {dis.opmap[name] for name in ("NOP", "EXTENDED_ARG", "CACHE") if name in dis.opmap}
PLAIN = {
    dis.opmap[name]
    for name in ("LOAD_CONST", "LOAD_FAST", "STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "POP_TOP",
                 "RETURN_VALUE", "PUSH_NULL", "COPY", "SWAP", "RESUME", "MAKE_CELL", "COPY_FREE_VARS", "JUMP_FORWARD",
                 "JUMP_BACKWARD", "RETURN_CONST", "END_FOR", "PRECALL", "KW_NAMES", "TO_BOOL")
    if name in dis.opmap
}  # fmt: skip
Path = tuple[int, ...]


class Twin:
    """The code of one function, in a module: where it is found from the module's code, and where nodes stand in it."""

    def __init__(self, path: Path, code: CodeType, places: dict[int, tuple[int, int]]) -> None:
        self.path = path
        self.code = code
        self.places = places


class Twins:
    """The code objects of a module, by the numbers of the nodes that they come from. code: the real one."""

    def __init__(self, tree: ast.Module, code: CodeType, optimize: int = -1) -> None:
        marked = copy.deepcopy(tree)
        for node in ast.walk(marked):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = node.number + 1  # type: ignore[attr-defined]
                node.col_offset, node.end_col_offset = 0, 1  # type: ignore[attr-defined]
        self.by_node: dict[int, Twin] = {}
        self.lost = 0
        self.pair(compile(marked, "<marked>", "exec", dont_inherit=True, optimize=optimize), code, ())

    def pair(self, marked: CodeType, real: CodeType, path: Path) -> None:
        if path:
            self.by_node[marked.co_firstlineno - 1] = Twin(path, real, self.placed(marked, real))
        others = [(at, value) for at, value in enumerate(real.co_consts) if isinstance(value, CodeType)]
        for value in marked.co_consts:
            if isinstance(value, CodeType):
                found = next((each for each in others if is_like(value, each[1])), None)
                if found is not None:
                    others.remove(found)
                    self.pair(value, found[1], (*path, found[0]))
                else:  # equal functions are one constant
                    same = ((at, each) for at, each in enumerate(real.co_consts) if isinstance(each, CodeType))
                    found = next((each for each in same if is_like(value, each[1])), None)
                    if found is not None:
                        self.pair(value, found[1], (*path, found[0]))

    def placed(self, marked: CodeType, real: CodeType) -> dict[int, tuple[int, int]]:
        """The instruction and the line of each node that can fail."""
        ours, theirs = instructions(marked), instructions(real)
        if [row[0] for row in ours] != [row[0] for row in theirs]:
            self.lost += 1
            return {}
        places: dict[int, tuple[int, int]] = {}
        plain: dict[int, tuple[int, int]] = {}
        for (operation, _, line), (_, at, real_line) in zip(ours, theirs, strict=True):
            if line:
                (plain if operation in PLAIN else places)[line - 1] = at, real_line or 0
        return {**plain, **places}


def instructions(code: CodeType) -> list[tuple[int, int, int | None]]:
    """(operation, offset, line) of the instructions that do something."""
    lines = (position[0] for position in code.co_positions())
    operations = islice(code.co_code, 0, None, 2)
    rows = zip(operations, lines, strict=False)
    return [(operation, 2 * at, line) for at, (operation, line) in enumerate(rows) if operation not in EMPTY]


def is_like(marked: CodeType, real: CodeType) -> bool:
    """Whether two code objects come from the same function, but for positions and what the compiler has added."""
    return (
        marked.co_qualname == real.co_qualname and marked.co_varnames == real.co_varnames
        and marked.co_names == real.co_names and marked.co_freevars == real.co_freevars
        and [row[0] for row in instructions(marked)] == [row[0] for row in instructions(real)]
    )  # fmt: skip


def site_rows(f: FunctionCode, twins: Twins) -> tuple[list[tuple[int, int, int, int]], list[Path]]:
    """(code, site around, instruction, line) of the places of a function, and where its code objects are found."""
    number: int = f.node.number  # type: ignore[union-attr]
    own = twins.by_node.get(number)
    if own is None:
        raise NotNative("its code is not found")
    codes: list[Twin | None] = [own]
    for node in f.comprehension_nodes:
        codes.append(twins.by_node.get(node.number))  # type: ignore[attr-defined]
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
