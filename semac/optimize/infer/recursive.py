"""Recursive types: a tree is `nil|[int tree tree]`.

Where an operation makes values that hold their own like, their type would grow level by level. When it passes the depth
of types, the parts that are like what they are in are folded: their types are joined in a node of that operation, and
stand there as containers of which only the node is known. Whoever takes such a part out gets
what the node has at the time (`unfolded`), and comes again when it grows. So a type has one level of structure, then
nodes. What doesn't ask for the nodes sees containers that may hold anything, which is always right.
"""

from __future__ import annotations

from typing import Any

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
        type_ = folded(solver, op, type_, (type_,))
    return limited(type_)


def like_of(part: Any, wholes: tuple[Type, ...]) -> Type | None:
    """The first of the types around a part that it is like."""
    return next((whole for whole in wholes if type(part) is Type and is_like(part, whole)), None)


def is_like(part: Type, whole: Type) -> bool:
    """Whether a part can be of the same node: a vector as long, a map with a keyword of the same name."""
    kinds = part.tags & whole.tags & CONTAINER
    if kinds & VECTOR and length(part) != length(whole):
        kinds &= ~VECTOR
    if kinds & DICT and not is_same_kind_of_map(part, whole):
        kinds &= ~DICT
    return bool(kinds)


def is_same_kind_of_map(part: Type, whole: Type) -> bool:
    if part.shape is None or whole.shape is None:
        return part.shape is whole.shape
    names = {key for key, _ in whole.shape}
    return any(key in names for key, _ in part.shape)


def length(type_: Type) -> int:
    """Of vectors of a type; -1 where they differ in length."""
    return len(type_.vec) if type_.vec is not None else -1


def folded(solver: Solver, op: Op, type_: Type, wholes: tuple[Type, ...]) -> Type:
    """A type of which the parts that are like a whole around them are put into nodes of an operation."""

    def part(type_: Type) -> Type:
        if not type_.tags & CONTAINER or (not type_.depth and not type_.nodes):
            return type_
        like = {other: like_of(other, wholes) for other in type_.nodes or {restrict(type_, CONTAINER)}}
        if not type_.nodes and None in like.values():
            return folded(solver, op, type_, (*wholes, type_))
        others: set[Any] = set()
        for other, whole in like.items():
            if type(other) is Type:
                node = node_of(solver, op, whole or other)
                solver.fill(node, folded(solver, op, other, (*wholes, other) if whole is None else wholes))
                others.add(node)
            else:
                others.add(other)
        inner = make(type_.tags & CONTAINER, nodes=frozenset(others))
        return join(restrict(type_, ~CONTAINER), inner)

    return with_parts(type_, part) if not type_.nodes else type_


def node_of(solver: Solver, op: Op, whole: Type) -> Node:
    """The node of an operation for parts that are like a type."""
    key = (op, whole.tags & CONTAINER, length(whole), whole.shape is None)
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
