"""Variables that are copies of each other and don't conflict get one name."""

from __future__ import annotations

import ast

from semac.generate.coalesce.conflicts import Conflicts
from semac.generate.coalesce.scan import Names, copied, statements_in
from semac.generate.coalesce.unpacked import opened_by, unpack_items
from semac.generate.pyast import has_short_negation, negate, position

VAGUE = ("value", "part_", "arg_", "acc_", "items", "level", "result", "outcome")  # names that tell little
NESTING = (ast.For, ast.While, ast.With, ast.Try)
Copy = tuple[int, str, str]  # of a statement `y = x`: in how many loops it stands, y and x


def coalesce(body: list[ast.stmt], parameters: list[str], program: dict[str, str], outer: set[str]) -> list[ast.stmt]:
    """The statements of a function with fewer variables; changes them in place.

    parameters: the names of its parameters. program: the names of variables that the program named, and what it calls
    them. outer: the variables of others that it sets.
    """
    copies: list[Copy] = []
    loops: list[ast.For] = []
    for node, depth in statements_in(body):
        copy = copied(node)
        if copy is not None:
            copies.append((depth, *copy))
        elif isinstance(node, ast.For) and opened_by(node) is not None:
            loops.append(node)
    if not copies and not loops:
        return body
    names = Names(outer)
    names.statements(body)
    if not names.is_known:
        return body
    unpack_items(loops, names, program)
    return merge(body, copies, names, parameters, program) if copies else body


def merge(
    body: list[ast.stmt],
    copies: list[Copy],
    names: Names,
    parameters: list[str],
    program: dict[str, str],
) -> list[ast.stmt]:
    """The statements without copies that need not be."""
    bits = candidates(names, copies)
    if not bits:
        return body
    conflicts = Conflicts(names, bits)
    at_start = conflicts.block(body, 0)
    conflicts.set([name for name in parameters if name in bits], at_start)
    unbound = {name for name, bit in bits.items() if at_start >> bit & 1 and name not in parameters}
    classes = Classes(names, conflicts, set(parameters), program)
    for _, target, source in sorted(copies, key=lambda copy: -copy[0]):
        if target in bits and source in bits and not {target, source} & unbound:
            classes.join(target, source)
    idle = {node for node in conflicts.unwanted if copied(node)[0] not in program}  # type: ignore[index]
    renamed = classes.names()
    if not renamed and not idle:
        return body
    for old, new in renamed.items():
        for name in names.nodes[old]:
            name.id = new
    return without_copies(body, idle)


def candidates(names: Names, copies: list[Copy]) -> dict[str, int]:
    """Numbers for the variables that copies are about and that may be merged."""
    local = {
        name for _, target, source in copies for name in (target, source) if name not in names.kept and target != source
    }
    return {name: bit for bit, name in enumerate(sorted(local))}


class Classes:
    """Classes of variables that share a name."""

    def __init__(self, names: Names, conflicts: Conflicts, parameters: set[str], program: dict[str, str]) -> None:
        self.bits = conflicts.bits
        self.read = {name for reads in names.reads.values() for name in reads}
        self.program = program
        self.parameters = parameters
        self.members = {name: [name] for name in self.bits}  # one list for all of a class
        self.masks = {name: 1 << bit for name, bit in self.bits.items()}  # by the first of a class
        self.conflicts = {name: conflicts.of[bit] for name, bit in self.bits.items()}

    def join(self, a: str, b: str) -> None:
        one, other = self.members[a], self.members[b]
        if one is other or not self.may_join(one, other):
            return
        first, second = one[0], other[0]
        self.masks[first] |= self.masks[second]
        self.conflicts[first] |= self.conflicts[second]
        one += other
        for name in other:
            self.members[name] = one

    def may_join(self, one: list[str], other: list[str]) -> bool:
        first, second = one[0], other[0]
        if self.conflicts[first] & self.masks[second] or self.conflicts[second] & self.masks[first]:
            return False
        named = {self.program[name] for name in (*one, *other) if name in self.program}
        return len(named) <= 1 and sum(name in self.parameters for name in (*one, *other)) <= 1

    def names(self) -> dict[str, str]:
        """The variables that get another name, and which."""
        renamed = {}
        for members in {id(members): members for members in self.members.values()}.values():
            best = min(members, key=self.preference)
            renamed.update({name: best for name in members if name != best})
        return renamed

    def preference(self, name: str) -> tuple[bool, bool, bool, int, str]:
        return (
            name not in self.parameters,
            name not in self.read or name not in self.program,
            name.startswith(VAGUE),
            len(name),
            name,
        )


def without_copies(body: list[ast.stmt], idle: set[ast.stmt]) -> list[ast.stmt]:
    """The statements without those that set a variable to itself, and without idle ones."""
    kept: list[ast.stmt] = []
    for node in body:
        copy = copied(node)
        if copy is not None and (copy[0] == copy[1] or node in idle):
            continue
        if isinstance(node, ast.If):
            node.body, node.orelse = without_copies(node.body, idle), without_copies(node.orelse, idle)
            if not node.body and not node.orelse:
                kept.append(ast.Expr(node.test, **position(node)))
                continue
            if not node.body:
                node.test = negate(node.test, position(node))
                node.body, node.orelse = node.orelse, []
        elif isinstance(node, NESTING):
            node.body = without_copies(node.body, idle) or [ast.Pass(**position(node))]
            if not isinstance(node, ast.With):
                node.orelse = without_copies(node.orelse, idle)
            for handler in node.handlers if isinstance(node, ast.Try) else ():
                handler.body = without_copies(handler.body, idle) or [ast.Pass(**position(handler))]
        kept.append(branch_of_choice(node))
    return kept


def branch_of_choice(node: ast.stmt) -> ast.stmt:
    """`if not test: x = y` of `x = x if test else y`, and the like."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.IfExp) or len(node.targets) > 1:
        return node
    target, choice, loc = node.targets[0], node.value, position(node)
    if not isinstance(target, ast.Name):
        return node
    if isinstance(choice.orelse, ast.Name) and choice.orelse.id == target.id:
        test, value = choice.test, choice.body
    elif isinstance(choice.body, ast.Name) and choice.body.id == target.id and has_short_negation(choice.test):
        test, value = negate(choice.test, loc), choice.orelse
    else:
        return node
    return ast.If(test, [ast.Assign([target], value, **loc)], [], **loc)
