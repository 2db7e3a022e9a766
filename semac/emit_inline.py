"""Builtins that come out as Python operators, comprehensions or attribute reads instead of calls.

`INLINE[name]` takes the emitter and the node and gives an expression, or None for "call the function".
What is known of the argument types decides: `a + b` for numbers, `add(a, b)` when a value could be anything.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from semac import ir
from semac.emit_flow import is_pure
from semac.emit_tests import is_expression
from semac.pyast import assign, attribute, binop, call, compare, const, name, negate, walrus
from semac.tails import inlined_function
from semac.types import FLOAT, INT, LIST, NUMBER, STR, VECTOR, element, only

if TYPE_CHECKING:
    from semac.emit import Dest
    from semac.emit import FunctionEmitter as Emitter

Inliner = Callable[["Emitter", Any], "ast.expr | None"]
INLINE: dict[str, Inliner] = {}
ARITHMETIC = "sema_runtime.lib.arithmetic:"


def inlines(*names: str) -> Callable[[Inliner], Inliner]:
    def register(function: Inliner) -> Inliner:
        for one in names:
            INLINE[one] = function
        return function

    return register


def inline(e: Emitter, node: Any) -> ast.expr | None:
    """The inlined call of a builtin, or None."""
    found = INLINE.get(node.name)
    return found(e, node) if found is not None else None


OPERATORS: dict[str, tuple[type[ast.operator], str]] = {
    "+": (ast.Add, "add"),
    "-": (ast.Sub, "sub"),
    "*": (ast.Mult, "mul"),
}
COMPARISONS: dict[str, tuple[type[ast.cmpop], str]] = {
    "<": (ast.Lt, "lt"),
    ">": (ast.Gt, "gt"),
    "<=": (ast.LtE, "le"),
    ">=": (ast.GtE, "ge"),
}
UNORDERED: dict[str, type[ast.cmpop]] = {"<=": ast.Gt, ">=": ast.Lt}  # `(<= a b)` is "not a > b": true of a NaN


@inlines("+", "-", "*")
def arithmetic(e: Emitter, node: Any) -> ast.expr | None:
    args = node.args
    op, checked = OPERATORS[node.name]
    if len(args) == 1 and node.name == "-":
        if only(args[0].type, INT | FLOAT):
            return ast.UnaryOp(ast.USub(), e.expr(args[0]), **e.loc(node))
        return call(e.runtime(ARITHMETIC + "negate", e.loc(node)), e.exprs(args), e.loc(node))
    if len(args) < 2:
        return None
    numbers = all(only(arg.type, INT | FLOAT) for arg in args)  # what is made of ratios must be brought to lowest terms
    strings = node.name == "+" and len(args) == 2 and all(only(arg.type, STR) for arg in args)
    if numbers or strings:
        made = e.exprs(args)
        result = made[0]
        for operand in made[1:]:
            result = binop(result, op(), operand, e.loc(node))
        return result
    if len(args) == 2:
        return guarded(e, node, op(), ARITHMETIC + checked)
    if len(args) <= 4:
        return guarded(e, node, op(), e.builtin_path(node.name))
    return None


def guarded(e: Emitter, node: Any, op: ast.operator | ast.cmpop, checked: str) -> ast.expr:
    """`a + b if type(a) is type(b) is int else add(a, b)`: the bare operator behind the cheapest test that permits it.

    Operands that are known to be of the type aren't tested. Outside of functions it is just `add(a, b)`.
    """
    loc = e.loc(node)
    made = e.exprs(node.args)
    wanted = "float" if any(only(arg.type, FLOAT) for arg in node.args) else "int"
    known = FLOAT if wanted == "float" else INT
    unknown = [index for index, arg in enumerate(node.args) if not only(arg.type, known)]
    if e.at_module or any(isinstance(one, ast.Constant) for index, one in enumerate(made) if index in unknown):
        return call(e.runtime(checked, loc), made, loc)
    tested: list[ast.expr] = []
    for index in unknown:
        value = made[index]
        if not isinstance(value, ast.Name):
            held = e.names.temporary("n")
            tested.append(walrus(held, value, loc))
            made[index] = name(held, loc)
        else:
            tested.append(value)
    kinds: list[ast.expr] = [call(name("type", loc), [value], loc) for value in tested]
    test = ast.Compare(kinds[0], [ast.Is() for _ in kinds], [*kinds[1:], name(wanted, loc)], **loc)
    result: ast.expr = made[0]
    if isinstance(op, ast.cmpop):
        result = ast.Compare(made[0], [op for _ in made[1:]], made[1:], **loc)
    else:
        for operand in made[1:]:
            result = binop(result, op, operand, loc)
    return ast.IfExp(test, result, call(e.runtime(checked, loc), list(made), loc), **loc)


@inlines("<", ">", "<=", ">=")
def comparison(e: Emitter, node: Any) -> ast.expr | None:
    args = node.args
    op, checked = COMPARISONS[node.name]
    if len(args) == 2:
        left, right = args
        if (only(left.type, INT | FLOAT) and only(right.type, INT | FLOAT)) or (
            only(left.type, STR) and only(right.type, STR)
        ):
            a, b = e.exprs(args)
            if node.name in UNORDERED and (left.type | right.type) & FLOAT:
                return negate(compare(a, UNORDERED[node.name](), b, e.loc(node)), e.loc(node))
            return compare(a, op(), b, e.loc(node))
        if node.name in UNORDERED and (only(left.type, FLOAT) or only(right.type, FLOAT)):
            return call(e.runtime(ARITHMETIC + checked, e.loc(node)), e.exprs(args), e.loc(node))
        return guarded(e, node, op(), ARITHMETIC + checked)
    if len(args) == 3 and all(only(arg.type, INT | FLOAT) for arg in args):
        first, *rest = e.exprs(args)
        return ast.Compare(first, [op() for _ in rest], rest, **e.loc(node))
    return None


IDENTICAL = (Keyword, Symbol, Char, bool, type(None))


@inlines("=", "eq?", "equal?")
def equality(e: Emitter, node: Any) -> ast.expr | None:
    args = node.args
    if len(args) != 2:
        return None
    loose = node.name == "="
    for constant, other in ((args[1], args[0]), (args[0], args[1])):
        if type(constant) is not ir.Const:
            continue
        value = constant.value
        if type(value) in IDENTICAL:
            a, b = e.exprs(args)
            return compare(a, ast.Is(), b, e.loc(node))
        exact = type(value) is str or (
            type(value) is int
            and (only(other.type, INT) or (loose and (value not in (0, 1) or only(other.type, NUMBER))))
        )
        if exact:
            a, b = e.exprs(args)
            return compare(a, ast.Eq(), b, e.loc(node))
    left, right = args
    same = (only(left.type, INT) and only(right.type, INT)) or (only(left.type, STR) and only(right.type, STR))
    if same or (loose and only(left.type, NUMBER) and only(right.type, NUMBER)):
        a, b = e.exprs(args)
        return compare(a, ast.Eq(), b, e.loc(node))
    if loose:
        return guarded(e, node, ast.Eq(), ARITHMETIC + "num_eq")
    return call(e.runtime("sema_runtime.values.equality:equal", e.loc(node)), e.exprs(args), e.loc(node))


@inlines("not")
def not_(e: Emitter, node: Any) -> ast.expr | None:
    return negate(e.test(node.args[0]), e.loc(node)) if len(node.args) == 1 else None


@inlines("/")
def divide(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 2:
        return None
    left, right = node.args
    loc = e.loc(node)
    if (
        only(left.type, INT | FLOAT)
        and only(right.type, INT | FLOAT)
        and (only(left.type, FLOAT) or only(right.type, FLOAT))
    ):
        a, b = e.exprs(node.args)
        if isinstance(b, ast.Constant) and b.value:
            return binop(a, ast.Div(), b, loc)
        if isinstance(b, ast.Name) and is_pure(left):  # a float divided by zero is inf or nan, no error
            checked = call(e.runtime(ARITHMETIC + "div", loc), [a, b], loc)
            return ast.IfExp(b, binop(a, ast.Div(), b, loc), checked, **loc)
        return call(e.runtime(ARITHMETIC + "div", loc), [a, b], loc)
    return call(e.runtime(ARITHMETIC + "div", loc), e.exprs(node.args), loc)


@inlines("mod", "modulo")
def modulo(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 2:
        return None
    if any(only(arg.type, FLOAT) for arg in node.args):  # Python's % of floats takes another sign
        return call(e.runtime(ARITHMETIC + "mod", e.loc(node)), e.exprs(node.args), e.loc(node))
    if not all(only(arg.type, INT) for arg in node.args):
        return guarded(e, node, ast.Mod(), ARITHMETIC + "mod")
    a, b = e.exprs(node.args)
    return binop(a, ast.Mod(), b, e.loc(node))


@inlines("even?", "odd?")
def parity(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 1 or not only(node.args[0].type, INT):
        return None
    loc = e.loc(node)
    rest = binop(e.expr(node.args[0]), ast.Mod(), const(2, loc), loc)
    return compare(rest, ast.Eq(), const(0 if node.name == "even?" else 1, loc), loc)


@inlines("zero?", "positive?", "negative?")
def sign(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 1 or not only(node.args[0].type, INT | FLOAT):
        return None
    op = {"zero?": ast.Eq, "positive?": ast.Gt, "negative?": ast.Lt}[node.name]
    return compare(e.expr(node.args[0]), op(), const(0, e.loc(node)), e.loc(node))


@inlines("min", "max")
def extreme(e: Emitter, node: Any) -> ast.expr | None:
    args = node.args
    if len(args) == 2 and all(only(a.type, INT) for a in args):  # floats could be NaN, which is refused
        made = e.exprs(args)
        if all(isinstance(one, ast.Name | ast.Constant) for one in made):
            op = ast.Lt() if node.name == "min" else ast.Gt()
            return ast.IfExp(compare(made[0], op, made[1], e.loc(node)), made[0], made[1], **e.loc(node))
    return None


@inlines("nil?")
def is_nil(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 1:
        return None
    return compare(e.expr(node.args[0]), ast.Is(), const(None, e.loc(node)), e.loc(node))


@inlines("list")
def make_list(e: Emitter, node: Any) -> ast.expr | None:
    items = e.exprs(node.args)
    loc = e.loc(node)
    return call(
        e.runtime("sema_runtime.values.lists:List", loc), [ast.List(items, ast.Load(), **loc)] if items else [], loc
    )


@inlines("vector")
def make_vector(e: Emitter, node: Any) -> ast.expr | None:
    return ast.Tuple(e.exprs(node.args), ast.Load(), **e.loc(node))


@inlines("cons")
def make_cons(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 2 or not only(node.args[1].type, LIST):
        return None
    return call(e.runtime("sema_runtime.values.lists:cons", e.loc(node)), e.exprs(node.args), e.loc(node))


@inlines("car", "first", "cdr", "rest")
def list_part(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 1 or not only(node.args[0].type, LIST):
        return None
    part = "car" if node.name in ("car", "first") else "cdr"
    return attribute(e.expr(node.args[0]), part, e.loc(node))


@inlines("null?")
def is_null(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 1 or not only(node.args[0].type, LIST):
        return None
    return attribute(e.expr(node.args[0]), "empty", e.loc(node))


@inlines("length", "count", "string-length")
def length(e: Emitter, node: Any) -> ast.expr | None:
    allowed = STR if node.name == "string-length" else LIST | VECTOR
    if len(node.args) != 1 or not only(node.args[0].type, allowed):
        return None
    return call(name("len", e.loc(node)), [e.expr(node.args[0])], e.loc(node))


@inlines("str", "string-append")
def text(e: Emitter, node: Any) -> ast.expr | None:
    """An f-string when every part is a string or an integer."""
    if not node.args or not all(only(arg.type, STR | INT) for arg in node.args):
        return None
    made = e.exprs(node.args)
    loc = e.loc(node)
    if len(made) == 1 and only(node.args[0].type, STR):
        return made[0]
    parts: list[ast.expr] = []
    for value in made:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            if parts and isinstance(parts[-1], ast.Constant):
                parts[-1] = const(parts[-1].value + value.value, loc)
            else:
                parts.append(value)
        else:
            parts.append(ast.FormattedValue(value, -1, None, **loc))
    return ast.JoinedStr(parts, **loc)


# Higher-order functions over a lambda written on the spot


def iterable(e: Emitter, node: Any, who: str) -> ast.expr:
    """Something a Python loop can run over, without a Sema list around intermediate results."""
    if type(node) is ir.CallBuiltin:
        made = comprehension(e, node)
        if made is not None:
            return made
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


def comprehension(e: Emitter, node: Any) -> ast.expr | None:
    """`map` or `filter` with a short lambda as a list comprehension."""
    if node.name not in ("map", "filter") or e.at_module:
        return None
    known = inlined_function(node)
    if known is None:
        return None
    if type(node.args[0]) is ir.Ref:
        return known_comprehension(e, node, known)
    function = node.args[0].function
    from semac.emit import is_short

    if (
        len(function.params) != 1
        or function.rest
        or function.has_closures
        or not is_short(function.body, 30)
        or not is_expression(function.body)
    ):
        return None
    if any(type(here) is ir.Lambda for here in ir.walk(function.body)) or e.at_module:
        return None
    source = iterable(e, node.args[1], node.name)
    loc = e.loc(node)
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(source)):
        source = e.save(source, "items", loc)  # Python forbids `:=` there
    var = function.params[0]
    target = e.bind(var)
    if node.name == "map":
        body, before = e.in_block(lambda: e.expr(function.body))
        tests: list[ast.expr] = []
    else:
        test, before = e.in_block(lambda: e.test(function.body))
        body, tests = name(target, loc), [test]
    if before:
        raise AssertionError("a short expression needed statements")
    generator = ast.comprehension(ast.Name(target, ast.Store(), **loc), source, tests, 0)
    return ast.ListComp(body, [generator], **loc)


@inlines("map", "filter")
def map_filter(e: Emitter, node: Any) -> ast.expr | None:
    made = comprehension(e, node)
    if made is None:
        return None
    return call(e.runtime("sema_runtime.values.lists:List", e.loc(node)), [made], e.loc(node))


def known_comprehension(e: Emitter, node: Any, function: ir.Function) -> ast.expr:
    """`[f(x) for x in xs]` for a function of the program."""
    head = e.expr(node.args[0])
    source = iterable(e, node.args[1], node.name)
    loc = e.loc(node)
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(source)):
        source = e.save(source, "items", loc)
    target = e.names.temporary("item")
    applied = call(head, [name(target, loc)], loc)
    item = ast.Name(target, ast.Store(), **loc)
    if node.name == "map":
        return ast.ListComp(applied, [ast.comprehension(item, source, [], 0)], **loc)
    test = e.truth_of(applied, function.returns)
    return ast.ListComp(name(target, loc), [ast.comprehension(item, source, [test], 0)], **loc)


def fold_parts(node: Any) -> Any:
    """The Function of a foldl over a two-parameter lambda, or None."""
    if node.name != "foldl" or len(node.args) != 3 or type(node.args[0]) is not ir.Lambda:
        return None
    function = node.args[0].function
    return function if len(function.params) == 2 and not function.rest and not function.has_closures else None


@inlines("foldl")
def foldl(e: Emitter, node: Any) -> ast.expr | None:
    """A fold with a lambda as a `for` loop over an accumulator."""
    if len(node.args) == 3 and type(node.args[0]) is ir.Builtin and node.args[0].name == "+":
        return sum_of(e, node)
    known = inlined_function(node)
    if known is not None and type(node.args[0]) is ir.Ref and not e.at_module:
        return fold_known(e, node)
    function = fold_parts(node)
    if function is None or e.at_module or function.self_tail:
        return None
    accumulator, item = function.params
    target = e.bind(accumulator)
    from semac.emit import Dest

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
        return None
    first = e.expr(start)
    over = iterable(e, source, "foldl")
    args = [over] if isinstance(first, ast.Constant) and first.value == 0 else [over, first]
    return call(name("sum", loc), args, loc)


def fold_known(e: Emitter, node: Any) -> ast.expr:
    """A fold with a function of the program: a loop that calls it."""
    from semac.emit import Dest

    function = inlined_function(node)
    assert function is not None
    lines = node.name == "file/fold-lines"
    target = e.names.temporary("acc")
    e.stmt(node.args[2 if lines else 1], Dest("assign", target))
    over = file_lines(e, node) if lines else iterable(e, node.args[2], "foldl")
    loc = e.loc(node)
    item = e.names.temporary("line" if lines else "item")
    step: ast.expr = call(e.expr(node.args[1 if lines else 0]), [name(target, loc), name(item, loc)], loc)
    if function.owned and not function.params[0].owned:
        step = e.wrap(step, function.owned)
    body: list[ast.stmt] = [assign(target, step, loc)]
    e.append(ast.For(ast.Name(item, ast.Store(), **loc), over, body, [], **loc))
    return folded(e, name(target, loc), function)


def file_lines(e: Emitter, node: Any) -> ast.expr:
    path = e.expr(node.args[0])
    return call(e.runtime("sema_runtime.lib.files:lines_of", e.loc(node)), [path, const(node.name, e.loc(node))], e.loc(node))


@inlines("file/fold-lines")
def fold_lines(e: Emitter, node: Any) -> ast.expr | None:
    """A fold over the lines of a file as a `for` loop."""
    function = inlined_function(node)
    if function is None or e.at_module or function.self_tail and type(node.args[1]) is ir.Lambda:
        return None
    if type(node.args[1]) is ir.Ref:
        return fold_known(e, node)
    if function.has_closures:
        return None
    from semac.emit import Dest

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
    over = iterable(e, source, node.name)
    loc = e.loc(node)
    for part in (over, getattr(over, "func", None), *getattr(over, "args", ())):
        if part is over or isinstance(part, ast.Name | ast.Constant):
            for field, value in loc.items():  # debuggers stop in each round where the iterable stands
                setattr(part, field, value)
    target = ast.Name(e.bind(item), ast.Store(), **loc)
    e.loops.append(None)
    _, block = e.in_block(lambda: e.stmt(body, dest))
    e.loops.pop()
    e.append(ast.For(target, over, block or [ast.Pass(**loc)], [], **loc))


def inline_statement(e: Emitter, node: Any, dest: Dest) -> bool:
    """Builtins that are better as statements: `for-each` with a lambda. True when it was emitted."""
    if node.name != "for-each" or len(node.args) != 2 or type(node.args[0]) is not ir.Lambda or e.at_module:
        return False
    function = node.args[0].function
    if len(function.params) != 1 or function.rest or function.has_closures or function.self_tail:
        return False
    from semac.emit import DROP

    for_loop(e, node, node.args[1], function.params[0], function.body, DROP)
    e.finish(const(None, e.loc(node)), dest, e.loc(node), False)
    return True
