"""Recursive types: a tree is `nil|[int tree tree]`.

Where an operation makes values that hold their own like, their type would grow level by level. When it passes the depth
of types, the parts that are like what they are in are folded: their types are joined in a node of that operation, and
stand there as containers of which only the node is known. Whoever takes such a part out gets
what the node has at the time (`unfolded`), and comes again when it grows. So a type has one level of structure, then
nodes. What doesn't ask for the nodes sees containers that may hold anything, which is always right.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from semac.anf.nodes import Op
from semac.anf.records import Node
from semac.optimize.infer.solver import Solver
from semac.types.depth import limited, with_parts
from semac.types.lattice import CONTAINER, DICT, MAX_DEPTH, VECTOR, Type, join, make, restrict


def bounded(solver: Solver, op: Op, type_: Type) -> Type:
    """The type of an operation's value, folded where it is a recursive one, and of a bounded depth."""
    if type_.depth > MAX_DEPTH:
        solver.folding.add(op)
    if op in solver.folding and type_.tags & CONTAINER:
        key = (op, type_, solver.times)
        known = solver.folded.get(key)  # what was put into nodes then is there
        if known is None:
            known = solver.folded[key] = folded(solver, op, type_, (kind_of(type_),), {})
        type_ = known
    return limited(type_)


class Kind(NamedTuple):
    """What decides whether a part is like a whole around it. length: of its vectors, -1 where they differ. keywords:
    those of its maps, None where they have others."""

    tags: int
    length: int
    keywords: frozenset[Any] | None


def kind_of(type_: Type) -> Kind:
    return Kind(
        type_.tags & CONTAINER,
        -1 if type_.vec is None else len(type_.vec),
        None if type_.shape is None else frozenset(key for key, _ in type_.shape),
    )


def is_like(part: Kind, whole: Kind) -> bool:
    """Whether a part can be of the same node: a vector as long, a map with a keyword of the same name."""
    tags = part.tags & whole.tags
    if tags & VECTOR and part.length != whole.length:
        tags &= ~VECTOR
    if tags & DICT and not is_same_kind_of_map(part, whole):
        tags &= ~DICT
    return bool(tags)


def is_same_kind_of_map(part: Kind, whole: Kind) -> bool:
    if part.keywords is None or whole.keywords is None:
        return part.keywords is whole.keywords
    return not part.keywords.isdisjoint(whole.keywords)


def folded(solver: Solver, op: Op, type_: Type, wholes: tuple[Kind, ...], known: dict[Any, Type]) -> Type:
    """A type of which the parts that are like a whole around them are put into nodes of an operation. known: what
    became of parts within wholes of the same kinds: types share their parts, and all that is asked of a whole is its
    kind."""

    def part(type_: Type) -> Type:
        if not type_.tags & CONTAINER or (not type_.depth and not type_.nodes):
            return type_
        result = known.get((type_, wholes))
        if result is None:
            result = known[type_, wholes] = changed(type_)
        return result

    def changed(type_: Type) -> Type:
        nodes: set[Any] = set()
        for other in type_.nodes or (type_,):
            if type(other) is not Type:
                nodes.add(other)
                continue
            kind = kind_of(other)
            whole = next((whole for whole in wholes if is_like(kind, whole)), None)
            around = wholes if whole is not None or kind in wholes else (*wholes, kind)
            if whole is None and not type_.nodes:
                return folded(solver, op, type_, around, known)
            node = node_of(solver, op, whole or kind)
            solver.fill(node, folded(solver, op, restrict(other, CONTAINER), around, known))
            nodes.add(node)
        inner = make(type_.tags & CONTAINER, nodes=frozenset(nodes))
        return join(restrict(type_, ~CONTAINER), inner)

    return with_parts(type_, part) if not type_.nodes else type_


def node_of(solver: Solver, op: Op, whole: Kind) -> Node:
    """The node of an operation for parts that are like a whole."""
    key = (op, whole.tags, whole.length, whole.keywords is None)
    node = solver.nodes.get(key)
    if node is None:
        node = solver.nodes[key] = Node()
    return node


def unfolded(solver: Solver, type_: Type) -> Type:
    """A type with one level of the structure of its nodes."""
    if not type_.nodes:
        return type_
    result = restrict(type_, ~CONTAINER)
    todo, seen = list(type_.nodes), set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        known = node if type(node) is Type else solver.read(node)
        if known.nodes:
            todo += known.nodes
            known = restrict(known, ~CONTAINER)
        result = join(result, known)
    return restrict(result, type_.tags)
