"""What operations other than calls of builtins do with the places of `flow.py`."""

from __future__ import annotations

from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Expr, Op, Ref, Result
from semac.anf.pattern_nodes import AnyPattern, VarPattern
from semac.ir.intrinsics import ADD_KNOWN, BY_DEFAULT, KEYWORD_GET, KNOWN_MULTI, LEVEL, LOOK, UPDATED
from semac.ir.nodes import Function
from semac.optimize.calls import function_of
from semac.optimize.fields.carriers import is_keyword
from semac.optimize.rows.flow import SELECTING, Flows, Rule
from semac.optimize.rows.places import Place, found, inside, join, keys_of, part_of


def held_function(value: Expr) -> Function | None:
    return function_of(value.var) if type(value) is Ref else None


def move(flows: Flows, op: Any, result: Place) -> None:
    join(result, flows.value(op.value))


def read(flows: Flows, op: anf.Read, result: Place) -> None:
    flows.hold(op.var)
    flows.read.add(op.var)
    join(result, flows.of(op.var))


def assign(flows: Flows, op: anf.Assign, result: Place) -> None:
    if op.define and held_function(op.value) is op.var.known_function is not None:
        return  # the variable is the function's name
    if op.var.is_global:
        flows.defined.add(op.var)
    flows.bound.add(op.var)
    join(flows.of(op.var), flows.value(op.value))
    join(result, flows.of(op.var))


def nothing(flows: Flows, op: Op, result: Place) -> None:
    """A declaration."""


def call(flows: Flows, op: anf.Call, result: Place) -> None:
    flows.call(flows.value(op.head), op.args, result)


def call_runtime(flows: Flows, op: CallRuntime, result: Place) -> None:
    if op.path in (KEYWORD_GET, LOOK):
        subject = flows.value(op.args[0])
        flows.look_up(subject, op.args[1], result)
        for default in op.args[2:]:
            subject.is_open = True
            join(result, flows.value(default))
    elif op.path in (UPDATED, LEVEL):
        subject = flows.value(op.args[0])
        subject.is_seen = True
        if not is_keyword(op.args[1]):
            subject.is_open = True
            flows.key(subject, op.args[1])
        join(result, subject)
        if op.path == LEVEL:
            found(result).make(frozenset())
    elif op.path in (KNOWN_MULTI, ADD_KNOWN):
        for value in op.args:
            flows.value(value)  # for debuggers alone
        result.is_deep = True
    elif op.path == BY_DEFAULT and flows.is_closed:  # it raises, and names the dispatch value
        flows.show(op.args[1])
    else:
        flows.unknown(op, result)


def make_vector(flows: Flows, op: anf.MakeVector, result: Place) -> None:
    result.is_open = result.is_mixed = True
    result.sizes |= {len(op.items)}
    for index, item in enumerate(op.items):
        join(part_of(result, index), flows.value(item))


def make_map(flows: Flows, op: anf.MakeMap, result: Place) -> None:
    flows.makes_any = True
    flows.put(result, op.items)
    found(result).make(frozenset(key.value for key in op.items[0::2] if is_keyword(key)))  # type: ignore[union-attr]


def branches(flows: Flows, op: anf.If, result: Place) -> None:
    flows.value(op.test)
    flows.block(op.then, result)
    flows.block(op.otherwise, result)


def logic(flows: Flows, op: anf.Logic, result: Place) -> None:
    join(result, flows.value(op.first))
    flows.block(op.rest, result)


def loop(flows: Flows, op: anf.Loop, result: Place) -> None:
    flows.bound.update(op.params)
    for param, init in zip(op.params, op.inits, strict=True):
        join(flows.of(param), flows.value(init))
    flows.block(op.body, result)


def while_(flows: Flows, op: anf.While, result: Place) -> None:
    flows.block(op.test, flows.new())
    flows.block(op.body, flows.new())


def destructure(flows: Flows, op: anf.Destructure, result: Place) -> None:
    flows.take_apart(op.pattern, flows.value(op.value))
    join(result, flows.value(op.value))


def match(flows: Flows, op: anf.Match, result: Place) -> None:
    subject = flows.value(op.subject)
    catches = any(type(one.pattern) in (AnyPattern, VarPattern) and one.guard is None for one in op.clauses)
    subject.is_deep |= not catches and not op.lenient  # the error shows it
    for clause in op.clauses:
        flows.bind(clause.pattern, subject, True)
        if clause.guard is not None:
            flows.block(clause.guard, flows.new())
        flows.block(clause.body, result)


def throw(flows: Flows, op: anf.Throw, result: Place) -> None:
    flows.show(op.value)


def try_(flows: Flows, op: anf.Try, result: Place) -> None:
    flows.of(op.var).is_deep = True
    flows.block(op.body, result)
    flows.block(op.handler, result)


def item_of(flows: Flows, op: Any) -> Place:
    """The place of what an iteration goes through."""
    sources = [flows.value(source) for source in op.sources]
    for source in sources:
        source.is_open = True
    item = flows.new()
    if op.how in ("items", "reversed", "rest"):
        join(item, inside(sources[0]))
    elif op.how == "indexed":
        join(part_of(item, 1), inside(sources[0]))
        item.is_open = True
        item.sizes |= {2}
    elif op.how == "zip":
        item.is_open = True
        item.sizes |= {len(sources)}
        for index, source in enumerate(sources):
            join(part_of(item, index), inside(source))
    elif op.how == "pairs":
        item.sizes |= {2}
        item.is_open = True
        sources[0].hide_nothing()
        join(part_of(item, 0), keys_of(sources[0]))
        join(part_of(item, 1), inside(sources[0]))
    else:
        for source in sources:
            source.is_deep = True
        found(item).is_deep = op.how not in ("lines", "range", "times", "text")
    return found(item)


def for_(flows: Flows, op: anf.For, result: Place) -> None:
    item = item_of(flows, op)
    flows.bind(op.target, item)
    flows.bound.update(op.params)
    for param, init in zip(op.params, op.inits, strict=False):
        join(flows.of(param), flows.value(init))
    if op.how == "rest":
        for param in op.params:
            join(flows.of(param), item)
    flows.block(op.body, result)
    flows.block(op.after, result)


def is_list(block: Block) -> bool:
    """Whether the value of a block surely is a list."""
    value = block.exit.value if type(block.exit) is Result else None
    op = value.var.op if type(value) is Ref else None
    return (type(op) is anf.Comprehension and op.kind == "list") or (type(op) is CallBuiltin and op.name == "list")


def comprehension(flows: Flows, op: anf.Comprehension, result: Place) -> None:
    item = item_of(flows, op)
    flows.bind(op.target, item)
    for stage in op.stages:
        staged = flows.new()
        flows.block(stage.block, staged)
        if stage.var is not None:
            flows.bound.add(stage.var)
            join(flows.of(stage.var), inside(staged) if is_list(stage.block) else staged)
        if stage.how != "if":
            found(staged).hide_nothing()
            found(staged).is_deep |= not is_list(stage.block)
    value = flows.new()
    flows.block(op.body, value)
    if op.kind == "list":
        found(result).hide_nothing()
        join(inside(result), value)
    elif op.kind == "sort-by" and not op.stages:
        found(value).is_key = True
    elif op.kind not in ("any", "every") or op.stages:
        found(value).is_deep = True
    if op.kind in SELECTING and op.stages:
        found(result).is_deep = found(item).is_deep = True
    elif op.kind == "find":
        join(result, item)
    elif op.kind == "sort-by":
        found(result).hide_nothing()
        join(inside(result), item)
    elif op.kind == "group-by":
        found(result).hide_nothing()
        inside(result).hide_nothing()
        join(inside(inside(result)), item)
        join(keys_of(result), value)
    elif op.kind == "key-by":
        found(result).hide_nothing()
        join(inside(result), item)
        join(keys_of(result), value)


RULES: dict[type, Rule] = {
    anf.Move: move, anf.Read: read, anf.Assign: assign, anf.Declare: nothing, anf.Call: call,
    CallRuntime: call_runtime, anf.MakeVector: make_vector, anf.MakeMap: make_map, anf.If: branches, anf.Logic: logic,
    anf.Loop: loop, anf.While: while_, anf.Destructure: destructure, anf.Match: match, anf.Throw: throw, anf.Try: try_,
    anf.For: for_, anf.Comprehension: comprehension,
}  # fmt: skip
