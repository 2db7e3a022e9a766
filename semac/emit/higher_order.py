"""Higher-order builtins over a function that is known: `map` and `filter` as comprehensions, folds as loops."""

from __future__ import annotations

import ast
from typing import Any

from sema_runtime.values.atoms import Keyword
from semac.emit.destination import DROP, Dest
from semac.emit.emitter import Emitter
from semac.emit.inline import ATOMS, LOOPS, inlines
from semac.emit.owned_maps import plain_split
from semac.emit.pyast import assign, attribute, call, const, name, negate
from semac.emit.tests import is_expression
from semac.ir import nodes as ir
from semac.ir.facts import is_plain_split, is_pure, is_short, is_total
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.types import ANY, BOOL, INT, LIST, STR, VECTOR, element, only


def iterable(e: Emitter, node: Any, who: str) -> ast.expr:
    """Something a Python loop can run over, without a Sema list around intermediate results."""
    if type(node) is ir.CallBuiltin:
        items = comprehension(e, node)
        if items is not None:
            return items
        if is_plain_split(node):
            return plain_split(e, node)
        if node.name in ("list", "vector"):
            return ast.Tuple(e.exprs(node.args), ast.Load(), **e.loc(node))
        if node.name == "range" and 1 <= len(node.args) <= 3 and all(only(arg.type, INT) for arg in node.args):
            limits = e.exprs(node.args)
            if len(limits) == 2 and isinstance(limits[0], ast.Constant) and limits[0].value == 0:
                limits = limits[1:]
            return call(name("range", e.loc(node)), limits, e.loc(node))
    value = e.expr(node)
    if only(node.type, VECTOR | LIST):
        return value
    loc = e.loc(node)
    return call(e.runtime("sema_runtime.values.matching:iterate", loc), [value, const(who, loc)], loc)


def source_of(e: Emitter, node: Any, items: Any, who: str) -> ast.expr:
    """An iterable for the comprehension that node becomes: Python forbids `:=` there."""
    source = iterable(e, items, who)
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(source)):
        return e.save(source, "items", e.loc(node))
    return source


def comprehension(e: Emitter, node: Any) -> ast.expr | None:
    """`map` or `filter` with a short lambda as a list comprehension."""
    if node.name not in ("map", "filter") or e.at_module or not e.module.unit.optimize:
        return None
    if len(node.args) == 2 and type(node.args[0]) is ir.Const and type(node.args[0].value) is Keyword:
        return keyword_comprehension(e, node)
    known = node.inlined
    if known is None:
        return predicate_comprehension(e, node)
    if type(node.args[0]) is ir.Ref:
        return known_comprehension(e, node, known)
    function = node.args[0].function
    if not fits_comprehension(function):
        return None
    stages: list[tuple[str, ir.Function]] = []
    inner = fused_stages(node.args[1], stages, function.body) if node.name == "map" else node.args[1]
    if len(stages) != 1 or stages[0][0] != "filter":
        inner, stages = node.args[1], []
    source = source_of(e, node, inner, "filter" if stages else node.name)
    loc = e.loc(node)
    var = function.params[0]
    target = e.bind(var)
    tests: list[ast.expr] = []
    for _, stage in stages:  # a filter below a map becomes the comprehension's `if`
        e.owned.add(stage.params[0])
        stage.params[0].py = target
        tests.append(e.test(stage.body))
    if node.name == "map":
        body = e.expr(function.body)
    else:
        tests.append(e.test(function.body))
        body = name(target, loc)
    generator = ast.comprehension(ast.Name(target, ast.Store(), **loc), source, tests, 0)
    return ast.ListComp(body, [generator], **loc)


PREDICATES = frozenset(("even?", "odd?", "zero?", "positive?", "negative?"))


def predicate_comprehension(e: Emitter, node: Any) -> ast.expr | None:
    """`(filter even? xs)` of integers as `[x for x in xs if x % 2 == 0]`."""
    head: Any = node.args[0] if len(node.args) == 2 else None
    if node.name != "filter" or type(head) is not ir.Builtin or head.name not in PREDICATES:
        return None
    kind = node.args[1].type
    if not only(kind, VECTOR | LIST) or not only(element(kind), INT):
        return None
    source = source_of(e, node, node.args[1], node.name)
    loc = e.loc(node)
    var = ir.Var("item", None)
    var.py = e.names.temporary("item")
    var.type = INT
    item = ir.Ref(var, span=node.span)
    item.type = INT
    e.owned.add(var)
    asked = ir.CallBuiltin(head.name, [item], False, span=node.span)
    asked.type = BOOL
    test = e.test(asked)
    generator = ast.comprehension(ast.Name(var.py, ast.Store(), **loc), source, [test], 0)
    return ast.ListComp(name(var.py, loc), [generator], **loc)


def fits_comprehension(function: ir.Function) -> bool:
    """Whether a lambda of one parameter is short enough, and an expression, to stand in a comprehension."""
    return (
        len(function.params) == 1
        and not function.rest
        and not function.has_closures
        and is_short(function.body, 30)
        and is_expression(function.body)
        and not any(type(part) is ir.Lambda for part in ir.walk(function.body))
    )


@inlines("map", "filter", table=LOOPS)
def map_filter(e: Emitter, node: Any) -> ast.expr | None:
    items = comprehension(e, node)
    if items is None:
        return None
    return call(e.runtime("sema_runtime.values.lists:List", e.loc(node)), [items], e.loc(node))


def keyword_comprehension(e: Emitter, node: Any) -> ast.expr:
    """`(map :name maps)` as `[keyword_get(item, kw_name) for item in maps]`."""
    source = source_of(e, node, node.args[1], node.name)
    loc = e.loc(node)
    target = e.names.temporary("item")
    got = call(e.runtime(KEYWORD_GET, loc), [name(target, loc), e.expr(node.args[0])], loc)
    item = ast.Name(target, ast.Store(), **loc)
    if node.name == "map":
        return ast.ListComp(got, [ast.comprehension(item, source, [], 0)], **loc)
    return ast.ListComp(name(target, loc), [ast.comprehension(item, source, [e.truth_of(got, ANY)], 0)], **loc)


def known_comprehension(e: Emitter, node: Any, function: ir.Function) -> ast.expr:
    """`[f(x) for x in xs]` for a function of the program."""
    head = e.expr(node.args[0])
    source = source_of(e, node, node.args[1], node.name)
    loc = e.loc(node)
    target = e.names.temporary("item")
    applied = call(head, [name(target, loc)], loc)
    item = ast.Name(target, ast.Store(), **loc)
    if node.name == "map":
        return ast.ListComp(applied, [ast.comprehension(item, source, [], 0)], **loc)
    test = e.truth_of(applied, function.returns)
    return ast.ListComp(name(target, loc), [ast.comprehension(item, source, [test], 0)], **loc)


@inlines("sort", table=LOOPS)
def sort(e: Emitter, node: Any) -> ast.expr | None:
    """`List(sorted(xs))` where all elements are surely ints, or strings: Python orders those as Sema does."""
    kind = node.args[0].type if len(node.args) == 1 else ANY
    if not only(kind, VECTOR | LIST) or not (only(element(kind), INT) or only(element(kind), STR)):
        return None
    loc = e.loc(node)
    ordered = call(name("sorted", loc), [iterable(e, node.args[0], "sort")], loc)
    return call(e.runtime("sema_runtime.values.lists:List", loc), [ordered], loc)


@inlines("sort-by", table=LOOPS)
def sort_by(e: Emitter, node: Any) -> ast.expr | None:
    """`sorted_by(xs, [-x for x in xs])`: the keys that a known function gives are computed on the spot."""
    function = node.inlined
    if function is None or e.at_module:
        return None
    is_lambda = type(node.args[0]) is ir.Lambda
    if is_lambda and not fits_comprehension(function):
        return None
    head = None if is_lambda else e.expr(node.args[0])
    loc = e.loc(node)
    source = e.save(iterable(e, node.args[1], node.name), "items", loc)
    assert isinstance(source, ast.Name)
    target, key = applied(e, node, function, head)
    keys = ast.ListComp(key, [ast.comprehension(ast.Name(target, ast.Store(), **loc), source, [], 0)], **loc)
    return call(e.runtime("sema_runtime.lib.collections.sorting:sorted_by", loc), [name(source.id, loc), keys], loc)


def applied(e: Emitter, node: Any, function: ir.Function, head: ast.expr | None) -> tuple[str, ast.expr]:
    """A loop variable, and the function applied to it: a lambda's body, or a call of the function in head."""
    if head is None:
        target = e.bind(function.params[0])
        return target, e.expr(function.body)
    target = e.names.temporary("item")
    return target, call(head, [name(target, e.loc(node))], e.loc(node))


@inlines("list/group-by", table=LOOPS)
def group_by(e: Emitter, node: Any) -> ast.expr | None:
    """`for x in xs: groups[x % 10].append(x)`, where the function is known."""
    function = node.inlined
    if function is None or e.at_module:
        return None
    is_lambda = type(node.args[0]) is ir.Lambda
    if is_lambda and (function.has_closures or function.self_tail):
        return None
    head = None if is_lambda else e.expr(node.args[0])
    loc = e.loc(node)
    over = iterable(e, node.args[1], node.name)
    groups = e.save(call(e.runtime("sema_runtime.lib.collections.hofs:new_groups", loc), [], loc), "groups", loc)
    e.loops.append(None)
    (target, key), block = e.in_block(lambda: applied(e, node, function, head))
    e.loops.pop()
    if not only(function.body.type if is_lambda else function.returns, ATOMS):
        key = call(e.runtime("sema_runtime.values.maps:stored", loc), [key], loc)
    group = ast.Subscript(groups, key, ast.Load(), **loc)
    added = ast.Expr(call(attribute(group, "append", loc), [name(target, loc)], loc), **loc)
    e.append(ast.For(ast.Name(target, ast.Store(), **loc), over, [*block, added], [], **loc))
    return call(e.runtime("sema_runtime.lib.collections.hofs:grouped", loc), [groups], loc)


def fold_parts(node: Any) -> Any:
    """The Function of a foldl over a two-parameter lambda, or None."""
    if node.name != "foldl" or len(node.args) != 3 or type(node.args[0]) is not ir.Lambda:
        return None
    function = node.args[0].function
    return function if len(function.params) == 2 and not function.rest and not function.has_closures else None


@inlines("foldl", table=LOOPS)
def foldl(e: Emitter, node: Any) -> ast.expr | None:
    """A fold with a lambda as a `for` loop over an accumulator."""
    if len(node.args) == 3 and type(node.args[0]) is ir.Builtin and node.args[0].name == "+":
        return sum_of(e, node)
    known = node.inlined
    if known is not None and type(node.args[0]) is ir.Ref and not e.at_module:
        return fold_known(e, node)
    function = fold_parts(node)
    if function is None or e.at_module or function.self_tail:
        return None
    accumulator, item = function.params
    target = e.bind(accumulator)
    e.stmt(node.args[1], Dest("assign", target))
    for_loop(e, node, node.args[2], item, function.body, Dest("assign", target))
    return folded(e, name(target, e.loc(node)), function)


def folded(e: Emitter, value: ast.expr, function: ir.Function) -> ast.expr:
    """The result of a fold; the raw dict that its accumulator owned becomes a map."""
    kind = function.params[0].owned
    return e.wrap(value, kind) if kind else value


def sum_of(e: Emitter, node: Any) -> ast.expr | None:
    """`(foldl + 0 xs)` as `sum`, where all numbers are integers."""
    start, source = node.args[1], node.args[2]
    loc = e.loc(node)
    if not only(start.type, INT) or not only(source.type, LIST | VECTOR) or not only(element(source.type), INT):
        return None if e.at_module else summing_loop(e, node)
    first = e.expr(start)
    over = iterable(e, source, "foldl")
    args = [over] if isinstance(first, ast.Constant) and first.value == 0 else [over, first]
    return call(name("sum", loc), args, loc)


def summing_loop(e: Emitter, node: Any) -> ast.expr:
    """`(foldl + start xs)` over values of unknown type: a loop that adds ints at once and asks `+` about the rest."""
    target, item = e.names.temporary("acc"), e.names.temporary("item")
    e.stmt(node.args[1], Dest("assign", target))
    over = iterable(e, node.args[2], "foldl")
    loc = e.loc(node)
    kinds: list[ast.expr] = [call(name("type", loc), [name(variable, loc)], loc) for variable in (target, item)]
    test = ast.Compare(kinds[0], [ast.Is(), ast.Is()], [kinds[1], name("int", loc)], **loc)
    general = call(e.runtime(e.builtin_path("+"), loc), [name(target, loc), name(item, loc)], loc)
    added = ast.BinOp(name(target, loc), ast.Add(), name(item, loc), **loc)
    body: list[ast.stmt] = [assign(target, ast.IfExp(test, added, general, **loc), loc)]
    e.append(ast.For(ast.Name(item, ast.Store(), **loc), over, body, [], **loc))
    return name(target, loc)


def fold_known(e: Emitter, node: Any) -> ast.expr:
    """A fold with a function of the program: a loop that calls it."""
    function = node.inlined
    assert function is not None
    lines = node.name == "file/fold-lines"
    target = e.names.temporary("acc")
    e.stmt(node.args[2 if lines else 1], Dest("assign", target))
    over = file_lines(e, node) if lines else iterable(e, node.args[2], "foldl")
    loc = e.loc(node)
    item = e.names.temporary("line" if lines else "item")
    step: ast.expr = call(e.expr(node.args[1 if lines else 0]), [name(target, loc), name(item, loc)], loc)
    body: list[ast.stmt] = [assign(target, step, loc)]
    e.append(ast.For(ast.Name(item, ast.Store(), **loc), over, body, [], **loc))
    return name(target, loc)


def file_lines(e: Emitter, node: Any) -> ast.expr:
    path = e.expr(node.args[0])
    return call(
        e.runtime("sema_runtime.lib.files.files:lines_of", e.loc(node)),
        [path, const(node.name, e.loc(node))],
        e.loc(node),
    )


@inlines("file/fold-lines", table=LOOPS)
def fold_lines(e: Emitter, node: Any) -> ast.expr | None:
    """A fold over the lines of a file as a `for` loop."""
    function = node.inlined
    if function is None or e.at_module or (function.self_tail and type(node.args[1]) is ir.Lambda):
        return None
    if type(node.args[1]) is ir.Ref:
        return fold_known(e, node)
    if function.has_closures:
        return None
    accumulator, item = function.params
    target = e.bind(accumulator)
    over = file_lines(e, node)
    e.stmt(node.args[2], Dest("assign", target))
    loc = e.loc(node)
    e.loops.append(None)
    line = ast.Name(e.bind(item), ast.Store(), **loc)
    _, block = e.in_block(lambda: e.stmt(function.body, Dest("assign", target)))
    e.loops.pop()
    e.append(ast.For(line, over, block or [ast.Pass(**loc)], [], **loc))
    return folded(e, name(target, loc), function)


def for_loop(e: Emitter, node: Any, source: Any, item: Any, body: Any, dest: Dest) -> None:
    """`for item in source: body`. `map` and `filter` stages of the source happen in the loop where nobody can tell."""
    stages: list[tuple[str, ir.Function]] = []
    source = fused_stages(source, stages, body)
    over = iterable(e, source, stages[0][0] if stages else node.name)
    loc = e.loc(node)
    for part in (over, getattr(over, "func", None), *getattr(over, "args", ())):
        if part is over or isinstance(part, ast.Name | ast.Constant):
            for field, value in loc.items():  # debuggers stop in each round where the iterable stands
                setattr(part, field, value)
    variables = [function.params[0] for _, function in stages] + [item]
    target = ast.Name(e.bind(variables[0]), ast.Store(), **loc)

    def rounds() -> None:
        for (kind, function), following in zip(stages, variables[1:], strict=True):
            if kind == "map":
                value = e.expr(function.body)
                e.append(assign(e.bind(following), value, loc))
                continue
            test = e.test(function.body)
            e.append(ast.If(negate(test, loc), [ast.Continue(**loc)], [], **loc))
            e.owned.add(following)
            following.py = function.params[0].py
        e.stmt(body, dest)

    e.loops.append(None)
    _, block = e.in_block(rounds)
    e.loops.pop()
    e.append(ast.For(target, over, block or [ast.Pass(**loc)], [], **loc))


def fused_stages(source: Any, stages: list[tuple[str, ir.Function]], last: Any) -> Any:
    """Takes `map` and `filter` calls off a source, outermost last; returns what is left to loop over.

    last: what is done with each item in the end. All stages then run for one item before the first runs for the next.
    Nobody can tell when none has effects and one at most can fail.
    """
    bodies = [last]
    while type(source) is ir.CallBuiltin and source.name in ("map", "filter") and type(source.args[0]) is ir.Lambda:
        function = source.inlined
        if function is None or function.has_closures or not is_expression(function.body):
            break
        bodies.append(function.body)
        if not all(map(is_pure, bodies)) or sum(not is_total(body) for body in bodies) > 1:
            break
        stages.insert(0, (source.name, function))
        source = source.args[1]
    return source


def inline_statement(e: Emitter, node: Any, dest: Dest) -> bool:
    """Builtins that are better as statements: `for-each` with a lambda. True when it was emitted."""
    function = node.inlined
    if node.name != "for-each" or function is None or type(node.args[0]) is not ir.Lambda or e.at_module:
        return False
    if function.has_closures or function.self_tail:
        return False
    for_loop(e, node, node.args[1], function.params[0], function.body, DROP)
    e.finish(const(None, e.loc(node)), dest, e.loc(node), False)
    return True
