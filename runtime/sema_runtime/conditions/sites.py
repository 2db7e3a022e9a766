"""Calls in place of which the code of the called function stands (semac/optimize/calls.py), as frames of a trace.

An instruction that was part of a called function keeps its line and column. Where its end column is MARK or more, the
multiple of MARK is the number of the call: a site. The table of the sites of a code object is a constant of the code,
with a line for each: `number:function:line:column:outer`, of the called function's Python name, the place of the call,
and the site that this call itself is part of, 0 for none. A local function, which is nowhere else, has LOCAL in front
of its name; the code around it then stands for its own.
"""

from __future__ import annotations

from itertools import islice

from sema_runtime.packed_code import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

    from sema_runtime.conditions.tracebacks import Call, Position

COMPREHENSIONS = frozenset(("<listcomp>", "<dictcomp>", "<genexpr>"))  # code of functions that have no other
MARK = 1 << 16  # columns in an end column for each site
SITES = "sema sites"  # what the constant begins with
LOCAL = "."
CACHE = 0  # the opcode of what stands behind an instruction for its caches


class Site:
    """A call. function: the Python name of the called one. outer: the site that the call is part of, 0 for none."""

    __slots__ = ("col", "function", "line", "outer")

    def __init__(self, function: str, line: int, col: int, outer: int) -> None:
        self.function = function
        self.line = line
        self.col = col
        self.outer = outer


def encoded(sites: dict[int, Site]) -> str:
    """The constant of a code object that has sites."""
    return "\n".join(
        [SITES, *(f"{number}:{s.function}:{s.line}:{s.col}:{s.outer}" for number, s in sorted(sites.items()))]
    )


def decoded(code: CodeType) -> dict[int, Site]:
    """The sites of a code object."""
    for constant in code.co_consts[-2:]:
        if type(constant) is str and constant.startswith(SITES):
            rows = (line.split(":") for line in constant.split("\n")[1:])
            return {int(row[0]): Site(row[1], int(row[2]), int(row[3]), int(row[4])) for row in rows}
    return {}


def expanded(calls: list[Call], position: Callable[[CodeType, int | Position], Position]) -> list[Call]:
    """Calls, outermost first, with those in place of which the called functions' code stands. position: of a call.

    A comprehension has a frame of its own up to Python 3.11. It is none of the program's where it stands at the call of
    `map`, or of another builtin, that it was made of: then the builtin calls no function of the program.
    """
    parts: list[Call] = []
    around: list[Site] = []  # the sites of the call before, outermost first
    for call in calls:
        chain = _chain(call)
        own = _expanded(call, chain)
        if call[0].co_name in COMPREHENSIONS and parts and parts[-1][1] is call[1] and len(own) > len(chain):
            own = own[_common(chain, around) :]  # the frame of the function around it has shown the others
            if position(own[0][0], own[0][2]) == position(parts[-1][0], parts[-1][2]):
                own = own[1:]
        parts += own
        around = chain
    return parts


def _common(chain: list[Site], other: list[Site]) -> int:
    """How many sites two chains have in common at their beginnings."""
    same = [
        a.line == b.line and a.col == b.col and a.function == b.function for a, b in zip(chain, other, strict=False)
    ]
    return next((index for index, equal in enumerate(same) if not equal), len(same))


def _chain(call: Call) -> list[Site]:
    """The sites that an active instruction is part of, outermost first."""
    code, _, instruction, _ = call
    sites = decoded(code)
    if not sites or type(instruction) is not int:
        return []
    end_col = next(islice(code.co_positions(), instruction // 2, None), (None, None, None, None))[3]
    site = sites.get((end_col or 0) // MARK)
    chain: list[Site] = []
    while site is not None:
        chain.insert(0, site)
        site = sites.get(site.outer)
    return chain


def _expanded(call: Call, chain: list[Site]) -> list[Call]:
    code, namespace, instruction, tb_line = call
    if not chain or type(instruction) is not int:
        return [call]
    line, _, col, _ = next(islice(code.co_positions(), instruction // 2, None), (None, None, None, None))
    parts: list[Call] = []
    caller = code
    for site in chain:
        parts.append((caller, namespace, (site.line, site.col), site.line))
        callee = _code_of(site.function, namespace, caller)
        if callee is None:  # the program has lost the function
            return [call]
        caller = callee
    if line is not None and col is not None:
        parts.append((caller, namespace, _twin(caller, code, instruction, line, col), tb_line))
    return parts


def _code_of(function: str, namespace: dict[str, Any], caller: CodeType) -> CodeType | None:
    """The code of a called function; None where the program has lost it."""
    if function.startswith(LOCAL):
        name = function.removeprefix(LOCAL)
        return caller.replace(co_name=name, co_qualname=f"{caller.co_qualname}.<locals>.{name}")
    code: CodeType | None = getattr(namespace.get(function), "__code__", None)
    return None if code is None else whole(code, namespace)


def _twin(code: CodeType, other: CodeType, instruction: int, line: int, col: int) -> Any:
    """The instruction of a function's own code for one of the code that stands in its place; else its position."""
    operations = other.co_code
    while operations[instruction] == CACHE and instruction:
        instruction -= 2
    wanted = operations[instruction]
    own = code.co_code
    places = enumerate(code.co_positions())
    twins = [
        2 * at for at, (start, _, column, _) in places if start == line and column == col and own[2 * at] == wanted
    ]
    if len(twins) > 1:  # one form can make several calls: `nth(xs, 0)` behind a test with `len(xs)`
        from sema_runtime.conditions.callee import called_name

        called = called_name(other, instruction)
        return next((twin for twin in twins if called_name(code, twin) == called), twins[0])
    return twins[0] if twins else (line, col + 1)
