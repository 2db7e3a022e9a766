"""Loops over items: `for` statements and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sema_runtime.values.lists import List
from semac.anf.nodes import (
    CallBuiltin,
    Comprehension,
    Expr,
    For,
    If,
    Iteration,
    Lit,
    Python,
    Ref,
    Result,
    Stage,
    VarPattern,
)
from semac.anf.walk import blocks, bound
from semac.generate.context import SEVERAL, Context
from semac.generate.destination import Dest
from semac.generate.effects import PLAIN_KEYS, value_type
from semac.generate.functions import count_asked, own_operations
from semac.generate.fusion import is_part_of_map, values_of
from semac.generate.loops import always_jumps, go_on_around, jumps
from semac.generate.nest import block_weight, is_ordered
from semac.generate.pyast import (
    Loc,
    assign,
    attribute,
    binop,
    builtin,
    call,
    const,
    drop_trailing_continue,
    name,
    subscript,
)
from semac.generate.sources import (
    is_at_hand,
    is_expression,
    is_list_object,
    is_python_range,
    items_at_hand,
    iterable,
    range_of,
    target,
)
from semac.generate.truth import value_of
from semac.ir.intrinsics import STORED
from semac.ir.nodes import Var
from semac.types.lattice import LIST, SEQUENCE

HOFS = "sema_runtime.lib.collections.hofs:"
LIST_CLASS = "sema_runtime.values.lists:List"

# Loops


def for_(c: Context, op: For, dest: Dest) -> None:
    params = [c.bound(var) for var in op.params]
    for var, init in zip(params, op.inits, strict=False):
        c.stmt(init, Dest("assign", var))
    first: Iteration = op.leads[0] if op.leads else op
    over = iterable(c, first)
    loc = c.loc(op)
    if op.how == "rest":
        over = c.save(call(c.runtime(HOFS + "first_and_rest", loc), [over], loc), "items", loc)
        c.append(assign(params[0], call(builtin("next", loc), [over], loc), loc))
    bound = target(c, first.target, loc)
    jumps_past = bool(jumps(op.body) - {op})
    leaves = jumps_past or (dest.kind != "return" and not always_jumps(op.body, op))
    c.loops.append(op)
    body = c.in_block(lambda: round_of(c, op, dest, loc))[1]
    c.loops.pop()
    loop = ast.For(bound, over, body or [ast.Pass(**loc)], [], **loc)
    finish_loop(c, loop, dest, leaves, lambda d: c.block(op.after, d))
    go_on_around(c, jumps_past, dest, loc)


def round_of(c: Context, op: For, dest: Dest, loc: Loc) -> None:
    """What a round does."""
    if not op.leads and type(op.target) is VarPattern:
        c.hold_type(op.target.var)
    led(c, op, op.leads, dest, loc)


def led(c: Context, op: For, leads: Sequence[Comprehension], dest: Dest, loc: Loc) -> None:
    """What a round does: the stages of what makes the items, then the body."""
    if not leads:
        body = c.statements(op.body, leaving(dest))
        drop_trailing_continue(body)
        for statement in body:
            c.append(statement)
        return
    source, *more = leads
    pattern = more[0].target if more else op.target
    assert type(pattern) is VarPattern

    def inside() -> None:
        item = value(c, source)
        if not (type(item) is Ref and item.var is pattern.var):
            c.stmt(item, Dest("assign", c.bound(pattern.var)))
        led(c, op, more, dest, loc)

    staged(c, source.stages, loc, inside)


def result_param(op: For) -> Var | None:
    """The parameter of a loop that nothing leaves early, where its last value is the loop's."""
    exit_ = op.after.exit
    value = exit_.value if type(exit_) is Result and not op.after.instrs else None
    if type(value) is not Ref or value.var not in op.params or not always_jumps(op.body, op):
        return None
    return value.var


def leaving(dest: Dest) -> Dest:
    """Where a value goes that ends a loop."""
    return dest if dest.kind == "return" else Dest(dest.kind, dest.target, after=True)


def finish_loop(c: Context, loop: ast.For, dest: Dest, leaves: bool, after: Callable[[Dest], Any]) -> None:
    """A loop and what follows where nothing has left it early. leaves: whether `break` does."""
    if not leaves:
        c.append(loop)
        after(dest)
        return
    loop.orelse = c.in_block(lambda: after(Dest(dest.kind, dest.target)))[1]
    c.append(loop)
    if dest.after:
        c.append(ast.Break(**c.current))


# Comprehensions


def comprehension(c: Context, op: Comprehension) -> ast.expr:
    """A comprehension all of whose blocks are expressions."""
    kinds = c.kinds
    c.repeats += 1
    made = EXPRESSIONS[op.kind](c, op, c.loc(op))
    c.repeats -= 1
    c.kinds = kinds
    c.names.give_back({var.py for var in bound(op)})
    return made


def list_expression(c: Context, op: Comprehension, loc: Loc) -> ast.expr:
    generators = generators_of(c, op, loc)
    made = joined(ast.ListComp(c.expr(value_of(op.body)), generators, **loc))
    return made if op.bare else call(c.runtime(LIST_CLASS, loc), [made], loc)


def joined(made: ast.ListComp) -> ast.ListComp:
    """`[f(y) for x in xs for y in ys]` in place of `[part for x in xs for part in [f(y) for y in ys]]`."""
    last, item = made.generators[-1], made.elt
    inner = last.iter
    if len(made.generators) < 2 or last.ifs or not isinstance(inner, ast.ListComp):
        return made
    if not (isinstance(last.target, ast.Name) and isinstance(item, ast.Name) and item.id == last.target.id):
        return made
    if any(isinstance(node, ast.Lambda | ast.GeneratorExp) for node in ast.walk(inner)):
        return made  # a function keeps the variables of its own round
    made.elt, made.generators = inner.elt, [*made.generators[:-1], *inner.generators]
    return made


def any_expression(c: Context, op: Comprehension, loc: Loc) -> ast.expr:
    generators = generators_of(c, op, loc)
    function = "any" if op.kind == "any" else "all"
    return call(builtin(function, loc), [ast.GeneratorExp(c.test(value_of(op.body)), generators, **loc)], loc)


def find_expression(c: Context, op: Comprehension, loc: Loc) -> ast.expr:
    generators = generators_of(c, op, loc)
    found = ast.GeneratorExp(c.expr(value_of(op.body)), generators, **loc)
    return call(builtin("next", loc), [found, const(None, loc)], loc)


def sort_expression(c: Context, op: Comprehension, loc: Loc) -> ast.expr:
    """Sorted by keys that Python orders as the language does."""
    over = iterable(c, op)
    assert type(op.target) is VarPattern
    item = ast.arg(c.bind(op.target.var), None, **loc)
    key = ast.Lambda(ast.arguments([], [item], None, [], [], None, []), c.expr(value_of(op.body)), **loc)
    made = call(builtin("sorted", loc), [over], loc, [ast.keyword("key", key, **loc)])
    return made if op.bare else call(c.runtime(LIST_CLASS, loc), [made], loc)


def sum_expression(c: Context, op: Comprehension, loc: Loc) -> ast.expr:
    """`sum(xs)` of ints."""
    value = value_of(op.body)
    if not op.stages and type(op.target) is VarPattern and type(value) is Ref and value.var is op.target.var:
        source = op.sources[0]
        if op.how == "items" and type(source) is CallBuiltin and is_part_of_map(source) and source.name == "vals":
            op.how, op.sources = "text", [values_of(source)]
        return call(builtin("sum", loc), [iterable(c, op)], loc)
    generators = generators_of(c, op, loc)
    return call(builtin("sum", loc), [ast.ListComp(c.expr(value), generators, **loc)], loc)


EXPRESSIONS: dict[str, Callable[[Context, Comprehension, Loc], ast.expr]] = {
    "list": list_expression,
    "any": any_expression,
    "every": any_expression,
    "find": find_expression,
    "sum": sum_expression,
    "sort-by": sort_expression,
}


def generators_of(c: Context, op: Comprehension, loc: Loc) -> list[ast.comprehension]:
    """`for x in xs if test for y in f(x)`."""
    over = iterable(c, op)
    generators = [ast.comprehension(target(c, op.target, loc), over, [], 0), *held_type(c, op, loc)]
    for stage in op.stages:
        if stage.how == "if":
            generators[-1].ifs.append(c.test(value_of(stage.block)))
            continue
        assert stage.var is not None
        more = spread(c, value_of(stage.block))
        generators.append(ast.comprehension(ast.Name(c.bind(stage.var), ast.Store(), **loc), more, [], 0))
    return generators


def held_type(c: Context, op: Comprehension, loc: Loc) -> list[ast.comprehension]:
    """`for kind in [type(x)]`, which Python compiles to an assignment, where the type of each item is asked for several
    times (`Context.hold_type`)."""
    if not c.module.keeps_types or type(op.target) is not VarPattern:
        return []
    var = op.target.var
    counts: dict[Var, int] = {}
    for part in own_operations([op.body, *(stage.block for stage in op.stages)]):
        count_asked(part, counts)
    if counts.get(var, 0) < SEVERAL or var.assigned or not var.py:
        return []
    asked = call(builtin("type", loc), [name(var.py, loc)], loc)
    held = c.names.temporary("kind")
    c.kinds = {**c.kinds, var.py: (held, c.repeats)}
    return [ast.comprehension(ast.Name(held, ast.Store(), **loc), ast.List([asked], ast.Load(), **loc), [], 0)]


def spread(c: Context, value: Expr) -> ast.expr:
    """What `flat-map` takes from a result: the items of a list or vector, or the value alone."""
    if type(value) is If and value.type.only(SEQUENCE) and all(map(is_expression, blocks(value))):
        test, loc = c.test(value.test), c.loc(value)
        then, otherwise = (spread(c, value_of(block)) for block in blocks(value))
        return ast.IfExp(test, then, otherwise, **loc)
    if type(value) is Lit and type(value.value) is List and not value.value:
        return ast.Tuple([], ast.Load(), **c.current)
    if is_python_range(value):
        return range_of(c.exprs(value.args), c.loc(value))
    if type(value) is Comprehension:
        value.bare = True  # nobody else sees the list
    printed = c.expr(value)
    if not value.type.only(SEQUENCE):
        return call(c.runtime(HOFS + "spread", c.current), [printed], c.current)
    if type(value) is Python and value.kind == "List" and isinstance(printed, ast.Call) and printed.args:
        return printed.args[0]  # a list that is written out
    if value.type.only(LIST) and is_list_object(value) and not c.module.unit.is_text:
        return items_at_hand(value, printed, c.current)
    return printed


# The same as statements

Whole = Callable[[ast.expr], None]


def collect(c: Context, op: Comprehension, dest: Dest) -> None:
    """A loop that does what a comprehension would."""
    if op.weight and op.kind in EXPRESSIONS:
        c.finish(comprehension(c, op), dest, c.loc(op))
        return
    COLLECTORS[op.kind](c, op, dest, c.loc(op))


def loop_over(
    c: Context, op: Comprehension, over: ast.expr, loc: Loc, inside: Callable[[], None], whole: Whole | None = None
) -> ast.For:
    """The loop over the items: the stages, then what inside() prints. whole: prints what happens to all that the last
    stage gives at once."""
    bound = target(c, op.target, loc)
    c.loops.append(None)
    body = c.in_block(lambda: staged(c, op.stages, loc, inside, whole))[1]
    c.loops.pop()
    return ast.For(bound, over, body or [ast.Pass(**loc)], [], **loc)


def staged(c: Context, stages: list[Stage], loc: Loc, inside: Callable[[], None], whole: Whole | None = None) -> None:
    """Statements of stages, what inside() prints where an item gets through them."""
    if not stages:
        inside()
        return
    stage, *more = stages
    c.instructions(stage.block)
    if stage.how == "if":
        test = c.test(value_of(stage.block))
        body = c.in_block(lambda: staged(c, more, loc, inside, whole))[1]
        c.append(ast.If(test, body or [ast.Pass(**loc)], [], **loc))
        return
    assert stage.var is not None
    over = spread(c, value_of(stage.block))
    if whole is not None and not more:
        whole(over)
        return
    bound = ast.Name(c.bind(stage.var), ast.Store(), **loc)
    body = c.in_block(lambda: staged(c, more, loc, inside, whole))[1]
    c.append(ast.For(bound, over, body or [ast.Pass(**loc)], [], **loc))


def value(c: Context, op: Comprehension) -> Expr:
    """What body has for an item, its instructions printed."""
    c.instructions(op.body)
    return value_of(op.body)


def collect_list(c: Context, op: Comprehension, dest: Dest, loc: Loc) -> None:
    over = iterable(c, op)
    is_direct = op.bare and dest.kind == "assign" and not dest.after
    made = name(dest.target if is_direct else c.names.temporary("items"), loc)
    c.append(assign(made.id, ast.List([], ast.Load(), **loc), loc))
    whole = partial(extend, c, made.id) if keeps_all(op) else None
    c.append(loop_over(c, op, over, loc, lambda: append(c, made, c.expr(value(c, op)), loc), whole))
    if not is_direct:
        c.finish(made if op.bare else call(c.runtime(LIST_CLASS, loc), [made], loc), dest, loc)


def append(c: Context, made: ast.expr, item: ast.expr, loc: Loc) -> None:
    c.append(ast.Expr(call(attribute(made, "append", loc), [item], loc), **loc))


def keeps_all(op: Comprehension) -> bool:
    """Whether a list has just the items that its last stage gives."""
    last = op.stages[-1].var if op.stages else None
    kept = value_of(op.body)
    return last is not None and not op.body.instrs and type(kept) is Ref and kept.var is last


def extend(c: Context, made: str, items: ast.expr) -> None:
    """`items += part`; `items.extend(part)` of what may be a list of the language, whose `+` makes a new list."""
    if not isinstance(items, ast.List | ast.ListComp) and not is_at_hand(items):
        c.append(ast.Expr(call(attribute(name(made, c.current), "extend", c.current), [items], c.current), **c.current))
        return
    c.append(ast.AugAssign(ast.Name(made, ast.Store(), **c.current), ast.Add(), items, **c.current))


def collect_any(c: Context, op: Comprehension, dest: Dest, loc: Loc) -> None:
    """`for x in xs: if test: return True`."""
    over = iterable(c, op)
    outcome = op.kind == "any"

    def inside() -> None:
        test = c.test(value(c, op))
        if not outcome:
            test = ast.UnaryOp(ast.Not(), test, **loc)
        found = c.in_block(lambda: c.finish(const(outcome, loc), leaving(dest), loc))[1]
        c.append(ast.If(test, found, [], **loc))

    loop = loop_over(c, op, over, loc, inside)
    finish_loop(c, loop, dest, dest.kind != "return", lambda d: c.finish(const(not outcome, loc), d, loc))


def collect_find(c: Context, op: Comprehension, dest: Dest, loc: Loc) -> None:
    over = iterable(c, op)
    loop = loop_over(c, op, over, loc, lambda: c.block(op.body, leaving(dest)))
    finish_loop(c, loop, dest, dest.kind != "return", lambda d: c.finish(const(None, loc), d, loc))


def collect_sorted(c: Context, op: Comprehension, dest: Dest, loc: Loc) -> None:
    """Sorted by keys of any types, which are computed first."""
    key = key_function(op)
    over = iterable(c, op)
    if key is not None and c.module.unit.is_text:
        c.finish(call(c.builtin_function("sort-by", loc), [c.builtin_function(key, loc), over], loc), dest, loc)
        return
    source = over if isinstance(over, ast.Name) else c.save(over, "items", loc)
    keys: ast.expr
    if not block_weight(op.body):
        keys = c.save(ast.List([], ast.Load(), **loc), "keys", loc)
        c.append(loop_over(c, op, source, loc, lambda: append(c, keys, c.expr(value(c, op)), loc)))
    else:
        generator = ast.comprehension(target(c, op.target, loc), source, [], 0)
        keys = ast.ListComp(c.expr(value_of(op.body)), [generator], **loc)
    is_plain = is_ordered(value_type(op)) and not c.module.unit.is_text
    kind = "sorted_by_plain" if is_plain else "sorted_by"
    sorter = c.runtime(f"sema_runtime.lib.collections.sorting:{kind}", loc)
    in_order: ast.expr = call(sorter, [name(source.id, loc), keys], loc)
    c.finish(attribute(in_order, "flat", loc) if op.bare else in_order, dest, loc)


def key_function(op: Comprehension) -> str | None:
    """The builtin that gives the key of an item, where that is all it does."""
    asked = None if op.body.instrs or op.stages or op.how != "items" else value_of(op.body)
    if type(asked) is not CallBuiltin or len(asked.args) != 1 or type(op.target) is not VarPattern:
        return None
    (item,) = asked.args
    return asked.name if type(item) is Ref and item.var is op.target.var else None


def collect_groups(c: Context, op: Comprehension, dest: Dest, loc: Loc) -> None:
    """`for x in xs: groups[x % 10].append(x)`."""
    over = iterable(c, op)
    groups = c.save(call(c.runtime(HOFS + "new_groups", loc), [], loc), "groups", loc)

    def inside() -> None:
        group = subscript(groups, stored_key(c, value(c, op), loc), loc)
        append(c, group, item_of(op, loc), loc)

    c.append(loop_over(c, op, over, loc, inside))
    c.finish(call(c.runtime(HOFS + "grouped", loc), [groups], loc), dest, loc)


def collect_index(c: Context, op: Comprehension, dest: Dest, loc: Loc) -> None:
    """`for x in xs: index[x.id] = x`."""
    over = iterable(c, op)
    index = c.save(ast.Dict([], [], **loc), "index", loc)

    def inside() -> None:
        key = stored_key(c, value(c, op), loc)
        place = ast.Subscript(index, key, ast.Store(), **loc)
        c.append(ast.Assign([place], item_of(op, loc), **loc))

    c.append(loop_over(c, op, over, loc, inside))
    c.finish(call(c.runtime("sema_runtime.values.maps:Map", loc), [index], loc), dest, loc)


def stored_key(c: Context, key: Expr, loc: Loc) -> ast.expr:
    """A key in the form in which maps store it."""
    printed = c.expr(key)
    if key.type.only(PLAIN_KEYS):
        return printed
    return call(c.runtime(STORED, loc), [printed], loc)


def item_of(op: Comprehension, loc: Loc) -> ast.expr:
    assert type(op.target) is VarPattern
    return name(op.target.var.py, loc)


def collect_sum(c: Context, op: Comprehension, dest: Dest, loc: Loc) -> None:
    over = iterable(c, op)
    total = c.save(const(0, loc), "total", loc)

    def inside() -> None:
        added = binop(name(total.id, loc), ast.Add(), c.expr(value(c, op)), loc)
        c.append(assign(total.id, added, loc))

    c.append(loop_over(c, op, over, loc, inside))
    c.finish(name(total.id, loc), dest, loc)


COLLECTORS: dict[str, Callable[[Context, Comprehension, Dest, Loc], None]] = {
    "list": collect_list,
    "any": collect_any,
    "every": collect_any,
    "find": collect_find,
    "sum": collect_sum,
    "sort-by": collect_sorted,
    "group-by": collect_groups,
    "key-by": collect_index,
}
