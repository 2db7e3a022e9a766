"""Types of loops over items: what an item can be, what accumulates, what a comprehension makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from semac.anf.nodes import Comprehension, For, Iteration
from semac.optimize.infer import patterns
from semac.optimize.infer.instantiate import items_of
from semac.optimize.infer.numbers import counter
from semac.types.lattice import (
    ANY,
    BOOL,
    COUNT,
    DICT,
    FLAT,
    MAP,
    NEVER,
    NIL,
    OTHER,
    SEQUENCE,
    STR,
    Type,
    atom,
    dict_of,
    join,
    list_of,
    restrict,
    vector_of,
)

if TYPE_CHECKING:
    from semac.optimize.infer.flow import Flow


def for_(flow: Flow, op: For) -> Type:
    inits = [flow.operand(init) for init in op.inits]
    item = bind_item(flow, op)
    for param, type_ in zip(op.params, inits if inits else [item], strict=bool(inits)):
        flow.solver.grow(param, type_)
    early = flow.scoped(op.body)
    return join(early, flow.scoped(op.after))


def comprehension(flow: Flow, op: Comprehension) -> Type:
    item = bind_item(flow, op)
    mark = flow.facts.mark()
    for stage in op.stages:
        value = flow.block(stage.block)
        if stage.how == "if":
            flow.facts.assume(stage.block.exit.value, True)  # type: ignore[union-attr]
        elif stage.var is not None:
            flow.solver.grow(stage.var, spread(flow, value))
    value = flow.block(op.body)
    flow.facts.undo(mark)
    return RESULTS[op.kind](item, value)


# Items


def bind_item(flow: Flow, op: Iteration) -> Type:
    """Gives the variables of the target the types that they have in a round; returns the type of an item."""
    item = HOW[op.how](flow, [flow.operand(source) for source in op.sources])
    patterns.bind(flow.solver, op.target, item)
    return item


def pair_of(flow: Flow, source: Type) -> Type:
    """An entry of a map."""
    if source is NEVER:
        return NEVER
    if source.only(DICT):
        return vector_of(source.key, source.value)
    flow.solver.escape(source)
    return vector_of(ANY, ANY)


def spread(flow: Flow, value: Type) -> Type:
    """What `flat-map` takes from a result: the items of a list or vector, or the value itself."""
    if value.tags & OTHER:  # a list of Python's
        flow.solver.escape(value)
        return ANY
    inside = items_of(flow, restrict(value, SEQUENCE)) if value.tags & SEQUENCE else NEVER
    return join(inside, restrict(value, ~SEQUENCE))


Items = Callable[["Flow", list[Type]], Type]

HOW: dict[str, Items] = {
    "items": lambda flow, types: items_of(flow, types[0]),
    "rest": lambda flow, types: items_of(flow, types[0]),
    "reversed": lambda flow, types: items_of(flow, types[0]),
    "indexed": lambda flow, types: vector_of(atom(COUNT), items_of(flow, types[0])),
    "zip": lambda flow, types: vector_of(*(items_of(flow, type_) for type_ in types)),
    "lines": lambda flow, types: atom(STR),
    "range": lambda flow, types: counter(types),
    "times": lambda flow, types: atom(COUNT),
    "pairs": lambda flow, types: pair_of(flow, types[0]),
}


# Results: of the type of an item, and that of what body gives for it


Result = Callable[[Type, Type], Type]
BOOL_TYPE, NIL_TYPE = atom(BOOL), atom(NIL)

RESULTS: dict[str, Result] = {
    "list": lambda item, value: list_of(value, FLAT),
    "any": lambda item, value: BOOL_TYPE,
    "every": lambda item, value: BOOL_TYPE,
    "find": lambda item, value: join(value, NIL_TYPE),
    "sort-by": lambda item, value: list_of(item, FLAT),
    "group-by": lambda item, value: dict_of(MAP, value, list_of(item, FLAT)),
    "key-by": lambda item, value: dict_of(MAP, value, item),
}
